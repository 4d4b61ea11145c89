"""Generated mechanisms: a function each, and one line each in GALLERY.

All take `gravity`, (3,) floats in world axes [m/s^2]. The first line of a docstring is the summary
that lists show.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

import numpy as np

from sparsebody.errors import ModelError, UnknownNameError
from sparsebody.model.gallery import lattices, linkages, open_chains
from sparsebody.model.gallery.parameters import checked_parameters
from sparsebody.model.mechanism import Mechanism

Points = Mapping[str, tuple[str, tuple[float, float, float]]]


@dataclass(frozen=True)
class GalleryEntry:
    """A function that makes a mechanism, and what to say about it."""

    function: Callable[..., Mechanism]  # every parameter has a default
    size_parameters: tuple[str, ...] = ()  # that set the number of bodies
    points: Points = field(default_factory=dict)
    """Points that published results speak of: body and position in its frame [m]."""

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
    "chain": GalleryEntry(open_chains.chain, ("bodies",)),
    "tree": GalleryEntry(open_chains.tree, ("bodies",)),
    "ladder": GalleryEntry(lattices.ladder, ("rungs",)),
    "scissor": GalleryEntry(linkages.scissor, ("pairs",)),
    "n-four-bar": GalleryEntry(linkages.n_four_bar, ("loops",), _point("B0", "vertical-0", 0.5)),
    "five-bar-array": GalleryEntry(linkages.five_bar_array, ("loops",)),
    "four-bar-torus": GalleryEntry(linkages.four_bar_torus, ("rows", "columns")),
    "lattice": GalleryEntry(lattices.lattice, ("rows", "columns", "layers")),
    "tube": GalleryEntry(lattices.tube, ("rings",)),
    "rotating-squares": GalleryEntry(lattices.rotating_squares, ("rows", "columns")),
    "ring": GalleryEntry(lattices.ring, ("bodies",)),
    "stewart": GalleryEntry(linkages.stewart, (), _point("platform", "platform")),
    "four-bar": GalleryEntry(linkages.four_bar),
    "slider-crank": GalleryEntry(linkages.slider_crank, (), _point("slider", "slider")),
    "bricard": GalleryEntry(linkages.bricard, (), _point("P3", "rod-2", 0.5)),
    "andrews": GalleryEntry(linkages.andrews, (), _point("F", "K1", linkages.RR)),
    "governor": GalleryEntry(linkages.governor, (), _point("slider", "slider")),
    "beam": GalleryEntry(lattices.beam, ("elements",)),
    "compliant-lattice": GalleryEntry(lattices.compliant_lattice, ("rows", "columns")),
    "pendulum": GalleryEntry(open_chains.pendulum, (), _point("mass", "mass")),
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
        checked = checked_parameters(parameters, hints, entry.defaults)
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            return entry.function(**checked)
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from error
    except ArithmeticError as error:  # lengths whose squares are no numbers, say
        listed = ", ".join(f"{key} = {value}" for key, value in checked.items())
        raise ModelError(
            f"{name}: {listed} leads out of the range of numbers ({error.args[-1]}); "
            "give moderate ones"
        ) from error


__all__ = ["GALLERY", "GalleryEntry", "build"]
