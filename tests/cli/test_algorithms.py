import json

import pytest
from click.testing import CliRunner

from sparsebody.cli import main
from sparsebody.ordering.literature_orders import ALGORITHMS


def run(*arguments):
    return CliRunner().invoke(main, ["algorithms", *arguments])


def test_every_algorithm_is_compared_and_its_growth_fitted():
    result = run("ladder", "-p", "rungs=6", "--sizes", "16,64", "--eps", "1e-9", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert [line["algorithm"] for line in found["algorithms"]] == list(ALGORITHMS)
    for line in found["algorithms"]:
        assert line["flops"] == line["counted_flops"]
        assert line["errors"]["1e-09"] < 1e-5
    assert [one["bodies"] for one in found["growth"]] == [[16.0, 64.0]] * len(ALGORITHMS)
    assert found["growth"][0]["exponent"] == pytest.approx(1.0, abs=0.1)


def test_people_read_tables_and_see_pictures(tmp_path):
    pictures = tmp_path / "spy.svg", tmp_path / "growth.svg"
    options = ["--spy", str(pictures[0]), "--growth", str(pictures[1]), "--sizes", "4,9,16"]
    arguments = ["lattice", "-p", "rows=3", "-p", "columns=3", *options]
    result = run(*arguments, "--algorithm", "penalty")
    assert result.exit_code == 0, result.stderr
    for text in ("eps 1e-08", "Bayo", "16 bodies", "n^", *map(str, pictures)):
        assert text in result.stdout
    assert all("<svg" in picture.read_text() for picture in pictures)
    again = run(*arguments)
    assert again.exit_code == 2
    assert "exists; give another" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scisor"], "no mechanism 'scisor' in the gallery"),
        (["chain", "--algorithm", "aba"], "no algorithm 'aba'; there are"),
        (["chain", "--eps", "-1"], "eps is [-1.0]; give"),
        (["chain", "--growth", "x.png"], "--growth needs --sizes"),
        (["chain", "--sizes", "8,x"], "'8,x' is no list of numbers of bodies"),
        (["stewart", "--sizes", "8,16"], "no size parameter of stewart"),
        (["robot.json", "--sizes", "8,16"], "--sizes is for gallery mechanisms"),
        (["chain", "--spy", "matrix.bmp"], "no picture format '.bmp'"),
        (["chain", "-p", "bodies=4", "-p", "bodies=5"], "'bodies' is given twice"),
    ],
)
def test_bad_input_is_one_line_and_code_2(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
