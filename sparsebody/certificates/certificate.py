"""Certificates of growth: how fronts, entries and work of a family grow, and why."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.certificates import eliminations, proofs
from sparsebody.certificates.eliminations import Eliminated, FamilyLike, Member, Ordering, Tree
from sparsebody.dynamics import ForwardDynamics, preparation
from sparsebody.errors import ModelError, OrderingError, ShapeError, check_name
from sparsebody.html_tables import html_facts, html_lines, html_table
from sparsebody.model.gallery import GALLERY, build
from sparsebody.ordering import ALGORITHMS, ANY_SIZE, ORDERINGS, algorithm_order, order
from sparsebody.plots.curves import Line
from sparsebody.progress import Report, no_report
from sparsebody.sparse import BlockPattern, elimination_tree, ordering_metrics
from sparsebody.sparse.treewidth import admissible_front_bound, front_bound
from sparsebody.study import Family, Growth, Problem, families, growth, measure, plan
from sparsebody.tree import tree_choice, tree_dynamics

NAMES = {
    0.0: "1",
    1 / 3: "n^(1/3)",
    0.5: "sqrt(n)",
    2 / 3: "n^(2/3)",
    1.0: "n",
    4 / 3: "n^(4/3)",
    1.5: "n^1.5",
    2.0: "n^2",
    3.0: "n^3",
}
_EXPONENT_TOLERANCE = 0.08  # an exponent this close to one with a name is called by it, if
_CONFIDENCE_TOLERANCE = 0.17  # its confidence interval reaches no further
_INTERVAL_SLACK = 0.03  # and no further away from the name than this
_ASYMPTOTIC_FACTOR = 16.5  # sizes within 16 of the largest count; they are powers of 2 nearly


def asymptotic(n: FloatArray, y: FloatArray) -> Growth | None:
    """Return the power law of the larger sizes."""
    return growth(n, y, n.max(initial=0.0) / _ASYMPTOTIC_FACTOR)


def local_exponents(n: FloatArray, y: FloatArray) -> list[float]:
    """Return the slopes between neighbouring sizes, in logarithms."""
    return (np.diff(np.log(y)) / np.diff(np.log(n))).tolist()


def law(fit: Growth) -> str:
    """Return the name of an order of growth, or the exponent where it has none."""
    near = min(NAMES, key=lambda exponent: abs(exponent - fit.exponent))
    distance, reach = abs(near - fit.exponent), fit.high - fit.exponent
    is_near = distance <= _EXPONENT_TOLERANCE and not distance > reach + _INTERVAL_SLACK
    return NAMES[near] if is_near and not reach > _CONFIDENCE_TOLERANCE else f"n^{fit.exponent:.2f}"


@dataclass(frozen=True)
class LogarithmicGrowth:
    """y = n (constant + slope log2 n) beside y = constant n^exponent, each with two parameters."""

    constant: float
    slope: float
    error: float  # root mean square, relative
    power_error: float  # that of the power law

    @property
    def is_better(self) -> bool:
        """Whether n log n is nearer to the values than any power of n."""
        return self.slope > 0.0 and self.error < self.power_error


def logarithmic_growth(n: FloatArray, y: FloatArray) -> LogarithmicGrowth | None:
    """Fit y / n = constant + slope log2 n to the same sizes as `asymptotic`; None with too few.

    Both laws are compared by what they leave of log y.
    """
    power = asymptotic(n, y)
    if power is None or power.n_points < 3:
        return None
    use = n >= n.max() / _ASYMPTOTIC_FACTOR
    n, y = n[use], y[use]
    slope, constant = np.polyfit(np.log2(n), y / n, 1, w=n / y)
    fitted = n * (constant + slope * np.log2(n))
    residuals = [
        float(np.sqrt(np.mean(np.log(y / values) ** 2))) if np.all(values > 0.0) else np.inf
        for values in (fitted, power(n))
    ]
    return LogarithmicGrowth(float(constant), float(slope), *residuals)


MEASURED = ("largest_front", "nnz_l", "flops")
_GROWTH_TOLERANCE = 0.1  # of exponents: what differs by less is taken for equal


@dataclass(frozen=True)
class Measured:
    """What the elimination of one member costs."""

    n_bodies: int
    largest_front: int  # scalar rows
    nnz_l: int
    flops: float
    front_bound: int | None = None  # scalar rows that no order goes below, where it is known
    seconds: float | None = None  # CPU time of one evaluation of the accelerations

    @property
    def least_flops(self) -> float:
        """Operations that every order needs: a front of so many rows fills in completely."""
        return elimination_tree.pivot_flops(float(self.front_bound or 0))


class CertificateTable:
    """The lines and the sizes of a certificate as a table in notebooks."""

    def lines(self) -> Iterator[str]:
        """Yield the certificate for people, without its table of sizes."""
        raise NotImplementedError

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return header and rows of its sizes."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        title, *lines = self.lines()
        return html_facts(title, {"why": html_lines(lines), "sizes": html_table(*self.table())})


@dataclass(frozen=True, eq=False)
class Certificate(CertificateTable):
    """How a family grows in one elimination order.

    `growth` has the power laws of `largest_front`, `nnz_l`, `flops`, and `front_bound` and
    `seconds` where they are known, fitted to sizes within a factor of 16 of the largest.
    """

    family: str
    method: str  # "sparse", or "loops-aba"
    ordering: str  # of "sparse"; the tree of "loops-aba"
    requested: str  # by the user, such as "auto"
    sizes: tuple[Measured, ...]
    growth: dict[str, Growth]
    fill: LogarithmicGrowth | None
    proof: proofs.Proof | None
    bound_is_for: str  # the orders that `front_bound` is for
    automatic: tuple[str, ...] = ()  # what "auto" takes at each size, if that was requested

    @property
    def status(self) -> str:
        """How sure it is that fronts stay bounded, or not.

        "proved"; "conditional", as long as no new production comes; "observed".
        """
        if self.proof is None:
            return "observed"
        return "conditional" if self.proof.kind == "types" else "proved"

    @property
    def claim(self) -> str:
        """The order of growth of the work: "O(n)", "O(n^1.5)", ..."""
        return "O(n)" if self.proof is not None else f"O({law(self.growth['flops'])})"

    @property
    def width(self) -> int | None:
        """Scalar rows that no front exceeds at any size; None where that is not proved."""
        return None if self.proof is None else self.proof.width

    @property
    def local_exponents(self) -> dict[str, list[float]]:
        """The slopes between neighbouring sizes, in logarithms."""
        n = column(self.sizes, "n_bodies")
        return {name: local_exponents(n, column(self.sizes, name)) for name in MEASURED}

    @property
    def excess(self) -> float | None:
        """The largest front over its lower bound, at the largest size where that is known."""
        last = self._last_bounded
        return None if last is None else last.largest_front / (last.front_bound or 1)

    @property
    def _last_bounded(self) -> Measured | None:
        """The largest member with a lower bound of its fronts."""
        return next((one for one in reversed(self.sizes) if one.front_bound), None)

    def __str__(self) -> str:
        """In a few words: "O(n), width 15"."""
        if self.proof is not None:
            more = " if no other production comes" if self.status == "conditional" else ""
            return f"{self.claim}, width {self.width}{more}"
        fronts = law(self.growth["largest_front"])
        said = "fronts seem bounded" if fronts == "1" else f"fronts grow as {fronts}"
        return f"{self.claim}, {said}; not proved, observed"

    def lines(self) -> Iterator[str]:
        """Yield the whole certificate for people, without its table of sizes."""
        chosen = f" ({self.requested})" if self.requested != self.ordering else ""
        yield f"{self.family}, {self.method}, {self.ordering}{chosen}: {self}"
        if self.proof is not None:
            yield f"proof by {self.proof.kind}: {self.proof.statement}"
            yield f"premise: {self.proof.premise}"
        for name in sorted(set(self.automatic) - {self.ordering}):
            pairs = zip(self.sizes, self.automatic, strict=True)
            bodies = ", ".join(str(one.n_bodies) for one, taken in pairs if taken == name)
            yield f"auto takes {name} at {bodies} bodies, which this is not about"
        for name, fit in self.growth.items():
            yield f"{name} grows as {fit}"
        fill = self.fill
        if fill is not None and self.proof is None:
            yield (
                f"nnz_l: n ({fill.constant:.3g} + {fill.slope:.3g} log2 n) is off by "
                f"{fill.error:.1%}, a power of n by {fill.power_error:.1%}"
                + (": n log n" if fill.is_better else "")
            )
        last = self._last_bounded
        if last is None:
            return
        yield (
            f"no {self.bound_is_for} has fronts of less than {last.front_bound} rows at "
            f"{last.n_bodies} bodies: {self.excess:.2f} times as wide here"
        )
        bound, flops = self.growth.get("front_bound"), self.growth["flops"]
        if self.proof is None and bound is not None and bound.exponent > _GROWTH_TOLERANCE:
            alike = abs(3 * bound.exponent - flops.exponent) <= _GROWTH_TOLERANCE
            yield (
                f"that bound grows as {bound}; such a front fills in, which takes the cube of it: "
                f"{last.least_flops:.3g} flops, of {last.flops:.3g} here"
                + (", so that no order grows more slowly" if alike else "")
            )

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return header and rows of its sizes, for people."""
        header = ["bodies", "front", "every order", "nnz(L)", "flops", "local exponents"]
        slopes = zip(*self.local_exponents.values(), strict=True)
        local = ["- - -", *(" ".join(map("{:.2f}".format, row)) for row in slopes)]
        rows = []
        for one, exponents in zip(self.sizes, local, strict=True):
            bound = "-" if one.front_bound is None else one.front_bound
            cells = one.n_bodies, one.largest_front, bound, one.nnz_l, f"{one.flops:.4g}", exponents
            rows.append([*map(str, cells)])
        if any(one.seconds is not None for one in self.sizes):
            header.append("time")
            for one, row in zip(self.sizes, rows, strict=True):
                row.append(f"{1e6 * (one.seconds or 0.0):.4g} us")
        return tuple(header), [*map(tuple, rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        derived = ("claim", "status", "width", "local_exponents", "excess")
        return asdict(self) | {"text": str(self)} | {name: getattr(self, name) for name in derived}


def column(sizes: "Sequence[Measured | InertiaSize]", name: str) -> FloatArray:
    """Return one number of all sizes."""
    return np.array([getattr(one, name) for one in sizes], dtype=float)


def power_laws(n: FloatArray, columns: Mapping[str, FloatArray]) -> dict[str, Growth]:
    """Return the power laws of those columns that have one; NaN is what is not known."""
    known = {name: np.isfinite(y) for name, y in columns.items()}
    fits = {name: asymptotic(n[known[name]], y[known[name]]) for name, y in columns.items()}
    return {name: fit for name, fit in fits.items() if fit is not None}


# ---- the joint-space inertia ----------------------------------------------------------------

TREES = ("minimum-nonzeros", "breadth-first", "depth-first")
_N_EQUAL_SIZES = 3  # sizes with equally wide layers


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
class InertiaCertificate(CertificateTable):
    """How H grows on every spanning tree."""

    family: str
    sizes: tuple[InertiaSize, ...]
    growth: dict[str, Growth]  # of "every_tree" and of each tree, for the larger sizes

    @property
    def quadratic(self) -> float | None:
        """The factor c of nnz(H) >= c n^2 - O(n) on every tree of every size; None if layers grow.

        Premise: layers of bodies equally many joints away from any body are no wider than in the
        largest members.
        """
        widths = {one.widest_layer for one in self.sizes[-_N_EQUAL_SIZES:]}
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
        """Yield the whole certificate for people, without its table of sizes."""
        yield f"{self.family}, H: {self}"
        last = self.sizes[-1]
        if self.quadratic:
            yield (
                f"proof: a path of d joints passes d layers of bodies, of {last.widest_layer} at "
                f"most, so that n supports have n^2 / {2 * last.widest_layer} joints or more in "
                f"all; and no joint has fewer freedoms than {last.fewest_freedoms}"
            )
            largest = ", ".join(str(one.n_bodies) for one in self.sizes[-_N_EQUAL_SIZES:])
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
        names = attrgetter("n_bodies", "widest_layer", "every_tree", "from_world")
        rows = [tuple(map(str, (*names(one), *one.nonzeros.values()))) for one in self.sizes]
        return ("bodies", "layer", "every tree", "from world", *TREES), rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        status = "proved" if self.quadratic else "observed"
        words = {"method": "crba", "text": str(self), "status": status, "claim": self.claim}
        return asdict(self) | words | {"quadratic": self.quadratic}


# ---- families -----------------------------------------------------------------------------------

METHODS = {"sparse": eliminations.ordered, "loops-aba": eliminations.recursed}
LARGEST = {"sparse": 4096, "loops-aba": 1024, "crba": 1024}  # bodies
_LARGEST_BOUNDED = 1_100  # bodies of members whose fronts are bounded from below
_SMALL_BOUNDED = 130  # the same where fronts are bounded from above anyway
FITTED = (*MEASURED, "front_bound", "seconds")
_NOTHING = BlockPattern(np.zeros(0, dtype=np.intp), np.zeros((0, 2), dtype=np.intp))

Timer = Callable[[Member], float | None]
_SETTINGS = plan.Settings(repeats=3, batch_seconds=0.01, longest=2.0)


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
        taken = (preparation.choose_solver(member.pattern, "auto", "auto") for member in members)
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
    proof = proofs.proof_of_bounded_fronts(
        lambda value: eliminate(grown.member(value)), eliminations.FIRST, eliminated
    )
    most = _LARGEST_BOUNDED if proof is None else _SMALL_BOUNDED
    sizes = []
    for one in eliminated:
        report(f"bounds of {one.member.n_bodies} bodies", n_bodies, total)
        member, bound = one.member, None
        if one.order is not None and member.n_bodies <= most:
            bound_of = admissible_front_bound if _is_admissible(one) else front_bound
            bound = int(bound_of(member.pattern))
        cost = one.largest_front, one.nnz_l, one.flops
        sizes.append(Measured(member.n_bodies, *cost, bound, seconds(member)))
        n_bodies += member.n_bodies
    report("", n_bodies, total)
    columns = {name: column(sizes, name) for name in ("n_bodies", *FITTED)}
    bodies = columns.pop("n_bodies")
    return Certificate(
        family=grown.name,
        method=method,
        ordering=_name(choice),
        requested=requested,
        sizes=tuple(sizes),
        growth=power_laws(bodies, columns),
        fill=logarithmic_growth(bodies, columns["nnz_l"]),
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
    return one.order is not None and elimination_tree.is_admissible(one.member.pattern, one.order)


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
    columns = {"every_tree": column(sizes, "every_tree")}
    columns |= {name: np.array([one.nonzeros[name] for one in sizes], float) for name in TREES}
    laws = power_laws(column(sizes, "n_bodies"), columns)
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
        of_school: Any = measure.SparsePrepared if method == "sparse" else measure.tree_prepared
        prepared = of_school(Problem(system.name, system, state), dynamics)
        return float(measure.timings(prepared, _SETTINGS)["seconds_min"])

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
    families.check_family(family)
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
    families.check_family(family)
    values = sorted({family.parameter(size) for size in sizes})
    patterns = [kkt_structure(family.of_parameter(k).compile()).pattern for k in values]
    n_bodies = np.array([pattern.n_primal for pattern in patterns], dtype=float)
    growths = []
    for name in dict.fromkeys(names or ALGORITHMS):
        metrics = (ordering_metrics(one, algorithm_order(one, name)) for one in patterns)
        flops = np.array([one.flops for one in metrics])
        growths.append(AlgorithmGrowth(name, n_bodies, flops, growth(n_bodies, flops)))
    return tuple(growths)
