"""Equality constraints of a robot file: loop joints, constant joints, and what cannot be."""

from __future__ import annotations

import numpy as np

from sparsebody.model.frames import Frame
from sparsebody.model.joints import Fixed, JointType, Spherical
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.robots.findings import Findings
from sparsebody.model.robots.source import NO_ROTATION, RobotSource, unique_name


def constant_joints(source: RobotSource, findings: Findings) -> dict[int, float]:
    """Return the joints held at a constant, as the distance from their initial position.

    Couplings of joints or tendons are reported as unsupported.
    """
    model, constants = source.model, {}
    for equality in _active(source):
        kind = source.kind("mjtEq", model.eq_type[equality])
        if kind in ("connect", "weld"):
            continue
        joint, other = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
        coefficients = model.eq_data[equality, :5]
        if kind != "joint":
            findings.unsupported(f"the {kind} equality {source.label('equality', equality)!r}")
        elif other >= 0 and np.any(coefficients[1:] != 0.0):
            findings.unsupported(
                f"the coupling of joint {source.joint_names[joint]!r} to joint "
                f"{source.joint_names[other]!r} with the coefficients {coefficients.tolist()}"
            )
        else:
            place = model.jnt_qposadr[joint]
            constants[joint] = float(model.qpos0[place] + coefficients[0] - source.data.qpos[place])
    return constants


def add_loop_joints(mechanism: Mechanism, source: RobotSource, findings: Findings) -> None:
    """Add a spherical joint for every `connect`, a fixed one for every `weld`."""
    model = source.model
    for equality in _active(source):
        kind = source.kind("mjtEq", model.eq_type[equality])
        if kind not in ("connect", "weld"):
            continue
        name = source.label("equality", equality)
        joint_type, bodies, frames = _loop_joint(source, equality, kind)
        ends = [source.rigid_name(body) for body in bodies]
        if ends[0] == ends[1]:
            findings.note("equality constraints within one rigid body are left out", repr(name))
            continue
        if kind == "weld" and model.eq_data[equality, 10] not in (0.0, 1.0):
            findings.note("welds are rigid here, so their torquescale has no meaning", repr(name))
        mechanism.add_joint(
            unique_name(name, [*mechanism.joints, *source.joint_names]),
            joint_type,
            *ends,
            predecessor_frame=frames[0],
            successor_frame=frames[1],
        )


def note_inactive(source: RobotSource, findings: Findings) -> None:
    """Name the equality constraints that are switched off and so left out."""
    active = set(_active(source))
    for equality in range(source.model.neq):
        if equality not in active:
            name = source.label("equality", equality)
            findings.note("inactive equality constraints are left out", repr(name))


def _active(source: RobotSource) -> list[int]:
    """Return the constraints that hold in the initial state."""
    if not source.is_on("CONSTRAINT", "EQUALITY"):
        return []
    return [int(equality) for equality in np.flatnonzero(source.data.eq_active)]


def _loop_joint(
    source: RobotSource, equality: int, kind: str
) -> tuple[JointType, list[int], list[Frame]]:
    """Type, the two bodies, and the joint frame in the root frame of either."""
    model = source.model
    data = np.array(model.eq_data[equality])
    ids = [int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])]
    is_ball = kind == "connect" or data[10] == 0.0  # a weld without torque holds a point only
    joint_type = Spherical() if is_ball else Fixed()
    if source.kind("mjtObj", model.eq_objtype[equality]) == "site":
        bodies = [int(model.site_bodyid[site]) for site in ids]
        places = [(model.site_pos[site], model.site_quat[site]) for site in ids]
    else:
        bodies = ids
        points = (data[:3], data[3:6]) if kind == "connect" else (data[3:6], data[:3])
        turn = NO_ROTATION if kind == "connect" else data[6:10]
        places = [(points[0], turn), (points[1], NO_ROTATION)]
    frames = [source.frame(b, *place) for b, place in zip(bodies, places, strict=True)]
    return joint_type, bodies, frames
