"""Frames fixed in bodies, rigid bodies, one or many as columns, and shapes that pictures show."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, ClassVar, TypeGuard

import numpy as np

from sparsebody import spatial
from sparsebody._core import model
from sparsebody.arrays import ArrayLike, FloatArray, IntArray, NDArray, check_finite, numbers
from sparsebody.errors import ModelError
from sparsebody.model import columns
from sparsebody.model.columns import column, distinct, positive, put_checked, repeated, vector


@dataclass(frozen=True, eq=False)
class Frame:
    """Origin [m] and unit quaternion (w, x, y, z) of a frame, both in the frame of its body."""

    position: ArrayLike = (0.0, 0.0, 0.0)
    orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        put_checked(self, "frame", position=vector, orientation=partial(vector, size=4))
        spatial.check_unit_quaternion(self.orientation, "frame")

    @property
    def origin(self) -> FloatArray:
        """(3,) the origin in body coordinates [m]."""
        return np.asarray(self.position)

    @property
    def rotation(self) -> FloatArray:
        """(3, 3) from frame to body coordinates."""
        quaternion = np.asarray(self.orientation, dtype=float)
        return spatial.rotation_from_quaternion(quaternion / np.linalg.norm(quaternion))

    @classmethod
    def from_axes(
        cls, origin: ArrayLike, z: ArrayLike = (0, 0, 1), x: ArrayLike | None = None
    ) -> "Frame":
        """Frame with the given z axis; x is made perpendicular to it, or chosen where not given."""
        rotation = axes(z, x, "frame")
        return cls(origin, spatial.quaternion_from_rotation(rotation))


@dataclass(frozen=True, eq=False)
class Frames:
    """Frame with a leading axis: origins (n, 3) [m] and unit quaternions (n, 4).

    One of the two may lack the leading axis, and then holds for all n frames.
    """

    position: ArrayLike = (0.0, 0.0, 0.0)
    orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        n = next((len(a) for a in (self.position, self.orientation) if np.ndim(a) == 2), 1)  # type: ignore[arg-type]
        position = column(self.position, (3,), n, "frames", "position")
        orientation = column(self.orientation, (4,), n, "frames", "orientation")
        if not _are_frames(position, orientation):
            i = columns.first_wrong(n, lambda some: _are_frames(position[some], orientation[some]))
            try:
                Frame(position[i], orientation[i])
            except ModelError as error:
                raise ModelError(f"frames[{i}]: {error}") from error
        object.__setattr__(self, "position", position)
        object.__setattr__(self, "orientation", orientation)

    @classmethod
    def of(cls, frames: Sequence[Frame]) -> "Frames":
        """Frames from one object each."""
        origins = np.array([frame.origin for frame in frames]).reshape(-1, 3)
        return trusted(cls, origins, np.reshape([f.orientation for f in frames], (-1, 4)))

    @classmethod
    def repeated(cls, frame: Frame, n: int) -> "Frames":
        """The same frame n times."""
        return trusted(cls, repeated(frame.origin, n), repeated(np.asarray(frame.orientation), n))

    @classmethod
    def joined(cls, parts: "Sequence[Frames]") -> "Frames":
        """The frames of all parts in turn."""
        origins, quaternions = ([getattr(p, f) for p in parts] for f in ("origins", "quaternions"))
        return trusted(cls, columns.joined(origins), columns.joined(quaternions))

    def __len__(self) -> int:
        return len(self.origins)

    def __getitem__(self, index: Any) -> Any:
        position, orientation = self.origins[index], self.quaternions[index]
        return trusted(Frame if position.ndim == 1 else Frames, position, orientation)

    @property
    def origins(self) -> FloatArray:
        """(n, 3) the origins in body coordinates [m]."""
        return np.asarray(self.position)

    @property
    def quaternions(self) -> FloatArray:
        """(n, 4) the orientations as given."""
        return np.asarray(self.orientation)

    @property
    def rotations(self) -> FloatArray:
        """(n, 3, 3) from frame to body coordinates."""
        return rotations(self.quaternions)


def trusted(kind: type[Any], position: FloatArray, orientation: FloatArray) -> Any:
    """Return a Frame or Frames of arrays that need no check; they become read-only."""
    frame = object.__new__(kind)
    position.flags.writeable = orientation.flags.writeable = False
    object.__setattr__(frame, "position", position)
    object.__setattr__(frame, "orientation", orientation)
    return frame


def _are_frames(position: FloatArray, orientation: FloatArray) -> bool:
    return model.is_regular(position, orientation, position, position[:, 0])


def unit_quaternions(orientation: FloatArray) -> FloatArray:
    """(n, 4) the quaternions, unit to rounding."""
    rows = distinct(orientation)
    return _as_many(rows / np.linalg.norm(rows, axis=1, keepdims=True), len(orientation))


def rotations(orientation: FloatArray) -> FloatArray:
    """(n, 3, 3) rotations of nearly unit quaternions (n, 4)."""
    rows = distinct(unit_quaternions(orientation))
    return _as_many(spatial.rotation_from_quaternion(rows), len(orientation))


def _as_many(rows: FloatArray, n: int) -> FloatArray:
    """Return n rows, the only one repeated without storing it again."""
    return rows if len(rows) == n else repeated(rows[0], n)


def axes(z: ArrayLike, x: ArrayLike | None, who: str) -> FloatArray:
    """(3, 3) right-handed unit axes as columns, the third along z, the first nearest to x.

    Without x they are the world axes after the least rotation that takes z to the given direction,
    a smooth function of it except at -z.
    """
    e_z = columns.direction(z, who, "axis")
    z_numbers = tuple(np.array(z, dtype=float).tolist())
    if x is None:
        return _axes_of(z_numbers)
    e_x = columns.direction(x, who, "x axis")
    columns.direction(e_x - e_z * (e_z @ e_x), who, "part of the x axis across the axis")
    return _axes_of(z_numbers, tuple(np.array(x, dtype=float).tolist()))


@lru_cache(maxsize=64)
def _axes_of(z: tuple[float, ...], x: tuple[float, ...] | None = None) -> FloatArray:
    """Return `all_axes` of one direction: few axes serve the joints of most mechanisms."""
    turned = all_axes(np.array([z]), None if x is None else np.array([x]))[0]
    turned.flags.writeable = False
    return turned


def all_axes(z: FloatArray, x: FloatArray | None = None) -> FloatArray:
    """(n, 3, 3) as `axes` of directions z and x (n, 3), of any length above zero."""
    e_z = columns.unit_rows(z)
    if x is None:
        h = e_z + np.array([0.0, 0.0, 1.0])
        square = np.sum(h * h, axis=1)
        against = h[:, 2] < 1e-12
        square[against] = 1.0
        half_turn = 2.0 * h[:, :, None] * h[:, None, :] / square[:, None, None] - np.eye(3)
        half_turn *= np.array([-1.0, -1.0, 1.0])  # half a turn about the bisector, and about z
        half_turn[against] = np.diag([1.0, -1.0, -1.0])
        return np.asarray(half_turn)
    across = x - e_z * np.sum(e_z * x, axis=1, keepdims=True)
    e_x = columns.unit_rows(across)
    return np.stack([e_x, np.cross(e_z, e_x), e_z], axis=2)


Color = tuple[float, float, float]  # red, green and blue from 0 to 1, as screens show them


@dataclass(frozen=True, eq=False)
class Box:
    """A box with the given sides [m], centred on its frame."""

    name: ClassVar[str] = "box"
    sides: tuple[float, float, float]
    frame: Frame = field(default_factory=Frame)
    color: Color | None = None

    def __post_init__(self) -> None:
        put_checked(self, "box", sides=_sides, frame=_frame, color=_color)


@dataclass(frozen=True, eq=False)
class Cylinder:
    """A cylinder about the z axis of its frame, centred on it [m]."""

    name: ClassVar[str] = "cylinder"
    radius: float
    length: float
    frame: Frame = field(default_factory=Frame)
    color: Color | None = None

    def __post_init__(self) -> None:
        put_checked(self, "cylinder", radius=positive, length=positive, frame=_frame, color=_color)


@dataclass(frozen=True, eq=False)
class Sphere:
    """A sphere [m]."""

    name: ClassVar[str] = "sphere"
    radius: float
    frame: Frame = field(default_factory=Frame)
    color: Color | None = None

    def __post_init__(self) -> None:
        put_checked(self, "sphere", radius=positive, frame=_frame, color=_color)


@dataclass(frozen=True, eq=False)
class Polyline:
    """Straight lines between points in the body frame [m]: bars, plates, frames."""

    name: ClassVar[str] = "polyline"
    points: tuple[tuple[float, float, float], ...]

    def __post_init__(self) -> None:
        points = numbers(self.points, "polyline: points")
        if points.ndim != 2 or len(points) < 2:
            raise ModelError(f"polyline: points is {self.points!r}; give two points or more")
        checked = tuple(tuple(vector(p, "polyline", "a point").tolist()) for p in points)
        object.__setattr__(self, "points", checked)


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles between points in a frame [m].

    Read-only arrays are kept as they are, so that many meshes may share them.
    """

    name: ClassVar[str] = "mesh"
    vertices: ArrayLike  # (n, 3) [m]
    triangles: ArrayLike  # (m, 3) indices of vertices
    frame: Frame = field(default_factory=Frame)
    color: Color | None = None

    def __post_init__(self) -> None:
        put_checked(self, "mesh", vertices=_triples, triangles=_indices, frame=_frame, color=_color)
        n, largest = len(np.asarray(self.vertices)), int(np.max(self.triangles))
        if largest >= n:
            raise ModelError(f"mesh: triangles have the vertex {largest}; the last one is {n - 1}")

    @property
    def key(self) -> tuple[bytes, bytes]:
        """What meshes have in common that differ in their frames and colors alone."""
        return np.asarray(self.vertices).tobytes(), np.asarray(self.triangles).tobytes()

    @property
    def bounds(self) -> FloatArray:
        """(2, 3) least and largest coordinates in the frame [m]."""
        vertices = np.asarray(self.vertices)
        return np.stack([vertices.min(axis=0), vertices.max(axis=0)])


Solid = Box | Cylinder | Sphere | Mesh


@dataclass(frozen=True, eq=False)
class CompoundShape:
    """Several solids on one body."""

    name: ClassVar[str] = "compound"
    solids: tuple[Solid, ...]

    def __post_init__(self) -> None:
        put_checked(self, "compound shape", solids=_solids)


def _triples(value: ArrayLike, who: str, what: str) -> FloatArray:
    """Return rows of three finite numbers, read-only."""
    array = numbers(value, f"{who}: {what}", "rows of three numbers")
    if array.ndim != 2 or array.shape[1] != 3 or not len(array):
        raise ModelError(f"{who}: {what} has shape {array.shape}; give one row of three or more")
    check_finite(array, f"{who}: {what}")
    array.flags.writeable = False
    return value if _needs_no_copy(value, float) else array


def _indices(value: ArrayLike, who: str, what: str) -> IntArray:
    """Return rows of three indices, read-only."""
    triples = _triples(value, who, what)
    index = triples.astype(np.intp)
    if (index != triples).any() or (index < 0).any():
        wrong = triples[(index != triples) | (index < 0)][0]
        raise ModelError(f"{who}: {what} have the index {wrong:g}; give those of vertices, from 0")
    index.flags.writeable = False
    return value if _needs_no_copy(value, np.intp) else index


def _needs_no_copy(value: ArrayLike, kind: type) -> TypeGuard[NDArray[Any]]:
    """Whether an array can be stored itself: of this type, contiguous, and never written to."""
    if not isinstance(value, np.ndarray) or value.dtype != kind:
        return False
    return bool(value.flags.owndata and value.flags.c_contiguous and not value.flags.writeable)


def _solids(value: object, who: str, what: str) -> tuple[Solid, ...]:
    solids = tuple(value) if isinstance(value, list | tuple) else ()
    if not solids or not all(isinstance(solid, Solid) for solid in solids):
        raise ModelError(f"{who}: {what} is {value!r}; give a list of Box, Cylinder, Sphere, Mesh")
    return solids


def _sides(value: ArrayLike, who: str, what: str) -> tuple[float, ...]:
    return tuple(positive(side, who, "a side") for side in vector(value, who, what))


def _frame(value: object, who: str, what: str) -> Frame:
    if not isinstance(value, Frame):
        raise ModelError(f"{who}: {what} is {value!r}; give a Frame(position)")
    return value


def _color(value: object, who: str, what: str) -> Color | None:
    if value is None:
        return None
    red, green, blue = vector(value, who, what).tolist()  # type: ignore[arg-type]
    if min(red, green, blue) < 0.0 or max(red, green, blue) > 1.0:
        raise ModelError(f"{who}: {what} is {value!r}; give red, green and blue from 0 to 1")
    return red, green, blue


Shape = Solid | Polyline | CompoundShape
SHAPES: dict[str, type[Shape]] = {
    kind.name: kind for kind in (Box, Cylinder, Sphere, Polyline, Mesh, CompoundShape)
}


def solids_of(shape: Shape | None) -> tuple[Solid, ...]:
    """Return the solids of a shape: none of lines."""
    if shape is None or isinstance(shape, Polyline):
        return ()
    return shape.solids if isinstance(shape, CompoundShape) else (shape,)


@dataclass(frozen=True, eq=False)
class RigidBody:
    """Inertia and approximate initial motion of one body, as `Mechanism.add_body` takes them."""

    name: str
    mass: float  # [kg]
    inertia: FloatArray  # (3, 3) about the center of mass in body axes [kg m^2]
    center_of_mass: FloatArray  # (3,) in the body frame [m]
    position: FloatArray  # (3,) of the body frame's origin in the world [m]
    orientation: FloatArray  # (4,) unit quaternion (w, x, y, z), body to world
    linear_velocity: FloatArray  # (3,) of the body frame's origin, in world axes [m/s]
    angular_velocity: FloatArray  # (3,) [rad/s]
    shape: Shape | None  # for pictures only

    @property
    def rotation(self) -> FloatArray:
        """(3, 3) from body to world coordinates at the initial pose."""
        return spatial.rotation_from_quaternion(self.orientation / np.linalg.norm(self.orientation))

    def to_world(self, point: ArrayLike) -> FloatArray:
        """World position [m] of a point given in the body frame, at the initial pose."""
        return self.position + self.rotation @ np.asarray(point, dtype=float)


@dataclass(frozen=True, eq=False)
class BodyColumns:
    """The fields of n rigid bodies; what is the same for all may be stored once (broadcast)."""

    mass: FloatArray  # (n,) [kg]
    inertia: FloatArray  # (n, 3, 3) about the centers of mass [kg m^2]
    center_of_mass: FloatArray  # (n, 3) in the body frames [m]
    position: FloatArray  # (n, 3) [m]
    orientation: FloatArray  # (n, 4) as given, unit to 1e-6
    linear_velocity: FloatArray  # (n, 3) [m/s]
    angular_velocity: FloatArray  # (n, 3) [rad/s]
    shape: columns.ObjectArray  # (n,) Shape or None

    SIZES: ClassVar[dict[str, tuple[int, ...]]] = {  # of one body, inertia and shape left out
        "mass": (),
        "center_of_mass": (3,),
        "position": (3,),
        "orientation": (4,),
        "linear_velocity": (3,),
        "angular_velocity": (3,),
    }

    def __len__(self) -> int:
        return len(self.mass)

    def item(self, index: int, name: str) -> RigidBody:
        """Return one body."""
        mass, *others = (values[index] for values in vars(self).values())
        return RigidBody(name, float(mass), *others)

    def take(self, index: IntArray | slice) -> "BodyColumns":
        """The columns of some bodies."""
        return BodyColumns(*(values[index] for values in vars(self).values()))

    @classmethod
    def joined(cls, parts: "Sequence[BodyColumns]") -> "BodyColumns":
        """The columns of all parts in turn."""
        return cls(*map(columns.joined, zip(*(vars(part).values() for part in parts), strict=True)))


def body_columns(
    names: Sequence[str], inertia: ArrayLike, shape: Any, **given: ArrayLike
) -> BodyColumns:
    """Return the columns of bodies that can be; `given` are the entries of BodyColumns.SIZES."""
    n, who = len(names), columns.shown("bodies", names)
    bodies = BodyColumns(
        inertia=_inertia(inertia, n, who),
        shape=columns.objects(shape, n, who, "shape"),
        **{
            name: column(given[name], size, n, who, name.replace("_", " "))
            for name, size in BodyColumns.SIZES.items()
        },
    )
    if not _are_right(bodies):
        i = columns.first_wrong(n, lambda some: _are_right(bodies.take(some)))
        _refuse(bodies.item(i, names[i]))
    return bodies


def _inertia(value: ArrayLike, n: int, who: str) -> FloatArray:
    """(n, 3, 3) tensors, from (3,) or (n, 3) moments, or (1, 3, 3) or (n, 3, 3) tensors."""
    what = "rotational inertia"
    array = numbers(value, f"{who}: {what}")
    if n == 1 and array.shape == (3, 3):
        array = array[None]
    if array.shape not in ((3,), (n, 3), (1, 3, 3), (n, 3, 3)):
        remedy = f"moments (3,) for all or ({n}, 3), or tensors (1, 3, 3) for all or ({n}, 3, 3)"
        remedy = "moments (3,), or a tensor (3, 3)" if n == 1 else remedy
        raise ModelError(f"{who}: {what} has shape {array.shape}; give {remedy}")
    if array.ndim == 3:
        return column(array if len(array) == n else array[0], (3, 3), n, who, what)
    tensors = np.zeros((*array.shape, 3))
    tensors[..., range(3), range(3)] = array
    return column(tensors, (3, 3), n, who, what)


def _are_right(some: BodyColumns) -> bool:
    """Whether no body has anything wrong."""
    orientation, inertia = some.orientation, distinct(some.inertia)
    return (
        model.is_regular(some.position, orientation, some.linear_velocity, some.mass)
        and model.is_regular(
            some.center_of_mass, orientation, some.angular_velocity, inertia.ravel()
        )
        and bool((some.mass >= 0.0).all() and spatial.inertia_conditions(inertia)[1][:3].all())
        and all(isinstance(shape, Shape | None) for shape in distinct(some.shape))
    )


def _refuse(body: RigidBody) -> None:
    """Raise ModelError that says what is wrong with a body."""
    who = f"body {body.name!r}"
    for name, size in BodyColumns.SIZES.items():
        value, what = getattr(body, name), name.replace("_", " ")
        vector(value, who, what, *size) if size else columns.scalar(value, who, what)
    spatial.check_inertia(body.mass, body.inertia, who, may_be_singular=True)
    spatial.check_unit_quaternion(body.orientation, who)
    raise ModelError(f"{who}: shape is {body.shape!r}; give one such as Box((1, 1, 1))")
