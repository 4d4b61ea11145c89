"""How the nonzeros of the joint-space inertia grow on every spanning tree of a family."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sparsebody.certificates.certificate import asymptotic, law
from sparsebody.certificates.eliminations import (
    FamilyLike,
    Member,
    growing_family,
    measured_values,
    system_of,
)
from sparsebody.errors import ModelError
from sparsebody.study.fits import Growth
from sparsebody.tree.tree_choice import MOST_BODIES, joint_freedoms, nonzero_bound, spanning_tree

LARGEST = 1024
TREES = ("minimum-nonzeros", "breadth-first", "depth-first")
_SAME = 3  # sizes with equally wide layers


@dataclass(frozen=True)
class InertiaSize:
    """Nonzeros of the lower triangle of H for one member."""

    n_bodies: int
    every_tree: int  # that no spanning tree goes below, from whatever root
    from_world: int  # the same for trees without virtual joints
    widest_layer: int  # most bodies equally many joints away from the root, whatever it is
    fewest_freedoms: int  # of a joint
    nonzeros: dict[str, int]  # on trees of TREE_CHOICES


@dataclass(frozen=True, eq=False)
class InertiaCertificate:
    """How H grows on every spanning tree."""

    family: str
    sizes: tuple[InertiaSize, ...]
    growth: dict[str, Growth]  # of "every_tree" and of each tree, for the larger sizes

    @property
    def quadratic(self) -> float | None:
        """C with nnz(H) >= c n^2 on every tree of every size; None if layers grow.

        Premise: layers of bodies equally many joints away from any body are no wider than in the
        largest members.
        """
        widths = {one.widest_layer for one in self.sizes[-_SAME:]}
        freedoms = min(one.fewest_freedoms for one in self.sizes)
        return freedoms**2 / (2 * widths.pop()) if len(widths) == 1 and freedoms else None

    @property
    def claim(self) -> str:
        """The order that nnz(H) has on the best tree there can be."""
        return "n^2" if self.quadratic else law(self.growth["every_tree"])

    def __str__(self) -> str:
        """In a few words."""
        if self.quadratic:
            return f"every spanning tree has {self.quadratic:.3g} n^2 - O(n) nonzeros of H at least"
        return f"nonzeros of H grow as {self.claim} at least on every spanning tree; observed"

    def lines(self) -> Iterator[str]:
        """Yield the whole certificate for people, but for its table of sizes."""
        yield f"{self.family}, H: {self}"
        last = self.sizes[-1]
        if self.quadratic:
            yield (
                f"proof: a path of d joints passes d layers of bodies, of {last.widest_layer} at "
                f"most, so that n supports have n^2 / {2 * last.widest_layer} joints or more in "
                f"all; and no joint has fewer freedoms than {last.fewest_freedoms}"
            )
            largest = ", ".join(str(one.n_bodies) for one in self.sizes[-_SAME:])
            yield f"premise: layers are no wider at larger sizes than at {largest} bodies"
        for name, fit in self.growth.items():
            yield f"{name} grows as {fit}"
        yield (
            f"at {last.n_bodies} bodies: {last.every_tree} on every tree, {last.from_world} on "
            "every one rooted in the world; "
            + ", ".join(f"{name} {count}" for name, count in last.nonzeros.items())
        )

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return header and rows of its sizes, for people."""
        counts = [
            (one.n_bodies, one.widest_layer, one.every_tree, one.from_world, *one.nonzeros.values())
            for one in self.sizes
        ]
        header = ("bodies", "layer", "every tree", "from world", *TREES)
        return header, [tuple(map(str, row)) for row in counts]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        status = "proved" if self.quadratic else "observed"
        words = {"method": "crba", "text": str(self), "status": status, "claim": self.claim}
        return asdict(self) | words | {"quadratic": self.quadratic}


def certify_inertia(family: FamilyLike, *, largest: int = LARGEST) -> InertiaCertificate:
    """Return how the nonzeros of H grow on every spanning tree of a family.

    Parameters
    ----------
    family : Family, str or callable
        As of `certify`, of mechanisms.
    largest : int
        Bodies of the largest member, up to 2,000: distances between all of them are looked at.

    Raises
    ------
    ModelError
        If the family does not grow to four sizes up to the largest, or that is too large.
    """
    if largest > MOST_BODIES:
        raise ModelError(
            f"largest is {largest}; distances between all bodies are looked at, so give "
            f"{MOST_BODIES} or fewer"
        )
    grown = growing_family(family)
    sizes = tuple(_inertia_size(grown.member(value)) for value in measured_values(grown, largest))
    n = np.array([one.n_bodies for one in sizes], dtype=float)
    columns = {"every_tree": [one.every_tree for one in sizes]}
    columns |= {name: [one.nonzeros[name] for one in sizes] for name in TREES}
    fits = {name: asymptotic(n, np.array(values, float)) for name, values in columns.items()}
    return InertiaCertificate(
        grown.name, sizes, {name: fit for name, fit in fits.items() if fit is not None}
    )


def _inertia_size(member: Member) -> InertiaSize:
    system = system_of(member)
    bound = nonzero_bound(system)
    return InertiaSize(
        n_bodies=member.n_bodies,
        every_tree=bound.nonzeros,
        from_world=bound.from_world,
        widest_layer=bound.widest_layer,
        fewest_freedoms=int(joint_freedoms(system).min(initial=6)),
        nonzeros={name: spanning_tree(system, name).n_inertia_nonzeros for name in TREES},
    )
