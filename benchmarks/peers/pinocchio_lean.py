"""Pinocchio compiled from its headers, with the cubic arrays of its `Data` left empty.

The wheel allocates four nv x nv x nv arrays for second derivatives, so that it stops near nv = 550.
No algorithm here uses them: the headers are copied and those arrays made empty, which is its best
case. The program is built once, in out/, by `lean/Makefile`.
"""

import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pinocchio as pin

from benchmarks.peers import pinocchio as stock
from benchmarks.peers.tree import Timed
from sparsebody.arrays import FloatArray
from sparsebody.study.families import Problem

PROGRAM = Path("out") / "pinocchio-lean" / "lean"


def _numbers(*arrays: FloatArray | float) -> str:
    return " ".join(repr(float(x)) for array in arrays for x in np.asarray(array).ravel())


def _pose(place: pin.SE3) -> str:
    return _numbers(place.rotation, place.translation)


def _lines(model: stock.Model, algorithm: str, of: stock.Settings) -> Iterator[str]:
    """Write a model as the program reads it."""
    yield f"{algorithm} {of.tolerance!r} {of.mu!r} {of.iterations}"
    yield _numbers(model.model.gravity.linear)
    yield str(model.model.njoints - 1)
    for i in range(1, model.model.njoints):
        yield f"{model.model.joints[i].shortname()} {model.model.parents[i]}"
        yield _pose(model.model.jointPlacements[i])
        inertia = model.model.inertias[i]
        yield _numbers(inertia.mass, inertia.lever, inertia.inertia)
    yield _numbers(model.v)
    yield str(len(model.contacts))
    for contact in model.contacts:
        yield f"{contact.joint1_id} {_pose(contact.joint1_placement)}"
        yield f"{contact.joint2_id} {_pose(contact.joint2_placement)}"


def _run(
    problem: Problem,
    algorithm: str,
    settings: Mapping[str, stock.Settings],
    balls_as_hinges: bool = True,
) -> Timed:
    of = settings.get(problem.mechanism, settings[stock.ANY])
    if not PROGRAM.exists():  # two minutes that no measured case may take
        raise ImportError("not compiled yet: make -f benchmarks/peers/lean/Makefile")
    model = stock.Model(problem, of.tree, balls_as_hinges, with_data=False)
    text = "\n".join(_lines(model, algorithm, of))
    done = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGKILL:  # by the system; the limit makes it std::bad_alloc
        raise MemoryError("killed for want of memory")
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr.strip()[-200:]}")
    first, *rest = done.stdout.strip().splitlines()
    cpu, wall = map(float, first.split())
    joints = [pin.Motion(np.array(line.split(), dtype=float)) for line in rest]
    detail = f"C++, {of.tree} tree, mu {of.mu:g}, tolerance {of.tolerance:g}"
    return Timed(lambda: (cpu, wall), lambda: model.of_bodies(joints), detail)


def aba(problem: Problem) -> Timed:
    """Articulated-body algorithm; trees only."""
    return _run(problem, "aba", {stock.ANY: stock.Settings("breadth-first", 0.0, 1)})


def constraint_dynamics(problem: Problem) -> Timed:
    """Sparse Cholesky factorization in joint space."""
    return _run(problem, "constraint-dynamics", stock.DIRECT, balls_as_hinges=False)


def lcaba(problem: Problem) -> Timed:
    """Loop-constrained articulated-body algorithm with its fastest settings."""
    return _run(problem, "lcaba", stock.FASTEST)


def lcaba_accurate(problem: Problem) -> Timed:
    """Loop-constrained articulated-body algorithm with more iterations."""
    return _run(problem, "lcaba", stock.ACCURATE)
