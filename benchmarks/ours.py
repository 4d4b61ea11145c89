"""sparsebody itself, with the automatic choice and with every factorization of its table."""

from __future__ import annotations

import time
from dataclasses import dataclass

import sparsebody
from benchmarks.cases import Problem
from sparsebody.arrays import FloatArray
from sparsebody.assembly.body_forces import applied_forces, bias_forces
from sparsebody.assembly.constraint import constraint_rows
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.factorization import FACTORIZATIONS, available_factorizations
from sparsebody.kinematics.coordinates import coordinate_motion
from sparsebody.kinematics.motion import joint_motion

VERSION = f"sparsebody {sparsebody.__version__}"
PREFIX = "sparsebody"
PHASES = ("kinematics", "assembly", "factorize", "solve")


def methods() -> list[str]:
    """Return the names of all methods: sparsebody, sparsebody-cholmod, ..."""
    return [PREFIX, *(f"{PREFIX}-{name}" for name in FACTORIZATIONS)]


def is_available(method: str) -> bool:
    """Tell whether the factorization can be used here."""
    return method == PREFIX or method.removeprefix(f"{PREFIX}-") in available_factorizations()


@dataclass(frozen=True, eq=False)
class Prepared:
    """Forward dynamics, analyzed, ready to be called at the state."""

    problem: Problem
    dynamics: ForwardDynamics

    @property
    def detail(self) -> str:
        """Ordering and factorization in use, and how many rows were left out."""
        chosen = f"{self.dynamics.ordering}, {self.dynamics.factorization}"
        return f"{chosen}, {len(self.dynamics.redundant_rows)} rows left out"

    def evaluate(self) -> None:
        """Call it as a user does: accelerations of all bodies, forces of all joints."""
        self.dynamics(self.problem.state)

    def accelerations(self) -> FloatArray:
        """Return spatial accelerations (n_bodies, 6) in body coordinates, angular first."""
        return self.dynamics(self.problem.state).acceleration

    def phases(self) -> dict[str, float]:
        """Return the CPU time [s] of each of PHASES, one after the other."""
        system, state, dynamics = self.problem.system, self.problem.state, self.dynamics
        marks = [time.process_time()]
        motion = joint_motion(system, state)
        coordinates = coordinate_motion(system, state, motion)
        marks.append(time.process_time())
        constraint = constraint_rows(system, state, motion, coordinates)
        force = applied_forces(system, state, motion, coordinates)
        force -= bias_forces(system, state.velocity)
        matrix = dynamics.structure.matrix(constraint)
        right = dynamics.structure.right_hand_side(force, constraint.acceleration)
        marks.append(time.process_time())
        numeric = dynamics.symbolic.factorize(matrix)
        marks.append(time.process_time())
        numeric.solve(right)
        marks.append(time.process_time())
        return {name: marks[i + 1] - marks[i] for i, name in enumerate(PHASES)}


def prepare(method: str, problem: Problem) -> Prepared:
    """Analyze a problem; forces of dependent rows are those of the kept ones, which is cheaper."""
    name = "auto" if method == PREFIX else method.removeprefix(f"{PREFIX}-")
    dynamics = ForwardDynamics(problem.system, problem.state, factorization=name, reactions="basic")
    return Prepared(problem, dynamics)
