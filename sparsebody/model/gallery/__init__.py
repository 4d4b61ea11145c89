"""Generated mechanisms: a function each, and one line each in GALLERY."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

import numpy as np

from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.model.gallery.andrews import RR, andrews
from sparsebody.model.gallery.beams import beam, compliant_lattice
from sparsebody.model.gallery.four_bars import (
    five_bar_array,
    four_bar,
    four_bar_torus,
    n_four_bar,
)
from sparsebody.model.gallery.ladders import ladder, ring, tube
from sparsebody.model.gallery.lattices import lattice, rotating_squares
from sparsebody.model.gallery.open_chains import chain, pendulum
from sparsebody.model.gallery.parameters import check_size, converted
from sparsebody.model.gallery.scissor import scissor
from sparsebody.model.gallery.spatial_loops import bricard, governor, slider_crank
from sparsebody.model.gallery.stewart import stewart
from sparsebody.model.gallery.tree import tree
from sparsebody.model.mechanism import Mechanism


@dataclass(frozen=True)
class GalleryEntry:
    """A function that makes a mechanism, and what to say about it.

    Parameters
    ----------
    function : callable
        Every parameter has a default.
    summary : str
        One line for people.
    size_parameters : tuple of str
        The parameters that set the number of bodies.
    points : dict of str to (str, 3 floats)
        Points that published results speak of: body and place in its frame [m].
    """

    function: Callable[..., Mechanism]
    summary: str
    size_parameters: tuple[str, ...] = ()
    points: Mapping[str, tuple[str, tuple[float, float, float]]] = field(default_factory=dict)

    @property
    def defaults(self) -> dict[str, Any]:
        """All parameters with their default values."""
        parameters = inspect.signature(self.function).parameters
        return {name: parameter.default for name, parameter in parameters.items()}


ORIGIN = (0.0, 0.0, 0.0)

GALLERY: dict[str, GalleryEntry] = {
    "chain": GalleryEntry(chain, "open chain of bars, hinges about y and z in turn", ("bodies",)),
    "tree": GalleryEntry(tree, "autoTree family of branching trees, or a random tree", ("bodies",)),
    "ladder": GalleryEntry(
        ladder, "two rails of bars, joined at every rung; can be disordered", ("rungs",)
    ),
    "scissor": GalleryEntry(
        scissor, "scissor lift of crossed bars; can be driven at its base", ("pairs",)
    ),
    "n-four-bar": GalleryEntry(
        n_four_bar,
        "row of parallelograms (IFToMM A02)",
        ("loops",),
        {"B0": ("vertical-0", (0.5, 0.0, 0.0))},
    ),
    "five-bar-array": GalleryEntry(
        five_bar_array, "row of five-bar linkages on shared columns", ("loops",)
    ),
    "four-bar-torus": GalleryEntry(
        four_bar_torus,
        "parallelograms whose rows and columns close to rings",
        ("rows", "columns"),
    ),
    "lattice": GalleryEntry(
        lattice,
        "2-D or 3-D grid of cubes; joints can be left out at random",
        ("rows", "columns", "layers"),
    ),
    "tube": GalleryEntry(
        tube, "rails of bars closed around a cylinder; grows along it", ("rings",)
    ),
    "rotating-squares": GalleryEntry(
        rotating_squares,
        "sheet of squares hinged at their corners",
        ("rows", "columns"),
    ),
    "ring": GalleryEntry(ring, "closed polygon of bars", ("bodies",)),
    "stewart": GalleryEntry(
        stewart,
        "platform on six legs, on springs or driven",
        points={"platform": ("platform", ORIGIN)},
    ),
    "four-bar": GalleryEntry(four_bar, "planar crank and rocker with spatial hinges"),
    "slider-crank": GalleryEntry(
        slider_crank, "spatial slider-crank (IFToMM)", points={"slider": ("slider", ORIGIN)}
    ),
    "bricard": GalleryEntry(
        bricard, "Bricard's six-hinge loop (IFToMM A04)", points={"P3": ("rod-2", (0.5, 0.0, 0.0))}
    ),
    "andrews": GalleryEntry(
        andrews, "Andrews' squeezer (IVP Test Set)", points={"F": ("K1", (RR, 0.0, 0.0))}
    ),
    "governor": GalleryEntry(
        governor, "flyball governor (IFToMM A05)", points={"slider": ("slider", ORIGIN)}
    ),
    "beam": GalleryEntry(
        beam, "straight elastic beam, clamped or free, of many elements", ("elements",)
    ),
    "compliant-lattice": GalleryEntry(
        compliant_lattice, "hanging grid of cubes on elastic beams", ("rows", "columns")
    ),
    "pendulum": GalleryEntry(
        pendulum, "simple pendulum (IFToMM A01)", points={"mass": ("mass", ORIGIN)}
    ),
}


def build(name: str, /, **parameters: Any) -> Mechanism:
    """Return a mechanism of the gallery.

    Parameters
    ----------
    name : str
        A key of GALLERY.
    **parameters
        Of its function; strings, as from a command line, are converted ("3", "yes", "0,0,-9.81").

    Raises
    ------
    UnknownNameError
        If the gallery has no such mechanism.
    ModelError
        If there is no such parameter, or its value does not fit.

    Examples
    --------
    >>> build("scissor", pairs="3")
    Mechanism('scissor': 6 bodies, 9 joints)
    """
    if not isinstance(name, str) or name not in GALLERY:
        raise UnknownNameError(f"no mechanism {name!r} in the gallery; it has {', '.join(GALLERY)}")
    entry = GALLERY[name]
    hints = get_type_hints(entry.function)
    for unknown in parameters.keys() - entry.defaults.keys():
        known = ", ".join(entry.defaults)
        raise ModelError(f"{name} has no parameter {unknown!r}; it has {known}")
    try:
        given = {key: converted(value, hints[key], key) for key, value in parameters.items()}
        check_size({key: (entry.defaults | given)[key] for key in entry.size_parameters})
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            return entry.function(**given)
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from error
    except ArithmeticError as error:  # lengths whose squares are no numbers, say
        listed = ", ".join(f"{key} = {value}" for key, value in given.items())
        raise ModelError(
            f"{name}: {listed} leads out of the range of numbers ({error.args[-1]}); "
            "give moderate ones"
        ) from error


__all__ = ["GALLERY", "GalleryEntry", "build"]
