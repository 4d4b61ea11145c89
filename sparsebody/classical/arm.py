"""Arms of revolute and prismatic joints from Denavit-Hartenberg parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparsebody import spatial
from sparsebody.arrays import ArrayLike, BoolArray, FloatArray, IntArray, numbers
from sparsebody.classical import arm_links
from sparsebody.errors import ModelError
from sparsebody.model import Frame, Frames, Mechanism, Prismatic, Revolute, columns, numbered

# Relative moments up to which inertias of rods and point masses count as zero about an axis
_INERTIA_TOLERANCE = 1e-9
# Rounding of inertias that were moved to the center, relative to mass times squared distance
_SHIFT_TOLERANCE = 1e-14


def check_links(
    table: FloatArray, mass: FloatArray, com: FloatArray, inertia: FloatArray, are_diagonals: bool
) -> None:
    """Raise ModelError unless all is finite and bodies can have these masses and inertias."""
    is_square = are_diagonals and len(table) == 3
    read = " (whose inertia is row {} of a 3 x 3 array)" if is_square else ""
    _check_finite(com, "com")
    _check_finite(table, "table row")
    for i in range(len(table)):
        _check_inertia(float(mass[i]), com[i], inertia[i], f"link {i + 1}{read.format(i + 1)}")


def _check_finite(rows: FloatArray, what: str) -> None:
    for i, row in enumerate(rows):
        if not np.isfinite(row).all():
            raise ModelError(f"link {i + 1}: {what} is {row.tolist()}; every number must be finite")


def _check_inertia(mass: float, com: FloatArray, inertia: FloatArray, who: str) -> None:
    """Raise ModelError unless a body, a rod or a point mass can have this inertia, to rounding."""
    if 0.0 < mass < np.inf and np.isfinite(inertia).all():
        slack = _INERTIA_TOLERANCE * np.abs(inertia).max() + _SHIFT_TOLERANCE * mass * com @ com
        least, middle, largest = np.linalg.eigvalsh(inertia)
        is_symmetric = np.abs(inertia - inertia.T).max() <= slack
        if is_symmetric and abs(least) <= slack and largest <= least + middle + slack:
            return
    spatial.check_inertia(mass, inertia, who)


def joint_types(joints: str, n: int) -> BoolArray:
    """Return whether each of n joints is revolute; "" makes all so."""
    if not isinstance(joints, str):
        raise ModelError(f"arm: joints is {joints!r}; give letters such as 'RRP'")
    letters = joints.upper() or "R" * n
    for i, letter in enumerate(letters, start=1):
        if letter not in "RP":
            raise ModelError(f"joint {i}: type is {letter!r}; give R (revolute) or P (prismatic)")
    if len(letters) != n:
        raise ModelError(f"arm: joints is {joints!r} of {len(letters)} letters; the table has {n}")
    return np.array([letter == "R" for letter in letters])


def parents_of(parent: Sequence[int] | None, n: int) -> IntArray:
    """Return the links that n links hang on, checked; None makes a chain."""
    try:
        parents = np.arange(-1, n - 1) if parent is None else np.array(parent)
    except ValueError:  # rows of several lengths
        parents = np.empty(0)
    if parents.shape != (n,) or not np.issubdtype(parents.dtype, np.integer):
        raise ModelError(f"arm: parent is {parent!r}; give {n} whole numbers, -1 for the base")
    for i, p in enumerate(parents.tolist()):
        if not -1 <= p < i:
            raise ModelError(
                f"link {i + 1}: parent is {p}; give -1 for the base, or the index of a link before "
                f"it, 0 to {i - 1}"
            )
    return parents.astype(np.intp)


CONVENTIONS = ("standard", "modified")
_RIGHT_ANGLE_TOLERANCE = 1e-15  # of cosines and sines that are zero but for rounding


@dataclass(frozen=True, eq=False)
class Arm:
    """Links in a chain or a tree, each on a revolute or prismatic joint; see `Arm.from_dh`.

    Link i hangs on the z axis of its own frame: that is its parent's moved by `length` along x,
    turned by `twist` about x, moved by d along z, and turned by theta about z, where the joint's
    coordinate adds to `angle` or to `offset`. Craig (2005), sec. 3.4.
    """

    parent: IntArray  # (n,) -1 is the base
    revolute: BoolArray  # (n,)
    angle: FloatArray  # (n,) theta at q = 0 [rad]
    offset: FloatArray  # (n,) d at q = 0 [m]
    length: FloatArray  # (n,) a of the link before [m]
    twist: FloatArray  # (n,) alpha of the link before [rad]
    mass: FloatArray  # (n,) [kg]
    com: FloatArray  # (n, 3) center of mass in the link's frame [m]
    inertia: FloatArray  # (n, 3, 3) about the center of mass in the axes of the frame [kg m^2]
    gravity: FloatArray  # (3,) in base axes [m/s^2]
    tip_length: float = 0.0  # from the last frame along its x to the tip: a of the last link [m]
    tip_twist: float = 0.0  # and about it [rad]

    def __post_init__(self) -> None:
        """Make the arrays read-only: `links` is computed once."""
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @classmethod
    def from_dh(
        cls,
        table: ArrayLike,
        mass: ArrayLike,
        com: ArrayLike,
        inertia: ArrayLike,
        *,
        joints: str = "",
        convention: str = "standard",
        parent: Sequence[int] | None = None,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
    ) -> "Arm":
        """Return the arm of a table of Denavit-Hartenberg parameters.

        Parameters
        ----------
        table : (n, 4) array_like
            Rows (theta, d, a, alpha) [rad, m, m, rad] at q = 0. Standard: A_i = Rz(theta) Tz(d)
            Tx(a) Rx(alpha), the frame at the distal end of its link. Modified: Rx(alpha) Tx(a)
            Rz(theta) Tz(d), the frame at the proximal end, alpha and a of the link before.
        mass : (n,) array_like
            [kg].
        com : (n, 3) array_like
            Centers of mass in the frames of the convention [m].
        inertia : (n, 3, 3) or (n, 3) array_like
            About the centers of mass, in the axes of these frames [kg m^2]; (n, 3) are diagonals,
            also for three links.
        joints : str
            Such as "RRP"; default: all revolute.
        convention : str
            "standard" or "modified".
        parent : sequence of int, optional
            For a tree, with modified parameters: the link that each hangs on, -1 for the base.
        gravity : (3,) array_like
            In base axes [m/s^2].

        Raises
        ------
        ModelError
            Naming the link, what is wrong and the remedy.

        Examples
        --------
        >>> arm = Arm.from_dh([[0, 0, 1, 0]] * 2, [2, 2], [[-1, 0, 0]] * 2, [[0.1, 0.1, 0.1]] * 2)
        >>> arm.mechanism()
        Mechanism('arm': 2 bodies, 2 joints)
        """
        rows = numbers(table, "arm: table")
        if rows.ndim != 2 or rows.shape[1] != 4 or len(rows) == 0:
            raise ModelError(
                f"arm: the table has shape {rows.shape}; give rows (theta, d, a, alpha), one a link"
            )
        n = len(rows)
        masses, centers = numbers(mass, "arm: mass"), numbers(com, "arm: com")
        tensors = numbers(inertia, "arm: inertia")
        are_diagonals = tensors.shape == (n, 3)
        if are_diagonals:
            tensors = np.stack([np.diag(row) for row in tensors])
        for what, value, shape in (
            ("mass", masses, (n,)),
            ("com", centers, (n, 3)),
            ("inertia", tensors, (n, 3, 3)),
        ):
            if value.shape != shape:
                raise ModelError(f"arm: {what} has shape {value.shape}; the table needs {shape}")
        check_links(rows, masses, centers, tensors, are_diagonals)
        revolute = joint_types(joints, n)
        theta, d, a, alpha = rows.T.copy()
        g = columns.vector(gravity, "arm", "gravity")
        if convention == "modified":
            parents = parents_of(parent, n)
            return cls(parents, revolute, theta, d, a, alpha, masses, centers, tensors, g)
        if convention != "standard":
            raise ModelError(f"arm: convention is {convention!r}; give one of {CONVENTIONS}")
        if parent is not None:
            raise ModelError("arm: a tree needs modified parameters; give convention='modified'")
        for i in range(n):  # to the frame at the proximal end
            R = np.asarray(spatial.rotation_about([1.0, 0.0, 0.0], alpha[i]))
            centers[i] = R @ centers[i] + [a[i], 0.0, 0.0]
            tensors[i] = R @ tensors[i] @ R.T
        length, twist = (np.concatenate([[0.0], x[:-1]]) for x in (a, alpha))
        frames, bodies = (revolute, theta, d, length, twist), (masses, centers, tensors)
        return cls(parents_of(None, n), *frames, *bodies, g, float(a[-1]), float(alpha[-1]))

    @property
    def n(self) -> int:
        """Number of links."""
        return len(self.parent)

    @cached_property
    def links(self) -> arm_links.Links:
        """The constants that algorithms take; cosines and sines of right angles are exact."""
        twists = *_cosine_and_sine(self.twist), *_cosine_and_sine(self.twist / 2.0)
        body = self.mass.copy(), self.com.copy(), self.inertia.copy()  # that can be written to
        return arm_links.Links(
            self.parent.copy(),
            self.revolute.copy(),
            *twists,
            self.length.copy(),
            *body,
            self.mass[:, None] * self.com,
            _pseudo_inertia(*body),
            spatial.spatial_inertia(*body),
            *_directions(self.revolute),
            np.eye(4),
        )

    def motion(
        self, q: ArrayLike, qd: ArrayLike, qdd_or_tau: ArrayLike, wrench: ArrayLike | None = None
    ) -> arm_links.Motion:
        """Return what algorithms take at q (n,) [rad, m], qd (n,); ModelError if these do not fit.

        `qdd_or_tau` (n,): tau for forward dynamics, else qdd; `wrench` (n, 6) acts on links from
        outside, in link axes about link origins, moment first [N m, N].
        """
        named = (q, "q"), (qd, "qd"), (qdd_or_tau, "qdd or tau")
        position, *rates = [np.array(columns.vector(x, "arm", name, self.n)) for x, name in named]
        theta = self.angle + np.where(self.revolute, position, 0.0)
        d = self.offset + np.where(self.revolute, 0.0, position)
        wrenches = np.zeros((self.n, 6)) if wrench is None else numbers(wrench, "arm: wrench")
        if wrenches.shape != (self.n, 6):
            raise ModelError(f"arm: wrench has shape {wrenches.shape}; give ({self.n}, 6) numbers")
        _check_finite(wrenches, "wrench")
        transforms = arm_links.link_transforms(self.links, *_cosine_and_sine(theta), d)
        euler = arm_links.euler_parameters(self.links, *_cosine_and_sine(theta / 2.0))
        loads = np.array(wrenches), self.gravity.copy()
        return arm_links.Motion(*transforms, euler, rates[0], rates[1], *loads)

    def mechanism(self, name: str = "arm") -> Mechanism:
        """Return the arm as a Mechanism at q = 0: bodies link-i and joints joint-i, from 1."""
        mechanism = Mechanism(name, gravity=self.gravity)
        at_rest = np.zeros(self.n)
        zero = self.motion(at_rest, at_rest, at_rest)
        rotation, position = [np.eye(3)] * self.n, [np.zeros(3)] * self.n
        for i, p in enumerate(self.parent.tolist()):
            R, x = (rotation[p], position[p]) if p >= 0 else (np.eye(3), np.zeros(3))
            rotation[i], position[i] = R @ zero.rotation[i], x + R @ zero.translation[i]
        turns = spatial.quaternion_from_rotation
        mechanism.add_bodies(
            numbered("link-{}", range(1, self.n + 1)),
            mass=self.mass,
            inertia=self.inertia,
            center_of_mass=self.com,
            position=position,
            orientation=turns(np.array(rotation)),
        )
        names = numbered("joint-{}", range(1, self.n + 1))
        types = [Revolute() if is_revolute else Prismatic() for is_revolute in self.revolute]
        proximal, links = Frames(zero.translation, turns(zero.rotation)), np.arange(self.n)
        mechanism.add_joints(
            names, types, self.parent, links, predecessor_frame=proximal, successor_frame=Frame()
        )
        return mechanism


def _cosine_and_sine(angle: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return both, those of right angles exactly."""
    cosine, sine = np.cos(angle), np.sin(angle)
    cosine[np.abs(cosine) < _RIGHT_ANGLE_TOLERANCE] = 0.0
    sine[np.abs(sine) < _RIGHT_ANGLE_TOLERANCE] = 0.0
    return cosine, sine


def _directions(revolute: BoolArray) -> tuple[FloatArray, FloatArray]:
    """(n, 6) motion subspaces, and (n, 4, 4) generators of homogeneous transforms."""
    n = len(revolute)
    subspace, generator = np.zeros((n, 6)), np.zeros((n, 4, 4))
    subspace[revolute, 2], subspace[~revolute, 5] = 1.0, 1.0
    generator[revolute, 0, 1], generator[revolute, 1, 0] = -1.0, 1.0
    generator[~revolute, 2, 3] = 1.0
    return subspace, generator


def _pseudo_inertia(mass: FloatArray, com: FloatArray, inertia: FloatArray) -> FloatArray:
    """(n, 4, 4) integrals of (x, y, z, 1)' (x, y, z, 1) dm; `inertia` about the center of mass."""
    pseudo_inertia = np.empty((len(mass), 4, 4))
    half_trace = np.trace(inertia, axis1=1, axis2=2)[:, None, None] / 2.0
    second = mass[:, None, None] * com[:, :, None] * com[:, None, :]
    pseudo_inertia[:, :3, :3] = half_trace * np.eye(3) - inertia + second
    pseudo_inertia[:, :3, 3] = pseudo_inertia[:, 3, :3] = mass[:, None] * com
    pseudo_inertia[:, 3, 3] = mass
    return pseudo_inertia
