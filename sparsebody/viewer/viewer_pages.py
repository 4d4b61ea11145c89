"""HTML pages of a motion or a pose, in colors that show a quantity, and of an elimination order.

The page of an order shows the graph, the elimination tree and the blocks of L, linked by hovering.
"""

import warnings
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray, IntArray, NDArray
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.initial_state import consistent_state
from sparsebody.errors import ModelError, ShapeError, SparsebodyError, UnknownNameError
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.model import JOINT_TYPES, Mechanism, State, System
from sparsebody.model.system import check_state
from sparsebody.simulation.trajectory import Trajectory
from sparsebody.sparse import elimination_tree
from sparsebody.sparse.pattern import positions
from sparsebody.viewer.choices import COLORS
from sparsebody.viewer.page_file import Page, document, packed_quaternions, quantized
from sparsebody.viewer.parts import Parts, Picture, body_parts, joint_parts, mesh_box, strands

MOST_FRAMES = 400  # 16 s of 25 frames a second
_MOST_POSES = 400_000  # bodies times frames: 16 bytes each make a page of 6 MB
_FLAT = 1e-3  # extent across a plane, relative to that in it, that a picture does not show
_ALONG_VIEW = 0.995  # cosine of an angle to the view, below 6 degrees: the direction is not shown
_Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Frames:
    """n frames of a motion: fields of Trajectory."""

    time: FloatArray  # (n,) [s]
    position: FloatArray  # (n, n_bodies, 3) centers of mass in the world [m]
    orientation: FloatArray  # (n, n_bodies, 4) unit quaternions (w, x, y, z), body to world
    velocity: FloatArray  # (n, n_bodies, 6) body coordinates, angular first [rad/s, m/s]
    joint_wrench: FloatArray | None  # (n, n_joints, 6) on the successor in S coordinates [N m, N]


def motion_page(
    system: System,
    motion: Trajectory | State,
    *,
    color: str | None = None,
    n_frames: int | None = None,
    title: str = "",
) -> Page:
    """Return the page of a motion, or of a pose.

    Parameters
    ----------
    system : System
        The compiled mechanism; bodies are drawn by their shapes, or by their joints and inertias.
    motion : Trajectory or State
        Its motion, with reactions if they were recorded, or one pose.
    color : str, optional
        The quantity that colors show when the page opens, one of COLORS; default: "speed" of a
        motion, "plain" for a pose.
    n_frames : int, optional
        Largest number of frames, equally spaced in time; default: 400, and for more than 1000
        bodies fewer.
    title : str
        Default: the name of the mechanism.

    Raises
    ------
    UnknownNameError
        If `color` is not one of COLORS, or needs reactions or an order that do not exist.
    ShapeError
        If `motion` has other bodies or joints than `system`.
    SimulationError
        If `n_frames` is less than one, or the trajectory has no records.
    """
    frames = _frames(system, motion, n_frames)
    chosen = color or ("speed" if len(frames.time) > 1 else "plain")
    if chosen not in COLORS:
        raise UnknownNameError(f"color is {chosen!r}; give one of {', '.join(COLORS)}")
    if chosen == "load" and frames.joint_wrench is None:
        raise UnknownNameError(
            "color is 'load', but no reactions are recorded; simulate with "
            "Recording(reactions=True) or --record-reactions"
        )
    motions = frames.position, frames.orientation, frames.velocity
    position, orientation, velocity = (values[0].copy() for values in motions)
    coordinate, start = np.zeros(len(system.coordinates.joint)), float(frames.time[0])
    first = State(position, orientation, velocity, coordinate, start)
    order, redundant = _analyzed(system, first)
    if chosen == "order" and order is None:
        raise UnknownNameError("color is 'order', but the joints do not close at the first frame")
    picture, up = Picture(system, first), _up(system, first)
    parts = Parts.joined([body_parts(picture), joint_parts(picture, redundant, up)])
    arrays = _poses(frames) | _channels(system, frames) | _shapes(parts, picture)
    arrays |= _meshes(picture)
    arrays |= {"redundant": redundant} | ({} if order is None else {"order": order})
    normal, names = picture.plane_normal, {kind.kind: name for name, kind in JOINT_TYPES.items()}
    header = {
        "view": "motion",
        "title": title or system.name,
        "color": chosen,
        "up": up.tolist(),
        "gravity": system.gravity.tolist(),
        "normal": None if normal is None else normal.tolist(),
        "size": picture.typical_size,
        "bodies": list(system.body_names),
        "joints": list(system.joint_names),
        "joint_types": [names.get(kind, "?") for kind in system.coordinate_types[0].tolist()],
        "n_frames": len(frames.time),
    }
    return Page(document(header, arrays), header["title"])


def _frames(system: System, motion: Trajectory | State, n_frames: int | None) -> Frames:
    """Return at most n_frames records of a trajectory, equally spaced in time, or the one state."""
    if isinstance(motion, State):
        check_state(system, motion)
        pose = motion.position[None], motion.orientation[None], motion.velocity[None]
        return Frames(np.array([motion.time]), *pose, None)
    for name in ("body_names", "joint_names"):
        if list(getattr(motion, name)) != list(getattr(system, name)):
            raise ShapeError(
                f"the trajectory of {motion.name!r} has other {name.replace('_', ' ')} than the "
                f"system {system.name!r}; give the system that was simulated"
            )
    if n_frames is None:
        n_frames = max(2, min(MOST_FRAMES, _MOST_POSES // system.n_bodies))
    index = motion.equally_spaced(n_frames)
    channels = (getattr(motion, field.name) for field in fields(Frames))
    rows: list[Any] = [None if one is None else np.asarray(one)[index] for one in channels]
    return Frames(*rows)


def _up(system: System, state: State) -> FloatArray:
    """Return the direction against gravity; without it z, or y of a mechanism in the xy plane."""
    strength = float(np.linalg.norm(system.gravity))
    if strength > 0.0:
        return -system.gravity / strength
    spread = np.ptp(state.position, axis=0)
    return np.eye(3)[1 if spread[2] < _FLAT * spread.max() else 2]


def _analyzed(system: System, state: State) -> tuple[IntArray | None, IntArray]:
    """Return the position of every body, then joint, in the elimination order, and redundant rows.

    The position is -1 for joints all of whose rows are redundant. The order is None where the
    joints do not close. Redundant rows are counted by joint, (n_joints,).
    """
    redundant = np.zeros(system.n_joints, dtype=np.intp)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the accuracy of accelerations, not shown here
            dynamics = ForwardDynamics(system, state)
    except SparsebodyError:
        return None, redundant
    np.add.at(redundant, system.row_joint[dynamics.redundant_rows], 1)
    structure, order = dynamics.structure, dynamics.choice.order
    in_order = positions(order)
    position = np.full(system.n_bodies + system.n_joints, -1, dtype=np.intp)
    n = structure.pattern.n_primal
    position[:n] = in_order[:n]
    position[system.n_bodies + structure.joints] = in_order[n:]
    return position, redundant


def _poses(frames: Frames) -> _Arrays:
    """Return times and poses; positions are relative to the center of the box of all of them."""
    n = len(frames.time)
    center = 0.5 * (frames.position.min(axis=(0, 1)) + frames.position.max(axis=(0, 1)))
    position = quantized((frames.position - center).reshape(n, -1))
    orientation = packed_quaternions(frames.orientation)
    return {
        "time": frames.time,
        "center": center,
        "position": position.level,
        "position_low": position.low,
        "position_step": position.step,
        "orientation": orientation.reshape(n, -1),
    }


def _channels(system: System, frames: Frames) -> _Arrays:
    """Return speeds and kinetic energies of bodies, and recorded reactions of joints.

    With them masses, the joints' bodies, and their points in the successors [m], where reactions
    act. Reactions that are NaN, because they are not determined, are shown as zero.
    """
    n = len(frames.time)
    w, v = frames.velocity[..., :3], frames.velocity[..., 3:]
    square = np.einsum("tni,tni->tn", v, v)
    rotational = np.einsum("tni,nij,tnj->tn", w, system.inertia, w, optimize=True)
    arrays: _Arrays = {
        "mass": system.mass,
        "predecessor": system.predecessor,
        "successor": system.successor,
        "joint_point": system.successor_point,
    }
    for name, values in (
        ("speed", np.sqrt(square)),
        ("energy", 0.5 * (system.mass * square + rotational)),
    ):
        largest = float(values.max())
        step = largest / 65535.0
        level = np.rint(values / (step or 1.0)).astype(np.uint16)
        arrays |= {name: level, f"{name}_step": np.array([step])}
    if frames.joint_wrench is None:
        return arrays
    wrench = frames.joint_wrench.reshape(n, -1, 2, 3)
    in_body_axes = np.einsum("nij,tnkj->tnki", system.successor_rotation, wrench, optimize=True)
    levels = quantized(np.nan_to_num(in_body_axes).reshape(n, -1))
    return arrays | {
        "wrench": levels.level,  # on the successor, in its axes, moment first
        "wrench_low": levels.low,
        "wrench_step": levels.step,
    }


def _meshes(picture: Picture) -> _Arrays:
    """Return vertices in 65536 levels along the sides of each mesh's box, and triangles."""
    meshes = list(picture.meshes.values())
    if not meshes:
        return {}
    boxes = [(np.asarray(mesh.vertices), *mesh_box(mesh)) for mesh in meshes]
    levels = [np.rint(65535.0 * (vertices - low) / sides) for vertices, low, sides in boxes]
    triangles = [np.asarray(mesh.triangles) for mesh in meshes]
    return {
        "mesh_vertex": np.concatenate(levels).astype(np.uint16),
        "mesh_triangle": np.concatenate(triangles),
        "mesh_n_vertices": np.array([len(level) for level in levels]),
        "mesh_n_triangles": np.array([len(rows) for rows in triangles]),
    }


def _shapes(parts: Parts, picture: Picture) -> _Arrays:
    """Return the primitive solids of bodies and joints, and rods, springs and beams as curves."""
    curves = strands(picture)
    return {
        "part_kind": parts.kind,
        "part_role": parts.role.astype(np.uint8),
        "part_body": parts.body,
        "part_owner": parts.owner,
        "part_frame": parts.frame,
        **({"part_color": parts.color} if (parts.color >= 0).any() else {}),
        "tint": picture.layer > 0.0,
        "joint_radius": np.where(np.isfinite(picture.joint_radius), picture.joint_radius, 0.0),
        "strand_kind": curves.kind.astype(np.uint8),
        "strand_body": curves.body,
        "strand_point": curves.point,
        "strand_radius": curves.radius,
    }


# ---- an elimination order ---------------------------------------------------------------------


MOST_BLOCKS = 6000  # of the matrix: more are closer to each other than pixels
_MOST_ENTRIES = 2_000_000  # blocks of L, at four bytes each


def order_page(subject: Mechanism | System, ordering: str = "auto") -> Page:
    """Return the page of an elimination order of the matrix of forward dynamics.

    Parameters
    ----------
    subject : Mechanism or System
        Shown, and ordered, at its consistent initial state.
    ordering : str
        A key of ORDERINGS, or "auto": the order that forward dynamics would take.

    Returns
    -------
    Page
        The graph of bodies and joints, the elimination tree and the blocks of L; the block below
        the pointer is highlighted in all three.

    Raises
    ------
    ModelError
        If the matrix has more than 6000 blocks, which a page cannot show.
    UnknownNameError, MissingDependencyError
        If the ordering is unknown, or its package is not installed.
    AssemblyError
        If the joints of the mechanism do not close.
    """
    system = subject.compile() if isinstance(subject, Mechanism) else subject
    if (n := system.n_bodies + system.n_joints) > MOST_BLOCKS:
        raise ModelError(
            f"{system.name!r} has {n} bodies and joints; a page shows at most {MOST_BLOCKS}: take "
            "a smaller mechanism of the family, or draw the matrix with sparsebody plot --kind spy"
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
        "place": _block_positions(system, state, joints)[order],
        "ends": np.stack([system.predecessor[joints], system.successor[joints]], axis=1),
    }
    return Page(document(header, arrays), system.name)


def _block_positions(system: System, state: State, joints: IntArray) -> FloatArray:
    """Return (n_blocks, 2) positions of bodies, then joints, projected onto a plane [m].

    Across the revolutes of planar mechanisms, the plane of all points if they lie in one, else seen
    obliquely from above. Gravity points down where the plane does not lie across it.
    """
    on_world = system.successor < 0
    body = np.where(on_world, system.predecessor, system.successor)[joints]
    local = np.where(on_world[:, None], system.predecessor_point, system.successor_point)[joints]
    at_joint = state.position[body] + np.einsum("nij,nj->ni", body_rotations(state)[body], local)
    points = np.concatenate([state.position, at_joint])
    normal = Picture(system, state).plane_normal
    spread, axes = np.linalg.eigh(np.cov(points.T) if len(points) > 1 else np.eye(3))
    is_flat = spread[0] < _FLAT**2 * spread[2]  # eigenvalues are squares of extents
    oblique = np.array([0.5, -0.75, 0.45])
    view = normal if normal is not None else axes[:, 0] if is_flat else oblique
    view = view / np.linalg.norm(view)
    up = _up(system, state)
    if abs(view @ up) > _ALONG_VIEW:  # then y, or z of a view along y
        up = np.eye(3)[2 if abs(view[1]) > _ALONG_VIEW else 1]
    upward = up - view * (view @ up)
    upward /= np.linalg.norm(upward)
    right = np.cross(upward, view)
    right = right * (-1.0 if right[np.abs(right).argmax()] < 0.0 else 1.0)
    return np.asarray(points @ np.stack([right, upward], axis=1))
