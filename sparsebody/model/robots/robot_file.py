"""A robot file as MuJoCo compiles it, with names, poses and frames, and what is left out of it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray, IntArray
from sparsebody.errors import FileFormatError, UnknownNameError, required_package
from sparsebody.model import WORLD, Frame
from sparsebody.spatial import quaternion_from_rotation, rotation_from_quaternion
from sparsebody.tolerances import AXIS_TOLERANCE

SUFFIXES = (".xml", ".mjcf", ".urdf")
NO_ROTATION = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class RobotSource:
    """MuJoCo's model, and its data at the initial state.

    The bodies that move as one with body b have the root `root[b]`, the only one of them with
    joints; 0 is the world.
    """

    path: Path
    mujoco: Any  # the module
    model: Any  # MjModel
    data: Any  # MjData
    root: IntArray  # (nbody,)
    body_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    strict: bool  # constraints left out are errors
    notes: dict[str, list[str]] = field(default_factory=dict)  # what is left out, by reason
    unsupported: list[str] = field(default_factory=list)  # constraints that are left out

    @property
    def name(self) -> str:
        """The model's name, or that of the file."""
        name = self.model.names.split(b"\0")[0].decode()
        return self.path.stem if name in ("", "MuJoCo Model") else name

    def note(self, reason: str, what: str) -> None:
        """Record a difference; those of one reason are listed in one message."""
        self.notes.setdefault(reason, []).append(what)

    def check(self) -> None:
        """Raise FileFormatError if a constraint was left out and that is an error."""
        if self.unsupported and self.strict:
            raise FileFormatError(
                f"{self.path}: cannot represent {'; '.join(self.unsupported)}. Take this out of "
                "the file, or pass on_unsupported='warn' to read the rest"
            )

    def texts(self) -> list[str]:
        """Return one message per reason."""
        left_out = [f"{self.path}: left out: {what}" for what in self.unsupported]
        return left_out + [
            f"{self.path}: {reason}: {', '.join(items)}" for reason, items in self.notes.items()
        ]

    @property
    def gravity(self) -> FloatArray:
        """(3,) [m/s^2]; zero where it is switched off."""
        return np.array(self.model.opt.gravity) * self.is_on("GRAVITY")

    @cached_property
    def roots(self) -> dict[int, list[int]]:
        """The bodies that move as one with each root, in the order of the file."""
        members: dict[int, list[int]] = {}
        for body, root in enumerate(self.root.tolist()):
            if root:
                members.setdefault(root, []).append(body)
        return dict(sorted(members.items()))

    @cached_property
    def active_equalities(self) -> list[int]:
        """The equality constraints that hold in the initial state."""
        is_on = self.is_on("CONSTRAINT", "EQUALITY")
        return np.flatnonzero(self.data.eq_active).tolist() if is_on else []

    @cached_property
    def two_point_tendons(self) -> dict[int, tuple[int, int]]:
        """The straight tendons between two sites, without slack, and their sites."""
        model, tendons = self.model, {}
        for tendon in range(model.ntendon):
            first, n = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
            kinds = [self.kind("mjtWrap", kind) for kind in model.wrap_type[first : first + n]]
            low, high = model.tendon_lengthspring[tendon]
            if kinds == ["site", "site"] and low == high:
                tendons[tendon] = (int(model.wrap_objid[first]), int(model.wrap_objid[first + 1]))
        return tendons

    @cached_property
    def constant_tendons(self) -> dict[int, int]:
        """The active equalities that hold the length of a straight tendon, and the tendon."""
        constant = {}
        for equality in self.active_equalities:
            tendon = int(self.model.eq_obj1id[equality])
            is_alone = self.model.eq_obj2id[equality] < 0
            is_tendon = self.kind("mjtEq", self.model.eq_type[equality]) == "tendon"
            if is_tendon and is_alone and tendon in self.two_point_tendons:
                constant[equality] = tendon
        return constant

    @cached_property
    def couplings(self) -> dict[int, tuple[int, int, float]]:
        """The active equalities that make a hinge and a slide on one line, of one body, a screw.

        Each with its two joints and a ratio: the first moves by the ratio times the other's motion.
        """
        model, couplings = self.model, {}
        for equality in self.active_equalities:
            if self.kind("mjtEq", model.eq_type[equality]) != "joint":
                continue
            one, other = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
            ratio, *higher = model.eq_data[equality, 1:5].tolist()
            if other < 0 or ratio == 0.0 or any(higher):
                continue
            body = int(model.jnt_bodyid[one])
            kinds = {self.kind("mjtJoint", model.jnt_type[joint]) for joint in (one, other)}
            is_alone = model.jnt_bodyid[other] == body and model.body_jntnum[body] == 2
            across = np.cross(model.jnt_axis[one], model.jnt_axis[other])
            if is_alone and kinds == {"hinge", "slide"} and (abs(across) <= AXIS_TOLERANCE).all():
                couplings[equality] = (one, other, float(ratio))
        return couplings

    def is_on(self, *features: str) -> bool:
        """Whether none of these features is switched off by the file's option flags."""
        bits = sum(int(getattr(self.mujoco.mjtDisableBit, f"mjDSBL_{name}")) for name in features)
        return not self.model.opt.disableflags & bits

    def kind(self, enum: str, value: int) -> str:
        """Return the name of an enumeration's member without its prefix: `hinge`, `connect`."""
        return str(getattr(self.mujoco, enum)(value).name).split("_", 1)[1].lower()

    def label(self, what: str, index: int) -> str:
        """Return the name of an equality, tendon, actuator... , or one made of kind and number."""
        return _given_name(self.mujoco, self.model, what, index) or f"{what}_{index}"

    def rigid_name(self, body: int) -> str:
        """Return the name in the mechanism of the rigid body that a body is part of."""
        root = int(self.root[body])
        return self.body_names[root] if root else WORLD

    def rotation(self, body: int) -> FloatArray:
        """(3, 3) from a body's frame to the world at the initial pose."""
        return np.array(self.data.xmat[body]).reshape(3, 3)

    def frame(self, body: int, point: ArrayLike, quaternion: ArrayLike = NO_ROTATION) -> Frame:
        """Return a frame given in a body's frame as one in the frame of its root."""
        root = int(self.root[body])
        to_root = self.rotation(root).T
        origin = self.data.xpos[body] + self.rotation(body) @ np.asarray(point, dtype=float)
        unit = np.asarray(quaternion, dtype=float) / np.linalg.norm(quaternion)
        turned = to_root @ self.rotation(body) @ rotation_from_quaternion(unit)
        return Frame(to_root @ (origin - self.data.xpos[root]), quaternion_from_rotation(turned))


def read_source(path: Path, keyframe: str | int | None, *, strict: bool) -> RobotSource:
    """Compile the file and put it into its initial state."""
    if path.suffix.lower() not in SUFFIXES:
        raise FileFormatError(f"{path}: not a robot file; its name must end in {SUFFIXES}")
    if not path.is_file():
        raise FileFormatError(f"{path}: there is no such file")
    mujoco = required_package("mujoco", "robot files need the mujoco package", "robots")
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        text = " ".join(str(error).split())
        raise FileFormatError(f"{path}: MuJoCo cannot compile it; correct this: {text}") from error
    data = mujoco.MjData(model)
    if keyframe is not None:
        mujoco.mj_resetDataKeyframe(model, data, _keyframe(mujoco, model, keyframe, path))
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    root = np.array(model.body_weldid, dtype=np.intp)
    root[model.body_mocapid[root] >= 0] = 0
    names = (_names(mujoco, model, "body", model.nbody), _names(mujoco, model, "joint", model.njnt))
    return RobotSource(path, mujoco, model, data, root, *names, strict)


def unique_name(name: str, taken: Iterable[str]) -> str:
    """Return `name`, or `name_2` and so on where it is taken."""
    used, number, candidate = set(taken), 1, name
    while candidate in used:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def _given_name(mujoco: Any, model: Any, what: str, index: int) -> str | None:
    name: str | None = mujoco.mj_id2name(
        model, getattr(mujoco.mjtObj, f"mjOBJ_{what.upper()}"), index
    )
    return name


def _names(mujoco: Any, model: Any, what: str, count: int) -> tuple[str, ...]:
    """Names of all bodies or joints; those without one get the kind and their number."""
    of_file = [_given_name(mujoco, model, what, index) for index in range(count)]
    names: list[str] = []
    for index, name in enumerate(of_file):
        names.append(name or unique_name(f"{what}_{index}", [*names, *filter(None, of_file)]))
    return tuple(names)


def _keyframe(mujoco: Any, model: Any, keyframe: str | int, path: Path) -> int:
    names = [_given_name(mujoco, model, "key", i) or str(i) for i in range(model.nkey)]
    if isinstance(keyframe, int) and 0 <= keyframe < model.nkey:
        return keyframe
    if keyframe in names:
        return names.index(str(keyframe))
    known = ", ".join(repr(name) for name in names) or "none"
    raise UnknownNameError(f"{path}: there is no keyframe {keyframe!r}; there are: {known}")


# ---- what has no counterpart in a mechanism -------------------------------------------------


def note_omissions(source: RobotSource) -> None:
    """Note everything that changes the motion and is left out, item by item."""
    if source.model.nflex:
        source.unsupported.append(f"{source.model.nflex} flexible bodies (flex)")
    for reason, look in OMISSIONS.items():
        for item in look(source):
            source.note(reason, item)


def _on_joints(source: RobotSource, of_freedoms: FloatArray) -> Iterator[str]:
    for name, value in zip(source.joint_names, of_freedoms[source.model.jnt_dofadr], strict=True):
        if value:
            yield f"{value:g} on joint {name!r}"


def _rotor_inertias(source: RobotSource) -> Iterator[str]:
    model = source.model
    yield from _on_joints(source, model.dof_armature)
    for actuator in np.flatnonzero(model.actuator_armature).tolist():
        name = source.label("actuator", actuator)
        yield f"{model.actuator_armature[actuator]:g} of actuator {name!r}"


def _nonlinear(source: RobotSource) -> Iterator[str]:
    model = source.model
    for joint, name in enumerate(source.joint_names):
        dof = model.jnt_dofadr[joint]
        if model.jnt_stiffnesspoly[joint].any() or model.jnt_springyield[joint]:
            yield f"spring of joint {name!r}"
        if model.dof_dampingpoly[dof].any():
            yield f"damper of joint {name!r}"
    for actuator in np.flatnonzero(model.actuator_dampingpoly.any(axis=1)).tolist():
        yield f"damper of actuator {source.label('actuator', actuator)!r}"


def _tendons(source: RobotSource) -> Iterator[str]:
    model = source.model
    linear, others = ["stiffness", "damping"], ["stiffnesspoly", "dampingpoly"]
    others += ["frictionloss", "armature", "limited"]
    for tendon in range(model.ntendon):
        parts = others if tendon in source.two_point_tendons else linear + others
        used = [part for part in parts if np.any(getattr(model, f"tendon_{part}")[tendon])]
        if used:
            yield f"{source.label('tendon', tendon)!r} ({', '.join(used)})"


def _contacts(source: RobotSource) -> Iterator[str]:
    model = source.model
    touching = int(np.sum((model.geom_contype != 0) | (model.geom_conaffinity != 0)))
    if source.is_on("CONSTRAINT", "CONTACT") and (touching > 1 or model.npair):
        yield f"{touching} geoms"


OMISSIONS: dict[str, Callable[[RobotSource], Iterable[str]]] = {
    "inactive equality constraints are left out": lambda source: (
        repr(source.label("equality", equality))
        for equality in range(source.model.neq)
        if equality not in source.active_equalities
    ),
    "contacts are not simulated": _contacts,
    "joint limits are left out": lambda source: (
        "joint {!r} in [{:g}, {:g}]".format(source.joint_names[j], *source.model.jnt_range[j])
        for j in np.flatnonzero(source.model.jnt_limited * source.is_on("CONSTRAINT", "LIMIT"))
    ),
    "joint friction is left out": lambda source: _on_joints(
        source, source.model.dof_frictionloss * source.is_on("CONSTRAINT", "FRICTIONLOSS")
    ),
    "rotor inertias (armature) are left out": _rotor_inertias,
    "nonlinear parts of springs and dampers are left out": _nonlinear,
    "forces and limits of tendons are left out": _tendons,
    "bodies moved by hand (mocap) are held fixed": lambda source: (
        repr(source.body_names[body]) for body in np.flatnonzero(source.model.body_mocapid >= 0)
    ),
    "forces of the surrounding medium are left out": lambda source: (
        f"{quantity} {value:g}"
        for quantity in ("density", "viscosity")
        if (value := getattr(source.model.opt, quantity))
    ),
    "plugins are left out": lambda source: (
        repr(source.label("plugin", plugin)) for plugin in range(source.model.nplugin)
    ),
}
