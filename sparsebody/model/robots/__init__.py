"""Robot files: MJCF and URDF, compiled by the mujoco package, as mechanisms."""

import warnings
from pathlib import Path

from sparsebody import errors, writing
from sparsebody.model.mechanism import Mechanism
from sparsebody.model.robots import robot_file, robot_forces
from sparsebody.model.robots import robot_joints as parts

__all__ = ["read_robot"]


def read_robot(
    path: writing.StrPath, *, keyframe: str | int | None = None, on_unsupported: str = "error"
) -> Mechanism:
    """Return the mechanism of an MJCF (.xml, .mjcf) or URDF (.urdf) file.

    The file is compiled by MuJoCo, whose reading of it holds: the root link of a URDF, for
    instance, is fixed to the world. Bodies without joints become part of their parent. Several
    joints of one body become one joint (two crossing hinges a universal joint, a hinge that drives
    a slide on its axis a helical one, and so on). Equality constraints `connect` and `weld` become
    rigid loop joints, straight tendons of constant length distances. Linear springs, dampers and
    actuators on joints and straight tendons become joint and point forces with constant controls,
    motors at sites external forces. Every joint is at zero at the initial pose. Geoms of the groups
    that MuJoCo shows by default, or all of a body that has none of them, become its shape.

    Parameters
    ----------
    path : path
        The file.
    keyframe : str or int, optional
        Keyframe of the initial pose, velocity and controls; default: MuJoCo's reference pose.
    on_unsupported : {"error", "warn"}
        What to do about constraints that cannot be represented: couplings between joints or
        tendons, flexible bodies.

    Returns
    -------
    Mechanism
        Poses, masses and springs in SI units, named as in the file.

    Raises
    ------
    FileFormatError
        If the file cannot be read, a body is connected by joints that cannot be represented, or
        (with "error") there are other constraints that cannot.
    UnknownNameError
        If there is no such keyframe.
    MissingDependencyError
        Without the mujoco package.

    Warns
    -----
    ModelWarning
        For all else that is left out, by name: contacts, limits, friction, rotor inertias,
        tendons, and other forces that have no counterpart.
    """
    errors.check_name(on_unsupported, ("error", "warn"), "on_unsupported")
    source = robot_file.read_source(Path(path), keyframe, strict=on_unsupported == "error")
    try:
        robot_file.note_omissions(source)
        constants = parts.constant_joints(source)
        source.check()
        mechanism = Mechanism(source.name, source.gravity)
        parts.add_bodies(mechanism, source)
        coordinates = parts.add_joints(mechanism, source, constants)
        parts.add_loop_joints(mechanism, source)
        robot_forces.add_distances(mechanism, source)
        robot_forces.add_forces(mechanism, source, coordinates)
        source.check()
    except errors.FileFormatError:
        raise
    except errors.ModelError as error:
        raise errors.FileFormatError(f"{source.path}: {error}") from error
    for text in source.texts():
        warnings.warn(text, errors.ModelWarning, stacklevel=2)
    return mechanism
