import json

import pytest
from click.testing import CliRunner

from sparsebody.analysis.cycle_bases import LOOP_BASES
from sparsebody.cli import main


def run(*arguments):
    return CliRunner().invoke(main, ["loop-bases", *arguments])


def test_every_basis_is_compared_and_the_sparsest_comes_first():
    result = run("ladder", "-p", "rungs=6", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert (found["loops"], found["planar"]) == (6, True)
    assert sorted(line["basis"] for line in found["bases"]) == sorted(LOOP_BASES)
    nonzeros = [line["nnz_k"] for line in found["bases"]]
    assert nonzeros == sorted(nonzeros)
    assert found["bases"][0]["nnz_k"] == 6 * 3 * (5 * 4 + 3)  # squares, and two joints on the world


def test_people_read_a_table():
    size = ["-p", "rows=3", "-p", "columns=3", "-p", "layers=3"]
    result = run("lattice", *size, "--seed", "3")
    assert result.exit_code == 0, result.stderr
    for text in ("28 loops; no faces", "K H^-1 K'", "minimum-fronts tree"):
        assert text in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scisor"], "no mechanism 'scisor' in the gallery"),
        (["ladder", "--basis", "mcb"], "no loop basis 'mcb'; there are minimum"),
        (["ladder", "--seed", "-1"], "-1 is not in the range"),
    ],
)
def test_bad_input_is_one_line_and_code_2(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
