"""Pinocchio compiled from its headers, with the cubic arrays of its `Data` left empty.

The wheel allocates four nv x nv x nv arrays for second derivatives, so that it stops near nv = 550.
No algorithm here uses them: the headers are copied and those arrays made empty, which is its best
case. Needs a C++ compiler and `pip install pin cmeel-eigen`; the program is built once, in out/.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pinocchio as pin

from benchmarks.peers import pinocchio as stock
from benchmarks.peers.tree import Timed, UnsupportedError
from sparsebody.arrays import FloatArray
from sparsebody.study.families import Problem

SOURCE = Path(__file__).parent / "lean" / "lean.cpp"
BUILD = Path("out") / "pinocchio-lean"
BOOST = ("MPL_LIMIT_LIST_SIZE=30", "MPL_CFG_NO_PREPROCESSED_HEADERS", "FUSION_INVOKE_MAX_ARITY=10")
FLAGS = "-std=c++17", "-O3", "-march=native", "-DNDEBUG", *(f"-DBOOST_{one}" for one in BOOST), "-w"
CUBIC = re.compile(r"(, (?:d2tau_\w+|kinematic_hessians))\((?:6|model\.nv), model\.nv, model\.nv\)")


def _prefix() -> Path:
    return next(parent for parent in Path(pin.__file__).parents if parent.name == "cmeel.prefix")


def is_available() -> bool:
    """Tell whether there are a compiler and all headers."""
    headers = _prefix() / "include"
    return bool(shutil.which("g++")) and all(
        (headers / name).exists() for name in ("pinocchio", "boost", "eigen3")
    )


def target() -> Path:
    """Return where the program is, once it is built."""
    made_of = SOURCE.read_bytes() + f"pin {pin.__version__}, lean".encode()
    return (BUILD / f"lean-{hashlib.sha256(made_of).hexdigest()[:12]}").absolute()


def program() -> Path:
    """Return the compiled program, built where it is missing or older than its source."""
    found = target()
    if not found.exists():
        if not is_available():
            raise ImportError("Pinocchio cannot be compiled here: no g++ or no headers of it")
        _build(found)
    return found


def _build(target: Path) -> None:
    headers, own = _prefix() / "include", BUILD / "include"
    shutil.copytree(headers / "pinocchio", own / "pinocchio", dirs_exist_ok=True)
    data = own / "pinocchio" / "src" / "multibody" / "data.hxx"
    text, count = CUBIC.subn(r"\1(0, 0, 0)", data.read_text())
    if count != 5:
        raise UnsupportedError(f"{count} cubic arrays in Pinocchio's Data; 5 were expected")
    data.write_text(text)
    draft = target.with_suffix(".tmp")
    paths = [f"-I{folder}" for folder in (own, headers, headers / "eigen3")]
    lib = _prefix() / "lib"
    link = [f"-L{lib}", f"-Wl,-rpath,{lib}", "-lpinocchio_default"]
    command = ["g++", *FLAGS, *paths, str(SOURCE), "-o", str(draft), *link]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"g++ failed: {done.stderr[:900]}")
    draft.replace(target)


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
    if not target().exists():  # two minutes that no measured case may take
        raise ImportError("not compiled yet: python -m benchmarks.peers.pinocchio_lean")
    model = stock.Model(problem, of.tree, balls_as_hinges, with_data=False)
    text = "\n".join(_lines(model, algorithm, of))
    done = subprocess.run([target()], input=text, capture_output=True, text=True, check=False)
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


if __name__ == "__main__":
    print("compiling Pinocchio without its cubic arrays: two minutes, once", flush=True)
    print(program() if is_available() else "not possible here: no compiler or no headers")
