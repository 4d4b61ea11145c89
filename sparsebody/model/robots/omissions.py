"""What of a robot file has no counterpart in a mechanism, named one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sparsebody.model.robots.robot_file import RobotSource
from sparsebody.model.robots.robot_joints import note_inactive


def note_omissions(source: RobotSource) -> None:
    """Note everything that changes the motion and is left out."""
    if source.model.nflex:
        source.unsupported(f"{source.model.nflex} flexible bodies (flex)")
    note_inactive(source)
    for reason, look in OMISSIONS.items():
        for item in look(source):
            source.note(reason, item)


def _rotor_inertias(source: RobotSource) -> Iterator[str]:
    model = source.model
    for joint, name in enumerate(source.joint_names):
        armature = model.dof_armature[model.jnt_dofadr[joint]]
        if armature:
            yield f"{armature:g} on joint {name!r}"
    for actuator in np.flatnonzero(model.actuator_armature).tolist():
        name = source.label("actuator", actuator)
        yield f"{model.actuator_armature[actuator]:g} of actuator {name!r}"


def _friction(source: RobotSource) -> Iterator[str]:
    model = source.model
    for joint, name in enumerate(source.joint_names):
        loss = model.dof_frictionloss[model.jnt_dofadr[joint]]
        if loss and source.is_on("CONSTRAINT", "FRICTIONLOSS"):
            yield f"{loss:g} on joint {name!r}"


def _limits(source: RobotSource) -> Iterator[str]:
    model = source.model
    for joint in np.flatnonzero(model.jnt_limited).tolist():
        if source.is_on("CONSTRAINT", "LIMIT"):
            low, high = model.jnt_range[joint]
            yield f"joint {source.joint_names[joint]!r} in [{low:g}, {high:g}]"


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
    parts = (
        "stiffness",
        "damping",
        "stiffnesspoly",
        "dampingpoly",
        "frictionloss",
        "armature",
        "limited",
    )
    for tendon in range(model.ntendon):
        used = [part for part in parts if np.any(getattr(model, f"tendon_{part}")[tendon])]
        if used:
            yield f"{source.label('tendon', tendon)!r} ({', '.join(used)})"


def _moved_by_hand(source: RobotSource) -> Iterator[str]:
    for body in np.flatnonzero(source.model.body_mocapid >= 0).tolist():
        yield repr(source.body_names[body])


def _contacts(source: RobotSource) -> Iterator[str]:
    model = source.model
    touching = int(np.sum((model.geom_contype != 0) | (model.geom_conaffinity != 0)))
    if source.is_on("CONSTRAINT", "CONTACT") and (touching > 1 or model.npair):
        yield f"{touching} geoms"


def _medium(source: RobotSource) -> Iterator[str]:
    for quantity in ("density", "viscosity"):
        value = getattr(source.model.opt, quantity)
        if value:
            yield f"{quantity} {value:g}"


def _plugins(source: RobotSource) -> Iterator[str]:
    for plugin in range(source.model.nplugin):
        yield repr(source.label("plugin", plugin))


OMISSIONS: dict[str, Callable[[RobotSource], Iterator[str]]] = {
    "contacts are not simulated": _contacts,
    "joint limits are left out": _limits,
    "joint friction is left out": _friction,
    "rotor inertias (armature) are left out": _rotor_inertias,
    "nonlinear parts of springs and dampers are left out": _nonlinear,
    "forces and limits of tendons are left out": _tendons,
    "bodies moved by hand (mocap) are held fixed": _moved_by_hand,
    "forces of the surrounding medium are left out": _medium,
    "plugins are left out": _plugins,
}
