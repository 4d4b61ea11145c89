"""Page of an elimination order: graph, elimination tree and matrix, linked by hovering."""

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import ModelError
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.model import Mechanism, State, System
from sparsebody.sparse import elimination_tree
from sparsebody.viewer.page_file import Page, document
from sparsebody.viewer.parts import Picture

MOST_BLOCKS = 6000
_MOST_ENTRIES = 2_000_000  # blocks of L


def order_page(subject: Mechanism | System, ordering: str = "auto") -> Page:
    """Return the page of an elimination order of the matrix of forward dynamics.

    Parameters
    ----------
    subject : Mechanism or System
        Looked at in the consistent pose nearest to its initial one.
    ordering : str
        A key of ORDERINGS, or "auto": the order that forward dynamics would take.

    Returns
    -------
    Page
        The graph of bodies and joints, the elimination tree and the blocks of L; what the pointer
        is at in one of them is marked in all.

    Raises
    ------
    ModelError
        If the matrix has more than 6000 blocks, which a page cannot show.
    UnknownNameError, MissingDependencyError
        For an ordering that is not there.
    AssemblyError
        If the joints of the mechanism do not close.
    """
    system = subject.compile() if isinstance(subject, Mechanism) else subject
    if (n := system.n_bodies + system.n_joints) > MOST_BLOCKS:
        raise ModelError(
            f"{system.name!r} has {n} bodies and joints; an order is shown of at most "
            f"{MOST_BLOCKS}: take a smaller one of the same kind, or draw the matrix with "
            "sparsebody plot --kind spy"
        )
    state = consistent_state(system)
    dynamics = ForwardDynamics(system, state, ordering=ordering)
    pattern, order = dynamics.structure.pattern, dynamics.choice.order
    tree = elimination_tree.elimination(pattern, order)
    metrics = elimination_tree.ordering_metrics(pattern, order)
    first, below = elimination_tree.column_structures(pattern, order)
    if len(below) > _MOST_ENTRIES:
        raise ModelError(
            f"L of {system.name!r} has {len(below)} blocks in this order; at most {_MOST_ENTRIES} "
            "are shown: choose another --ordering, or a smaller mechanism"
        )
    indptr, indices = tree.graph
    joints = dynamics.structure.joints
    names = [*system.body_names, *(system.joint_names[j] for j in joints.tolist())]
    header = {
        "view": "order",
        "title": system.name,
        "ordering": dynamics.ordering,
        "names": names,
        "n_bodies": system.n_bodies,
        "rows": pattern.n_rows,
        "nnz_l": metrics.nnz_l,
        "flops": metrics.flops,
        "height": metrics.etree_height,
        "front": metrics.largest_front,
    }
    arrays = {
        "order": order,
        "size": pattern.block_sizes[order],
        "parent": tree.parent,
        "sequence": tree.sequence,
        "coupled_first": indptr,
        "coupled": indices,
        "l_first": first,
        "l_below": below,
        "place": _places(system, state, joints)[order],
        "ends": np.stack([system.predecessor[joints], system.successor[joints]], axis=1),
    }
    return Page(document(header, arrays), system.name)


def _places(system: System, state: State, joints: IntArray) -> FloatArray:
    """Return (n_blocks, 2) places of bodies, then joints, in the plane that shows them best."""
    on_world = system.successor < 0
    body = np.where(on_world, system.predecessor, system.successor)[joints]
    local = np.where(on_world[:, None], system.predecessor_point, system.successor_point)[joints]
    at_joint = state.position[body] + np.einsum("nij,nj->ni", body_rotations(state)[body], local)
    points = np.concatenate([state.position, at_joint])
    normal = Picture(system, state).plane_normal
    spread, axes = np.linalg.eigh(np.cov(points.T) if len(points) > 1 else np.eye(3))
    is_flat = spread[0] < 1e-6 * spread[2]
    up = np.array([0.0, 0.0, 1.0])
    if np.any(system.gravity):
        up = -system.gravity / np.linalg.norm(system.gravity)
    view = normal if normal is not None else axes[:, 0] if is_flat else np.array([0.5, -0.75, 0.45])
    view = view / np.linalg.norm(view)
    upward = up - view * (view @ up)
    if np.linalg.norm(upward) < 0.1:
        upward = np.array([0.0, 1.0, 0.0]) - view * view[1]
    upward /= np.linalg.norm(upward)
    right = np.cross(upward, view)
    right = right * (-1.0 if right[np.abs(right).argmax()] < 0.0 else 1.0)
    return np.asarray(points @ np.stack([right, upward], axis=1))
