import json

import pytest
from click.testing import CliRunner

from sparsebody.cli import main

STUDY = """
batch_seconds = 1e-4
repeats = 1
[reference]
largest = 1
[families.chain]
mechanism = "chain"
[[runs]]
sizes = [2]
factorizations = ["dense"]
"""


def test_a_study_runs_and_says_where_its_results_are(tmp_path):
    (tmp_path / "mine.toml").write_text(STUDY)
    arguments = ["study", str(tmp_path / "mine.toml"), "--output", str(tmp_path / "out")]
    first = CliRunner().invoke(main, [*arguments, "--jobs", "1", "--time-limit", "50"])
    assert first.exit_code == 0, first.stderr
    target = tmp_path / "out" / "results.csv"
    assert first.stdout == f"{target}: 1 cases: 1 ok\n"
    assert "chain 2 sparse dense: ok" in first.stderr
    again = CliRunner().invoke(main, [*arguments, "--json", "--memory-limit", "900"])
    assert json.loads(again.stdout) == {"results": str(target), "cases": 1, "status": {"ok": 1}}


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ([], "mine.toml: families: "),
        (["--jobs", "0"], "0 is not in the range x>=1"),
        (["--time-limit", "-1"], "'-1' is not a positive number of seconds"),
        (["--memory-limit", "0"], "0.0 is not in the range x>0"),
        (["--format", "xlsx"], "'xlsx' is not one of 'csv', 'parquet'"),
    ],
)
def test_bad_input_is_one_line_and_code_2(tmp_path, extra, message):
    (tmp_path / "mine.toml").write_text("families = 3\nruns = []\n")
    result = CliRunner().invoke(main, ["study", str(tmp_path / "mine.toml"), *extra])
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_results_that_are_not_there_are_bad_input(tmp_path):
    result = CliRunner().invoke(main, ["report", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert "cannot be read" in result.stderr
