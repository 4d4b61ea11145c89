"""Errors of rows, and powers of dampers, at many times."""

import numpy as np
import pytest
from linkages import one_body

import sparsebody as sb
from sparsebody.equations.system_motion import constraint_errors, damping_powers, largest_errors
from sparsebody.errors import ModelError
from sparsebody.model.system import States


def test_errors_of_driven_motions_are_those_at_each_time():
    system = sb.build("scissor", drive=True).compile()
    run = sb.simulate(system, duration=0.2, step=0.01)
    moved = [run.state(k).with_(time=0.01 * k + 1e-3) for k in range(len(run))]
    multiplier = np.random.default_rng(0).normal(size=(len(run), system.n_rows))
    position, velocity, energy = largest_errors(system, States.of(*moved), multiplier)
    errors = [constraint_errors(system, state) for state in moved]
    assert position.tolist() == [np.abs(delta).max() for delta, _ in errors]
    assert velocity.tolist() == [np.abs(rate).max() for _, rate in errors]
    expected = [0.5 * of @ delta for of, (delta, _) in zip(multiplier, errors, strict=True)]
    np.testing.assert_allclose(energy, expected, rtol=1e-12)
    assert position.max() > 1e-6


def damped(**force):
    mechanism = one_body(sb.Prismatic())
    mechanism.add_joint_force("spring", "joint", stiffness=7.0, damping=3.0, effort=5.0)
    mechanism.add_point_force("strut", sb.WORLD, "body", stiffness=11.0, **force)
    system = mechanism.compile()
    state = system.initial_state.with_(velocity=np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 2.0]]))
    return system, state, state.with_(velocity=-1.5 * state.velocity)


def test_dampers_take_the_square_of_the_rate_times_their_coefficient():
    """Of springs and efforts nothing counts; the strut of 2 m along x is not stretched."""
    system, *states = damped(damping=13.0, first_point=[-2.0, 0.0, 0.0])
    power = damping_powers(system, States.of(*states))
    np.testing.assert_allclose(power, [3.0 * 2.0**2, 3.0 * 3.0**2], rtol=1e-14)
    free = sb.build("chain").compile()
    assert damping_powers(free, States.of(free.initial_state)).tolist() == [0.0]


def test_dampers_between_points_that_coincide_are_named():
    system, *states = damped(damping=13.0)
    with pytest.raises(ModelError, match="strut"):
        damping_powers(system, States.of(*states))
