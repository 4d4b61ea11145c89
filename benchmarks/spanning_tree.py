"""The algorithms in joint coordinates beside Pinocchio's: `python -m benchmarks.spanning_tree`.

Least CPU times of calls from Python, both in the same process. On the open chain of hinges from
joint coordinates to the accelerations of the joints, or to the factor of the joint-space inertia;
on the ladder of balls method 2 beside constraintDynamics, from states to accelerations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from benchmarks.block_ldl import least_seconds
from benchmarks.cases import problem
from benchmarks.peers.pinocchio import Model, constraint_dynamics
from sparsebody.arrays import FloatArray
from sparsebody.tree import joint_coordinates, spanning_tree
from sparsebody.tree.aba import ArticulatedBody
from sparsebody.tree.crba import CompositeRigidBody
from sparsebody.tree.loops.loops_force import LoopsForce

SIZES = (8, 32, 128, 512)
ROUNDS = 3  # the least of which counts: other work on the machine comes and goes
METHOD_2 = "loops-force"
PROMISED = {"aba": 1.3, "crba + LTL": 2.0, METHOD_2: 2.0}  # times as long as Pinocchio, from 128 on
LARGEST_LADDER = 128  # the wheel of Pinocchio has no memory for more


@dataclass(frozen=True)
class Comparison:
    """One algorithm of both on a chain, or on a ladder."""

    algorithm: str
    n_bodies: int
    ours: float  # [s] a call
    pinocchio: float
    error: float  # relative difference of what both return

    @property
    def ratio(self) -> float:
        """Our time over Pinocchio's."""
        return self.ours / self.pinocchio


def comparisons(n_bodies: int, budget: float = 0.2) -> Iterator[Comparison]:
    """Yield the comparisons on a chain; `budget` [s] is that of one measurement."""
    given = problem("chain", n_bodies)
    peer = Model(given, "breadth-first", balls_as_hinges=False)
    tree = spanning_tree(given.system)
    aba, crba = ArticulatedBody(given.system, tree), CompositeRigidBody(given.system, tree)
    q, qd = joint_coordinates(tree, given.state)
    tau = np.zeros(tree.n_velocities)

    def their_aba() -> FloatArray:
        return np.asarray(pin.aba(peer.model, peer.data, peer.q, peer.v, peer.tau))

    def their_factor() -> FloatArray:
        pin.crba(peer.model, peer.data, peer.q)
        return np.asarray(pin.cholesky.decompose(peer.model, peer.data))

    def our_aba() -> FloatArray:
        return aba.joint_acceleration(q, qd, tau)

    def our_factor() -> FloatArray:
        return crba.inertia_factor(q)

    expected = their_aba()
    error = np.abs(our_aba() - expected).max() / np.abs(expected).max()
    yield _compared("aba", n_bodies, our_aba, their_aba, float(error), budget)
    their_factor()
    D = np.sort(peer.data.D)  # of U D U'; the product of all pivots is det H
    own = crba.inertia_factor(q)[tree.pattern.start[1:] - 1] ** 2
    error = abs(np.log(own).sum() - np.log(D).sum()) / n_bodies
    yield _compared("crba + LTL", n_bodies, our_factor, their_factor, float(error), budget)


def ladder_comparison(n_bodies: int, budget: float = 0.2) -> Comparison:
    """Return the comparison of method 2 on a ladder."""
    given = problem("ladder", n_bodies)
    peer, dynamics = constraint_dynamics(given), LoopsForce(given.system)

    def ours() -> FloatArray:
        return dynamics.acceleration(given.state)

    expected = peer.accelerations()
    error = float(np.abs(ours() - expected).max() / np.abs(expected).max())
    return _compared(METHOD_2, n_bodies, ours, peer.evaluate, error, budget)


def _compared(
    algorithm: str,
    n_bodies: int,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    error: float,
    budget: float,
) -> Comparison:
    """Measure in turns."""
    times = [(least_seconds(ours, budget), least_seconds(theirs, budget)) for _ in range(ROUNDS)]
    own, peer = np.min(times, axis=0)
    return Comparison(algorithm, n_bodies, float(own), float(peer), error)


def main() -> None:
    """Print the table."""
    print(f"{'algorithm':12}{'bodies':>8}{'ours/us':>10}{'pin/us':>10}{'ratio':>8}  error")
    for n in SIZES:
        ladders = [ladder_comparison(n)] if n <= LARGEST_LADDER else []
        for row in [*comparisons(n), *ladders]:
            kept = n < 128 or row.ratio <= PROMISED[row.algorithm]
            print(
                f"{row.algorithm:12}{n:8d}{row.ours * 1e6:10.1f}{row.pinocchio * 1e6:10.1f}"
                f"{row.ratio:8.2f}  {row.error:.0e}{'' if kept else '  not as promised'}"
            )


if __name__ == "__main__":
    main()
