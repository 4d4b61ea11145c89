import json

from click.testing import CliRunner

from sparsebody import _core
from sparsebody.cli import main


def test_the_build_of_the_kernels_in_use_is_shown():
    result = CliRunner().invoke(main, ["doctor"], catch_exceptions=False)
    assert f"native kernels: {_core.level}" in result.stdout
    assert "scikit-sparse" in result.stdout


def test_the_same_as_json():
    report = json.loads(CliRunner().invoke(main, ["doctor", "--json"]).stdout)
    assert report["kernels"]["in_use"] in report["kernels"]["available"]
    assert report["packages"]["numpy"]
