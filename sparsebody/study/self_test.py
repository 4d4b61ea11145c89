"""Self-test of an installation: accelerations, a motion and files, checked in some seconds.

Every factorization and every method on a spanning tree solve the same mechanisms; what they return
is compared with closed forms, and with each other.
"""

import json
import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.equations.initial_state import consistent_state
from sparsebody.factorization import available_factorizations
from sparsebody.methods import METHODS, SPARSE, forward_dynamics
from sparsebody.model import Mechanism, State, System, build, read_mechanism, write_mechanism
from sparsebody.ordering import ORDERINGS, available_orderings, is_admissible, order
from sparsebody.simulation import Output, Trajectory, simulate

AGREEMENT = 1e-8  # of accelerations, relative; double precision leaves some 1e-12 here
CLOSED_FORM = 1e-12  # relative, of one body
ENERGY = 1e-8  # relative; 3e-13 is usual at this step
SEEDS = (1, 2, 3)
BODIES = 60  # of each random tree
LOOPED = {"scissor": {"pairs": 20}, "lattice": {"rows": 6, "columns": 6}, "stewart": {}}


@dataclass(frozen=True)
class Check:
    """One quantity, and the limit that it has to keep."""

    name: str
    value: float  # NaN where nothing could be computed
    limit: float
    seconds: float
    error: str = ""  # what prevented it

    @property
    def passed(self) -> bool:
        """Whether the value is within its limit."""
        return self.value <= self.limit


def self_test() -> list[Check]:
    """Return what was checked; an error within a check is a failed one, and is not raised."""
    checks = []
    for name, limit, measure in _measures():
        start = time.perf_counter()
        try:
            value, error = measure(), ""
        except Exception as failure:  # whatever it is, a bug report has to have it
            value, error = math.nan, f"{type(failure).__name__}: {failure}"
        checks.append(Check(name, value, limit, time.perf_counter() - start, error))
    return checks


def _measures() -> Iterator[tuple[str, float, Callable[[], float]]]:
    """Yield names, limits, and functions that return the quantities."""
    yield "pendulum: angular acceleration, closed form", CLOSED_FORM, _pendulum_error
    for name in [*available_factorizations(), *METHODS]:
        if name in ("superlu", SPARSE):
            continue
        loops = (
            [True] if name.startswith("loops") else [False] if name in METHODS else [False, True]
        )
        kinds = " and ".join("loops" if one else "trees" for one in loops)
        compare = partial(_largest_difference, name, loops)
        yield f"accelerations, {kinds}: {name} - superlu", AGREEMENT, compare
    for name in available_orderings():
        if ORDERINGS[name].needs:
            yield f"ordering {name}: wrong entries", 0.0, partial(_wrong_entries, name)
    yield "motion of a chain: energy error", ENERGY, _energy_error
    yield "files: differences after reading", 0.0, _file_differences


@cache
def _problems(with_loops: bool) -> list[tuple[System, State, FloatArray]]:
    """Return mechanisms in motion, with the accelerations that SuperLU finds."""
    mechanisms = (
        [build(name, **sizes) for name, sizes in LOOPED.items()]
        if with_loops
        else [build("tree", bodies=BODIES, random=True, moving=True, seed=seed) for seed in SEEDS]
    )
    problems = map(_moving, mechanisms)
    return [(*one, _accelerations(one, "superlu")) for one in problems]


def _largest_difference(name: str, loops: list[bool]) -> float:
    """Return the largest relative error of accelerations by a factorization or a method."""
    return max(
        float(np.abs(_accelerations(problem, name) - reference).max() / np.abs(reference).max())
        for with_loops in loops
        for *problem, reference in _problems(with_loops)
    )


def _moving(mechanism: Mechanism) -> tuple[System, State]:
    system = mechanism.compile()
    return system, consistent_state(system)


def _accelerations(problem: Iterable[Any], name: str) -> FloatArray:
    """Return the accelerations (n_bodies, 6) by a factorization or a method on a tree."""
    if name in METHODS:
        return forward_dynamics(*problem, method=name).acceleration
    return forward_dynamics(*problem, factorization=name, reactions="basic").acceleration


def _pendulum_error() -> float:
    """Return the relative error of g L / (L^2 + 2 r^2 / 5), a sphere on a level massless rod."""
    length, radius, gravity = 1.3, 0.2, 9.81
    mechanism = build("pendulum", length=length, radius=radius, gravity=(0.0, -gravity, 0.0))
    computed = _accelerations(_moving(mechanism), "block-ldl")[0, 2]
    expected = gravity * length / (length**2 + 0.4 * radius**2)
    return float(abs(computed - expected) / expected)


def _wrong_entries(name: str) -> float:
    """Return 0 if the order is an admissible permutation of the blocks."""
    pattern = kkt_structure(build("lattice", rows=6, columns=6).compile()).pattern
    elimination_order = order(pattern, name)
    wrong = np.count_nonzero(np.sort(elimination_order) != np.arange(pattern.n_blocks))
    return float(wrong + (not is_admissible(pattern, elimination_order)))


def _energy_error() -> float:
    run = simulate(build("chain", bodies=3).compile(), duration=0.3, step=1e-3)
    return float(run.energy_error or 0.0)


def _file_differences() -> float:
    """Return how many channels of a trajectory and fields of a mechanism differ when read."""
    mechanism = build("four-bar")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "motion.h5"
        written = simulate(mechanism.compile(), duration=0.02, step=1e-3, output=Output(path))
        in_memory = simulate(mechanism.compile(), duration=0.02, step=1e-3)
        read = Trajectory.load(path)
        channels = ("time", "position", "orientation", "velocity", "kinetic_energy")
        different = sum(
            not np.array_equal(getattr(one, name), getattr(in_memory, name))
            for one in (written, read)
            for name in channels
        )
        documents = Path(folder) / "first.json", Path(folder) / "second.json"
        write_mechanism(mechanism, documents[0])
        write_mechanism(read_mechanism(documents[0]), documents[1])
        first, second = (json.loads(one.read_text()) for one in documents)
        return float(different + (first != second))
