import json
import math

import pytest
from command_line import document, run

from sparsebody.errors import SingularSystemError
from sparsebody.factorization import available_factorizations
from sparsebody.methods import METHODS
from sparsebody.study import self_test


@pytest.fixture
def few(monkeypatch):
    """A self-test of small mechanisms."""
    monkeypatch.setattr(self_test, "SEEDS", (1,))
    monkeypatch.setattr(self_test, "BODIES", 5)
    monkeypatch.setattr(self_test, "LOOPED", {"four-bar": {}})
    self_test._problems.cache_clear()
    yield
    self_test._problems.cache_clear()


def test_every_factorization_and_method_is_checked_and_passes(few):
    report = document("doctor")
    checks = {check["name"]: check for check in report["self_test"]["checks"]}
    assert report["self_test"]["passed"]
    compared = {
        name.split(": ")[1].removesuffix(" - superlu") for name in checks if "superlu" in name
    }
    assert compared == {*available_factorizations(), *METHODS} - {"superlu", "sparse"}
    assert all(check["value"] <= check["limit"] for check in checks.values())


def test_a_wrong_acceleration_is_a_failed_check_and_exit_code_1(few, monkeypatch):
    correct = self_test._accelerations

    def disturbed(problem, name):
        return correct(problem, name) * (1.0 + 1e-6 * (name == "block-qr"))

    monkeypatch.setattr(self_test, "_accelerations", disturbed)
    result = run("doctor", "--json")
    assert result.exit_code == 1
    failed = [one for one in json.loads(result.stdout)["self_test"]["checks"] if not one["passed"]]
    assert [one["name"] for one in failed] == [
        "accelerations, trees and loops: block-qr - superlu",
    ]
    assert failed[0]["value"] == pytest.approx(1e-6, rel=1e-3)


def test_an_error_is_a_failed_check_with_its_message_and_the_others_are_made(few, monkeypatch):
    def failing():
        raise SingularSystemError("zero pivot")

    monkeypatch.setattr(self_test, "_energy_error", failing)
    result = run("doctor")
    assert result.exit_code == 1
    assert "motion of a chain: energy error: SingularSystemError: zero pivot" in result.stdout
    assert "1 of " in result.stdout.splitlines()[-1]
    (check,) = [one for one in self_test.self_test() if one.error]
    assert math.isnan(check.value)
    assert not check.passed
