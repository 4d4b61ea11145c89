"""Forward dynamics by the sparse body-level system. Featherstone (2008), sec. 8.13."""

from __future__ import annotations

import warnings
from functools import cached_property

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.constraint import ConstraintRows, constraint_rows
from sparsebody.assembly.kkt import kkt_structure
from sparsebody.dynamics.accelerations import Accelerations
from sparsebody.dynamics.choice import SolverChoice, choose_in_plane, choose_solver
from sparsebody.dynamics.compiled import (
    WORST_RESIDUAL,
    Core,
    OutOfPlaneError,
    PlanarCore,
    is_plain,
)
from sparsebody.dynamics.initial import consistent_state
from sparsebody.dynamics.planar import planar_reduction
from sparsebody.dynamics.reactions import REACTIONS, joint_wrenches, minimum_norm
from sparsebody.errors import (
    ModelError,
    RankWarning,
    ShapeError,
    UnknownNameError,
)
from sparsebody.kinematics.coordinates import CoordinateMotion, coordinate_motion
from sparsebody.kinematics.loop_closure import position_errors, prescribed_velocities
from sparsebody.kinematics.motion import JointMotion, joint_motion
from sparsebody.model.system import State, System, check_state
from sparsebody.sparse.rank import RankDecision, independent_rows
from sparsebody.sparse.saddle import SaddleMatrix, constraint_matrix

REDUNDANCY = ("remove", "keep")
REDUCTION = ("auto", "none")
IN_PLANE = ("auto", "block-qr")  # factorizations of planar mechanisms
_UNWANTED = np.zeros(0)
_ROUGHLY = 1e-9  # relative residual of corrections, which are repeated anyway


class ForwardDynamics:
    """Accelerations and constraint forces of a System, prepared once and called at many states.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        Where dependent constraint rows are looked for; default: the consistent initial state.
    ordering, factorization : str
        Names from ORDERINGS and FACTORIZATIONS, or "auto" for the least predicted time.
    redundancy : {"remove", "keep"}
        Leave dependent constraint rows out, or solve with all of them.
    reactions : {"minimum-norm", "basic"}
        Where rows are dependent, the multipliers are not unique: return the smallest, which do
        not depend on numbering, or those with zeros at the left-out rows (cheaper).
    reduction : {"auto", "none"}
        Where all bodies move parallel to one plane, give them three freedoms, or always six. The
        answers are the same; a factorization other than "block-qr" asks for six as well.
    baumgarte : float, optional
        Time constant [s] of the stabilization terms of (8.22), alpha = beta = 1 / T; default none.

    Raises
    ------
    UnknownNameError, MissingDependencyError
        For an ordering or a factorization that is not there.
    AssemblyError
        If no state is given and the initial one cannot be made consistent.
    """

    def __init__(
        self,
        system: System,
        state: State | None = None,
        *,
        ordering: str = "auto",
        factorization: str = "auto",
        redundancy: str = "remove",
        reactions: str = "minimum-norm",
        reduction: str = "auto",
        baumgarte: float | None = None,
    ) -> None:
        for value, known, what in (
            (redundancy, REDUNDANCY, "redundancy"),
            (reactions, REACTIONS, "reactions"),
            (reduction, REDUCTION, "reduction"),
        ):
            if value not in known:
                raise UnknownNameError(f"{what} is {value!r}; give one of {', '.join(known)}")
        if baumgarte is not None and not baumgarte > 0.0:
            raise ModelError(f"the Baumgarte time constant is {baumgarte}; it must be positive")
        self.system = system
        self.reactions = reactions
        self.baumgarte = baumgarte
        state = consistent_state(system) if state is None else state
        check_state(system, state)
        self._asked_for = ordering, factorization, redundancy
        self._analyzed_at = state
        wants_plane = reduction == "auto" and redundancy == "remove"
        self.is_planar = False
        if not (wants_plane and factorization in IN_PLANE and self._prepare_in_plane(state)):
            self._prepare(state)

    def _prepare(self, state: State) -> None:
        """Decide what evaluations need to know, with all freedoms of the bodies."""
        ordering, factorization, redundancy = self._asked_for
        self.is_planar = False
        self.rank_decision = _rank_decision(self.system, state, redundancy)
        keep = None if self.rank_decision is None else self.rank_decision.keep
        self.structure = kkt_structure(self.system, keep)
        self.choice: SolverChoice = choose_solver(
            self.structure.pattern, ordering, factorization, state.position
        )
        self.core: Core | PlanarCore = Core(
            self.system, self.structure, self.choice.order, self.choice.factorization
        )
        self.structure.pattern.forget_adjacency()

    def _prepare_in_plane(self, state: State) -> bool:
        """Do the same with three freedoms; tell whether bodies have no more."""
        found = planar_reduction(self.system, state)
        if found is None:
            return False
        self.is_planar = True
        self.rank_decision, self.structure = found.decision, found.structure
        self.choice = choose_in_plane(self.structure.pattern, *self._asked_for[:2], state.position)
        self.core = PlanarCore(
            self.system,
            found.motion,
            found.structure,
            found.left_out,
            self.choice.order,
            self.choice.factorization,
        )
        self.structure.pattern.forget_adjacency()
        return True

    def leave_plane(self) -> None:
        """Give the bodies all their freedoms from now on, for a state that is not in the plane."""
        newest = self.core.newest
        self._prepare(self._analyzed_at)
        self.core.newest = newest  # evaluations know theirs by number
        self.__dict__.pop("redundant_rows", None)

    @property
    def rank(self) -> int:
        """Number of independent constraint rows."""
        return self.system.n_rows if self.rank_decision is None else self.rank_decision.rank

    @cached_property
    def redundant_rows(self) -> IntArray:
        """The constraint rows that were left out."""
        if self.rank_decision is None:
            return np.zeros(0, dtype=np.intp)
        return np.flatnonzero(~self.rank_decision.keep)

    @property
    def ordering(self) -> str:
        """Name of the ordering in use."""
        return self.choice.ordering

    @property
    def factorization(self) -> str:
        """Name of the factorization in use."""
        return self.choice.factorization

    def explain(self) -> dict[str, object]:
        """Say what was chosen, and why: rank decision, ordering, factorization, predictions."""
        decision = self.rank_decision
        return {
            "planar": self.is_planar,
            "constraint_rows": self.system.n_rows,
            "redundant_rows": len(self.redundant_rows),
            "redundancy_gap": None if decision is None else decision.gap,
            "redundancy_certain": True if decision is None else decision.certain,
            "redundancy_method": "all rows kept" if decision is None else decision.method,
            **self.choice.explain(),
        }

    def __call__(self, state: State, *, body_force: FloatArray | None = None) -> Accelerations:
        """Return the accelerations and constraint forces at a state.

        Parameters
        ----------
        state : State
            Poses and velocities; they should be consistent (see consistent_state).
        body_force : (n_bodies, 6) array, optional
            Additional wrenches about the centers of mass in body axes, moment first [N m, N].

        Raises
        ------
        SingularSystemError
            If the kept constraint rows are dependent at this state.

        Warns
        -----
        RankWarning
            If the rows that were left out are violated: they are independent at this state, or
            the state is not consistent.
        AccuracyWarning
            Once, if rounding leaves few digits, as in lifts of more than ten thousand pairs.
        """
        result = self.evaluate(state, body_force=body_force).accelerations()
        if result.dropped_residual > WORST_RESIDUAL:
            warnings.warn(
                f"the constraint rows left out at the pose analyzed are violated here by "
                f"{result.dropped_residual:.1e}: make the state consistent, or a new "
                "ForwardDynamics at this state",
                RankWarning,
                stacklevel=2,
            )
        return result

    def acceleration(
        self,
        state: State,
        *,
        body_force: FloatArray | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the accelerations (n_bodies, 6) alone, which is the fastest way to them.

        Parameters and errors as in a call; rows that were left out are not looked at. With `out`, a
        contiguous array of that shape, nothing is allocated: it is filled and returned.
        """
        shape = (self.system.n_bodies, 6)
        if out is None:
            out = np.empty(shape)
        elif not is_plain(out, shape):
            raise ShapeError(f"out must be a contiguous array of {shape} float64 numbers")
        if self.baumgarte is not None:
            out[:] = Evaluation(self, state, body_force).acceleration()
            return out
        try:
            self.core.accelerate(state, body_force, _UNWANTED, out, _UNWANTED)
        except OutOfPlaneError:
            self.leave_plane()
            self.core.accelerate(state, body_force, _UNWANTED, out, _UNWANTED)
        return out

    def evaluate(self, state: State, *, body_force: FloatArray | None = None) -> Evaluation:
        """Return what can be asked of the dynamics at a state.

        Parameters and errors as in a call; nothing is computed before it is asked for.
        """
        return Evaluation(self, state, body_force)


def _rank_decision(system: System, state: State, redundancy: str) -> RankDecision | None:
    if redundancy == "keep" or system.n_rows == 0:
        return None
    rows = _rows(system, state)
    unused = np.empty((system.n_bodies, 0, 0))
    pattern = kkt_structure(system).pattern
    return independent_rows(SaddleMatrix(pattern, unused, system.inverse_inertia, rows))


def _rows(system: System, state: State) -> FloatArray:
    """Return all constraint rows (n_rows, 2, 6)."""
    motion = joint_motion(system, state)
    return constraint_rows(system, state, motion, coordinate_motion(system, state, motion)).rows


class Evaluation:
    """A ForwardDynamics at one state: what the time loop asks several questions of.

    Matrix and factors are kept until another state is evaluated; questions after that make them
    again.
    """

    def __init__(
        self, dynamics: ForwardDynamics, state: State, body_force: FloatArray | None = None
    ) -> None:
        self.dynamics = dynamics
        self.state = state
        self.body_force = body_force
        self._number = -1  # of its assembly in the core

    def __reduce__(self) -> tuple[type[Evaluation], tuple[object, ...]]:
        """Copy and pickle the question: no copy of the core holds its assembly."""
        return Evaluation, (self.dynamics, self.state, self.body_force)

    @cached_property
    def motion(self) -> JointMotion:
        """Relative motion at the joints."""
        check_state(self.dynamics.system, self.state)
        return joint_motion(self.dynamics.system, self.state)

    @cached_property
    def coordinates(self) -> CoordinateMotion:
        """Values and rates of the tracked coordinates."""
        return coordinate_motion(self.dynamics.system, self.state, self.motion)

    @cached_property
    def constraint(self) -> ConstraintRows:
        """All constraint rows."""
        return constraint_rows(self.dynamics.system, self.state, self.motion, self.coordinates)

    @property
    def _subspace(self) -> FloatArray:
        """T' in S coordinates (n_rows, 6), which few joint types let vary."""
        is_constant = self.dynamics.core.has_constant_subspaces
        return self.dynamics.system.subspace if is_constant else self.constraint.subspace

    @property
    def position_error(self) -> FloatArray:
        """(n_rows,) position errors delta of all constraint rows [rad, m]."""
        return position_errors(self.dynamics.system, self.state, self.motion, self.coordinates)

    @property
    def velocity_error(self) -> FloatArray:
        """(n_rows,) T' v_J, less what drives ask for, of all constraint rows [rad/s, m/s]."""
        asked = prescribed_velocities(self.dynamics.system, self.state.time)
        return np.asarray(self.constraint.velocity - asked)

    @cached_property
    def _shift(self) -> FloatArray:
        """What Baumgarte's terms (8.22) add to the accelerations asked for; (0,) for nothing."""
        T = self.dynamics.baumgarte
        if T is None:
            return _UNWANTED
        return -2.0 / T * self.velocity_error - self.position_error / T**2

    def _assembled(self) -> Core | PlanarCore:
        """Return the core, which has assembled this state."""
        dynamics = self.dynamics
        if self._number != dynamics.core.newest:
            arguments = self.state, self.body_force, self._shift
            try:
                dynamics.core.assemble(*arguments)
            except OutOfPlaneError:
                dynamics.leave_plane()
                dynamics.core.assemble(*arguments)
            self._number = dynamics.core.newest
        return dynamics.core

    def _solve_assembled(self, multiplier: FloatArray) -> tuple[FloatArray, float]:
        core, state = self.dynamics.core, self.state
        acceleration = np.empty((self.dynamics.system.n_bodies, 6))
        if self._number == core.newest:
            residual = core.solve(core.right, acceleration, multiplier, state.time)
            if multiplier.size and isinstance(core, PlanarCore):
                core.fill_outer(state, self.body_force, acceleration, multiplier)
            return acceleration, residual
        arguments = state, self.body_force, self._shift, acceleration, multiplier
        try:
            residual = core.accelerate(*arguments)
        except OutOfPlaneError:
            self.dynamics.leave_plane()
            core = self.dynamics.core
            residual = core.accelerate(*arguments)
        self._number = core.newest
        return acceleration, residual

    def _solve_errors(self, error: FloatArray) -> FloatArray:
        """Return the twists (n_bodies, 6) that change the rows by -error."""
        n_rows = self.dynamics.system.n_rows
        if np.shape(error) != (n_rows,):
            raise ShapeError(f"the errors are {np.shape(error)}, not {(n_rows,)}: one a row")
        core = self._assembled()
        right = np.zeros_like(core.right)
        right[len(right) - len(core.rows) :] = -error[core.rows]
        change = np.empty((self.dynamics.system.n_bodies, 6))
        core.solve(right, change, _UNWANTED, self.state.time, _ROUGHLY)
        return change

    def acceleration(self) -> FloatArray:
        """Return the accelerations (n_bodies, 6) alone."""
        return self._solve_assembled(_UNWANTED)[0]

    def accelerations(self) -> Accelerations:
        """Return accelerations, multipliers and joint wrenches, with their residuals."""
        dynamics, system = self.dynamics, self.dynamics.system
        multiplier = np.zeros(system.n_rows)
        acceleration, residual = self._solve_assembled(multiplier)
        dropped = dynamics.core.dropped_residual()
        if len(dynamics.redundant_rows) and dynamics.reactions == "minimum-norm":
            matrix = kkt_structure(system).matrix(self.constraint)
            multiplier = minimum_norm(constraint_matrix(matrix), multiplier)
        return Accelerations(
            acceleration,
            multiplier,
            joint_wrenches(system, self._subspace, multiplier),
            residual,
            dropped,
        )

    def velocity_correction(self) -> FloatArray:
        """Return the change of velocity (n_bodies, 6) that makes A v what the rows ask for.

        Least in the metric of the inertias.
        """
        return self._solve_errors(self.velocity_error)

    def position_correction(self, position_error: FloatArray | None = None) -> FloatArray:
        """Return the twists (n_bodies, 6) that close the joints to first order.

        Least in the metric of the inertias; apply them with kinematics.poses.displaced. With
        errors of a nearby pose given, the same factors serve again (modified Newton).
        """
        return self._solve_errors(self.position_error if position_error is None else position_error)


def forward_dynamics(
    system: System,
    state: State | None = None,
    *,
    method: str = "sparse",
    body_force: FloatArray | None = None,
    ordering: str = "auto",
    factorization: str = "auto",
    redundancy: str = "remove",
    tree: str = "auto",
    reactions: str = "minimum-norm",
    reduction: str = "auto",
    baumgarte: float | None = None,
) -> Accelerations:
    """Return the accelerations and constraint forces at one state.

    Parameters
    ----------
    system, state, body_force, reactions, baumgarte
        As in ForwardDynamics, whatever the method.
    method : str
        "sparse" for ForwardDynamics, or a name from TREE_METHODS, in joint coordinates.
    ordering, factorization, redundancy, reduction : str
        Of the sparse method; see ForwardDynamics.
    tree : str
        Which spanning tree the other methods use, see spanning_tree; "auto": what suits them.

    Raises
    ------
    UnknownNameError
        If there is no such method or tree.
    ModelError
        If the method takes trees only, and the mechanism has loops.
    """
    state = consistent_state(system) if state is None else state
    if method != "sparse":
        from sparsebody.dynamics.tree import tree_dynamics  # only those who ask load it

        of_tree = tree_dynamics(method, system, tree, reactions=reactions, baumgarte=baumgarte)
        return of_tree(state, body_force=body_force)
    dynamics = ForwardDynamics(
        system,
        state,
        ordering=ordering,
        factorization=factorization,
        redundancy=redundancy,
        reactions=reactions,
        reduction=reduction,
        baumgarte=baumgarte,
    )
    return dynamics(state, body_force=body_force)
