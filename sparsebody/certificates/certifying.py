"""Certificates of growth: how fronts, entries and work of a family grow, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.certificates.certificate import (
    MEASURED,
    TREES,
    Certificate,
    InertiaCertificate,
    InertiaSize,
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
    as_growing,
    automatic_ordering,
    measured_values,
    ordered,
    recursed,
    system_of,
)
from sparsebody.certificates.proofs import proof_of_bounded_fronts
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.errors import ModelError, OrderingError, ShapeError, check_name
from sparsebody.model.gallery import GALLERY, build
from sparsebody.ordering import ANY_SIZE, ORDERINGS, is_admissible, order
from sparsebody.ordering.literature_orders import ALGORITHMS, algorithm_order
from sparsebody.plots.curves import Line
from sparsebody.sparse.elimination_tree import ordering_metrics
from sparsebody.sparse.pattern import BlockPattern
from sparsebody.sparse.treewidth import admissible_front_bound, front_bound
from sparsebody.study.families import Family, Problem, check_family
from sparsebody.study.fits import Growth, growth
from sparsebody.study.measure import SparsePrepared, TreePrepared, timings
from sparsebody.study.plan import Settings
from sparsebody.tree import tree_dynamics
from sparsebody.tree.tree_choice import (
    MOST_BODIES,
    TREE_CHOICES,
    joint_freedoms,
    nonzero_bound,
    spanning_tree,
)

METHODS = {"sparse": ordered, "loops-aba": recursed}
LARGEST = {"sparse": 4096, "loops-aba": 1024, "crba": 1024}  # bodies
_LARGEST_BOUNDED = 1_100  # bodies of members whose fronts are bounded from below
_SMALL_BOUNDED = 130  # the same where fronts are bounded from above anyway
FITTED = (*MEASURED, "front_bound", "seconds")
_NOTHING = BlockPattern(np.zeros(0, dtype=np.intp), np.zeros((0, 2), dtype=np.intp))

Timer = Callable[[Member], float | None]
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
    check_name(method, METHODS, "method")
    if method == "sparse" and isinstance(ordering, str) and ordering != "auto":
        order(_NOTHING, ordering)
    if method != "sparse" and isinstance(tree, str):
        check_name(tree, TREE_CHOICES, "tree")
    grown = as_growing(family)
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
    eliminate = partial(METHODS[method], choice=choice)
    eliminated = [eliminate(member) for member in members]
    seconds = timer(method, choice) if time else lambda member: None
    proof = proof_of_bounded_fronts(lambda value: eliminate(grown.member(value)), FIRST, eliminated)
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
        requested=requested,
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


def _measured(one: Eliminated, most: int, seconds: Timer) -> Measured:
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
        seconds=seconds(member),
    )


def certify_inertia(family: FamilyLike, *, largest: int | None = None) -> InertiaCertificate:
    """Return how the nonzeros of H grow on every spanning tree of a family.

    Parameters
    ----------
    family : Family, str or callable
        As of `certify`, of mechanisms.
    largest : int, optional
        Bodies of the largest member, up to 2,000: distances between all of them are looked at;
        default 1024.

    Raises
    ------
    ModelError
        If the family does not grow to four sizes up to the largest, or that is too large.
    """
    largest = LARGEST["crba"] if largest is None else largest
    if largest > MOST_BODIES:
        raise ModelError(
            f"largest is {largest}; distances between all bodies are looked at, so give "
            f"{MOST_BODIES} or fewer"
        )
    grown = as_growing(family)
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
        if method == "sparse":
            sparse = ForwardDynamics(system, state, ordering=choice, reactions="basic")
            prepared: Any = SparsePrepared(problem, sparse)
        else:
            of_tree = tree_dynamics(method, system, choice, reactions="basic")
            prepared = TreePrepared(problem, of_tree)
        return float(timings(prepared, _SETTINGS)["seconds_min"])

    return seconds


# ---- algorithms of the literature ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AlgorithmGrowth:
    """The predicted flops of one algorithm, and the power of the number of bodies that fits."""

    name: str
    n_bodies: FloatArray  # (k,)
    flops: FloatArray  # (k,)
    fit: Growth | None  # None with one size

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        return {
            "algorithm": self.name,
            "bodies": self.n_bodies.tolist(),
            "flops": self.flops.tolist(),
            "exponent": None if self.fit is None else self.fit.exponent,
        }

    @property
    def line(self) -> Line:
        """For plot_growth."""
        ends = np.array([] if self.fit is None else [self.fit.smallest, self.fit.largest])
        values = ends if self.fit is None else self.fit(ends)
        return Line(self.name, self.n_bodies, self.flops, ends, values, self.name == "auto")


def growing_family(mechanism: str, parameters: Mapping[str, Any]) -> Family:
    """Return the family of a gallery mechanism whose size parameters above one grow together.

    A lattice of one layer stays in its plane. What is one everywhere grows as a whole.

    Raises
    ------
    UnknownNameError
        If the gallery has no such mechanism.
    ModelError
        If it does not grow.
    """
    build(mechanism, **parameters)
    entry = GALLERY[mechanism]
    size = {
        name: float(parameters.get(name, entry.defaults[name])) for name in entry.size_parameters
    }
    grows = tuple(name for name, value in size.items() if value > 1.0) or tuple(size)
    fixed = {name: value for name, value in parameters.items() if name not in grows}
    family = Family(mechanism, mechanism, fixed, grows)
    check_family(family)
    return family


def algorithm_growth(
    family: Family, sizes: Sequence[int], names: Sequence[str] = ()
) -> tuple[AlgorithmGrowth, ...]:
    """Return the growth of the predicted flops with all constraint rows, dependent ones too.

    Parameters
    ----------
    family : Family
        A gallery mechanism that grows.
    sizes : sequence of int
        Wanted numbers of bodies; the nearest that the family has are taken.
    names : sequence of str
        Keys of ALGORITHMS; default: all.

    Raises
    ------
    ShapeError
        If there is no size, or one that is not positive.
    UnknownNameError
        For an algorithm that is not there.
    ModelError
        If the family cannot be built.
    """
    if len(sizes) == 0 or min(sizes) < 1:
        raise ShapeError(f"sizes are {list(sizes)}; give numbers of bodies, such as 64, 256, 1024")
    check_family(family)
    values = sorted({family.parameter(size) for size in sizes})
    patterns = [kkt_structure(family.of_parameter(k).compile()).pattern for k in values]
    n_bodies = np.array([pattern.n_primal for pattern in patterns], dtype=float)
    growths = []
    for name in dict.fromkeys(names or ALGORITHMS):
        orders = (algorithm_order(pattern, name) for pattern in patterns)
        metrics = map(ordering_metrics, patterns, orders)
        flops = np.array([one.flops for one in metrics])
        growths.append(AlgorithmGrowth(name, n_bodies, flops, growth(n_bodies, flops)))
    return tuple(growths)
