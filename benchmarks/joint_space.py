"""Algorithms in joint coordinates and their peers: hooks of `joint_space.toml`, `loops_aba.toml`.

"aba" and "crba" are timed from joint coordinates to the accelerations of the joints, or to the
factor of the joint-space inertia.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.criteria import Results, compared
from sparsebody.study.families import Problem
from sparsebody.study.findings import Finding
from sparsebody.study.measure import Prepared, tree_prepared
from sparsebody.study.rows import Row
from sparsebody.tree import joint_coordinates, spanning_tree, tree_dynamics
from sparsebody.tree.loops_aba import LoopsArticulatedBody
from sparsebody.tree.method import ArticulatedBody, CompositeRigidBody

PROMISED = {  # times as long as Pinocchio, from 128 bodies on
    ("chain", "aba", "pinocchio-aba"): 1.3,
    ("chain", "crba", "pinocchio-crba"): 2.0,
    ("ladder", "loops-force", "pinocchio-constraint-dynamics"): 2.0,
}


def aba(problem: Problem) -> Prepared:
    """Articulated-body algorithm."""
    tree = spanning_tree(problem.system)
    method = ArticulatedBody(problem.system, tree)
    q, qd = joint_coordinates(tree, problem.state)
    tau = np.zeros(tree.n_velocities)
    whole = tree_dynamics("aba", problem.system, reactions="basic")
    return Prepared(
        lambda: method.joint_acceleration(q, qd, tau), lambda: whole.acceleration(problem.state)
    )


def crba(problem: Problem) -> Prepared:
    """Composite-rigid-body algorithm and L' L."""
    tree = spanning_tree(problem.system)
    method, q = CompositeRigidBody(problem.system, tree), joint_coordinates(tree, problem.state)[0]
    whole = tree_dynamics("crba", problem.system, reactions="basic")
    return Prepared(lambda: method.inertia_factor(q), lambda: whole.acceleration(problem.state))


def unlucky_tree(problem: Problem) -> Prepared:
    """Return "loops-aba" on a ladder's tree that goes out along a rail and back along the other."""
    names = list(problem.system.joint_names)
    last = problem.system.n_bodies // 2 - 1
    rungs = {"base-1", *(f"rung-{s}" for s in range(last))}
    tree = spanning_tree(problem.system, joints=[name for name in names if name not in rungs])
    return tree_prepared(problem, LoopsArticulatedBody(problem.system, tree))


def findings(rows: Sequence[Row]) -> Iterator[Finding]:
    """Yield our times over Pinocchio's."""
    results, sizes = Results(rows), (128, math.inf)
    for (family, ours, theirs), limit in PROMISED.items():
        what = f"{ours}, time over Pinocchio's"
        yield compared(results, family, what, (theirs,), sizes, limit, ours=ours)
