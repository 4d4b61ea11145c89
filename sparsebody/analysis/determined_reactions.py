"""Which reactions are determined: components of joint wrenches that rigid bodies leave open.

Where constraint rows depend on each other, multipliers are unique only up to the null space of A',
wrenches that balance on every body. A component of a joint's wrench is unique if none of them
touches it. Where the circulations in single loops make up the whole null space they tell, loop by
loop, with no error that grows with the mechanism; elsewhere random elements of the null space do.

References
----------
Wojtyra (2005), Multibody Syst. Dyn. 14:23; Featherstone (2008), sec. 8.10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparsebody.analysis.null_space import N_SAMPLES, Circulations, circulations, null_wrenches
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import UnknownNameError
from sparsebody.model.names import Names
from sparsebody.model.system import State, System
from sparsebody.sparse.pattern import biconnected_components
from sparsebody.tolerances import CIRCULATION_TOLERANCE, CLEAR_GAP, REMAINDER_FLOOR

COMPONENTS = ("torque x", "torque y", "torque z", "force x", "force y", "force z")
Remedies = Mapping[str, tuple[str, int]]  # words and the constraints that they remove, by joint
NO_REMEDIES: Remedies = {}


@dataclass(frozen=True, eq=False)
class ReactionReport:
    """What is determined of the wrenches on the successors, in S axes, moments about its origin."""

    joint_names: Names
    carried: BoolArray  # (n_joints, 6) components that the constraints can exert, moments first
    unique: BoolArray  # (n_joints, 6) components that are determined; zero ones are
    freedom: IntArray  # (n_joints,) dimension of each wrench's indeterminate part
    dimension: int  # of the null space of A'
    component: IntArray  # (n_joints,) biconnected component; -1 for joints without rows
    component_dimension: IntArray  # (n_components,)
    shared_dimension: IntArray  # (n_components,) of it, what no single loop accounts for
    circulations: Circulations
    gap: float  # smallest indeterminate component by largest unique one
    certain: bool  # whether that is clear, and both ways to count redundant rows agree
    method: str  # in words

    @property
    def is_unique(self) -> bool:
        """Whether all reactions are determined."""
        return self.dimension == 0

    @cached_property
    def redundant_loops(self) -> IntArray:
        """The cycles of the basis in which some wrench can circulate."""
        return np.flatnonzero(self.circulations.dimension)

    def loop_joints(self, loop: int) -> list[str]:
        """Return the names of the joints of a redundant loop, counted from 0."""
        cycle = self.circulations.cycles[int(self.redundant_loops[loop])]
        return [self.joint_names[int(j)] for j in cycle]

    @cached_property
    def _loops_of_joints(self) -> tuple[IntArray, IntArray]:
        """(start, loops) the redundant loops that each joint is in."""
        cycles, dimension = self.circulations.cycles, self.circulations.dimension
        number = np.cumsum(dimension > 0) - 1
        there = dimension[cycles.cycle] > 0
        joint, loop = cycles.edge[there], number[cycles.cycle[there]]
        start = np.concatenate([[0], np.cumsum(np.bincount(joint, minlength=len(self.freedom)))])
        return start.astype(np.intp), loop[np.argsort(joint, kind="stable")].astype(np.intp)

    def loops_of(self, joint: int) -> list[int]:
        """Return the redundant loops that a joint is in."""
        start, loops = self._loops_of_joints
        return [int(loop) for loop in loops[start[joint] : start[joint + 1]]]

    def lines(self, remedies: Remedies = NO_REMEDIES) -> Iterator[str]:
        """Say it joint by joint, those with something indeterminate only.

        With `remedies` by joint, such as ("replace by point-on-line", 3).
        """
        for j in np.flatnonzero(self.freedom):
            name = self.joint_names[int(j)]
            known = _words(self.carried[j] & self.unique[j])
            known = f"{known} unique; " if known else ""
            open_ones = _words(~self.unique[j])
            words, n = remedies.get(name, ("", 0))
            in_loops = self.redundant_loops[self.loops_of(int(j))]
            everything = self.circulations.dimension[in_loops].sum()
            everything += self.shared_dimension[self.component[j]]
            what = ("it" if n == 1 else "them") if n == everything else f"{n} of them"
            remedy = f"; {words} to remove {what}" if words else ""
            yield f"joint {name!r}: {known}{open_ones} not: {self._reason(int(j))}{remedy}"

    def _reason(self, joint: int) -> str:
        parts = []
        for loop in self.loops_of(joint):
            n = int(self.circulations.dimension[self.redundant_loops[loop]])
            parts.append(f"{constraints(n)} in loop {loop} ({listed(self.loop_joints(loop), 2)})")
        shared = int(self.shared_dimension[self.component[joint]])
        if shared:
            parts.append(f"{constraints(shared)} of several loops together")
        return ", ".join(parts)

    def __str__(self) -> str:
        if self.is_unique:
            return "all determined"
        joints = np.count_nonzero(self.freedom)
        doubt = "" if self.certain else ", NOT certain"
        return (
            f"{self.dimension} dimensions not determined, at {joints} of {len(self.freedom)} "
            f"joints{doubt} ({self.method})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings, lists and dicts."""
        loops = range(len(self.redundant_loops))
        sizes = self.circulations.dimension[self.redundant_loops]
        return {
            "dimension": self.dimension,
            "certain": self.certain,
            "gap": float(self.gap) if np.isfinite(self.gap) else None,
            "method": self.method,
            "loops": [
                {"loop": i, "redundant": int(sizes[i]), "joints": self.loop_joints(i)}
                for i in loops
            ],
            "of_several_loops": int(self.shared_dimension.sum()),
            "joints": [
                {
                    "joint": self.joint_names[int(j)],
                    "unique": _named(self.carried[j] & self.unique[j]),
                    "indeterminate": _named(~self.unique[j]),
                    "dimension": int(self.freedom[j]),
                    "loops": self.loops_of(int(j)),
                }
                for j in np.flatnonzero(self.freedom)
            ],
        }


def _named(which: BoolArray) -> list[str]:
    """Return the names of components, forces first."""
    return [COMPONENTS[a] for a in (3, 4, 5, 0, 1, 2) if which[a]]


def _words(which: BoolArray) -> str:
    """Return such as 'force x, y, torque z'."""
    words = []
    for kind, first in (("force", 3), ("torque", 0)):
        axes = [axis for axis, there in zip("xyz", which[first : first + 3], strict=True) if there]
        if axes:
            words.append(f"{kind} {', '.join(axes)}")
    return ", ".join(words)


def constraints(n: int) -> str:
    """Return such as '3 redundant constraints'."""
    return f"{n} redundant constraint{'s' * (n != 1)}"


def listed(names: Sequence[str], most: int = 6, separator: str = ", ") -> str:
    """Return the first names, with dots where there are more."""
    return separator.join(names if len(names) <= most else [*names[:most], "..."])


METHODS = ("auto", "loops", "random")
LOOPS, RANDOM = "circulations of single loops", "random null vectors"
_LOST = 1e-7  # of the largest singular value of a joint's random wrenches


def determined_reactions(
    system: System,
    state: State | None = None,
    *,
    dynamics: ForwardDynamics | None = None,
    method: str = "auto",
    seed: int = 0,
) -> ReactionReport:
    """Tell which components of the joint wrenches are unique at a state.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        A consistent state; default: the consistent initial one.
    dynamics : ForwardDynamics, optional
        Whose rank decision at this state is used; default: a new one.
    method : {"auto", "loops", "random"}
        Circulations of single loops, random null vectors, or "auto": these only where those do not
        account for all redundant rows.
    seed : int
        Of the random numbers.

    Returns
    -------
    ReactionReport
        `certain` is False where the numbers leave doubt: look at the gap then. With "loops" it is
        False too where single loops do not tell everything.
    """
    if method not in METHODS:
        raise UnknownNameError(f"method is {method!r}; give one of {', '.join(METHODS)}")
    state = consistent_state(system) if state is None else state
    if dynamics is None or dynamics.rank_decision is None:
        dynamics = ForwardDynamics(system, state, reactions="basic")
    decision = dynamics.rank_decision
    constraint = dynamics.evaluate(state).constraint
    structure = kkt_structure(system)
    component = np.full(system.n_joints, -1, dtype=np.intp)
    component[structure.joints] = biconnected_components(structure.pattern)
    of_row = component[system.row_joint[dynamics.redundant_rows]]
    size = np.bincount(of_row, minlength=int(component.max(initial=-1)) + 1)  # redundant rows
    loops = circulations(system, state, constraint.subspace, seed)
    by_loops = np.zeros(len(size), dtype=np.intp)  # dimensions of their circulations
    np.add.at(by_loops, component[loops.cycles.edge[loops.cycles.start[:-1]]], loops.dimension)
    unique = loops.share <= CIRCULATION_TOLERANCE
    sample, gap = loops.sample, _clearness(loops.share)
    carried = np.zeros((system.n_joints, 6))  # the largest part of some row
    np.maximum.at(carried, system.row_joint, np.abs(constraint.subspace))
    is_open = size > (0 if method == "random" else by_loops)
    if is_open.any() and method != "loops":
        rng, wrench = np.random.default_rng(seed), np.zeros_like(sample)
        drawn = np.flatnonzero(is_open[component] & (component >= 0))
        wrench[drawn] = null_wrenches(
            dynamics, constraint, drawn, lambda n: rng.normal(size=(n, N_SAMPLES))
        )
        sample = sample.copy()
        for c in np.flatnonzero(is_open):
            joints = np.flatnonzero(component == c)
            zero, gap_here = _zeros(np.linalg.norm(wrench[joints], axis=2))
            unique[joints] = zero if method == "random" else zero & unique[joints]
            sample[joints], gap = wrench[joints], min(gap, gap_here)
    agree = bool(np.all(by_loops <= size)) and not (method == "loops" and is_open.any())
    used = [LOOPS] * bool(np.any(by_loops) and method != "random") + [RANDOM] * bool(is_open.any())
    return ReactionReport(
        joint_names=system.joint_names,
        carried=carried > 1e-12,
        unique=unique,
        freedom=_ranks(np.where(unique[:, :, None], 0.0, sample)),
        dimension=int(np.maximum(size, by_loops).sum()),
        component=component,
        component_dimension=np.maximum(size, by_loops),
        shared_dimension=np.maximum(size - by_loops, 0),
        circulations=loops,
        gap=gap,
        certain=agree and gap >= CLEAR_GAP and (decision is None or decision.certain),
        method=" and ".join(used) or "no redundant rows",
    )


def _clearness(share: FloatArray) -> float:
    """Return the smallest part that counts by the largest that does not."""
    is_large = share > CIRCULATION_TOLERANCE
    least = float(np.min(share, where=is_large, initial=np.inf))
    return least / max(float(np.max(share, where=~is_large, initial=0.0)), REMAINDER_FLOOR)


def _zeros(size: FloatArray) -> tuple[BoolArray, float]:
    """Return which sizes (n, 6) are zero up to rounding: those below the largest gap; and it."""
    floor = REMAINDER_FLOOR * float(size.max(initial=0.0))
    ordered = np.sort(np.append(size.clip(min=floor), floor))
    ratio = ordered[1:] / np.maximum(ordered[:-1], 1e-300)
    k = int(np.argmax(ratio))
    return size <= ordered[k], float(ratio[k])


def _ranks(sample: FloatArray) -> IntArray:
    """Return the rank of each matrix of (n, 6, k)."""
    rank = np.zeros(len(sample), dtype=np.intp)
    some = np.flatnonzero(np.any(sample, axis=(1, 2)))
    value = np.linalg.svd(sample[some], compute_uv=False)
    rank[some] = np.count_nonzero(value > _LOST * value[:, :1], axis=1)
    return rank
