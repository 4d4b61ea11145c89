import json

import pytest
from click.testing import CliRunner

from sparsebody.cli import main
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.model.gallery import build
from sparsebody.ordering import available_orderings, order
from sparsebody.sparse.elimination_tree import ordering_metrics

KEYS = ("nnz_l", "flops", "block_bandwidth", "etree_height", "largest_front")


def ordered(*arguments):
    result = CliRunner().invoke(main, ["order", *arguments, "--json"])
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_every_ordering_is_compared_by_its_metrics_and_the_cheapest_comes_first():
    found = ordered("ladder", "-p", "rungs=5")
    assert sorted(line["ordering"] for line in found) == sorted(available_orderings())
    assert [line["flops"] for line in found] == sorted(line["flops"] for line in found)
    system = build("ladder", rungs=5).compile()
    pattern = ForwardDynamics(system).structure.pattern
    for line in found:
        places = system.initial_state.position
        metrics = ordering_metrics(pattern, order(pattern, line["ordering"], places))
        assert {key: line[key] for key in KEYS} == {key: getattr(metrics, key) for key in KEYS}


def test_a_ladder_has_a_bandwidth_of_three_blocks_in_the_order_of_figure_8_4():
    (line,) = ordered("ladder", "-p", "rungs=20", "--ordering", "level-sweep")
    assert line["block_bandwidth"] == 3


def test_people_read_a_table_and_what_auto_takes(tmp_path):
    file = tmp_path / "made" / "spy.svg"
    arguments = ["order", "scissor", "-p", "pairs=6", "--spy", str(file)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.stderr
    assert "nnz(L)" in result.stdout
    assert "chosen by auto: " in result.stdout
    assert "<svg" in file.read_text()
    again = CliRunner().invoke(main, arguments)
    assert again.exit_code == 2
    assert "exists; give another" in again.stderr
    assert CliRunner().invoke(main, [*arguments, "--overwrite"]).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scisor"], "no mechanism 'scisor' in the gallery"),
        (["chain", "--ordering", "best"], "no ordering 'best'; there are"),
        (["chain", "--factorization", "best"], "unknown factorization 'best'"),
        (["chain", "--spy", "matrix.bmp"], "no picture format '.bmp'"),
    ],
)
def test_bad_input_is_one_line_and_code_2(arguments, message):
    result = CliRunner().invoke(main, ["order", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr
