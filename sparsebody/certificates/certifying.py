"""Certificates of growth: how fronts, entries and work of a family grow, and why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.certificates import certificate, eliminations
from sparsebody.certificates.certificate import TREES, Certificate, InertiaCertificate, InertiaSize
from sparsebody.certificates.eliminations import Eliminated, FamilyLike, Member, Ordering, Tree
from sparsebody.certificates.proofs import proof_of_bounded_fronts
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.dynamics.preparation import choose_solver
from sparsebody.errors import ModelError, OrderingError, ShapeError, check_name
from sparsebody.model.gallery import GALLERY, build
from sparsebody.ordering import ANY_SIZE, ORDERINGS, is_admissible, order
from sparsebody.ordering.literature_orders import ALGORITHMS, algorithm_order
from sparsebody.plots.curves import Line
from sparsebody.progress import Report, no_report
from sparsebody.sparse import BlockPattern, ordering_metrics
from sparsebody.sparse.treewidth import admissible_front_bound, front_bound
from sparsebody.study import Family, Growth, Problem, growth
from sparsebody.study.families import check_family
from sparsebody.study.measure import SparsePrepared, timings, tree_prepared
from sparsebody.study.plan import Settings
from sparsebody.tree import tree_choice, tree_dynamics

METHODS = {"sparse": eliminations.ordered, "loops-aba": eliminations.recursed}
LARGEST = {"sparse": 4096, "loops-aba": 1024, "crba": 1024}  # bodies
_LARGEST_BOUNDED = 1_100  # bodies of members whose fronts are bounded from below
_SMALL_BOUNDED = 130  # the same where fronts are bounded from above anyway
FITTED = (*certificate.MEASURED, "front_bound", "seconds")
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
    report: Report = no_report,
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
        For "loops-aba": a key of TREE_CHOICES, or a function from a System to a SpanningTree.
    largest : int, optional
        Bodies of the largest member; default 4096, or 1024 with "loops-aba".
    time : bool
        Measure the accelerations, too.
    report : callable, optional
        report(text, done, all), called on the way; counts bodies.

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
        check_name(tree, tree_choice.TREE_CHOICES, "tree")
    grown = eliminations.as_growing(family)
    values = eliminations.measured_values(grown, LARGEST[method] if largest is None else largest)
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
        taken = (choose_solver(member.pattern, "auto", "auto") for member in members)
        automatic = tuple(one.ordering for one in taken)
        choice = automatic[-1]
    eliminate = partial(METHODS[method], choice=choice)
    n_bodies, total = 0, 2 * sum(member.n_bodies for member in members)
    eliminated = []
    for member in members:
        report(f"elimination of {member.n_bodies} bodies", n_bodies, total)
        eliminated.append(eliminate(member))
        n_bodies += member.n_bodies
    report("proof of bounded fronts", n_bodies, total)
    seconds = timer(method, choice) if time else lambda member: None
    proof = proof_of_bounded_fronts(
        lambda value: eliminate(grown.member(value)), eliminations.FIRST, eliminated
    )
    most = _LARGEST_BOUNDED if proof is None else _SMALL_BOUNDED
    sizes = []
    for one in eliminated:
        report(f"bounds of {one.member.n_bodies} bodies", n_bodies, total)
        sizes.append(_measured(one, most, seconds))
        n_bodies += one.member.n_bodies
    report("", n_bodies, total)
    columns = {name: certificate.column(sizes, name) for name in ("n_bodies", *FITTED)}
    bodies = columns.pop("n_bodies")
    return Certificate(
        family=grown.name,
        method=method,
        ordering=_name(choice),
        requested=requested,
        sizes=tuple(sizes),
        growth=certificate.power_laws(bodies, columns),
        fill=certificate.logarithmic_growth(bodies, columns["nnz_l"]),
        proof=proof,
        bound_is_for="admissible order" if _is_admissible(eliminated[-1]) else "order",
        automatic=automatic,
    )


def _taken(members: list[Member], ordering: str) -> list[Member]:
    """Return the members that are not too large for an ordering."""
    most = ORDERINGS[ordering].largest if ordering in ORDERINGS else ANY_SIZE
    taken = [member for member in members if member.pattern.n_blocks <= most]
    if len(taken) < eliminations.FEWEST:
        raise OrderingError(
            f"the ordering {ordering} takes {most} bodies and joints at most, which is too few to "
            "see how a family grows; give another ordering"
        )
    return taken


def _name(choice: Ordering | Tree) -> str:
    return choice if isinstance(choice, str) else getattr(choice, "__name__", "own")


def _is_admissible(one: Eliminated) -> bool:
    return one.order is not None and is_admissible(one.member.pattern, one.order)


def _measured(one: Eliminated, most: int, seconds: Timer) -> certificate.Measured:
    """Return the numbers of one member, its lower bound if it has `most` bodies at most."""
    member, bound = one.member, None
    if one.order is not None and member.n_bodies <= most:
        bound_of = admissible_front_bound if _is_admissible(one) else front_bound
        bound = int(bound_of(member.pattern))
    cost = one.largest_front, one.nnz_l, one.flops
    return certificate.Measured(member.n_bodies, *cost, bound, seconds(member))


def certify_inertia(
    family: FamilyLike, *, largest: int | None = None, report: Report = no_report
) -> InertiaCertificate:
    """Return how the nonzeros of H grow on every spanning tree of a family, as of `certify`.

    The largest member has up to 2,000 bodies, between all of which distances are looked at; default
    1024. ModelError if the family does not grow to four sizes up to the largest.
    """
    largest = LARGEST["crba"] if largest is None else largest
    if largest > tree_choice.MOST_BODIES:
        raise ModelError(
            f"largest is {largest}; distances between all bodies are looked at, so give "
            f"{tree_choice.MOST_BODIES} or fewer"
        )
    grown = eliminations.as_growing(family)
    values = eliminations.measured_values(grown, largest)
    sizes = []
    for k, value in enumerate(values):
        report(f"size {k + 1} of {len(values)}", sum(values[:k]), sum(values))
        sizes.append(_inertia_size(grown.member(value)))
    report("", sum(values), sum(values))
    columns = {"every_tree": certificate.column(sizes, "every_tree")}
    columns |= {name: np.array([one.nonzeros[name] for one in sizes], float) for name in TREES}
    laws = certificate.power_laws(certificate.column(sizes, "n_bodies"), columns)
    return InertiaCertificate(grown.name, tuple(sizes), laws)


def _inertia_size(member: Member) -> InertiaSize:
    system = eliminations.system_of(member)
    bound = tree_choice.nonzero_bound(system)
    return InertiaSize(
        n_bodies=member.n_bodies,
        every_tree=bound.nonzeros,
        from_world=bound.from_world,
        widest_layer=bound.widest_layer,
        fewest_freedoms=int(tree_choice.joint_freedoms(system).min(initial=6)),
        nonzeros={
            name: tree_choice.spanning_tree(system, name).n_inertia_nonzeros for name in TREES
        },
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
        if method == "sparse":
            dynamics: Any = ForwardDynamics(system, state, ordering=choice, reactions="basic")
        else:
            dynamics = tree_dynamics(method, system, choice, reactions="basic")
        of_school: Any = SparsePrepared if method == "sparse" else tree_prepared
        prepared = of_school(Problem(system.name, system, state), dynamics)
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

    A lattice of one layer stays in its plane. What is one everywhere grows as a whole. Raises
    UnknownNameError if the gallery has no such mechanism, ModelError if it does not grow.
    """
    build(mechanism, **parameters)
    entry = GALLERY[mechanism]
    value = {**entry.defaults, **parameters}
    known = entry.size_parameters
    grows = tuple(name for name in known if float(value[name]) > 1.0) or known
    fixed = {name: value for name, value in parameters.items() if name not in grows}
    family = Family(mechanism, mechanism, fixed, grows)
    check_family(family)
    return family


def algorithm_growth(
    family: Family, sizes: Sequence[int], names: Sequence[str] = ()
) -> tuple[AlgorithmGrowth, ...]:
    """Return the growth of the predicted flops with all constraint rows, dependent ones too.

    It is that of the members nearest to `sizes`, numbers of bodies, by algorithms with `names` in
    ALGORITHMS, by default all. Raises ShapeError if there is no size, or one that is not positive;
    UnknownNameError for an algorithm that is not there; ModelError if the family cannot be built.
    """
    if min(sizes, default=0) < 1:
        raise ShapeError(f"sizes are {list(sizes)}; give numbers of bodies, such as 64, 256, 1024")
    check_family(family)
    values = sorted({family.parameter(size) for size in sizes})
    patterns = [kkt_structure(family.of_parameter(k).compile()).pattern for k in values]
    n_bodies = np.array([pattern.n_primal for pattern in patterns], dtype=float)
    growths = []
    for name in dict.fromkeys(names or ALGORITHMS):
        metrics = (ordering_metrics(one, algorithm_order(one, name)) for one in patterns)
        flops = np.array([one.flops for one in metrics])
        growths.append(AlgorithmGrowth(name, n_bodies, flops, growth(n_bodies, flops)))
    return tuple(growths)
