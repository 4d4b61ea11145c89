"""Tendons between two points and loads at sites of a robot file, as distances and point forces."""

import numpy as np

from sparsebody.model.bodies import Frame
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.robots.robot_file import RobotSource, unique_name


def _ends(source: RobotSource, tendon: int) -> list[tuple[str, Frame]]:
    """Return the bodies of a tendon's two sites, and where the sites are on them."""
    return [site_frame(source, site) for site in source.two_point_tendons[tendon]]


def site_frame(source: RobotSource, site: int) -> tuple[str, Frame]:
    """Return the rigid body of a site, and the site's frame there."""
    model = source.model
    body = int(model.site_bodyid[site])
    return source.rigid_name(body), source.frame(body, model.site_pos[site], model.site_quat[site])


def add_distances(mechanism: Mechanism, source: RobotSource) -> None:
    """Add a constant distance for every straight tendon whose length is held."""
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
            spring = {"stiffness": stiffness, "damping": damping, "rest": rest}
            add_tendon_force(mechanism, source, tendon, name, **spring)


def add_tendon_force(
    mechanism: Mechanism,
    source: RobotSource,
    tendon: int,
    name: str,
    *,
    constant: float = 0.0,
    stiffness: float = 0.0,
    damping: float = 0.0,
    rest: float = 0.0,
) -> None:
    """Add the force constant - stiffness (l - rest) - damping dl/dt along a straight tendon."""
    (first, start), (second, end) = _ends(source, tendon)
    if first == second:  # it moves nothing
        return
    mechanism.add_point_force(
        unique_name(name, mechanism.forces),
        first,
        second,
        first_point=start.origin,
        second_point=end.origin,
        stiffness=stiffness,
        rest_length=rest,
        damping=damping,
        effort=constant,
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
