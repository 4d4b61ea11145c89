"""Method "loops-projection": accelerations that obey the loops, and G'HG for those left."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import cho_factor, cho_solve

from sparsebody.arrays import FloatArray
from sparsebody.errors import ModelError, SingularSystemError
from sparsebody.model.system import State, System
from sparsebody.tree.crba import free_equations
from sparsebody.tree.loops.elimination import ExplicitBlocks, explicit_blocks
from sparsebody.tree.loops.loop_dynamics import LoopDynamics
from sparsebody.tree.loops.loop_equations import LoopEquations
from sparsebody.tree.ltl import multiply
from sparsebody.tree.method import TreeSolution
from sparsebody.tree.problem import TreeProblem
from sparsebody.tree.spanning_tree import SpanningTree

MOST_FREEDOMS = 20_000  # 3 GB
REFINEMENTS = 1


class LoopsProjection(LoopDynamics):
    """Method 3: x = G y + g from K x = k, then (G' H G) y = G' (tau - C - H g).

    G and g by Gaussian elimination with complete pivoting, in every loop cluster by itself and in
    units in which H has ones on its diagonal. Featherstone (2008), eq. (8.46) and sec. 8.8.

    Parameters
    ----------
    system, tree, reactions, baumgarte, coordinates
        As in LoopDynamics.
    independent : iterable of str or (str, int)
        Joints all of whose velocity coordinates must be among the independent ones, or joint and
        number of one coordinate; the rest is chosen at each state.

    Raises
    ------
    ModelError
        If such a joint is not in the tree or has no such coordinate.
    """

    name = "loops-projection"

    def __init__(
        self,
        system: System,
        tree: SpanningTree | str = "auto",
        *,
        independent: Iterable[str | tuple[str, int]] = (),
        **options: Any,
    ) -> None:
        super().__init__(system, tree, **options)
        self.is_given = np.zeros(self.tree.n_velocities, dtype=bool)
        for one in independent:
            name, coordinate = (one, None) if isinstance(one, str) else one
            self.is_given[_coordinates(self.tree, name, coordinate)] = True

    def explicit(self, equations: LoopEquations, H: FloatArray) -> ExplicitBlocks:
        """Return G and g of x = qdd - prescribed_qdd, given the packed H."""
        weight = 1.0 / np.sqrt(H[self.tree.pattern.start[1:] - 1])
        return explicit_blocks(equations, weight, self.is_given)

    def explicit_at(self, state: State) -> ExplicitBlocks:
        """Return G and g of x = qdd - prescribed_qdd at a state."""
        problem = self.problem(state)
        return self.explicit(self.equations(problem), free_equations(problem)[0])

    def solve(self, problem: TreeProblem) -> TreeSolution:
        """Return qdd = G ydd + g and the multipliers of independent loop rows."""
        H, right = free_equations(problem)
        equations = self.equations(problem)
        explicit = self.explicit(equations, H)
        x, Hx = self._accelerations(explicit, H, right)
        multiplier = np.zeros(problem.system.n_rows)
        multiplier[self.clusters.row] = explicit.multipliers(Hx - right)
        dropped = explicit.dependent_rows
        return TreeSolution(
            problem.prescribed_qdd + x,
            multiplier,
            is_unique=len(dropped) == 0,
            dropped_residual=float(np.abs(equations.violation(x)[dropped]).max(initial=0.0)),
        )

    def _accelerations(
        self, explicit: ExplicitBlocks, H: FloatArray, right: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return x and H x."""
        pattern, n_free = self.tree.pattern, len(explicit.independent)
        if n_free > MOST_FREEDOMS:
            raise ModelError(
                f"G'HG of {self.system.name!r} has {n_free} rows, more than {MOST_FREEDOMS}; use "
                "method 'loops-force' or 'sparse'"
            )
        x, Hx = explicit.g.copy(), np.empty_like(right)
        multiply(pattern, H, x, Hx)
        if n_free == 0:
            return x, Hx
        try:
            factor = cho_factor(explicit.projected_inertia(pattern, H), check_finite=False)
        except LinAlgError as error:
            raise SingularSystemError(
                f"G'HG of {self.system.name!r} is not positive definite: look at the masses and "
                "inertias of the bodies, and at given independent coordinates that nearly depend"
            ) from error
        y = np.zeros(n_free)
        for _ in range(1 + REFINEMENTS):
            y += cho_solve(factor, explicit.projected(right - Hx), check_finite=False)
            x = explicit.accelerations(y)
            multiply(pattern, H, x, Hx)
        return x, Hx


def _coordinates(tree: SpanningTree, name: str, coordinate: int | None) -> slice | int:
    """Return the velocity coordinates of a tree joint, or one of them."""
    i = int(tree.tree_index[tree.system.joint(name)])
    if i < 0:
        raise ModelError(
            f"joint {name!r} closes a loop; its coordinates are none of the tree's: give "
            "joints=... to spanning_tree to have it in the tree"
        )
    own = tree.velocities(i)
    if coordinate is None:
        return own
    if not 0 <= coordinate < own.stop - own.start:
        raise ModelError(
            f"joint {name!r} has {own.stop - own.start} velocity coordinates; there is no "
            f"{coordinate}"
        )
    return own.start + coordinate
