"""Generated mechanisms: a function each, and one line each in GALLERY.

All take `gravity`, (3,) floats in world axes [m/s^2]. The first line of a docstring is the summary
that lists show.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

import numpy as np

from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.model.gallery.lattices import (
    beam,
    compliant_lattice,
    ladder,
    lattice,
    ring,
    rotating_squares,
    tube,
)
from sparsebody.model.gallery.linkages import (
    RR,
    andrews,
    bricard,
    five_bar_array,
    four_bar,
    four_bar_torus,
    governor,
    n_four_bar,
    scissor,
    slider_crank,
    stewart,
)
from sparsebody.model.gallery.open_chains import chain, pendulum, tree
from sparsebody.model.gallery.parameters import checked_parameters
from sparsebody.model.mechanism import Mechanism

Points = Mapping[str, tuple[str, tuple[float, float, float]]]


@dataclass(frozen=True)
class GalleryEntry:
    """A function that makes a mechanism, and what to say about it."""

    function: Callable[..., Mechanism]  # every parameter has a default
    size_parameters: tuple[str, ...] = ()  # that set the number of bodies
    points: Points = field(default_factory=dict)
    """Points that published results speak of: body and place in its frame [m]."""

    @property
    def summary(self) -> str:
        """One line for people."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0].rstrip(".")

    @property
    def defaults(self) -> dict[str, Any]:
        """All parameters with their default values."""
        parameters = inspect.signature(self.function).parameters
        return {name: parameter.default for name, parameter in parameters.items()}


def _point(name: str, body: str, x: float = 0.0) -> Points:
    return {name: (body, (x, 0.0, 0.0))}


GALLERY: dict[str, GalleryEntry] = {
    "chain": GalleryEntry(chain, ("bodies",)),
    "tree": GalleryEntry(tree, ("bodies",)),
    "ladder": GalleryEntry(ladder, ("rungs",)),
    "scissor": GalleryEntry(scissor, ("pairs",)),
    "n-four-bar": GalleryEntry(n_four_bar, ("loops",), _point("B0", "vertical-0", 0.5)),
    "five-bar-array": GalleryEntry(five_bar_array, ("loops",)),
    "four-bar-torus": GalleryEntry(four_bar_torus, ("rows", "columns")),
    "lattice": GalleryEntry(lattice, ("rows", "columns", "layers")),
    "tube": GalleryEntry(tube, ("rings",)),
    "rotating-squares": GalleryEntry(rotating_squares, ("rows", "columns")),
    "ring": GalleryEntry(ring, ("bodies",)),
    "stewart": GalleryEntry(stewart, (), _point("platform", "platform")),
    "four-bar": GalleryEntry(four_bar),
    "slider-crank": GalleryEntry(slider_crank, (), _point("slider", "slider")),
    "bricard": GalleryEntry(bricard, (), _point("P3", "rod-2", 0.5)),
    "andrews": GalleryEntry(andrews, (), _point("F", "K1", RR)),
    "governor": GalleryEntry(governor, (), _point("slider", "slider")),
    "beam": GalleryEntry(beam, ("elements",)),
    "compliant-lattice": GalleryEntry(compliant_lattice, ("rows", "columns")),
    "pendulum": GalleryEntry(pendulum, (), _point("mass", "mass")),
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
    hints = get_type_hints(entry.function, include_extras=True)
    for unknown in parameters.keys() - entry.defaults.keys():
        known = ", ".join(entry.defaults)
        raise ModelError(f"{name} has no parameter {unknown!r}; it has {known}")
    try:
        given = checked_parameters(parameters, hints, entry.defaults)
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
