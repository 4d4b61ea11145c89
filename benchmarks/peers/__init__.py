"""Other engines: one file for each, one line in PEERS for each of their algorithms.

Two of them (`linear.py`) are no engines but general sparse solvers on our matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from benchmarks.cases import Problem
from sparsebody.arrays import FloatArray


class Prepared(Protocol):
    """A mechanism at a state, converted, and all that an engine prepares once.

    It also has `evaluate`, without arguments, which is what is timed; or `measure`, which returns
    CPU and wall time [s] of one evaluation.
    """

    @property
    def detail(self) -> str:
        """Settings that a reader should know."""
        ...

    def accelerations(self) -> FloatArray:
        """Return spatial accelerations (n_bodies, 6) in body coordinates, angular first."""
        ...


@dataclass(frozen=True)
class Peer:
    """One algorithm of an engine."""

    module: str  # in this folder
    function: str  # of a problem, returns Prepared
    needs: str  # the package
    tolerance: float  # relative error of small cases; large for engines with soft constraints
    trees_only: bool = False
    loops_only: bool = False
    probed: bool = False  # the module itself says whether it can be used here

    def is_available(self) -> bool:
        """Tell whether the package is installed, and what else its module asks for."""
        if find_spec(self.needs) is None:
            return False
        probe = getattr(self._module, "is_available", None) if self.probed else None
        return probe is None or bool(probe())

    def is_ready(self) -> bool:
        """Tell whether nothing has to be built first that takes minutes."""
        return not self.probed or bool(self._module.target().exists())

    def prepare(self, problem: Problem) -> Any:
        """Convert a problem."""
        return getattr(self._module, self.function)(problem)

    @property
    def version(self) -> str:
        """Name and version of the engine."""
        return str(self._module.VERSION)

    @property
    def _module(self) -> Any:
        return import_module(f"benchmarks.peers.{self.module}")


def _lean(function: str, tolerance: float, **kinds: bool) -> Peer:
    return Peer("pinocchio_lean", function, "pinocchio", tolerance, probed=True, **kinds)


PEERS: dict[str, Peer] = {
    "pinocchio-aba": Peer("pinocchio", "aba", "pinocchio", 1e-12, trees_only=True),
    "pinocchio-constraint-dynamics": Peer(
        "pinocchio", "constraint_dynamics", "pinocchio", 1e-10, loops_only=True
    ),
    "pinocchio-lcaba": Peer("pinocchio", "lcaba", "pinocchio", 1e-4, loops_only=True),
    "pinocchio-lcaba-accurate": Peer(
        "pinocchio", "lcaba_accurate", "pinocchio", 1e-7, loops_only=True
    ),
    "pinocchio-lean-aba": _lean("aba", 1e-12, trees_only=True),
    "pinocchio-lean-constraint-dynamics": _lean("constraint_dynamics", 1e-10, loops_only=True),
    "pinocchio-lean-lcaba": _lean("lcaba", 1e-4, loops_only=True),
    "pinocchio-lean-lcaba-accurate": _lean("lcaba_accurate", 1e-7, loops_only=True),
    "mujoco": Peer("mujoco", "forward", "mujoco", 0.3),
    "exudyn": Peer("exudyn", "newton_iteration", "exudyn", 1e-7),
    "drake": Peer("drake", "discrete_update", "pydrake", 1.0),
    "linear-superlu": Peer("linear", "superlu", "scipy", 1e-12),
    "linear-cholmod": Peer("linear", "cholmod", "sksparse", 1e-12),
}
