"""Parts of the picture of a mechanism: primitives in affine frames, each fixed in a body.

A part is a primitive of unit size (Kind) and the matrix that places it in its body, from the center
of mass in body axes. Bodies are drawn by their shapes; without one they are links from joint to
joint, plates between three and more coplanar joints, or boxes of the same inertia.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csgraph

from sparsebody.arrays import BoolArray, FloatArray, IntArray
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.model import JOINT_TYPES, Box, Cylinder, Mesh, Polyline, State, System
from sparsebody.model.bodies import Shape, Solid, all_axes, solids_of

_PLANAR = 1e-6  # least over largest spread of joints that still make a plate
_SAME_AXIS = 1.0 - 1e-9  # largest eigenvalue of the mean of z z' of parallel axes


class Kind(IntEnum):
    """Primitives: all are centered and of unit size, round ones about z.

    The k-th mesh of a picture, in the box of sides 1, has the kind MESH + k.
    """

    BOX = 0  # sides 1
    CYLINDER = 1  # radius 1, length 1
    SPHERE = 2  # radius 1
    PRISM = 3  # corners (0, 0), (1, 0), (0, 1), from z = -1/2 to 1/2
    RING = 4  # radius 1
    MESH = 5  # the first one


class Role(IntEnum):
    """What a part stands for."""

    BODY = 0
    JOINT = 1
    GROUND = 2
    REDUNDANT = 3


@dataclass(frozen=True, eq=False)
class Parts:
    """n primitives."""

    kind: IntArray  # (n,)
    body: IntArray  # (n,) that they move with, -1 for the world
    frame: FloatArray  # (n, 3, 4) axes, with their lengths, and origin in the body
    role: IntArray  # (n,)
    owner: IntArray  # (n,) the body or joint that they stand for
    color: IntArray  # (n,) 256^2 red + 256 green + blue, -1 for that of the page

    def __len__(self) -> int:
        return len(self.kind)

    @staticmethod
    def of(
        kind: int, body: IntArray, frame: FloatArray, role: Role = Role.BODY, owner: Any = None
    ) -> "Parts":
        """Return parts of one kind, of the page's color; `owner`: default the bodies."""
        same = (np.full(len(body), value, dtype=np.intp) for value in (kind, int(role), -1))
        kinds, roles, colors = same
        return Parts(kinds, body, frame, roles, body if owner is None else owner, colors)

    @staticmethod
    def joined(parts: "Iterable[Parts]") -> "Parts":
        """Return all parts in turn."""
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return Parts(*map(np.concatenate, columns))


def framed(rotation: FloatArray, sizes: FloatArray, origin: FloatArray) -> FloatArray:
    """Return (n, 3, 4) frames of rotations (n, 3, 3), lengths of their axes (n, 3) and origins."""
    n = max(len(rotation), len(sizes), len(origin))
    frame = np.empty((n, 3, 4))
    frame[:, :, :3] = rotation * sizes[:, None, :]
    frame[:, :, 3] = origin
    return frame


@dataclass(frozen=True, eq=False)
class Picture:
    """A system at the state that decides how it is drawn: sizes, and layers of flat links."""

    system: System
    state: State

    @cached_property
    def meshes(self) -> dict[tuple[bytes, bytes], Mesh]:
        """The meshes by their keys, each once, whatever frames it has."""
        shapes = {id(shape): shape for shape in self.system.shapes}.values()
        solids = [solid for shape in shapes for solid in solids_of(shape)]
        return {solid.key: solid for solid in solids if isinstance(solid, Mesh)}

    @cached_property
    def body_size(self) -> FloatArray:
        """(n_bodies,) length of the bar of the same inertia, or to the farthest joint [m]."""
        system = self.system
        largest = np.linalg.eigvalsh(system.inertia)[:, -1]
        size = np.sqrt(12.0 * np.maximum(largest, 0.0) / system.mass)
        body, point = system.attachments
        np.maximum.at(size, body, np.linalg.norm(point, axis=1))
        return size

    @cached_property
    def typical_size(self) -> float:
        """The median of the sizes of bodies [m]."""
        return float(np.median(self.body_size)) or 1.0

    @cached_property
    def thickness(self) -> FloatArray:
        """(n_bodies,) of links and plates [m]."""
        typical = self.typical_size
        usual = 0.055 * np.clip(self.body_size, 0.75 * typical, 1.15 * typical)
        return np.minimum(usual, 0.25 * self.body_size)

    @cached_property
    def joint_radius(self) -> FloatArray:
        """(n_joints,) of the glyphs of joints [m]."""
        thick = np.append(self.thickness, np.inf)
        system = self.system
        return 0.62 * np.minimum(thick[system.predecessor], thick[system.successor])

    def of_type(self, *names: str) -> BoolArray:
        """(n_joints,) whether joints are of one of these types."""
        declared = self.system.coordinate_types[0]
        return np.isin(declared, [JOINT_TYPES[name].kind for name in names])

    @cached_property
    def revolute_axis(self) -> FloatArray:
        """(n_bodies, 3) the common direction of all revolutes of a body, else zeros.

        In body axes; its largest component in the world is positive, so that layers agree.
        """
        system = self.system
        is_revolute = self.of_type("revolute")
        mean, count = np.zeros((system.n_bodies, 3, 3)), np.zeros(system.n_bodies)
        for ends, rotation in (
            (system.predecessor, system.predecessor_rotation),
            (system.successor, system.successor_rotation),
        ):
            some = is_revolute & (ends >= 0)
            z = rotation[some, :, 2]
            np.add.at(mean, ends[some], z[:, :, None] * z[:, None, :])
            np.add.at(count, ends[some], 1.0)
        values, vectors = np.linalg.eigh(mean / np.maximum(count, 1.0)[:, None, None])
        axis = np.where((values[:, 2] > _SAME_AXIS)[:, None], vectors[:, :, 2], 0.0)
        world = np.einsum("nij,nj->ni", body_rotations(self.state), axis)
        main = np.abs(world).argmax(axis=1)
        sign = np.where(world[np.arange(len(world)), main] < 0.0, -1.0, 1.0)
        return np.asarray(axis * sign[:, None])

    @cached_property
    def layer(self) -> FloatArray:
        """(n_bodies,) -1/2 or 1/2, different for neighbours where the graph is bipartite."""
        system, n = self.system, self.system.n_bodies
        both = (system.predecessor >= 0) & (system.successor >= 0)
        first, second = system.predecessor[both], system.successor[both]
        graph = coo_array((np.ones(len(first)), (first, second)), shape=(n, n)).tocsr()
        label = csgraph.connected_components(graph, directed=False)[1]
        roots = np.unique(label, return_index=True)[1]
        far = csgraph.dijkstra(graph, directed=False, indices=roots, unweighted=True, min_only=True)
        return np.asarray(far % 2) - 0.5

    @cached_property
    def plane_normal(self) -> FloatArray | None:
        """(3,) the direction of all revolutes in the world, None if they are not parallel."""
        axis = self.revolute_axis
        world = np.einsum("nij,nj->ni", body_rotations(self.state), axis)
        world = world[np.any(axis != 0.0, axis=1)]
        if 2 * len(world) < self.system.n_bodies:
            return None
        _, vectors = np.linalg.eigh(world.T @ world)
        normal = vectors[:, 2]
        return normal if np.abs(world @ normal).min() > 1.0 - 1e-6 else None


# ---- bodies -----------------------------------------------------------------------------------


def body_parts(picture: Picture) -> Parts:
    """Return the parts of all bodies."""
    system = picture.system
    shapes = system.shapes
    key = np.fromiter(map(id, shapes), dtype=np.int64, count=len(shapes))
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    parts: list[Parts] = []
    for k, index in enumerate(first.tolist()):
        bodies = np.flatnonzero(group == k) if len(first) > 1 else np.arange(len(shapes))
        shape = shapes[index]
        made = _by_joints(picture, bodies) if shape is None else _shaped(picture, shape, bodies)
        parts += made
    return Parts.joined(parts)


def _shaped(picture: Picture, shape: Shape, bodies: IntArray) -> list[Parts]:
    """Return the parts of bodies of the same shape."""
    center = picture.system.center_of_mass[bodies]
    if isinstance(shape, Polyline):
        return _polyline(picture, np.asarray(shape.points), bodies)
    stays = [_stays(picture, bodies, shape)] if isinstance(shape, Box) else []
    return [*(_solid(picture, solid, bodies, center) for solid in solids_of(shape)), *stays]


def _solid(picture: Picture, solid: Solid, bodies: IntArray, center: FloatArray) -> Parts:
    """Return a solid on each of some bodies, whose centers of mass are given."""
    rotation, origin, kind = solid.frame.rotation, solid.frame.origin, int(Kind.SPHERE)
    if isinstance(solid, Box):
        kind, sizes = Kind.BOX, np.array(solid.sides)
    elif isinstance(solid, Cylinder):
        kind, sizes = Kind.CYLINDER, np.array([solid.radius, solid.radius, solid.length])
    elif isinstance(solid, Mesh):
        kind = Kind.MESH + list(picture.meshes).index(solid.key)
        low, sizes = mesh_box(solid)
        origin = origin + rotation @ (low + 0.5 * sizes)
    else:
        sizes = np.full(3, solid.radius)
    frame = framed(rotation[None], sizes[None], origin - center)
    parts = Parts.of(kind, bodies, frame)
    if solid.color is None:
        return parts
    red, green, blue = (round(255.0 * part) for part in solid.color)
    return replace(parts, color=np.full_like(parts.color, (red << 16) + (green << 8) + blue))


def mesh_box(mesh: Mesh) -> tuple[FloatArray, FloatArray]:
    """Return the lowest corner of the box around a mesh, and its sides, none of them zero [m]."""
    low, high = mesh.bounds
    sides = high - low
    return low, np.maximum(sides, 1e-6 * (sides.max() or 1.0))


def _stays(picture: Picture, bodies: IntArray, shape: Box | Polyline) -> Parts:
    """Return thin rods from shapes to those joints of their bodies that lie outside of them."""
    center = picture.system.center_of_mass
    is_mine = np.zeros(len(center), dtype=bool)
    is_mine[bodies] = True
    body, point = _distinct_points(picture, is_mine)
    in_shape = point + center[body]  # in the user's body frame, as the shape
    if isinstance(shape, Box):
        rotation, origin = shape.frame.rotation, shape.frame.origin
        half = 0.5 * np.asarray(shape.sides)
        nearest = np.clip((in_shape - origin) @ rotation, -half, half) @ rotation.T + origin
    else:
        nearest = _nearest_on_line(np.asarray(shape.points), in_shape)
    thick = picture.thickness[body]
    is_far = np.linalg.norm(in_shape - nearest, axis=1) > 0.9 * thick
    body, start, end = body[is_far], (nearest - center[body])[is_far], point[is_far]
    return _rods(body, start, end, 0.22 * thick[is_far])


def _nearest_on_line(points: FloatArray, near: FloatArray) -> FloatArray:
    """Return the nearest points (n, 3) on a polyline."""
    start, along = points[:-1], np.diff(points, axis=0)
    square = np.maximum(np.sum(along * along, axis=1), 1e-300)
    part = np.clip(np.einsum("nki,ki->nk", near[:, None] - start, along) / square, 0.0, 1.0)
    on_lines = start + part[..., None] * along
    best = np.linalg.norm(near[:, None] - on_lines, axis=2).argmin(axis=1)
    return np.asarray(on_lines[np.arange(len(near)), best])


def _rods(bodies: IntArray, start: FloatArray, end: FloatArray, radius: FloatArray) -> Parts:
    """Return round rods between points of bodies."""
    along = end - start
    length = np.linalg.norm(along, axis=1)
    sizes = np.stack([radius, radius, length], axis=1)
    rotation = all_axes(along) if len(along) else np.zeros((0, 3, 3))
    return Parts.of(Kind.CYLINDER, bodies, framed(rotation, sizes, 0.5 * (start + end)))


def _polyline(picture: Picture, points: FloatArray, bodies: IntArray) -> list[Parts]:
    """Return plates of closed plane polylines, else links along the lines."""
    center = picture.system.center_of_mass[bodies]
    n = len(points) - 1
    if n >= 3 and np.allclose(points[0], points[-1]):
        corners = points[:-1] - points[:-1].mean(axis=0)
        spread, axes = np.linalg.eigh(corners.T @ corners)
        if spread[0] <= _PLANAR**2 * spread[2]:
            middle = points[:-1].mean(axis=0) - center
            across = picture.thickness[bodies][:, None] * axes[:, 0]
            sides = [(corners[i], corners[(i + 1) % n]) for i in range(n)]
            return [_triangles(bodies, middle, a, b, across) for a, b in sides]
    lines = [(points[i] - center, points[i + 1] - center) for i in range(n)]
    stays = _stays(picture, bodies, Polyline(tuple(map(tuple, points))))
    return [*(_links(picture, bodies, start, end) for start, end in lines), stays]


def _triangles(
    bodies: IntArray, middle: FloatArray, first: FloatArray, second: FloatArray, across: FloatArray
) -> Parts:
    """Return triangular pieces of plates: from a middle to two corners, given from there.

    `across`: the normals, as long as the plates are thick.
    """
    frame = np.empty((len(bodies), 3, 4))
    frame[:, :, 0], frame[:, :, 1], frame[:, :, 2], frame[:, :, 3] = first, second, across, middle
    return Parts.of(Kind.PRISM, bodies, frame)


def _links(picture: Picture, bodies: IntArray, start: FloatArray, end: FloatArray) -> Parts:
    """Return rods, or flat links with round ends in layers where all revolutes are parallel."""
    along = end - start
    length = np.linalg.norm(along, axis=1)
    has_length = length > 1e-9 * picture.typical_size
    bodies, start, end, along, length = (
        array[has_length] for array in (bodies, start, end, along, length)
    )
    along = along / length[:, None]
    thick, axis = picture.thickness[bodies], picture.revolute_axis[bodies]
    is_flat = np.any(axis != 0.0, axis=1) & (np.abs(np.sum(along * axis, axis=1)) < 1e-6)
    middle = 0.5 * (start + end)
    rod, flat = ~is_flat, is_flat
    rods = _rods(bodies[rod], start[rod], end[rod], 0.5 * thick[rod])
    z, x = axis[flat], along[flat]
    turned = np.stack([x, np.cross(z, x), z], axis=2)
    width, depth = 1.7 * thick[flat], 0.6 * thick[flat]
    shift = z * (1.1 * depth * picture.layer[bodies[flat]])[:, None]
    bars = framed(turned, np.stack([length[flat], width, depth], axis=1), middle[flat] + shift)
    ends = np.stack([0.5 * width, 0.5 * width, depth], axis=1)
    return Parts.joined(
        [
            rods,
            Parts.of(Kind.BOX, bodies[flat], bars),
            Parts.of(Kind.CYLINDER, bodies[flat], framed(turned, ends, start[flat] + shift)),
            Parts.of(Kind.CYLINDER, bodies[flat], framed(turned, ends, end[flat] + shift)),
        ]
    )


def _by_joints(picture: Picture, bodies: IntArray) -> list[Parts]:
    """Return links, plates or boxes of bodies without a shape."""
    n = picture.system.n_bodies
    is_mine = np.zeros(n, dtype=bool)
    is_mine[bodies] = True
    body, point = _distinct_points(picture, is_mine)
    count = np.bincount(body, minlength=n)
    first = np.searchsorted(body, np.arange(n))
    two = np.flatnonzero(is_mine & (count == 2))
    few = np.flatnonzero(is_mine & (count < 2))
    parts = [_links(picture, two, point[first[two]], point[first[two] + 1]), _boxes(picture, few)]
    one = few[count[few] == 1]
    one = one[np.linalg.norm(point[first[one]], axis=1) > 1e-9 * picture.typical_size]
    thin = 0.25 * picture.thickness[one]
    parts.append(_rods(one, np.zeros((len(one), 3)), point[first[one]], thin))
    is_many = count[body] > 2
    if is_many.any():
        parts += _plates_and_stars(picture, body[is_many], point[is_many])
    return parts


def _distinct_points(picture: Picture, is_mine: BoolArray) -> tuple[IntArray, FloatArray]:
    """Return bodies, in order, and points of their joints, each place once."""
    body, point = picture.system.attachments
    body, point = body[is_mine[body]], point[is_mine[body]]
    grid = np.rint(point / (1e-5 * picture.typical_size)).astype(np.int64)
    _, index = np.unique(np.column_stack([body, grid]), axis=0, return_index=True)
    index = index[np.argsort(body[index], kind="stable")]
    return body[index], point[index]


def _boxes(picture: Picture, bodies: IntArray) -> Parts:
    """Return boxes of the same inertia as the bodies, none of them too thin to be seen."""
    system = picture.system
    moments, axes = np.linalg.eigh(system.inertia[bodies])
    square = 6.0 * (moments.sum(axis=1)[:, None] - 2.0 * moments) / system.mass[bodies][:, None]
    sides = np.sqrt(np.maximum(square, 0.0))
    sides = np.maximum(sides, 1.5 * picture.thickness[bodies][:, None])
    return Parts.of(Kind.BOX, bodies, framed(axes, sides, np.zeros((len(bodies), 3))))


def _plates_and_stars(picture: Picture, body: IntArray, point: FloatArray) -> list[Parts]:
    """Return plates of coplanar points around their middle, else links from there to each."""
    n = picture.system.n_bodies
    count = np.maximum(np.bincount(body, minlength=n), 1)[:, None]
    middle = np.zeros((n, 3))
    np.add.at(middle, body, point)
    middle /= count
    arm = point - middle[body]
    spread = np.zeros((n, 3, 3))
    np.add.at(spread, body, arm[:, :, None] * arm[:, None, :])
    values, axes = np.linalg.eigh(spread)
    is_plate = (values[:, 0] <= _PLANAR**2 * values[:, 2]) & (values[:, 1] > 1e-4 * values[:, 2])
    star = ~is_plate[body]
    links = _links(picture, body[star], middle[body[star]], point[star])
    body, arm = body[~star], arm[~star]
    along, normal = axes[body, :, 2], axes[body, :, 0]
    up = np.cross(normal, along)
    angle = np.arctan2(np.sum(arm * up, axis=1), np.sum(arm * along, axis=1))
    order = np.lexsort((angle, body))
    body, arm, normal = body[order], arm[order], normal[order]
    following = np.arange(1, len(body) + 1)
    first = np.searchsorted(body, body)
    is_last = np.ones(len(body), dtype=bool)
    is_last[:-1] = body[1:] != body[:-1]
    following[is_last] = first[is_last]
    thick = 0.6 * picture.thickness[body]
    shift = picture.revolute_axis[body] * (1.1 * thick * picture.layer[body])[:, None]
    across = thick[:, None] * normal
    return [links, _triangles(body, middle[body] + shift, arm, arm[following], across)]


# ---- joints -----------------------------------------------------------------------------------

_Z, _X, _Y = np.eye(3), np.eye(3)[:, [1, 2, 0]], np.eye(3)[:, [2, 0, 1]]
_P, _S = "predecessor", "successor"
# A primitive, its axis, sizes over the joint's radius, and the body in whose joint frame it lies.
Glyph = tuple[Kind, FloatArray, tuple[float, float, float], str]


def _ball(radius: float, side: str = _S) -> Glyph:
    return Kind.SPHERE, _Z, (radius, radius, radius), side


def _pin(radius: float, length: float, side: str = _S, axis: FloatArray = _Z) -> Glyph:
    return Kind.CYLINDER, axis, (radius, radius, length), side


_GLYPHS: dict[str, list[Glyph]] = {
    "revolute": [_pin(0.85, 3.4)],
    "prismatic": [(Kind.BOX, _Z, (2.4, 2.4, 4.0), _S), _pin(0.4, 11.0, _P)],
    "helical": [_pin(1.2, 3.0), _pin(1.5, 0.5), _pin(0.5, 9.0, _P)],
    "cylindrical": [_pin(1.3, 4.0), _pin(0.5, 10.0, _P)],
    "universal": [_pin(0.55, 4.2, _P, _X), _pin(0.55, 4.2, _S, _Y)],
    "spherical": [_ball(1.3)],
    "planar": [_pin(2.6, 0.5, _P), _ball(0.9)],
    "fixed": [(Kind.BOX, _Z, (1.8, 1.8, 1.8), _S)],
    "free": [],
    "point-on-line": [_ball(1.2), _pin(0.4, 11.0, _P)],
    "point-on-plane": [_ball(1.2), _pin(4.0, 0.2, _P)],
    "constant-distance": [_ball(0.8), _ball(0.8, _P)],
}
_OTHER = [_ball(1.0)]  # a type from outside


def joint_parts(picture: Picture, redundant: IntArray, up: FloatArray) -> Parts:
    """Return the glyphs of all joints, rings around those with redundant rows, and supports."""
    system, radius = picture.system, picture.joint_radius
    thick = np.append(picture.thickness, 0.0)
    thickest = np.maximum(thick[system.predecessor], thick[system.successor])
    parts: list[Parts] = []
    for name, kind in JOINT_TYPES.items():
        joints = np.flatnonzero(system.coordinate_types[0] == kind.kind)
        for primitive, axes, sizes, side in _GLYPHS.get(name, _OTHER) if len(joints) else ():
            body, rotation, point = _frames(system, joints, side)
            lengths = radius[joints, None] * np.array([sizes])
            if name == "revolute":  # through the links of both bodies
                lengths[:, 2] = 1.6 * thickest[joints]
            frame = framed(rotation @ axes, lengths, point)
            parts.append(Parts.of(primitive, body, frame, Role.JOINT, joints))
    marked = np.flatnonzero(redundant > 0)
    body, rotation, point = _frames(system, marked, _S)
    ring = framed(rotation, np.repeat(2.6 * radius[marked, None], 3, axis=1), point)
    parts.append(Parts.of(Kind.RING, body, ring, Role.REDUNDANT, marked))
    parts.append(_supports(picture, up))
    return Parts.joined(parts)


def _frames(system: System, joints: IntArray, side: str) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return bodies, rotations and origins of the frames P or S of joints."""
    names = side, f"{side}_rotation", f"{side}_point"
    body, rotation, point = (getattr(system, name)[joints] for name in names)
    return body, rotation, point


def _supports(picture: Picture, up: FloatArray) -> Parts:
    """Return a block in the world at every joint with it, on the side away from the body."""
    system, state = picture.system, picture.state
    joints = np.flatnonzero(
        ((system.predecessor < 0) | (system.successor < 0)) & ~picture.of_type("free")
    )
    on_successor = system.successor[joints] < 0
    body = np.where(on_successor, system.predecessor[joints], system.successor[joints])
    point = np.where(
        on_successor[:, None], system.successor_point[joints], system.predecessor_point[joints]
    )
    above = (state.position[body] - point) @ up
    side = np.where(above < -0.05 * picture.typical_size, 1.0, -1.0)
    r = picture.joint_radius[joints]
    origin = point + up * (side * 1.9 * r)[:, None]
    rotation = all_axes(np.repeat(up[None], len(joints), axis=0))
    sizes = r[:, None] * np.array([[4.2, 4.2, 1.4]])
    world = np.full(len(joints), -1, dtype=np.intp)
    return Parts.of(Kind.BOX, world, framed(rotation, sizes, origin), Role.GROUND, joints)


# ---- what hangs between two bodies ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Strands:
    """Rods, springs and beams: points fixed in one body each, joined by lines or curves."""

    kind: IntArray  # (n,) 0 rod, 1 spring, 2 beam
    body: IntArray  # (n, 4) of the points; rods and springs repeat their ends
    point: FloatArray  # (n, 4, 3) [m]
    radius: FloatArray  # (n,) [m]


def strands(picture: Picture) -> Strands:
    """Return the massless rods, point forces and beams of a system."""
    system, forces = picture.system, picture.system.point_forces
    is_rod = picture.of_type("constant-distance")
    twice = [0, 0, 1, 1]
    rod_body = np.stack([system.predecessor[is_rod], system.successor[is_rod]], axis=1)
    rod_point = np.stack([system.predecessor_point[is_rod], system.successor_point[is_rod]], axis=1)
    spring_body = np.stack([forces.first, forces.second], axis=1)
    spring_point = np.stack([forces.first_point, forces.second_point], axis=1)
    beam_body, beam_point, length = system.elastic.beam_curves
    counts = len(rod_body), len(spring_body), len(beam_body)
    rod_radius = 0.3 * float(np.median(picture.thickness))
    beam_radius = np.minimum(0.06 * length, 3.0 * rod_radius)
    return Strands(
        kind=np.repeat(np.arange(3), counts),
        body=np.concatenate([rod_body, spring_body, beam_body])[:, twice],
        point=np.concatenate([rod_point[:, twice], spring_point[:, twice], beam_point]),
        radius=np.concatenate([np.full(counts[0] + counts[1], rod_radius), beam_radius]),
    )
