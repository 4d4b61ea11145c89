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

import numpy as np

from sparsebody.analysis.circulations import (
    N_SAMPLES,
    Circulations,
    circulations,
    joint_sizes,
)
from sparsebody.analysis.null_space import random_null_vectors
from sparsebody.analysis.reaction_report import ReactionReport
from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.assembly.constraint import ConstraintRows
from sparsebody.assembly.kkt import kkt_structure
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.initial import consistent_state
from sparsebody.equations.reactions import joint_wrenches
from sparsebody.errors import UnknownNameError
from sparsebody.model.system import State, System
from sparsebody.sparse.rank.tolerances import CIRCULATION_TOLERANCE, CLEAR_GAP, REMAINDER_FLOOR
from sparsebody.sparse.searches import biconnected_components

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
    component, size = _components(system, dynamics)
    loops = circulations(system, state, constraint.subspace, seed)
    by_loops = _by_component(loops, component, len(size))
    unique = loops.share <= CIRCULATION_TOLERANCE
    sample, gap = loops.sample, _clearness(loops.share)
    is_open = size > (0 if method == "random" else by_loops)
    if is_open.any() and method != "loops":
        wrench = _random_wrenches(dynamics, constraint, is_open[component] & (component >= 0), seed)
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
        carried=_carried(system, constraint.subspace),
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


def _components(system: System, dynamics: ForwardDynamics) -> tuple[IntArray, IntArray]:
    """Return the biconnected component of each joint, and how many redundant rows each one has."""
    structure = kkt_structure(system)
    component = np.full(system.n_joints, -1, dtype=np.intp)
    component[structure.joints] = biconnected_components(structure.pattern)
    n = int(component.max(initial=-1)) + 1
    of_row = component[system.row_joint[dynamics.redundant_rows]]
    return component, np.bincount(of_row, minlength=n).astype(np.intp)


def _by_component(loops: Circulations, component: IntArray, n: int) -> IntArray:
    """Return (n,) the dimensions of the circulations in the loops of each component."""
    total = np.zeros(n, dtype=np.intp)
    np.add.at(total, component[loops.cycles.edge[loops.cycles.start[:-1]]], loops.dimension)
    return total


def _random_wrenches(
    dynamics: ForwardDynamics, constraint: ConstraintRows, joints: BoolArray, seed: int
) -> FloatArray:
    """Return (n_joints, 6, N_SAMPLES) random null vectors, forces and moments / joint size."""
    system = dynamics.system
    structure = kkt_structure(system)
    keep = np.ones(system.n_rows, dtype=bool)
    keep[dynamics.redundant_rows] = False
    duals = np.flatnonzero(joints[structure.joints])
    null = random_null_vectors(structure.matrix(constraint), keep, duals, N_SAMPLES, seed)
    multiplier = np.zeros((N_SAMPLES, system.n_rows))
    multiplier[:, null.rows] = null.multiplier.T
    wrench = np.stack(
        [joint_wrenches(system, constraint.subspace, drawn) for drawn in multiplier], axis=2
    )
    wrench[:, :3] /= joint_sizes(system)[:, None, None]
    return wrench


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


def _carried(system: System, subspace: FloatArray) -> BoolArray:
    """Return (n_joints, 6) which components some row of the joint has."""
    largest = np.zeros((system.n_joints, 6))
    np.maximum.at(largest, system.row_joint, np.abs(subspace))
    return np.asarray(largest > 1e-12)


def _ranks(sample: FloatArray) -> IntArray:
    """Return the rank of each matrix of (n, 6, k)."""
    rank = np.zeros(len(sample), dtype=np.intp)
    some = np.flatnonzero(np.any(sample, axis=(1, 2)))
    value = np.linalg.svd(sample[some], compute_uv=False)
    rank[some] = np.count_nonzero(value > _LOST * value[:, :1], axis=1)
    return rank
