"""The classes with redundant rows, one by one, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.subgroups.classes import Classes, Forest, Members
from sparsebody.model.subgroups.displacements import (
    KINDS,
    PLANE,
    RIGID,
    SCHOENFLIES,
    SLIDE,
    SLIDES,
    SPHERE,
    TRANSLATION,
)
from sparsebody.model.system import System


@dataclass(frozen=True, eq=False)
class Subgroup:
    """A sub-mechanism whose joints all move within one displacement subgroup."""

    system: System
    kind: str  # a name from KINDS
    freedoms: int  # dimension of the subgroup
    base: int  # body that the others move about; -1 for the world
    axis: FloatArray | None  # (3,) axis or normal in the axes of the base
    point: FloatArray | None  # (3,) on the axis, or the center, in the frame of the base [m]
    bodies: IntArray  # the others
    joints: IntArray
    redundant: dict[int, int]  # rows left out by joint, beyond those of smaller subgroups within

    @property
    def loops(self) -> int:
        """Number of independent loops."""
        return len(self.joints) - len(self.bodies)

    @property
    def redundant_rows(self) -> int:
        """Number of rows left out."""
        return sum(self.redundant.values())

    @property
    def base_name(self) -> str:
        """Name of the base."""
        return "world" if self.base < 0 else self.system.body_names[self.base]

    def __str__(self) -> str:
        base = "the world" if self.base < 0 else repr(self.base_name)
        return f"{self.kind}, about {base}: {self._counts()}"

    def _counts(self) -> str:
        counts = (
            (len(self.bodies), "body", "bodies"),
            (len(self.joints), "joint", "joints"),
            (self.loops, "loop", "loops"),
        )
        listed = ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in counts)
        n = self.redundant_rows
        return f"{listed}: {n} redundant row{'s' * (n != 1)}"

    def to_dict(self) -> dict[str, object]:
        """Return names and plain numbers."""
        names = self.system.joint_names
        return {
            "kind": self.kind,
            "freedoms": self.freedoms,
            "base": self.base_name,
            "axis": None if self.axis is None else self.axis.tolist(),
            "point": None if self.point is None else self.point.tolist(),
            "bodies": [self.system.body_names[int(i)] for i in self.bodies],
            "joints": [names[int(j)] for j in self.joints],
            "loops": self.loops,
            "redundant_rows": self.redundant_rows,
            "redundant_joints": {names[j]: n for j, n in self.redundant.items()},
        }


def redundant_subgroups(classes: Classes) -> tuple[Subgroup, ...]:
    """Return the classes that make rows redundant, smaller subgroups first."""
    members = Members(classes)
    return tuple(
        _subgroup(classes, members, kind, label) for kind, label in _with_redundancy(classes)
    )


def describe(subgroups: tuple[Subgroup, ...]) -> list[str]:
    """Return a line for each, those about moving bodies that are alike in one."""
    at_rest = [str(subgroup) for subgroup in subgroups if subgroup.base < 0]
    moving = Counter(
        (subgroup.kind, subgroup._counts()) for subgroup in subgroups if subgroup.base >= 0
    )
    lines = {
        (subgroup.kind, subgroup._counts()): str(subgroup)
        for subgroup in subgroups
        if subgroup.base >= 0
    }
    for (kind, counts), n in moving.items():
        many = f"{kind}, about {n} moving bodies, each: {counts}"
        at_rest.append(lines[kind, counts] if n == 1 else many)
    return at_rest


def _with_redundancy(classes: Classes) -> Iterator[tuple[int, int]]:
    for kind, forest in enumerate(classes.forests):
        edge = _closing(forest)
        has_rows = classes.n_redundant[kind, forest.links.joint[edge]] > 0
        for label in np.unique(forest.label[forest.links.ends[0, edge[has_rows]]]):
            yield kind, int(label)


def _closing(forest: Forest) -> IntArray:
    """Return where joints close loops, once for each joint: in the class that it counts for."""
    edge = np.flatnonzero(forest.closes)
    return edge[np.unique(forest.links.joint[edge], return_index=True)[1]]


def _subgroup(classes: Classes, members: Members, kind: int, label: int) -> Subgroup:
    system, forest = classes.system, classes.forests[kind]
    links = forest.links
    of_class = np.flatnonzero(forest.label[links.ends[0]] == label)
    joints = links.joint[of_class]
    parts = np.unique(links.part[forest.label == label])
    if kind == RIGID:
        bodies = parts - members.begin.bodies
    else:
        groups = np.unique(members.groups.of(parts))
        bodies = members.bodies.of(groups)
        joints = np.concatenate([joints, members.slides.of(parts), members.inside.of(groups)])
    n = system.n_bodies
    base = -1 if n in bodies else int(bodies.min())
    count = classes.n_redundant[kind]
    closing = links.joint[np.intersect1d(_closing(forest), of_class)]
    axis, point = _element(classes, kind, of_class, base)
    return Subgroup(
        system=system,
        kind=KINDS[kind].name,
        freedoms=KINDS[kind].freedoms,
        base=base,
        axis=axis,
        point=point,
        bodies=np.setdiff1d(bodies, [base % (n + 1)]),
        joints=np.unique(joints),
        redundant={int(j): int(count[j]) for j in closing if count[j]},
    )


def _element(
    classes: Classes, kind: int, of_class: IntArray, base: int
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return axis and point as far as a joint on the base, or sliding on it, shows them."""
    if kind in (RIGID, TRANSLATION):
        return None, None
    g, s, links = classes.geometry, classes.sliding, classes.forests[kind].links
    body = g.bodies.label[base]
    part = s.at_will.label[body]
    joint = links.joint[of_class]
    side, k = np.nonzero(s.at_will.label[g.group[:, joint]] == part)
    best = np.argmax(g.group[side, joint[k]] == body)
    side, k = side[best], k[best]
    j, group = joint[k], g.group[side, joint[k]]
    turn = g.bodies.rotation[base].T @ s.at_will.rotation[body].T @ s.at_will.rotation[group]
    R = g.rotation[side, j]
    axis = turn @ R[:, 2]
    height = 0.0 if links.height is None else links.height[of_class[k]]
    x = g.point[side, j] + height * R[:, 2]
    point = g.bodies.rotation[base].T @ (x - g.bodies.offset[base])
    if base >= 0:
        point = point + classes.system.center_of_mass[base]
    is_direction = kind in (SLIDE, SLIDES, PLANE, SCHOENFLIES)
    axis_or_none = None if kind == SPHERE else axis
    return axis_or_none, None if is_direction or group != body else point
