"""What a report on reactions says, in arrays, in words and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparsebody.analysis.circulations import Circulations
from sparsebody.arrays import BoolArray, IntArray
from sparsebody.model.names import Names

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
            remedy = self._remedy(int(j), remedies)
            yield f"joint {name!r}: {known}{open_ones} not: {self._reason(int(j))}{remedy}"

    def _remedy(self, joint: int, remedies: Remedies) -> str:
        words, n = remedies.get(self.joint_names[joint], ("", 0))
        in_loops = self.redundant_loops[self.loops_of(joint)]
        everything = int(self.circulations.dimension[in_loops].sum())
        everything += int(self.shared_dimension[self.component[joint]])
        what = ("it" if n == 1 else "them") if n == everything else f"{n} of them"
        return f"; {words} to remove {what}" if words else ""

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
