import json

import pytest
from click.testing import CliRunner

from sparsebody.cli import main

TWO = ["classical", "--algorithms", "luh-walker-paul,balafoutis-patel-misra"]


def test_counts_are_printed_beside_the_published_ones():
    result = CliRunner().invoke(main, [*TWO, "--counts"])
    assert result.exit_code == 0
    assert "122 n - 60" in result.output
    assert "93" not in result.output.split("at n = 6")[0]
    assert "489 420" in result.output
    assert "Balafoutis/Patel/Misra: Six products" in result.output
    assert "CPU time" not in result.output


def test_times_and_a_figure_are_made(tmp_path):
    path = tmp_path / "costs.svg"
    options = ["--times", "--sizes", "6,3", "--figure", str(path)]
    result = CliRunner().invoke(main, [*TWO, *options])
    assert result.exit_code == 0
    assert "at n = 6" not in result.output
    assert path.stat().st_size > 1000
    assert CliRunner().invoke(main, [*TWO, *options]).exit_code == 2  # it exists


def test_one_size_has_no_powers_and_progress_is_on_stderr_alone():
    options = [*TWO, "--times", "--sizes", "4"]
    result = CliRunner().invoke(main, options)
    assert "nan" not in result.stdout
    assert "2/2" in result.stderr
    assert CliRunner().invoke(main, [*options, "--quiet"]).stderr == ""
    found = json.loads(CliRunner().invoke(main, [*options, "--json"]).output)
    assert found["costs"][0]["exponents"]["compiled"] is None


def test_json_has_everything():
    result = CliRunner().invoke(main, [*TWO, "--sizes", "3,6", "--json"])
    found = json.loads(result.output)
    assert [one["algorithm"] for one in found["counts"]] == TWO[2].split(",")
    assert found["counts"][0]["all_multiplications"] == "122 n - 60"
    assert found["published"][-1]["printed"] == [489, 420]
    assert list(found["costs"][0]["python_seconds"]) == ["3", "6"]


def test_an_algorithm_of_which_nothing_is_published_is_counted():
    options = ["classical", "--algorithms", "walker-orin-2", "--counts"]
    result = CliRunner().invoke(main, options)
    assert "38 n^2" in result.output
    assert "published as" not in result.output
    found = json.loads(CliRunner().invoke(main, [*options, "--json"]).output)
    assert (len(found["counts"]), found["published"], found["costs"]) == (1, [], [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--algorithms", "newton"], "no algorithm 'newton'; give one of uicker-kahn"),
        (["--algorithms", ""], "no algorithm ''"),
        (["--sizes", "4,x"], "'4,x' is no list of numbers of joints"),
        (["--sizes", "0"], "'0' is no list of numbers of joints"),
        (["--geometry", "round"], "no geometry 'round'; give one of general"),
        (["--figure", "costs.gif"], "no picture format '.gif'"),
    ],
)
def test_bad_options_are_errors_before_anything_is_counted(options, message):
    result = CliRunner().invoke(main, ["classical", *options])
    assert result.exit_code == 2
    assert message in result.output
