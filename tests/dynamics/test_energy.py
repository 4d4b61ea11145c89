"""Energy and momentum against sums over bodies and springs, and their rates."""

import numpy as np
import oracles
import pytest
from random_mechanisms import random_loops, random_tree

from sparsebody.dynamics.energy import (
    energy,
    gravity_energy,
    is_conservative,
    joint_spring_energy,
    kinetic_energy,
    point_spring_energy,
    total_momentum,
)
from sparsebody.dynamics.forward import forward_dynamics
from sparsebody.dynamics.initial import consistent_state
from sparsebody.kinematics.coordinates import coordinate_motion
from sparsebody.kinematics.motion import joint_motion
from sparsebody.kinematics.poses import displaced
from sparsebody.model.joints import Prismatic, Revolute
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.system import State, System
from sparsebody.model.time_functions import Sinusoid

MOBILE = ("spherical", "universal", "planar", "cylindrical")


def sprung(seed: int) -> tuple[System, State]:
    """Loops with springs on joints and between points, moving consistently."""
    rng = np.random.default_rng(seed)
    mechanism = random_loops(rng, 5, 1, MOBILE, moving=True)
    mechanism.add_body("free", mass=1.0, inertia=[1, 1, 1], position=[3, 0, 0])
    for name, joint in mechanism.joints.items():
        for i in joint.type.scalar_positions:
            mechanism.add_joint_force(
                f"{name}.{i}", name, coordinate=i, stiffness=rng.uniform(1, 3), rest=rng.normal()
            )
    mechanism.add_point_force("tie", "free", "b1", stiffness=2.0, rest_length=0.5)
    mechanism.add_point_force(
        "anchor", WORLD, "free", first_point=[0, 1, 0], second_point=[1, 0, 0], stiffness=3.0
    )
    system = mechanism.compile()
    return system, consistent_state(system)


@pytest.mark.parametrize("seed", range(4))
def test_kinetic_energy_and_momentum_are_sums_over_bodies(seed: int) -> None:
    system, state = sprung(seed)
    view = oracles.WorldView(system, state)
    kinetic, momentum = 0.0, np.zeros(6)
    for m, I_c, R, x, w, u in zip(
        system.mass, system.inertia, view.rotation, view.center, view.spin, view.speed, strict=True
    ):
        spin_momentum = R @ I_c @ R.T @ w
        kinetic += 0.5 * m * u @ u + 0.5 * w @ spin_momentum
        momentum += np.concatenate([spin_momentum + np.cross(x, m * u), m * u])
    assert kinetic_energy(system, state) == pytest.approx(kinetic)
    np.testing.assert_allclose(total_momentum(system, state), momentum, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_energy_is_conserved_by_the_accelerations(seed: int) -> None:
    """d(kinetic)/dt = v' I a, and the potential falls by as much."""
    system, state = sprung(seed)
    assert is_conservative(system)
    a = forward_dynamics(system, state).acceleration
    power = np.einsum("ni,nij,nj->", state.velocity, system.spatial_inertia, a)
    h = 1e-6

    def potential(step: float) -> float:
        moved = displaced(state, step * state.velocity)
        motion = joint_motion(system, moved)
        value = coordinate_motion(system, moved, motion).value
        return energy(system, moved.with_(coordinate=value)).potential

    rate = (potential(h) - potential(-h)) / (2 * h)
    assert power == pytest.approx(-rate, rel=1e-6)


def test_each_kind_of_potential_energy_has_its_formula() -> None:
    mechanism = Mechanism(gravity=[0, 0, -10.0])
    mechanism.add_body("a", mass=2.0, inertia=[1, 1, 1], position=[0, 0, 3])
    mechanism.add_joint("slide", Prismatic(), WORLD, "a", point=[0, 0, 0])
    mechanism.add_joint_force("spring", "slide", stiffness=4.0, rest=0.5)
    mechanism.add_point_force("tie", WORLD, "a", stiffness=6.0, rest_length=1.0)
    system = mechanism.compile()
    state = consistent_state(system)
    assert gravity_energy(system, state) == pytest.approx(60.0)
    assert joint_spring_energy(system, state) == pytest.approx(0.5 * 4.0 * 0.25)
    assert point_spring_energy(system, state) == pytest.approx(0.5 * 6.0 * 4.0)
    assert energy(system, state).total == pytest.approx(60.0 + 0.5 + 12.0)


@pytest.mark.parametrize("kind", ["damper", "effort", "drive", "load", "point damper"])
def test_whatever_feeds_or_eats_energy_is_noticed(kind: str) -> None:
    mechanism = random_tree(np.random.default_rng(0), 3, ("revolute",))
    if kind == "damper":
        mechanism.add_joint_force("f", "j0", damping=1.0)
    elif kind == "effort":
        mechanism.add_joint_force("f", "j0", effort=1.0)
    elif kind == "load":
        mechanism.add_external_force("f", "b0", force=[1, 0, 0])
    elif kind == "point damper":
        mechanism.add_point_force("f", "b0", "b1", damping=1.0)
    else:
        wave = Sinusoid(1.0, 1.0)
        mechanism.add_joint("extra", Revolute(), "b0", "b2", prescribed=wave)
    assert not is_conservative(mechanism.compile())


def test_a_locked_joint_does_no_work() -> None:
    mechanism = random_tree(np.random.default_rng(0), 2, ("revolute",))
    mechanism.add_body("c", mass=1.0, inertia=[1, 1, 1])
    mechanism.add_joint("lock", Revolute(), "b0", "c", prescribed=0.3)
    assert is_conservative(mechanism.compile())
