"""Accelerations of bodies and constraint forces, from accelerations of joint coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody._core import tree as native
from sparsebody.arrays import FloatArray
from sparsebody.assembly.body_forces import add_joint_wrenches
from sparsebody.assembly.kkt import kkt_structure
from sparsebody.equations.accelerations import Accelerations
from sparsebody.equations.reactions import joint_wrenches, minimum_norm
from sparsebody.errors import SingularSystemError
from sparsebody.sparse.saddle import constraint_matrix
from sparsebody.tree.frames import body_accelerations, link_forces
from sparsebody.tree.problem import TreeProblem
from sparsebody.tree.recursive_newton_euler import recursion

TINY = 1e-300


@dataclass(frozen=True, eq=False)
class TreeSolution:
    """Accelerations of the joint coordinates, and multipliers of the loop joints."""

    qdd: FloatArray  # (n_velocities,)
    multiplier: FloatArray  # (n_rows,) of the rows of loop joints; others are ignored
    is_unique: bool = True  # whether the multipliers are
    dropped_residual: float = 0.0  # of rows that the method left out


def accelerations_of(
    problem: TreeProblem, solution: TreeSolution, reactions: str = "minimum-norm"
) -> Accelerations:
    """Return the accelerations of the bodies and the constraint forces of all joints.

    The forces of tree joints are what the recursive Newton-Euler algorithm finds transmitted; the
    residual is the largest violation of a loop row, or of a tree joint's tau = 0.

    Raises
    ------
    SingularSystemError
        If the accelerations are not finite.
    """
    tree, system, motion = problem.tree, problem.system, problem.motion
    multiplier = np.zeros(system.n_rows)
    multiplier[problem.loop_rows] = solution.multiplier[problem.loop_rows]
    force = problem.force
    if tree.n_loops:
        force = _with_loops(problem, multiplier)
    tau, acceleration, transmitted = recursion(tree, motion, solution.qdd, force)
    subspace = problem.subspace
    native.tree_multipliers(
        tree.links, motion, tree.joint, system.first_row, subspace, transmitted, multiplier
    )
    bodies = body_accelerations(tree, motion, acceleration)
    check_finite(bodies, problem.state.time)
    residual = _residual(problem, bodies, tau, transmitted)
    if not solution.is_unique and reactions == "minimum-norm":
        matrix = kkt_structure(system).matrix(problem.constraint)
        multiplier = minimum_norm(constraint_matrix(matrix), multiplier)
    return Accelerations(
        bodies,
        multiplier,
        joint_wrenches(system, subspace, multiplier),
        residual,
        solution.dropped_residual,
    )


def check_finite(bodies: FloatArray, time: float) -> None:
    """Raise SingularSystemError unless all accelerations are finite."""
    if not np.isfinite(bodies).all():
        raise SingularSystemError(
            f"the accelerations at t = {time:.6g} s are not finite: velocities or forces are too "
            "large to multiply, or a joint has lost its motion; look at the state"
        )


def _with_loops(problem: TreeProblem, multiplier: FloatArray) -> FloatArray:
    """Return the forces on the links with those of the loop joints."""
    system, loops = problem.system, problem.tree.loop_joint
    wrench = joint_wrenches(system, problem.subspace, multiplier)
    load = np.zeros((system.n_bodies, 6)) if problem.load is None else problem.load.copy()
    add_joint_wrenches(system, problem.joints, loops, wrench[loops], load)
    return link_forces(problem.tree, problem.motion, load)


def _residual(
    problem: TreeProblem, bodies: FloatArray, tau: FloatArray, transmitted: FloatArray
) -> float:
    """Return the largest relative violation of a loop row, or of S' f = 0 in a tree joint."""
    passive = tau if len(problem.is_driven) == 0 else tau[~problem.is_driven]
    size = max(np.abs(transmitted).max(initial=0.0), _inertial_size(problem, bodies), TINY)
    worst = np.abs(passive).max(initial=0.0) / size
    rows = problem.loop_rows
    if len(rows):
        system, joint = problem.system, problem.system.row_joint[rows]
        padded = np.concatenate([bodies, np.zeros((1, 6))])  # the world is the last
        both = padded[np.stack([system.predecessor[joint], system.successor[joint]], axis=1)]
        A, gamma = problem.constraint.rows[rows], problem.gamma[rows]
        terms = A * both
        free = max(np.abs(bodies).max(), np.abs(system.gravity).max())  # a rigid loop rests
        size = max(np.abs(terms).max(), np.abs(gamma).max(), np.abs(A).max() * free, TINY)
        worst = max(worst, np.abs(terms.sum(axis=(1, 2)) - gamma).max() / size)
    return float(worst)


def _inertial_size(problem: TreeProblem, bodies: FloatArray) -> float:
    """Return the size of the largest term of the bodies' equations of motion."""
    system = problem.system
    load = 0.0 if problem.load is None else np.abs(problem.load).max()
    weight = np.abs(system.gravity).max()
    velocity = problem.state.velocity
    own = native.largest_inertial_term(system.mass, system.inertia, velocity, bodies, weight)
    return max(float(load), own)
