"""Certificates of growth: how fronts, entries and work of a family grow in one order, and why."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sparsebody.certificates.certificate import (
    MEASURED,
    Certificate,
    Measured,
    asymptotic,
    column,
    logarithmic_growth,
)
from sparsebody.certificates.eliminations import (
    FEWEST,
    FIRST,
    Eliminated,
    FamilyLike,
    Member,
    Ordering,
    Tree,
    automatic_ordering,
    growing_family,
    measured_values,
    ordered,
    recursed,
)
from sparsebody.certificates.proofs import proof_of_bounded_fronts
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.errors import ModelError, OrderingError, UnknownNameError
from sparsebody.ordering import ANY_SIZE, ORDERINGS, is_admissible, order
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.treewidth import admissible_front_bound, front_bound
from sparsebody.study.families import Problem
from sparsebody.study.measure import SparsePrepared, TreePrepared, timings
from sparsebody.study.plan import Settings
from sparsebody.tree import tree_dynamics
from sparsebody.tree.tree_choice import TREE_CHOICES

METHODS = {"sparse": ordered, "loops-aba": recursed}
LARGEST = {"sparse": 4096, "loops-aba": 1024}
_LARGEST_BOUNDED = 1_100  # bodies of members whose fronts are bounded from below
_SMALL_BOUNDED = 130  # the same where fronts are bounded from above anyway
FITTED = (*MEASURED, "front_bound", "seconds")
_NOTHING = BlockPattern(np.zeros(0, dtype=np.intp), np.zeros((0, 2), dtype=np.intp))

Timer = Callable[[Member], float]
_SETTINGS = Settings(repeats=3, batch_seconds=0.01, longest=2.0)


def certify(
    family: FamilyLike,
    ordering: Ordering = "auto",
    *,
    method: str = "sparse",
    tree: Tree = "minimum-fronts",
    largest: int | None = None,
    time: bool = False,
) -> Certificate:
    """Return how the elimination of a family grows, with a proof where fronts stay bounded.

    The matrix is that of all bodies with six freedoms and of all constraint rows; with fewer of
    them fronts are no wider in the same order.

    Parameters
    ----------
    family : Family, str or callable
        A gallery family, by name, or a function of a whole number, 3 or more, that returns a
        Mechanism, a System or a BlockPattern, larger ones for larger numbers.
    ordering : str or callable
        A key of ORDERINGS, a function of a BlockPattern, or "auto": what the automatic choice
        takes for the largest member.
    method : {"sparse", "loops-aba"}
        The whole graph, or the articulated-body recursion with loops, which `ordering` is not for.
    tree : str or callable
        Of "loops-aba": a key of TREE_CHOICES, or a function from a System to a SpanningTree.
    largest : int, optional
        Bodies of the largest member; default 4096, or 1024 with "loops-aba".
    time : bool
        Measure the accelerations, too.

    Raises
    ------
    UnknownNameError, MissingDependencyError
        For a mechanism, an ordering, a method or a tree that is not there.
    ModelError
        If the family does not grow, or not to four sizes up to the largest.
    OrderingError
        If the ordering takes fewer than four of these.
    """
    if method not in LARGEST:
        raise UnknownNameError(f"method is {method!r}; give one of {', '.join(LARGEST)}")
    if method == "sparse" and isinstance(ordering, str) and ordering != "auto":
        order(_NOTHING, ordering)
    if method != "sparse" and isinstance(tree, str) and tree not in TREE_CHOICES:
        raise UnknownNameError(f"tree is {tree!r}; give one of {', '.join(TREE_CHOICES)}")
    grown = growing_family(family)
    values = measured_values(grown, LARGEST[method] if largest is None else largest)
    choice: Any = ordering if method == "sparse" else tree
    members = _taken([grown.member(value) for value in values], requested := _name(choice))
    if members[0].system is None and (time or method != "sparse"):
        purpose = "times" if time else f"method {method!r}"
        raise ModelError(
            f"the family has patterns only, which do not do for {purpose}; give a function that "
            "returns mechanisms"
        )
    automatic: tuple[str, ...] = ()
    if choice == "auto":
        automatic = tuple(map(automatic_ordering, members))
        choice = automatic[-1]
    at = partial(METHODS[method], choice=choice)
    eliminated = [at(member) for member in members]
    seconds = timer(method, choice) if time else None
    proof = proof_of_bounded_fronts(lambda value: at(grown.member(value)), FIRST, eliminated)
    most = _LARGEST_BOUNDED if proof is None else _SMALL_BOUNDED
    sizes = tuple(_measured(one, most, seconds) for one in eliminated)
    known = {name: [one for one in sizes if getattr(one, name) is not None] for name in FITTED}
    fits = {
        name: asymptotic(column(some, "n_bodies"), column(some, name))
        for name, some in known.items()
    }
    return Certificate(
        family=grown.name,
        method=method,
        ordering=_name(choice),
        asked=requested,
        sizes=sizes,
        growth={name: fit for name, fit in fits.items() if fit is not None},
        fill=logarithmic_growth(*(column(sizes, name) for name in ("n_bodies", "nnz_l"))),
        proof=proof,
        bound_is_for="admissible order" if _is_admissible(eliminated[-1]) else "order",
        automatic=automatic,
    )


def _taken(members: list[Member], ordering: str) -> list[Member]:
    """Return the members that are not too large for an ordering."""
    most = ORDERINGS[ordering].largest if ordering in ORDERINGS else ANY_SIZE
    taken = [member for member in members if member.pattern.n_blocks <= most]
    if len(taken) < FEWEST:
        raise OrderingError(
            f"the ordering {ordering} takes {most} bodies and joints at most, which is too few to "
            "see how a family grows; give another ordering"
        )
    return taken


def _name(choice: Ordering | Tree) -> str:
    return choice if isinstance(choice, str) else getattr(choice, "__name__", "own")


def _is_admissible(one: Eliminated) -> bool:
    return one.order is not None and is_admissible(one.member.pattern, one.order)


def _measured(one: Eliminated, most: int, seconds: Timer | None) -> Measured:
    """Return the numbers of one member, its lower bound if it has `most` bodies at most."""
    member, bound = one.member, None
    if one.order is not None and member.n_bodies <= most:
        bound_of = admissible_front_bound if _is_admissible(one) else front_bound
        bound = int(bound_of(member.pattern))
    return Measured(
        n_bodies=member.n_bodies,
        largest_front=one.largest_front,
        nnz_l=one.nnz_l,
        flops=one.flops,
        front_bound=bound,
        seconds=None if seconds is None else seconds(member),
    )


# ---- times ---------------------------------------------------------------------------------


def timer(method: str, choice: Ordering | Tree) -> Timer:
    """Return what measures the CPU time [s] of one evaluation of the accelerations of a member.

    Raises ModelError for an ordering or a tree that has no name.
    """
    if not isinstance(choice, str):
        raise ModelError(
            "times are measured of orderings and trees with a name; use register_ordering, or "
            "measure no times"
        )

    def seconds(member: Member) -> float:
        assert member.system is not None
        system, state = member.system, member.system.initial_state
        problem = Problem(system.name, system, state)
        if method != "sparse":
            dynamics = tree_dynamics(method, system, choice, reactions="basic")
            return float(timings(TreePrepared(problem, dynamics), _SETTINGS)["seconds_min"])
        sparse = ForwardDynamics(system, state, ordering=choice, reactions="basic")
        return float(timings(SparsePrepared(problem, sparse), _SETTINGS)["seconds_min"])

    return seconds
