"""Errors of rows, and powers of dampers, at many times."""

import numpy as np
import pytest
from linkages import one_body
from random_mechanisms import random_loops

import sparsebody as sb
from sparsebody.equations.system_motion import constraint_errors, damping_powers, motion_records
from sparsebody.errors import ModelError
from sparsebody.model.system import States


@pytest.mark.parametrize("size", [1e-3, 0.3])
@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_errors_of_records_are_those_at_each_time(size, seed):
    """Of a driven mechanism, and of random joints, open a little or far; not of four times each."""
    rng = np.random.default_rng(seed)
    mechanism = sb.build("scissor", drive=True) if seed is None else random_loops(rng, 6, 4)
    system = mechanism.compile()
    start, n = system.initial_state, system.n_bodies
    moved = [sb.displaced(start, size * rng.normal(size=(n, 6))) for _ in range(7)]
    moved = [s.with_(time=0.1 * k, velocity=rng.normal(size=(n, 6))) for k, s in enumerate(moved)]
    multiplier = rng.normal(size=(7, system.n_rows))
    records = motion_records(system, States.of(*moved), multiplier)
    errors = [constraint_errors(system, state) for state in moved]
    largest = [[np.abs(error).max() for error in pair] for pair in errors]
    np.testing.assert_allclose(records.position_error, [of[0] for of in largest], rtol=1e-12)
    np.testing.assert_allclose(records.velocity_error, [of[1] for of in largest], rtol=1e-12)
    terms = [0.5 * of * delta for of, (delta, _) in zip(multiplier, errors, strict=True)]
    error = np.abs(records.elastic_energy - np.sum(terms, axis=1))
    assert (error < 1e-12 * np.abs(terms).sum(axis=1)).all()


def test_records_of_many_bodies_are_those_of_some():
    """Of two chains in which the same bodies move, one so long that each record is alone."""
    records = []
    for n in (20, 5000):
        system, rng = sb.build("chain", bodies=n).compile(), np.random.default_rng(0)
        twist, velocity = np.zeros((2, 6, n, 6))
        twist[:, :10], velocity[:, :10] = rng.normal(size=(2, 6, 10, 6))
        moved = [sb.displaced(system.initial_state, of) for of in twist]
        states = [state.with_(velocity=of) for state, of in zip(moved, velocity, strict=True)]
        multiplier = np.zeros((6, system.n_rows))
        multiplier[:, :40] = rng.normal(size=(6, 40))
        records.append(motion_records(system, States.of(*states), multiplier))
    few, many = records
    for name in ("kinetic_energy", "position_error", "velocity_error", "elastic_energy"):
        np.testing.assert_allclose(getattr(few, name), getattr(many, name), rtol=1e-12)
    np.testing.assert_allclose(few.momentum, many.momentum, rtol=1e-12, atol=1e-12)


def test_errors_that_are_no_numbers_are_recorded_as_such():
    system = sb.build("ladder").compile()
    states = States.of(*[system.initial_state] * 5)
    velocity = states.velocity.copy()
    velocity[3, 7, 4] = np.nan
    records = motion_records(system, states._replace(velocity=velocity))
    assert np.isnan(records.velocity_error).tolist() == [k == 3 for k in range(5)]
    assert np.isfinite(records.position_error).all()


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
