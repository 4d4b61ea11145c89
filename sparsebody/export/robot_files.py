"""Mechanisms written as robot files, MJCF or URDF; warnings name what these cannot express."""

from pathlib import Path
from xml.etree import ElementTree as xml

from sparsebody import errors, writing
from sparsebody.export import body_tree, mjcf, urdf
from sparsebody.model import Mechanism, State

FORMATS = {".xml": mjcf.mjcf_document, ".mjcf": mjcf.mjcf_document, ".urdf": urdf.urdf_document}


def write_robot(mechanism: Mechanism, path: writing.StrPath, state: State | None = None) -> None:
    """Write a mechanism as MJCF (.xml, .mjcf) or URDF (.urdf), which `load_mechanism` reads.

    Joints of a spanning tree become joints of the file; loop joints become equality constraints of
    MJCF, and are left out of URDF. Bodies without inertia of their own are part of the body that
    they are welded to, as in `compile`.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism to write.
    path : path
        The file, replaced as a whole or not at all; its suffix is the format.
    state : State, optional
        Poses, velocities and controls: in MJCF the reference pose, and the keyframe "initial" with
        everything; in URDF, which has no velocities, the pose at which all joints are at zero.
        Default: the consistent initial state.

    Raises
    ------
    FileFormatError
        If the suffix is another one.
    ModelError
        If the format lacks the type of a tree joint (URDF), or bodies are nested more deeply than
        its readers allow (MJCF); the message names the joint or body.
    AssemblyError
        If the mechanism has no consistent initial state.
    OutputError
        If the file cannot be written.

    Warns
    -----
    ModelWarning
        For everything that the format cannot express, by name.
    """
    target = Path(path)
    make = FORMATS.get(target.suffix.lower())
    if make is None:
        raise errors.FileFormatError(
            f"{path}: unknown suffix {target.suffix!r}; give a {', '.join(FORMATS)} file, or "
            "write_mechanism a .json file"
        )
    root, notes = make(body_tree.PosedMechanism.of(mechanism, state))
    xml.indent(root, space=" ")
    with writing.replaced(target) as draft:
        xml.ElementTree(root).write(draft, encoding="utf-8")
    notes.warn(path)
