"""Algorithms in joint coordinates and their peers: hooks of `joint_space.toml`, `loops_aba.toml`.

"aba", "crba" and "derivatives" are timed from joint coordinates to the accelerations of the joints,
to the factor of the joint-space inertia, or to all derivatives of the accelerations.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks.criteria import OfFamily, compared
from sparsebody.arrays import FloatArray
from sparsebody.study.families import Problem
from sparsebody.study.findings import Finding
from sparsebody.study.measure import Prepared, tree_prepared
from sparsebody.study.rows import Row
from sparsebody.tree import TreeDerivatives, joint_coordinates, spanning_tree, tree_dynamics
from sparsebody.tree.loops_aba import LoopsArticulatedBody
from sparsebody.tree.method import ArticulatedBody, CompositeRigidBody

PROMISED = {  # times as long as Pinocchio, from 128 bodies on
    ("chain", "aba", "pinocchio-aba"): 1.3,
    ("chain", "crba", "pinocchio-crba"): 2.0,
    ("chain", "derivatives", "pinocchio-derivatives"): 4.0,
    ("ladder", "loops-force", "pinocchio-constraint-dynamics"): 2.0,
}


def aba(problem: Problem) -> Prepared:
    """Articulated-body algorithm."""
    tree = spanning_tree(problem.system)
    method, tau = ArticulatedBody(problem.system, tree), np.zeros(tree.n_velocities)
    q, qd = joint_coordinates(tree, problem.state)
    return _timed(problem, "aba", lambda: method.joint_acceleration(q, qd, tau))


def crba(problem: Problem) -> Prepared:
    """Composite-rigid-body algorithm and L' L."""
    tree = spanning_tree(problem.system)
    method, q = CompositeRigidBody(problem.system, tree), joint_coordinates(tree, problem.state)[0]
    return _timed(problem, "crba", lambda: method.inertia_factor(q))


def derivatives(problem: Problem) -> Prepared:
    """Derivatives of the joint accelerations by positions, velocities and forces."""
    of = TreeDerivatives(problem.system)
    q, qd = joint_coordinates(of.tree, problem.state)
    tau = np.zeros_like(qd)
    return _timed(problem, "aba", lambda: of.forward_dynamics(q, qd, tau).qdd_q)


def _timed(problem: Problem, method: str, part: Callable[[], FloatArray]) -> Prepared:
    """Return a part of a method, which is timed, with the accelerations by all of it."""
    whole = tree_dynamics(method, problem.system, reactions="basic")
    return Prepared(part, partial(whole.acceleration, problem.state))


def unlucky_tree(problem: Problem) -> Prepared:
    """Return "loops-aba" on a ladder's tree that goes out along a rail and back along the other."""
    last = problem.system.n_bodies // 2 - 1
    rungs = {"base-1", *(f"rung-{s}" for s in range(last))}
    joints = [name for name in problem.system.joint_names if name not in rungs]
    tree = spanning_tree(problem.system, joints=joints)
    return tree_prepared(problem, LoopsArticulatedBody(problem.system, tree))


def findings(rows: Sequence[Row]) -> Iterator[Finding]:
    """Yield our times over Pinocchio's."""
    for (family, ours, theirs), limit in PROMISED.items():
        of, what = OfFamily(family, rows), f"{ours}, time over Pinocchio's"
        yield compared(of, what, (theirs,), (128, math.inf), limit, ours=ours)
