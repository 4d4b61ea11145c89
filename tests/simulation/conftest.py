"""What the tests of simulations share."""

import pytest

from sparsebody.simulation.explicit_steps import ExplicitSteps


@pytest.fixture
def step_by_step(monkeypatch):
    """Reports, signals and files have their turn after every step, not after several."""
    monkeypatch.setattr(ExplicitSteps, "take_steps", lambda *_: None)
