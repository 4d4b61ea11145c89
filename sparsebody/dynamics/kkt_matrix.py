"""The system (8.64) as a SciPy sparse matrix, with labels of its rows and columns."""

from dataclasses import dataclass
from functools import cached_property

from scipy.sparse import csc_array

from sparsebody.arrays import BriefRepr, FloatArray
from sparsebody.assembly.constraint import KKTStructure, kkt_structure
from sparsebody.dynamics.reductions import rank_decision
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.errors import check_name
from sparsebody.model.subgroups import loop_classes
from sparsebody.model.system import State, System, check_state
from sparsebody.sparse.saddle import saddle_csc
from sparsebody.tolerances import RANK_TOLERANCE

Label = tuple[str, str]
ROWS = ("all", "independent")
_AXES = ("x", "y", "z")


@dataclass(frozen=True, eq=False, repr=False)
class KKTMatrix(BriefRepr):
    """K x = b with K = [I A'; A 0], x = (a, -lambda) and b = (forces, gamma).

    Body coordinates, angular part first: axes of the body frame, origin at the center of mass. A
    has the constraint rows P' T in S coordinates of the joints, those of prescribed coordinates
    last of each joint. Featherstone (2008), eq. (8.64).
    """

    matrix: csc_array  # (n, n) symmetric; bodies first, then joints
    right_hand_side: FloatArray  # (n,) [N m, N] of bodies, [rad/s^2, m/s^2] of joints
    structure: KKTStructure  # which rows of which joints there are, and the pattern of blocks

    @cached_property
    def row_labels(self) -> tuple[Label, ...]:
        """(n,) body and component of its equation of motion, joint and which row of it."""
        return self._labels("moment", "force", "row")

    @cached_property
    def column_labels(self) -> tuple[Label, ...]:
        """(n,) body and component of its acceleration, joint and which multiplier -lambda."""
        return self._labels("angular", "linear", "multiplier")

    def _labels(self, angular: str, linear: str, of_row: str) -> tuple[Label, ...]:
        system, rows = self.structure.system, self.structure.rows
        components = [f"{part} {axis}" for part in (angular, linear) for axis in _AXES]
        joint = system.row_joint[rows]
        row_of_joint = rows - system.first_row[joint]
        on_bodies = ((name, component) for name in system.body_names for component in components)
        on_joints = zip(joint.tolist(), row_of_joint.tolist(), strict=True)
        return (*on_bodies, *((system.joint_names[j], f"{of_row} {k}") for j, k in on_joints))


def kkt_matrix(system: System, state: State | None = None, *, rows: str = "all") -> KKTMatrix:
    """Return the matrix, right-hand side and labels of forward dynamics at a state.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        Where it is and how it moves; default: its initial state.
    rows : {"all", "independent"}
        Which constraint rows. With all of them the matrix is singular where rows depend on each
        other; the independent ones are those that ``ForwardDynamics`` would keep at this state
        with six freedoms a body.

    Returns
    -------
    KKTMatrix
        ``matrix`` (n, n), ``right_hand_side`` (n,), ``row_labels`` and ``column_labels``, pairs
        of a name and a component.

    Raises
    ------
    ShapeError, ModelError
        If `state` is no state of `system`.
    UnknownNameError
        If `rows` is another word.

    References
    ----------
    Featherstone (2008), eq. (8.64).

    Examples
    --------
    >>> import sparsebody as sb
    >>> kkt = sb.kkt_matrix(sb.build("four-bar").compile(), rows="independent")
    >>> kkt.matrix.shape, kkt.row_labels[0], kkt.column_labels[-1]
    ((35, 35), ('crank', 'moment x'), ('rocker-pivot', 'multiplier 4'))
    """
    check_name(rows, ROWS, "rows")
    state = system.initial_state if state is None else state
    check_state(system, state)
    keep = None
    if rows == "independent":
        decision = rank_decision(system, state, "remove", RANK_TOLERANCE, loop_classes(system))
        keep = None if decision is None else decision.keep
    structure, motion = kkt_structure(system, keep), SystemMotion(system, state)
    return KKTMatrix(
        saddle_csc(structure.matrix(motion.constraint)),
        structure.right_hand_side(motion.applied - motion.bias, motion.constraint.acceleration),
        structure,
    )
