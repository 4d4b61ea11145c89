from __future__ import annotations

import numpy as np
import pytest
from random_mechanisms import random_loops

import sparsebody as sb
from sparsebody.equations.system_motion import SystemMotion, joint_ends
from sparsebody.errors import ModelError
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.simulation.implicit.step_equations import (
    Compliance,
    StepEquations,
    uniform_compliance,
)


@pytest.mark.parametrize("seed", range(3))
def test_residuals_are_those_of_the_readable_assembly(seed):
    rng = np.random.default_rng(seed)
    mechanism = random_loops(rng, 5, 2)
    mechanism.add_external_force("load", "b1", force=[1, 2, 3], moment=[3, 1, 2], point=[0.1, 0, 1])
    mechanism.add_point_force("spring", "b0", "b3", first_point=[1, 2, 3], stiffness=5.0, damping=2)
    system = mechanism.compile()
    state = system.initial_state.with_(velocity=rng.normal(size=(5, 6)))
    wrench, acceleration = rng.normal(size=(5, 6)), rng.normal(size=(5, 6))
    multiplier = rng.normal(size=system.n_rows)
    equations = StepEquations(
        system, uniform_compliance(system, state, 1e-2), lambda time, state: wrench
    )
    equations.start_from(state, 0.0)
    equations.velocity[:], equations.acceleration[:] = state.velocity, acceleration
    equations.multiplier[:] = multiplier
    equations.evaluate()
    motion = SystemMotion(system, state, wrench)
    expected = np.einsum("nij,nj->ni", system.spatial_inertia, acceleration)
    expected += motion.bias - motion.applied
    for row, ends, value in zip(
        motion.constraint.rows, joint_ends(system, system.row_joint), multiplier, strict=True
    ):
        for side in np.flatnonzero(ends >= 0):
            expected[ends[side]] += row[side] * value
    np.testing.assert_allclose(equations.force_residual, expected, atol=1e-11)
    diagonal = equations.compliance.diagonal
    np.testing.assert_allclose(
        equations.row_residual, motion.position_error - diagonal * multiplier, atol=1e-12
    )


def test_displacement_is_the_exponential_of_a_twist_in_body_coordinates():
    """A helix about an axis fixed in the body, from the closed form."""
    mechanism = sb.Mechanism("screw", gravity=(0, 0, 0))
    mechanism.add_body("nut", mass=1.0, inertia=[1, 1, 1], orientation=[0.6, 0.8, 0.0, 0.0])
    system = mechanism.compile()
    state, r, angle = system.initial_state, np.array([2.0, 0.0, 0.0]), 1.2
    equations = StepEquations(
        system, Compliance(np.zeros(0), np.zeros(1, dtype=np.intp), np.zeros(0)), None
    )
    equations.start_from(state, 0.0)
    axis = np.array([0.0, 0.0, 1.0])
    equations.displacement[0] = angle * np.concatenate([axis, np.cross(r, axis) + 0.5 * axis])
    equations.evaluate()
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
    before, after = body_rotations(state)[0], body_rotations(equations.state())[0]
    np.testing.assert_allclose(after, before @ turn, atol=1e-14)
    x = before @ (r - turn @ r + 0.5 * angle * axis)
    np.testing.assert_allclose(equations.position[0], x, atol=1e-14)


def test_a_spring_without_a_direction_is_an_error_that_names_it():
    mechanism = sb.Mechanism("spring")
    mechanism.add_body("ball", mass=1.0, inertia=[1, 1, 1])
    mechanism.add_point_force("coil", "ball", sb.WORLD, stiffness=1.0)
    with pytest.raises(ModelError, match="'coil': its points coincide"):
        sb.simulate(mechanism.compile(), duration=0.1, step=0.1, method="generalized-alpha")
