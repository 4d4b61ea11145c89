import json

import pytest
from click.testing import CliRunner

from sparsebody.cli import main


def run(*arguments):
    return CliRunner().invoke(main, ["certify", *arguments])


def test_a_ladder_is_certified_for_scripts():
    result = run("ladder", "--largest", "128", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert (found["claim"], found["width"], found["status"]) == ("O(n)", 15, "proved")
    assert found["proof"]["period"] == 2
    assert {"n_bodies", "nnz_l", "flops", "largest_front"} <= found["sizes"][0].keys()
    assert found["growth"]["flops"]["low"] <= 1.05


def test_people_read_the_verdict_first_and_a_table():
    result = run("lattice", "-p", "layers=1", "--ordering", "minimum-degree", "--largest", "256")
    assert result.exit_code == 0, result.stderr
    first, *_, last = result.stdout.splitlines()
    assert first.startswith("lattice, sparse, minimum-degree: O(n^")
    assert first.endswith("not proved, observed")
    assert last.split()[0] == "256"


def test_nonzeros_of_every_tree_are_a_method():
    found = json.loads(run("ladder", "--method", "crba", "--largest", "128", "--json").stdout)
    assert found["quadratic"] == 9 / 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ladder", "-p", "rungs=4"], "no size parameter of ladder is left open"),
        (["ladder", "--ordering", "best"], "no ordering 'best'; there are"),
        (
            ["ladder", "--method", "crba", "--ordering", "natural"],
            "--ordering is for method sparse",
        ),
        (["ladder", "--tree", "depth-first"], "--tree is for method loops-aba"),
        (["ladder", "--method", "crba", "--time"], "--time is for methods sparse and loops-aba"),
        (["ladder", "--largest", "100"], "give 256 or more"),
        (["robot.xml"], "robot.xml is one mechanism; give a family"),
        (["oak"], "no mechanism 'oak' in the gallery"),
        (["ladder", "-p", "joint=glue"], "joint is 'glue'"),
    ],
)
def test_bad_input_is_named_and_ends_with_code_2(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
