"""Fewer freedoms by displacement subgroups against six: `python -m benchmarks.subgroups`.

CPU times of accelerations alone, the least of many, both ways in turn, "fewer" or "six" being
what the automatic choice takes.
"""

from __future__ import annotations

import time

import numpy as np

import sparsebody as sb
from sparsebody.arrays import FloatArray
from sparsebody.dynamics.evaluators import SubgroupAssembler
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.model.gallery import build
from sparsebody.model.joints import Prismatic, Revolute, Spherical
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.system import State, System

REPEATS = 40
LEAST = 2e-3  # [s] of one measurement


def spherical_ladder(rungs: int, joint_type: type = Revolute) -> Mechanism:
    """A ladder of bars on a sphere that grows slowly, hinged about axes through its center."""
    mechanism = Mechanism("spherical ladder")
    angle = np.linspace(0.0, rungs * np.pi / 20, rungs + 1)
    latitude = {"upper": 0.1, "lower": -0.1}
    corner = {
        rail: (1.0 + 0.002 * np.arange(rungs + 1))[:, None]
        * np.stack(
            [np.cos(angle) * np.cos(at), np.sin(angle) * np.cos(at), 0 * angle + np.sin(at)]
        ).T
        for rail, at in latitude.items()
    }

    def add_bar(name: str, ends: FloatArray) -> None:
        mechanism.add_body(
            name, mass=1.0, inertia=[0.05, 0.05, 0.05], position=np.mean(ends, axis=0)
        )

    def add_hinge(name: str, first: str, second: str, x: FloatArray) -> None:
        mechanism.add_joint(name, joint_type(), first, second, point=x, axis=x / np.linalg.norm(x))

    for i in range(rungs):
        for rail, x in corner.items():
            add_bar(f"{rail}-{i}", x[i : i + 2])
        add_bar(f"rung-{i}", np.array([x[i + 1] for x in corner.values()]))
    for i in range(rungs):
        for rail, x in corner.items():
            before = f"{rail}-{i - 1}" if i else WORLD
            add_hinge(f"{rail}-hinge-{i}", before, f"{rail}-{i}", x[i])
            add_hinge(f"{rail}-end-{i}", f"{rail}-{i}", f"rung-{i}", x[i + 1])
    return mechanism


def gantries(columns: int) -> Mechanism:
    """Carriages on twin rails, with two slides each, each joined to the next by one more."""
    mechanism = Mechanism("gantries")
    for i in range(columns):
        at = np.array([float(i), 0.0, 0.0])
        for axis in "xyz":
            mechanism.add_body(f"{axis}-{i}", mass=1.0, inertia=[0.1, 0.1, 0.1], position=at)
        for name, ends, axis, x in (
            ("rail", (WORLD, f"x-{i}"), 0, at),
            ("twin", (WORLD, f"x-{i}"), 0, np.array([i, 1.0, 0.0])),
            ("bridge", (f"x-{i}", f"y-{i}"), 1, at),
            ("column", (f"y-{i}", f"z-{i}"), 2, at),
            ("link", (f"z-{i - 1}", f"z-{i}"), 0, at),
        ):
            if i or name != "link":
                mechanism.add_joint(
                    f"{name}-{i}", Prismatic(), *ends, point=x, axis=np.eye(3)[axis]
                )
    return mechanism


def scissor_with_pendulums(pairs: int, pendulums: int) -> Mechanism:
    """A scissor lift, planar, with pendulums on ball joints, which are not."""
    mechanism = build("scissor", pairs=pairs)
    bars = list(mechanism.bodies)
    for k in range(pendulums):
        bar = bars[7 * k % len(bars)]
        x = np.asarray(mechanism.body(bar).position)
        mechanism.add_body(
            f"bob-{k}", mass=0.3, inertia=[0.01, 0.01, 0.01], position=x - [0.0, 0.0, 0.4]
        )
        mechanism.add_joint(f"ball-{k}", Spherical(), bar, f"bob-{k}", point=x)
    return mechanism


def cases() -> list[Mechanism]:
    """Return the mechanisms."""
    return [
        *(spherical_ladder(rungs) for rungs in (3, 30, 300, 3000)),
        *(spherical_ladder(rungs, Spherical) for rungs in (30, 300)),
        *(gantries(columns) for columns in (3, 30, 300)),
        *(scissor_with_pendulums(pairs, 5) for pairs in (10, 100, 1000, 10_000)),
        *(build(name) for name in ("stewart", "slider-crank", "ladder", "governor")),
    ]


def seconds(dynamics: ForwardDynamics, state: State, out: FloatArray) -> float:
    """Return the CPU time of an evaluation, the least of a few."""
    dynamics.acceleration(state, out=out)
    start = time.process_time()
    dynamics.acceleration(state, out=out)
    number = max(1, int(LEAST / max(time.process_time() - start, 1e-6)))
    start = time.process_time()
    for _ in range(number):
        dynamics.acceleration(state, out=out)
    return (time.process_time() - start) / number


def compare(system: System) -> str:
    """Return a line: bodies, rows eliminated and times both ways, their difference."""
    state = sb.consistent_state(system)
    both = [ForwardDynamics(system, state, reduction=name) for name in ("auto", "none")]
    out = [np.empty((system.n_bodies, 6)) for _ in both]
    least = [np.inf, np.inf]
    for _ in range(REPEATS):
        for k, dynamics in enumerate(both):
            least[k] = min(least[k], seconds(dynamics, state, out[k]))
    error = np.abs(out[0] - out[1]).max() / np.abs(out[1]).max()
    rows = [len(dynamics.structure.rows) for dynamics in both]
    freedoms = "fewer" if isinstance(both[0].evaluator.assembler, SubgroupAssembler) else "six"
    return (
        f"{system.name:22s} {system.n_bodies:6d} {freedoms:5s} {rows[0]:7d} {rows[1]:7d} "
        f"{1e6 * least[0]:10.1f} {1e6 * least[1]:10.1f} {least[1] / least[0]:6.2f} {error:8.1e}"
    )


def main() -> None:
    """Print the table."""
    print(
        "mechanism              bodies freedoms  rows    of six         us     of six   gain  error"
    )
    for mechanism in cases():
        print(compare(mechanism.compile()), flush=True)


if __name__ == "__main__":
    main()
