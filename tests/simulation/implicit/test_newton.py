import numpy as np
import pytest
from compliant_mechanisms import STIFF, deformed
from linkages import one_body
from random_mechanisms import random_loops, random_tree
from scipy.linalg import expm, logm

import sparsebody as sb
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.errors import ModelError
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.simulation.implicit.newton import NewtonMatrix
from sparsebody.simulation.implicit.step_equations import StepEquations, uniform_compliance
from sparsebody.spatial import quaternion_from_rotation, skew

B, C = 700.0, 25.0


def equations_of(mechanism, rng):
    """Equations at the end of a step that reaches the initial state; multipliers at random."""
    system = mechanism.compile()
    state, n = system.initial_state, system.n_bodies
    equations = StepEquations(system, uniform_compliance(system, state, 1e-3), None)
    displacement = 0.05 * rng.normal(size=(n, 6))
    equations.start_from(start_of(state, displacement), 0.0)
    equations.displacement[:], equations.velocity[:] = displacement, state.velocity
    equations.acceleration[:] = rng.normal(size=(n, 6))
    equations.multiplier[:] = rng.normal(size=equations.n_rows)
    equations.evaluate()
    np.testing.assert_allclose(equations.position, state.position, atol=1e-12)
    return equations


def start_of(state, displacement):
    """The poses that are displaced to those of the state, by matrix exponentials."""
    position, orientation = state.position.copy(), state.orientation.copy()
    for i, y in enumerate(displacement):
        pose = homogeneous(state)[i] @ np.linalg.inv(expm(twist_matrix(y)))
        position[i], orientation[i] = pose[:3, 3], quaternion_from_rotation(pose[:3, :3])
    return state.with_(position=position, orientation=orientation)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 1e-2, 0.5, 0.999, 1.001, 3.0])
def test_ends_of_steps_are_displaced_by_matrix_exponentials(angle):
    """By series for rotations below a radian, with libm's functions beyond it."""
    system = one_body(position=[0.3, -0.2, 0.5]).compile()
    state, y = system.initial_state, np.array([0.6, -0.64, 0.48, 0.2, 0.9, -0.4])
    y[:3] *= angle / np.linalg.norm(y[:3])
    equations = StepEquations(system, uniform_compliance(system, state, 1e-3), None)
    equations.begin(state, displacement=y[None])
    equations.evaluate()
    pose = homogeneous(state)[0] @ expm(twist_matrix(y))
    np.testing.assert_allclose(homogeneous(equations.state())[0], pose, atol=5e-15)


def homogeneous(state):
    pose = np.tile(np.eye(4), (len(state.position), 1, 1))
    pose[:, :3, :3], pose[:, :3, 3] = body_rotations(state), state.position
    return pose


def twist_matrix(y):
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[:3, 3] = skew(y[:3]), y[3:]
    return matrix


def twist_between(before, after):
    matrix = np.real(logm(np.linalg.solve(before, after)))
    return np.array([matrix[2, 1], matrix[0, 2], matrix[1, 0], *matrix[:3, 3]])


def residual_of(equations):
    return np.concatenate([equations.force_residual.ravel(), equations.row_residual])


def assert_matrix_is_derivative(equations):
    """Along random directions: central differences of the residuals against the matrix."""
    rng, n = np.random.default_rng(5), equations.system.n_bodies
    J = equations.matrix(1.0, C, B)
    unknowns = equations.displacement, equations.velocity, equations.acceleration
    for _ in range(4):
        dy, dl, h = rng.normal(size=(n, 6)), rng.normal(size=equations.n_rows), 1e-6
        ends = []
        for sign in (-1.0, 1.0):
            kept = [x.copy() for x in (*unknowns, equations.multiplier)]
            for x, factor in zip(unknowns, (1.0, C, B), strict=True):
                x += sign * h * factor * dy
            equations.multiplier[:] += sign * h * dl
            equations.evaluate()
            residual = residual_of(equations)
            ends.append((residual, homogeneous(equations.state())))
            for x, value in zip((*unknowns, equations.multiplier), kept, strict=True):
                x[:] = value
        poses = zip(ends[0][1], ends[1][1], strict=True)
        twist = np.array([twist_between(*pair) for pair in poses]) / (2 * h)
        change = (ends[1][0] - ends[0][0]) / (2 * h)
        predicted = J @ np.concatenate([twist.ravel(), dl])
        np.testing.assert_allclose(predicted, change, atol=2e-6 * np.abs(change).max())


@pytest.mark.parametrize("name", sb.JOINT_TYPES)
def test_newton_matrix_is_the_derivative_of_the_residuals_for_every_joint_type(name):
    rng = np.random.default_rng(sum(map(ord, name)))
    mechanism = random_loops(rng, 3, 2, (name,) if name != "free" else ("revolute",), (name,))
    assert_matrix_is_derivative(equations_of(mechanism, rng))


@pytest.mark.parametrize("name", STIFF)
def test_newton_matrix_is_the_derivative_for_elastic_elements_however_deformed(name):
    mechanism = deformed(sum(map(ord, name)), [name])
    assert_matrix_is_derivative(equations_of(mechanism, np.random.default_rng(1)))


def test_newton_matrix_holds_springs_dampers_drives_and_loads():
    rng = np.random.default_rng(8)
    names = ("revolute", "cylindrical", "universal", "planar", "helical", "point-on-line")
    mechanism = random_tree(rng, 6, names)
    for k, (joint_name, joint) in enumerate(list(mechanism.joints.items())):
        for coordinate in range(joint.type.n_velocities):
            if joint.type.name == "point-on-line" and coordinate < 3:
                continue
            spring = {"stiffness": 3.0 + k, "rest": 0.2, "damping": 1.5, "effort": 0.3}
            name = f"spring {k} {coordinate}"
            mechanism.add_joint_force(name, joint_name, coordinate=coordinate, **spring)
    rod = {"first_point": [0.1, 0.2, 0.3], "stiffness": 20.0, "rest_length": 0.4, "damping": 2.0}
    mechanism.add_point_force("rod", "b0", "b4", **rod)
    mechanism.add_point_force("pull", "b3", sb.WORLD, second_point=[3.0, 0.2, 0.3], effort=5.0)
    mechanism.add_external_force("load", "b2", force=[3, 4, 5], moment=[1, 2, 3], point=[0.1, 0, 0])
    mechanism.add_external_force("thrust", "b5", force=[3, 4, 5], axes="body")
    assert_matrix_is_derivative(equations_of(mechanism, rng))


def test_correction_by_the_factors_is_that_of_the_whole_matrix_but_for_skew_parts():
    rng = np.random.default_rng(3)
    mechanism = random_loops(rng, 5, 3, ("revolute", "spherical", "universal", "helical"))
    equations = equations_of(mechanism, rng)
    for scale in (1.0, 1e-3):  # of all that makes blocks of bodies unsymmetric
        equations.velocity *= scale
        equations.start_from(start_of(equations.state(), scale * equations.displacement), 0.0)
        equations.displacement *= scale
        equations.evaluate()
        matrix = NewtonMatrix(equations, "auto", "auto")
        whole = equations.matrix(1.0, C, B).toarray()
        residual = residual_of(equations)
        matrix.factorize(B, C)
        matrix.solve()
        solution = np.concatenate([matrix.twist.ravel(), matrix.multiplier])
        error = np.abs(whole @ solution + residual).max() / np.abs(residual).max()
        assert error < 0.3 * scale + 3e-3


def test_correction_by_the_whole_matrix_solves_newtons_equations():
    rng = np.random.default_rng(4)
    equations = equations_of(random_loops(rng, 5, 3), rng)
    matrix = NewtonMatrix(equations, "auto", "auto")
    twist, multiplier = matrix.solve_full(B, C)
    correction = np.concatenate([twist.ravel(), multiplier])
    expected = -residual_of(equations)
    np.testing.assert_allclose(equations.matrix(1.0, C, B) @ correction, expected, atol=1e-8)


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
        motion.constraint.rows, system.ends[system.row_joint], multiplier, strict=True
    ):
        for side in np.flatnonzero(ends >= 0):
            expected[ends[side]] += row[side] * value
    np.testing.assert_allclose(equations.force_residual, expected, atol=1e-11)
    diagonal = equations.compliance.diagonal
    np.testing.assert_allclose(
        equations.row_residual, motion.position_error - diagonal * multiplier, atol=1e-12
    )


def test_a_spring_without_a_direction_is_an_error_that_names_it():
    mechanism = one_body()
    mechanism.add_point_force("coil", "body", sb.WORLD, stiffness=1.0)
    with pytest.raises(ModelError, match="'coil': its points coincide"):
        sb.simulate(mechanism.compile(), duration=0.1, step=0.1, method="generalized-alpha")
