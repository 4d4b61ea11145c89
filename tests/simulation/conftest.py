"""What the tests of simulations share."""

import pytest

from sparsebody.simulation.explicit_steps import ExplicitSteps
from sparsebody.simulation.implicit.implicit_stepper import ImplicitStepper


@pytest.fixture
def step_by_step(monkeypatch):
    """Reports, signals and files have their turn after every step, not after several."""
    for several in (ExplicitSteps, ImplicitStepper):
        monkeypatch.setattr(several, "take_steps", lambda *_: None)
