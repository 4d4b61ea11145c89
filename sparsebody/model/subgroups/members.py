"""Members of parts: bodies, rigid groups and slides."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import IntArray
from sparsebody.model.subgroups.classes import Classes
from sparsebody.model.subgroups.links import PartNumbers


class Members:
    """Bodies and joints of parts, that is rigid groups and what slides join, by number."""

    def __init__(self, classes: Classes) -> None:
        g, s = classes.geometry, classes.sliding
        self.begin = begin = PartNumbers.of(s)
        parts = np.concatenate(
            [
                np.arange(s.n_groups),
                begin.lines + s.lines.label,
                begin.planes + s.planes.label,
                begin.at_will + s.at_will.label,
            ]
        )
        every = np.arange(s.n_groups)
        groups = np.concatenate([every, s.lines.group, s.planes.group, every])
        of_slides = (
            begin.lines + s.lines.label[s.lines.ends[0]],
            begin.planes + s.planes.label[s.planes.ends[0]],
            begin.at_will + s.at_will.label[g.group[0, s.joint]],
        )
        slides = s.joint, s.joint[s.planes.edge], s.joint
        inside = np.flatnonzero(g.is_inside)
        self.groups, self.parts = Lists(parts, groups), Lists(groups, parts)
        self.slides = Lists(np.concatenate(of_slides), np.concatenate(slides))
        self.bodies = Lists(g.bodies.label, np.arange(len(g.bodies.label)))
        self.inside = Lists(g.group[0, inside], inside)


class Lists:
    """Lists of values by keys."""

    def __init__(self, keys: IntArray, values: IntArray) -> None:
        order = np.argsort(keys, kind="stable")
        self._keys, self._values = keys[order], values[order]

    def of(self, keys: IntArray) -> IntArray:
        """Return the values of some keys, one key after the other."""
        return self.pairs(keys)[1]

    def pairs(self, keys: IntArray) -> tuple[IntArray, IntArray]:
        """Return the values of some keys, and before them for each the place of its key."""
        first = np.searchsorted(self._keys, keys)
        count = np.searchsorted(self._keys, keys, side="right") - first
        which = np.repeat(np.arange(len(keys)), count)
        place = np.arange(len(which)) - np.repeat(np.cumsum(count) - count - first, count)
        return which, self._values[place].astype(np.intp)
