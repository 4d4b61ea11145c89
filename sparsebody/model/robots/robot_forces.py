"""Forces of a robot file: springs, dampers, actuators with constant controls, lifts of bodies.

Tendons between two points are distances or point forces, motors at sites external forces.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.model import WORLD, Frame, Mechanism
from sparsebody.model.robots.robot_file import RobotSource, unique_name
from sparsebody.model.robots.robot_joints import Coordinates


@dataclass(frozen=True)
class AffineForce:
    """constant - stiffness (q - rest) - damping qd, on a hinge, slide or tendon of the file."""

    constant: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = 0.0


def add_forces(mechanism: Mechanism, source: RobotSource, coordinates: Coordinates) -> None:
    """Add what acts on joints and bodies; what has no counterpart is noted."""
    for name, joint, force in _forces(mechanism, source, coordinates):
        # the coordinate is sign times its way from the start
        start = float(source.data.qpos[source.model.jnt_qposadr[joint]])
        at = coordinates[joint]
        mechanism.add_joint_force(
            unique_name(name, mechanism.forces),
            at.joint,
            coordinate=at.index,
            stiffness=force.stiffness,
            rest=at.sign * (force.rest - start) if force.stiffness else 0.0,
            damping=force.damping,
            effort=at.sign * force.constant,
        )
    add_tendon_springs(mechanism, source)
    _add_gravity_compensation(mechanism, source)


def _forces(
    mechanism: Mechanism, source: RobotSource, coordinates: Coordinates
) -> Iterator[tuple[str, int, AffineForce]]:
    """Yield names, joints of the file and forces on them; add dampers of balls at once."""
    model = source.model
    for joint in np.flatnonzero(model.jnt_stiffness).tolist() if source.is_on("SPRING") else ():
        name, stiffness = source.joint_names[joint], float(model.jnt_stiffness[joint])
        if joint in coordinates:
            rest = float(model.qpos_spring[model.jnt_qposadr[joint]])
            yield f"spring of {name}", joint, AffineForce(stiffness=stiffness, rest=rest)
        else:
            kind = source.kind("mjtJoint", model.jnt_type[joint])
            source.note("springs left out", f"{stiffness:g} on joint {name!r} ({kind})")
    dampings = _dampings(source, coordinates) if source.is_on("DAMPER") else np.zeros(0)
    for joint in np.flatnonzero(dampings).tolist():
        name, damping = source.joint_names[joint], float(dampings[joint])
        kind = source.kind("mjtJoint", model.jnt_type[joint])
        if joint in coordinates:
            yield f"damper of {name}", joint, AffineForce(damping=damping)
        elif kind in ("ball", "free") and name in mechanism.joint_names:  # equal in all directions
            for index in range(mechanism.joint(name).type.n_velocities):
                label = unique_name(f"damper {index} of {name}", mechanism.forces)
                mechanism.add_joint_force(label, name, coordinate=index, damping=damping)
        else:
            source.note("dampers left out", f"{damping:g} on joint {name!r} ({kind})")
    for actuator in range(model.nactuator) if source.is_on("ACTUATION") else ():
        name, joint = source.label("actuator", actuator), int(model.actuator_trnid[actuator, 0])
        if model.opt.disableactuator >> int(model.actuator_group[actuator]) & 1:
            source.note("actuators of disabled groups are left out", repr(name))
        elif not _is_affine(source, actuator):
            source.note("actuators left out (not an affine force on one joint)", repr(name))
        elif add_load_at_site(mechanism, source, actuator, _control(source, actuator)):
            note_control(source, actuator)
        elif _transmission(source, actuator) == "tendon" and joint in source.two_point_tendons:
            force = _actuator_force(source, actuator, _control(source, actuator))
            add_tendon_force(mechanism, source, joint, name, force)
            note_control(source, actuator)
        elif not _is_on_joint(source, actuator) or joint not in coordinates:
            source.note("actuators left out (not an affine force on one joint)", repr(name))
        else:
            force, limits = _actuator_force(source, actuator, _control(source, actuator)), []
            if model.actuator_forcelimited[actuator] and (force.stiffness or force.damping):
                limits.append(repr(name))
            if model.jnt_actfrclimited[joint]:
                limits.append(f"joint of {name!r}")
            for limit in limits:
                source.note("force limits of actuators are left out", limit)
            note_control(source, actuator)
            if force != AffineForce():
                yield name, joint, force


def _dampings(source: RobotSource, coordinates: Coordinates) -> FloatArray:
    """Return (njnt,) the linear damping of every joint, with the part that actuators add."""
    model = source.model
    damping: FloatArray = np.array(model.dof_damping[model.jnt_dofadr])
    for actuator in np.flatnonzero(model.actuator_damping).tolist():
        joint = int(model.actuator_trnid[actuator, 0])
        if _is_on_joint(source, actuator) and joint in coordinates:
            gear = model.actuator_gear[actuator, 0]
            damping[joint] += gear**2 * model.actuator_damping[actuator]
        else:
            name = source.label("actuator", actuator)
            source.note("dampers left out", f"that of actuator {name!r}")
    return damping


def _transmission(source: RobotSource, actuator: int) -> str:
    return source.kind("mjtTrn", source.model.actuator_trntype[actuator])


def _is_on_joint(source: RobotSource, actuator: int) -> bool:
    return _transmission(source, actuator) in ("joint", "jointinparent")


def _control(source: RobotSource, actuator: int) -> float:
    """Return the control at the initial state, within its limits."""
    model = source.model
    index = int(model.actuator_ctrladr[actuator])
    control = float(source.data.ctrl[index])
    if model.actuator_ctrllimited[index] and source.is_on("CLAMPCTRL"):
        control = float(np.clip(control, *model.actuator_ctrlrange[index]))
    return control


def note_control(source: RobotSource, actuator: int) -> None:
    """Note that a control keeps its initial value."""
    name, control = source.label("actuator", actuator), _control(source, actuator)
    source.note("controls stay constant", f"actuator {name!r} at {control:g}")


def _is_affine(source: RobotSource, actuator: int) -> bool:
    """Whether the force is an affine function of position and velocity of what it acts on."""
    model = source.model
    return (
        source.kind("mjtDyn", model.actuator_dyntype[actuator]) == "none"
        and source.kind("mjtGain", model.actuator_gaintype[actuator]) in ("fixed", "affine")
        and source.kind("mjtBias", model.actuator_biastype[actuator]) in ("none", "affine")
        and int(model.actuator_plugin[actuator]) < 0
    )


def _actuator_force(source: RobotSource, actuator: int, control: float) -> AffineForce:
    """Return gear (c0 + c1 l + c2 dl/dt) for the length l = gear q."""
    model = source.model
    gear = float(model.actuator_gear[actuator, 0])
    terms = np.zeros(3)
    for kind, enum, parameters, factor in (
        (model.actuator_gaintype, "mjtGain", model.actuator_gainprm, control),
        (model.actuator_biastype, "mjtBias", model.actuator_biasprm, 1.0),
    ):
        count = {"none": 0, "fixed": 1, "affine": 3}[source.kind(enum, kind[actuator])]
        terms[:count] += factor * parameters[actuator, :count]
    if model.actuator_forcelimited[actuator] and not terms[1:].any():
        terms[0] = np.clip(terms[0], *model.actuator_forcerange[actuator])
    constant, along, rate = (float(term) for term in terms)
    return AffineForce(gear * constant, -(gear**2) * along, -(gear**2) * rate)


def _add_gravity_compensation(mechanism: Mechanism, source: RobotSource) -> None:
    """Add the lifts of bodies with `gravcomp` as constant forces."""
    model, gravity = source.model, source.gravity
    for body in np.flatnonzero(model.body_gravcomp).tolist() if np.any(gravity) else ():
        owner = source.rigid_name(body)
        if owner == WORLD:
            continue
        lift: FloatArray = -model.body_gravcomp[body] * model.body_mass[body] * gravity
        mechanism.add_external_force(
            unique_name(f"lift of {source.body_names[body]}", mechanism.forces),
            owner,
            force=lift,
            point=source.frame(body, model.body_ipos[body]).origin,
        )


# ---- tendons between two points, loads at sites -----------------------------------------------


def _ends(source: RobotSource, tendon: int) -> list[tuple[str, Frame]]:
    """Return the bodies of a tendon's two sites, and where the sites are on them."""
    return [site_frame(source, site) for site in source.two_point_tendons[tendon]]


def site_frame(source: RobotSource, site: int) -> tuple[str, Frame]:
    """Return the rigid body of a site, and the site's frame there."""
    model = source.model
    body = int(model.site_bodyid[site])
    return source.rigid_name(body), source.frame(body, model.site_pos[site], model.site_quat[site])


def add_distances(mechanism: Mechanism, source: RobotSource) -> None:
    """Add a constant distance for every straight tendon of constant length."""
    model = source.model
    for equality, tendon in source.constant_tendons.items():
        (first, start), (second, end) = _ends(source, tendon)
        name = source.label("equality", equality)
        if first == second:
            source.note("equality constraints within one rigid body are left out", repr(name))
            continue
        mechanism.add_distance(
            unique_name(name, [*mechanism.joint_names, *source.joint_names]),
            first,
            second,
            first_point=start.origin,
            second_point=end.origin,
            length=float(model.tendon_length0[tendon] + model.eq_data[equality, 0]),
        )


def add_tendon_springs(mechanism: Mechanism, source: RobotSource) -> None:
    """Add a point force for every straight tendon with a spring or a damper."""
    model = source.model
    for tendon in source.two_point_tendons:
        stiffness = float(model.tendon_stiffness[tendon]) * source.is_on("SPRING")
        damping = float(model.tendon_damping[tendon]) * source.is_on("DAMPER")
        if stiffness or damping:
            rest = float(model.tendon_lengthspring[tendon, 0])
            name = source.label("tendon", tendon)
            spring = AffineForce(stiffness=stiffness, damping=damping, rest=rest)
            add_tendon_force(mechanism, source, tendon, name, spring)


def add_tendon_force(
    mechanism: Mechanism, source: RobotSource, tendon: int, name: str, force: AffineForce
) -> None:
    """Add a force along a straight tendon, a function of its length."""
    (first, start), (second, end) = _ends(source, tendon)
    if first == second:  # it moves nothing
        return
    mechanism.add_point_force(
        unique_name(name, mechanism.forces),
        first,
        second,
        first_point=start.origin,
        second_point=end.origin,
        stiffness=force.stiffness,
        rest_length=force.rest,
        damping=force.damping,
        effort=force.constant,
    )


def add_load_at_site(
    mechanism: Mechanism, source: RobotSource, actuator: int, control: float
) -> bool:
    """Add the constant wrench of a motor at a site; return False where the actuator is none.

    It is in the axes of the site, or in those of a reference site, which the world must hold.
    """
    model = source.model
    if source.kind("mjtTrn", model.actuator_trntype[actuator]) != "site":
        return False
    gain = source.kind("mjtGain", model.actuator_gaintype[actuator])
    bias = source.kind("mjtBias", model.actuator_biastype[actuator])
    site, reference = (int(index) for index in model.actuator_trnid[actuator])
    owner, frame = site_frame(source, site)
    is_in_world = reference >= 0
    if gain != "fixed" or bias != "none" or owner == WORLD:
        return False
    if is_in_world:
        holder, frame = site_frame(source, reference)
        if holder != WORLD:
            return False
    force = control * float(model.actuator_gainprm[actuator, 0])
    if model.actuator_forcelimited[actuator]:
        force = float(np.clip(force, *model.actuator_forcerange[actuator]))
    wrench = force * np.array(model.actuator_gear[actuator]).reshape(2, 3) @ frame.rotation.T
    mechanism.add_external_force(
        unique_name(source.label("actuator", actuator), mechanism.forces),
        owner,
        force=wrench[0],
        moment=wrench[1],
        point=site_frame(source, site)[1].origin,
        axes="world" if is_in_world else "body",
    )
    return True
