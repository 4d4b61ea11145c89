"""Determined reactions, and the components of joint wrenches that rigid bodies leave open.

Where constraint rows depend on each other, multipliers are unique only up to the null space of A',
the states of self-stress. A component of a joint's wrench is unique if it is zero in all of them. A
wrench w that every joint of a loop can transmit is in equilibrium on each of its bodies. So the
redundancy of a loop by itself is the dimension of the wrenches that do no work on any freedom of
its joints, 6 less the rank of these freedoms as seen from one point. Where the loops of a cycle
basis account for all dependent rows, their circulations span the null space of A', and determine
what is unique loop by loop, with no error that grows with the mechanism.

Elsewhere random vectors of the null space do: with A_K the independent rows and A_D the redundant
ones, (y, -w) with A_K' y = A_D' w is one for any w. A component that is zero in a few of them is
zero in all, with probability one.

References
----------
Wojtyra (2005), Multibody Syst. Dyn. 14:23; Davies (1981), Mech. Mach. Theory 16:171, on wrenches in
the loops of a graph; Featherstone (2008), sec. 8.10.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from sparsebody._core import rank as kernels
from sparsebody.arrays import BoolArray, FloatArray, IntArray, offsets
from sparsebody.assembly.constraint import ConstraintRows, kkt_structure
from sparsebody.dynamics import ForwardDynamics, preparation
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import check_name
from sparsebody.factorization.unit_factors import analyze_qr
from sparsebody.kinematics.joint_motion import joint_frames
from sparsebody.model.names import Names
from sparsebody.model.system import State, System
from sparsebody.sparse.cycles import Cycles, short_cycles
from sparsebody.sparse.pattern import BlockPattern, biconnected_components
from sparsebody.sparse.row_choices import part_of_rows
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix
from sparsebody.tolerances import (
    CIRCULATION_TOLERANCE,
    CLEAR_GAP,
    LEAST_DIVISOR,
    REMAINDER_FLOOR,
)

N_SAMPLES = 6  # random circulations: as many as a joint's wrench has components
MOST_CORRECTIONS = 6  # of seminormal equations; one or two are usual
LEAST_REDUCTION = 0.5  # ratio of two residuals above which no further correction is made


@dataclass(frozen=True, eq=False)
class Circulations:
    """The wrenches w that can circulate in each cycle: +w on the successors that it passes to."""

    cycles: Cycles  # of joints with constraint rows
    dimension: IntArray  # (n_cycles,)
    wrench: FloatArray  # (n_cycles, 6, 6) orthonormal (moment / length, force); dimension[c] rows
    center: FloatArray  # (n_cycles, 3) where moments are taken about, in the world [m]
    length: FloatArray  # (n_cycles,) [m]
    gap: FloatArray  # (n_cycles,) of the rank of the freedoms
    share: FloatArray  # (n_joints, 6) largest part of a unit circulation by component in S axes
    sample: FloatArray  # (n_joints, 6, N_SAMPLES) random ones, forces and moments / joint size

    def on_joints(self, cycle: int, axes: FloatArray, origin: FloatArray) -> FloatArray:
        """Return (n_joints of the cycle, 6, dimension) in S axes, moments / length.

        axes (n_joints, 3, 3) and origin (n_joints, 3) are those of the frames S in the world.
        """
        entries = slice(*self.cycles.start[cycle : cycle + 2])
        joints, sign = self.cycles.edge[entries], self.cycles.sign[entries]
        basis, L = self.wrench[cycle, : self.dimension[cycle]], self.length[cycle]
        arm = (self.center[cycle] - origin[joints]) / L
        force = np.broadcast_to(basis[:, 3:], (len(joints), *basis[:, 3:].shape))
        moment = basis[:, :3] + np.cross(arm[:, None], force)
        wrench = np.concatenate([moment @ axes[joints], force @ axes[joints]], axis=2)
        return np.asarray(sign[:, None, None] * np.swapaxes(wrench, 1, 2))


def joint_sizes(system: System) -> FloatArray:
    """Return (n_joints,) largest distance of each joint from its bodies' centers of mass [m]."""
    sizes = np.zeros(system.n_joints)
    for body, point in (
        (system.predecessor, system.predecessor_point),
        (system.successor, system.successor_point),
    ):
        sizes = np.maximum(sizes, np.where(body >= 0, np.linalg.norm(point, axis=1), 0.0))
    median = float(np.median(sizes[sizes > 0.0])) if np.any(sizes > 0.0) else 1.0
    return np.where(sizes > 1e-6 * median, sizes, median)  # less is rounding of coordinates


def constrained_joints(system: System) -> tuple[IntArray, IntArray]:
    """Return the joints that have rows, and their bodies (n, 2), -1 for the world."""
    joints = np.flatnonzero(np.diff(system.first_row) > 0)
    return joints, system.ends[joints]


def circulations(system: System, state: State, subspace: FloatArray, seed: int = 0) -> Circulations:
    """Return what can circulate in the cycles of a short basis.

    `subspace` (n_rows, 6) is T' in S coordinates at this state.
    """
    constrained, ends = constrained_joints(system)
    basis = short_cycles(system.n_bodies, ends)
    cycles = Cycles(basis.start, constrained[basis.edge], basis.sign)
    n, sizes = len(cycles), joint_sizes(system)
    axes, origin = joint_frames(system, state)[1]
    free, n_free = kernels.joint_freedoms(
        system.first_row, subspace, sizes, CIRCULATION_TOLERANCE, REMAINDER_FLOOR
    )
    loops, frames = (cycles.start, cycles.edge), (axes, origin, sizes)
    dimension, wrench, center, length, gap = kernels.cycle_wrenches(
        loops, frames, free, n_free, CIRCULATION_TOLERANCE, REMAINDER_FLOOR
    )
    share, sample = kernels.circulation_samples(
        loops,
        cycles.sign,
        frames,
        dimension,
        wrench,
        center,
        length,
        np.random.default_rng(seed).normal(size=(n, 6, N_SAMPLES)),
    )
    return Circulations(cycles, dimension, wrench, center, length, gap, share, sample)


Weights = Callable[[int], FloatArray]
"""(n, k) coefficients of n left-out rows: random ones, or `numpy.eye` for a dense basis."""


def null_wrenches(
    dynamics: ForwardDynamics, constraint: ConstraintRows, joints: IntArray, weights: Weights
) -> FloatArray:
    """Return (n, 6, k) null vectors as wrenches of the joints, forces and moments / joint size.

    The joints are those of whole biconnected components, whose rows depend on each other only.
    """
    system, structure = dynamics.system, kkt_structure(dynamics.system)
    keep = np.ones(system.n_rows, dtype=bool)
    keep[dynamics.redundant_rows] = False
    slot = np.full(system.n_joints, -1, dtype=np.intp)
    slot[joints] = np.arange(len(joints))
    duals = np.flatnonzero(slot[structure.joints] >= 0)
    rows, multiplier = null_vectors(structure.matrix(constraint), keep, duals, weights)
    wrench = np.zeros((len(joints), 6, multiplier.shape[1]))
    terms = constraint.subspace[rows][:, :, None] * multiplier[:, None, :]
    np.add.at(wrench, slot[system.row_joint[rows]], terms)
    wrench[:, :3] /= joint_sizes(system)[joints][:, None, None]
    return wrench


def null_vectors(
    matrix: SaddleMatrix, keep: BoolArray, duals: IntArray, weights: Weights
) -> tuple[IntArray, FloatArray]:
    """Return rows (n,) of A and multipliers (n, k) of them with A' lambda = 0.

    `keep` (n_dual_rows,) is a maximal set of independent rows. Solves A_K' y = A_D' w for the rows
    of some joints; (y, -w) are the multipliers.
    """
    part = part_of_rows(matrix, duals, np.full(matrix.pattern.n_primal, -1, dtype=np.intp))
    in_basis = keep[part.index]
    on_body = matrix.pattern.ends[matrix.row_block[part.index]] >= 0
    norm = np.linalg.norm(matrix.rows[part.index] * on_body[:, :, None], axis=(1, 2))[:, None]
    saddle = SaddleMatrix.of_rows(part.pattern, part.rows)
    A, w = constraint_matrix(saddle).tocsr(), np.asarray(weights(int(np.count_nonzero(~in_basis))))
    scaled = np.empty((len(in_basis), w.shape[1]))
    scaled[~in_basis] = -w
    scaled[in_basis] = _least_squares(
        part.pattern,
        saddle.row_block[in_basis],
        part.rows[in_basis],
        A[in_basis].T.tocsc(),
        A[~in_basis].T @ w,
    )
    # part.rows have unit norm: multipliers of the rows of A are those of unit rows over the norm
    return part.index, np.divide(scaled, norm, out=np.zeros_like(scaled), where=norm > 0.0)


def _least_squares(
    pattern: BlockPattern, dual: IntArray, rows: FloatArray, columns: csc_array, force: FloatArray
) -> FloatArray:
    """Return y with A_K' y = force by seminormal equations, corrected while that helps.

    Paige (1973), BIT 13:364; Bjorck (1987), Linear Algebra Appl. 88:31.
    """
    n = pattern.n_primal
    used, size = np.unique(dual, return_counts=True)
    sizes = np.concatenate([pattern.block_sizes[:n], size]).astype(np.intp)
    reduced = BlockPattern(sizes, pattern.ends[used])
    width = rows.shape[2]
    ones = np.broadcast_to(np.eye(width), (n, width, width)).copy()
    order = preparation.choose_solver(reduced, "auto", "block-qr").order
    factor = analyze_qr(reduced, order).factorize(SaddleMatrix(reduced, ones, ones, rows))
    y = np.zeros((len(rows), force.shape[1]))
    residual, before = force, np.inf
    for _ in range(MOST_CORRECTIONS):
        size_of_residual = float(np.abs(residual).max(initial=0.0))
        if not 0.0 < size_of_residual < LEAST_REDUCTION * before:
            break
        right = np.concatenate([residual, np.zeros((len(rows), force.shape[1]))])
        trial = y + factor.solve(right)[reduced.n_primal_rows :]
        trial_residual = force - columns @ trial
        if float(np.abs(trial_residual).max(initial=0.0)) >= size_of_residual:
            break
        y, residual, before = trial, trial_residual, size_of_residual
    return y


# ---- reactions ----------------------------------------------------------------------------------


COMPONENTS = ("torque x", "torque y", "torque z", "force x", "force y", "force z")
# By joint: what to do, and how many constraints it removes
Remedies = Mapping[str, tuple[str, int]]
NO_REMEDIES: Remedies = {}


@dataclass(frozen=True, eq=False)
class ReactionReport:
    """Determined components of the wrenches on the successors, in S axes about its origin."""

    joint_names: Names
    carried: BoolArray  # (n_joints, 6) components that the constraints can exert, moments first
    unique: BoolArray  # (n_joints, 6) components that are determined, those always zero included
    n_indeterminate: IntArray  # (n_joints,) dimension of the indeterminate part of each wrench
    dimension: int  # of the null space of A'
    component: IntArray  # (n_joints,) biconnected component; -1 for joints without rows
    component_dimension: IntArray  # (n_components,)
    shared_dimension: IntArray  # (n_components,) the part of it that no single loop accounts for
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
        index = np.cumsum(dimension > 0) - 1
        is_redundant = dimension[cycles.cycle] > 0
        joint, loop = cycles.edge[is_redundant], index[cycles.cycle[is_redundant]]
        start = offsets(np.bincount(joint, minlength=len(self.n_indeterminate)))
        return start, loop[np.argsort(joint, kind="stable")].astype(np.intp)

    def loops_of(self, joint: int) -> list[int]:
        """Return the redundant loops that a joint is in."""
        start, loops = self._loops_of_joints
        return [int(loop) for loop in loops[start[joint] : start[joint + 1]]]

    def lines(self, remedies: Remedies = NO_REMEDIES) -> Iterator[str]:
        """Return a line for each joint with indeterminate components, and why they are.

        With `remedies` by joint, such as ("replace by point-on-line", 3).
        """
        for j in np.flatnonzero(self.n_indeterminate):
            name = self.joint_names[int(j)]
            unique = _words(self.carried[j] & self.unique[j])
            unique = f"{unique} unique; " if unique else ""
            indeterminate = f"{_words(~self.unique[j])} indeterminate"
            words, n = remedies.get(name, ("", 0))
            in_loops = self.redundant_loops[self.loops_of(int(j))]
            n_all = self.circulations.dimension[in_loops].sum()
            n_all += self.shared_dimension[self.component[j]]
            what = ("it" if n == 1 else "them") if n == n_all else f"{n} of them"
            remedy = f"; {words} to remove {what}" if words else ""
            yield f"joint {name!r}: {unique}{indeterminate}: {self._reason(int(j))}{remedy}"

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
        n, joints = len(self.joint_names), np.count_nonzero(self.n_indeterminate)
        doubt = "" if self.certain else ", NOT certain"
        return (
            f"{self.dimension} dimensions not determined, at {joints} of {n} joints{doubt} "
            f"({self.method})"
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
                    "dimension": int(self.n_indeterminate[j]),
                    "loops": self.loops_of(int(j)),
                }
                for j in np.flatnonzero(self.n_indeterminate)
            ],
        }


def _named(which: BoolArray) -> list[str]:
    """Return the names of components, forces first."""
    return [COMPONENTS[a] for a in (3, 4, 5, 0, 1, 2) if which[a]]


def _words(which: BoolArray) -> str:
    """Return such as 'force x, y, torque z'."""
    words = []
    for kind, first in (("force", 3), ("torque", 0)):
        axes = [axis for axis, has in zip("xyz", which[first : first + 3], strict=True) if has]
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
_WRENCH_TOLERANCE = 1e-7  # of the largest singular value of a joint's random wrenches


def determined_reactions(
    system: System,
    state: State | None = None,
    *,
    dynamics: ForwardDynamics | None = None,
    method: str = "auto",
    seed: int = 0,
) -> ReactionReport:
    """Return which components of the joint wrenches the equations determine at a state.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        A consistent state; default: the consistent initial one.
    dynamics : ForwardDynamics, optional
        Whose rank decision at this state is used; default: a new one.
    method : {"auto", "loops", "random"}
        Circulations of single loops, random null vectors, or "auto": random ones only where
        circulations do not account for all redundant rows.
    seed : int
        Of the random numbers.

    Returns
    -------
    ReactionReport
        `certain` is False where the numbers leave doubt: look at the gap then. With "loops" it is
        also False where circulations involve several loops.
    """
    check_name(method, METHODS, "method")
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
    sample, gap = loops.sample, _gap(loops.share)
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
        carried=carried > 1e-12,  # more than rounding of unit rows
        unique=unique,
        n_indeterminate=_ranks(np.where(unique[:, :, None], 0.0, sample)),
        dimension=int(np.maximum(size, by_loops).sum()),
        component=component,
        component_dimension=np.maximum(size, by_loops),
        shared_dimension=np.maximum(size - by_loops, 0),
        circulations=loops,
        gap=gap,
        certain=agree and gap >= CLEAR_GAP and (decision is None or decision.certain),
        method=" and ".join(used) or "no redundant rows",
    )


def _gap(share: FloatArray) -> float:
    """Return the ratio of the smallest share above CIRCULATION_TOLERANCE to the largest below."""
    is_large = share > CIRCULATION_TOLERANCE
    least = float(np.min(share, where=is_large, initial=np.inf))
    return least / max(float(np.max(share, where=~is_large, initial=0.0)), REMAINDER_FLOOR)


def _zeros(size: FloatArray) -> tuple[BoolArray, float]:
    """Return which sizes (n, 6) are rounding, those below the widest gap, and that gap."""
    floor = REMAINDER_FLOOR * float(size.max(initial=0.0))
    ordered = np.sort(np.append(size.clip(min=floor), floor))
    ratio = ordered[1:] / np.maximum(ordered[:-1], LEAST_DIVISOR)
    k = int(np.argmax(ratio))
    return size <= ordered[k], float(ratio[k])


def _ranks(sample: FloatArray) -> IntArray:
    """Return the rank of each matrix of (n, 6, k)."""
    rank = np.zeros(len(sample), dtype=np.intp)
    some = np.flatnonzero(np.any(sample, axis=(1, 2)))
    value = np.linalg.svd(sample[some], compute_uv=False)
    rank[some] = np.count_nonzero(value > _WRENCH_TOLERANCE * value[:, :1], axis=1)
    return rank
