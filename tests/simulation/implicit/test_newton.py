from __future__ import annotations

import numpy as np
import pytest
from compliant_mechanisms import STIFF, deformed
from random_mechanisms import random_loops, random_tree
from scipy.linalg import expm, logm

from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.model.joints import JOINT_TYPES
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.system import State
from sparsebody.simulation.implicit.newton import NewtonMatrix
from sparsebody.simulation.implicit.step_equations import StepEquations, uniform_compliance

B, C = 700.0, 25.0


def equations_of(mechanism: Mechanism, rng: np.random.Generator) -> StepEquations:
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


def start_of(state: State, displacement: np.ndarray) -> State:
    """The poses that are displaced to those of the state, by matrix exponentials."""
    position, orientation = state.position.copy(), state.orientation.copy()
    for i, y in enumerate(displacement):
        pose = homogeneous(state)[i] @ np.linalg.inv(expm(twist_matrix(y)))
        position[i], orientation[i] = pose[:3, 3], quaternion(pose[:3, :3])
    return state.with_(position=position, orientation=orientation)


def homogeneous(state: State) -> np.ndarray:
    pose = np.tile(np.eye(4), (len(state.position), 1, 1))
    pose[:, :3, :3], pose[:, :3, 3] = body_rotations(state), state.position
    return pose


def quaternion(R: np.ndarray) -> np.ndarray:
    w = np.sqrt(max(0.0, 1.0 + np.trace(R))) / 2
    vector = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4 * w)
    return np.array([w, *vector])


def twist_matrix(y: np.ndarray) -> np.ndarray:
    w, u = y[:3], y[3:]
    matrix = np.zeros((4, 4))
    matrix[:3, :3] = [[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]
    matrix[:3, 3] = u
    return matrix


def twist_between(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    matrix = np.real(logm(np.linalg.solve(before, after)))
    return np.array([matrix[2, 1], matrix[0, 2], matrix[1, 0], *matrix[:3, 3]])


def assert_matrix_is_derivative(equations: StepEquations) -> None:
    """Along random directions: central differences of the residuals against the matrix."""
    rng, n = np.random.default_rng(5), equations.system.n_bodies
    J = NewtonMatrix(equations, "auto", "auto").assembled(B, C)
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
            residual = np.concatenate([equations.force_residual.ravel(), equations.row_residual])
            ends.append((residual, homogeneous(equations.state())))
            for x, value in zip((*unknowns, equations.multiplier), kept, strict=True):
                x[:] = value
        poses = zip(ends[0][1], ends[1][1], strict=True)
        twist = np.array([twist_between(*pair) for pair in poses]) / (2 * h)
        change = (ends[1][0] - ends[0][0]) / (2 * h)
        predicted = J @ np.concatenate([twist.ravel(), dl])
        np.testing.assert_allclose(predicted, change, atol=2e-6 * np.abs(change).max())


@pytest.mark.parametrize("name", JOINT_TYPES)
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
            mechanism.add_joint_force(
                f"spring {k} {coordinate}",
                joint_name,
                coordinate=coordinate,
                stiffness=3.0 + k,
                rest=0.2,
                damping=1.5,
                effort=0.3,
            )
    mechanism.add_point_force(
        "rod", "b0", "b4", first_point=[0.1, 0.2, 0.3], stiffness=20.0, rest_length=0.4, damping=2.0
    )
    mechanism.add_point_force("pull", "b3", WORLD, second_point=[3.0, 0.2, 0.3], effort=5.0)
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
        whole = matrix.assembled(B, C).toarray()
        residual = np.concatenate([equations.force_residual.ravel(), equations.row_residual])
        matrix.factorize(B, C)
        matrix.solve()
        solution = np.concatenate([matrix.twist.ravel(), matrix.multiplier])
        error = np.abs(whole @ solution + residual).max() / np.abs(residual).max()
        assert error < 0.3 * scale + 3e-3


def test_correction_by_the_whole_matrix_solves_newtons_equations():
    rng = np.random.default_rng(4)
    equations = equations_of(random_loops(rng, 5, 3), rng)
    matrix = NewtonMatrix(equations, "auto", "auto")
    residual = np.concatenate([equations.force_residual.ravel(), equations.row_residual])
    matrix.solve_whole(B, C)
    correction = np.concatenate([matrix.twist.ravel(), matrix.multiplier])
    np.testing.assert_allclose(matrix.assembled(B, C) @ correction, -residual, atol=1e-8)
