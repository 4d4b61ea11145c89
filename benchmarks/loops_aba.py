"""Method "loops-aba" beside Pinocchio's LCABA: `python -m benchmarks.loops_aba [sizes]`.

CPU times of one evaluation in the same run, medians of five batches: ours called from Python, from
the states of bodies to their accelerations; Pinocchio's measured in C++ around the algorithm alone
(benchmarks.peers.pinocchio_lean), once with its fastest and once with its more accurate settings.
Errors are those to benchmarks.oracle.
The ladder is also run with an unlucky tree, out along one rail and back along the other one.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.cases import Problem, problem
from benchmarks.measure import timings
from benchmarks.oracle import reference
from benchmarks.peers import pinocchio_lean
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.tree import SpanningTree, spanning_tree
from sparsebody.tree.loops.loops_aba import LoopsArticulatedBody

SIZES = (32, 128, 512, 2048)
MECHANISMS = ("ladder", "scissor", "lattice")
LARGEST_UNLUCKY = 512
PEERS: dict[str, Callable[[Problem], Any]] = {
    "pinocchio lcaba": pinocchio_lean.lcaba,
    "pinocchio lcaba, accurate": pinocchio_lean.lcaba_accurate,
}


@dataclass(frozen=True)
class Row:
    """One method on one mechanism."""

    mechanism: str
    n_bodies: int
    method: str
    seconds: float  # CPU time of one evaluation
    error: float  # relative to the largest acceleration
    detail: str = ""


def unlucky_tree(given: Problem) -> SpanningTree:
    """Return the tree of a ladder that is one chain, out along a rail and back along the other."""
    names = list(given.system.joint_names)
    last = given.system.n_bodies // 2 - 1
    rungs = [f"rung-{s}" for s in range(last)]
    return spanning_tree(given.system, joints=[n for n in names if n not in {*rungs, "base-1"}])


def rows(mechanism: str, n_bodies: int) -> list[Row]:
    """Return all methods on one mechanism."""
    given = problem(mechanism, n_bodies)
    exact = reference(given).acceleration
    n = given.system.n_bodies
    found = [
        _tree_row(given, exact, "loops-aba", LoopsArticulatedBody(given.system)),
    ]
    if mechanism == "ladder" and n <= LARGEST_UNLUCKY:
        unlucky = LoopsArticulatedBody(given.system, unlucky_tree(given))
        found.append(_tree_row(given, exact, "loops-aba, unlucky tree", unlucky))
    sparse = ForwardDynamics(given.system, given.state, reactions="basic")
    seconds = _median_seconds(lambda: sparse.acceleration(given.state))
    found.append(Row(mechanism, n, "sparse", seconds, _error(sparse, given, exact)))
    if pinocchio_lean.is_available():
        pinocchio_lean.program()
        found += [_peer_row(given, exact, name) for name in PEERS]
    return found


def _tree_row(given: Problem, exact: FloatArray, name: str, dynamics: LoopsArticulatedBody) -> Row:
    error = _error(dynamics, given, exact)
    seconds = _median_seconds(lambda: dynamics.acceleration(given.state))
    told = dynamics.explain()
    detail = (
        f"{told['tree']} tree, depth {told['depth']}, {told['loop_rows']} rows cut, fronts of "
        f"{told['widest_front']}, {told['solutions']} solutions"
    )
    return Row(given.mechanism, given.system.n_bodies, name, seconds, error, detail)


def _median_seconds(call: Callable[[], object]) -> float:
    return float(timings(SimpleNamespace(evaluate=call))["cpu_us"]) * 1e-6


def _peer_row(given: Problem, exact: FloatArray, name: str) -> Row:
    n = given.system.n_bodies
    try:
        peer = PEERS[name](given)
    except MemoryError as reason:
        return Row(given.mechanism, n, name, math.nan, math.nan, str(reason))
    error = float(np.abs(peer.accelerations() - exact).max() / np.abs(exact).max())
    detail = peer.detail.removeprefix("C++, ")
    return Row(given.mechanism, n, name, peer.measure()[0], error, detail)


def _error(dynamics: Any, given: Problem, exact: FloatArray) -> float:
    found = dynamics.acceleration(given.state)
    return float(np.abs(found - exact).max() / np.abs(exact).max())


def main() -> None:
    """Print the table, and how the times of each method grow."""
    sizes = tuple(map(int, sys.argv[1:])) or SIZES
    print(f"{'mechanism':10}{'bodies':>7}  {'method':27}{'us':>10}{'us/body':>9}  error  detail")
    for mechanism in MECHANISMS:
        times: dict[str, list[tuple[int, float]]] = {}
        for n in sizes:
            for row in rows(mechanism, n):
                times.setdefault(row.method, []).append((row.n_bodies, row.seconds))
                print(
                    f"{mechanism:10}{row.n_bodies:7d}  {row.method:27}{row.seconds * 1e6:10.1f}"
                    f"{row.seconds * 1e6 / row.n_bodies:9.2f}  {row.error:.0e}  {row.detail}",
                    flush=True,
                )
        for method, points in times.items():
            large = np.log([point for point in points if point[0] >= 128 and point[1] > 0.0])
            if len(large) > 1:
                slope = np.polyfit(large[:, 0], large[:, 1], 1)[0]
                print(f"{mechanism:10}   from 128 on, time of {method} grows as n^{slope:.2f}")


if __name__ == "__main__":
    main()
