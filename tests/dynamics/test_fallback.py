"""Another evaluator where one cannot evaluate a state."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import sparsebody as sb
from sparsebody.dynamics.evaluators import BlockQRSolver, solvers
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.errors import SingularSystemError
from sparsebody.factorization.superlu import SuperLUSymbolic
from sparsebody.model.gallery import build

FACTORIZATIONS = ["block-ldl", "superlu"]


def scissor(factorization: str) -> ForwardDynamics:
    system = build("scissor", pairs=4).compile()
    return ForwardDynamics(system, factorization=factorization, reduction="none")


@pytest.fixture
def inaccurate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take factors for inaccurate, or for singular, if they are not those of QR."""

    def lose(*_: object) -> object:
        raise SingularSystemError("a pivot of dual block 2 vanishes")

    monkeypatch.setattr(solvers, "ROUGH_CORRECTION", -1.0)
    monkeypatch.setattr(SuperLUSymbolic, "factorize", lose)


@pytest.mark.usefixtures("inaccurate")
@pytest.mark.parametrize("factorization", FACTORIZATIONS)
def test_qr_takes_over_in_a_new_evaluator_and_history_tells(factorization: str) -> None:
    dynamics = scissor(factorization)
    state, before = sb.consistent_state(dynamics.system), dynamics.evaluator
    acceleration = dynamics.acceleration(state)
    np.testing.assert_allclose(acceleration, scissor("dense").acceleration(state), atol=1e-9)
    assert isinstance(dynamics.evaluator.solver, BlockQRSolver)
    assert dynamics.evaluator.assembler is before.assembler
    assert not isinstance(before.solver, BlockQRSolver)
    history = dynamics.explain()["history"]
    assert history == ["block-qr: rounding hides the softest motions at t = 0 s"]
    again = copy.deepcopy(dynamics)
    np.testing.assert_array_equal(again.acceleration(state), dynamics.acceleration(state))
    assert again.explain()["history"] == history


@pytest.mark.usefixtures("inaccurate")
@pytest.mark.parametrize("factorization", FACTORIZATIONS)
def test_what_qr_refuses_too_is_refused_by_name_and_changes_nothing(
    factorization: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dynamics = scissor(factorization)
    evaluator = dynamics.evaluator
    monkeypatch.setattr(BlockQRSolver, "_factorize", refuse)
    with pytest.raises(SingularSystemError, match="joint 'a'"):
        dynamics.acceleration(sb.consistent_state(dynamics.system))
    assert dynamics.evaluator is evaluator
    assert dynamics.explain()["history"] == []


def refuse(*_: object) -> None:
    raise SingularSystemError("a pivot of joint 'a' vanishes")
