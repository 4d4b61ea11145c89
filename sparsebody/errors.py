"""Every error that sparsebody raises on purpose, under one base class, and how it warns."""

import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import Any


class SparsebodyError(Exception):
    """Base class: catch it to catch whatever sparsebody raises on purpose."""


class ModelError(SparsebodyError, ValueError):
    """A mechanism that cannot be: the message names the body or joint, the value and the remedy."""


class FileFormatError(ModelError):
    """A mechanism file that cannot be read, or that holds what cannot be represented."""


class OutputError(SparsebodyError, OSError):
    """A file that cannot be written; the message names it and the reason."""


class ShapeError(SparsebodyError, ValueError):
    """An array argument whose shape or content does not fit."""


class UnknownNameError(SparsebodyError, KeyError):
    """A name that is in no table; the message lists the names that are."""

    def __str__(self) -> str:  # KeyError would print the message in quotes
        return str(self.args[0])


class MissingDependencyError(SparsebodyError, ImportError):
    """An optional package is needed; the message gives the command that installs it."""


class SingularSystemError(SparsebodyError, ArithmeticError):
    """A pivot vanished: constraint rows depend on each other in this pose."""


class MemoryLimitError(SparsebodyError, MemoryError):
    """More memory is needed than there is; the message says how much, and what would do."""


class AssemblyError(SparsebodyError, ArithmeticError):
    """No consistent pose or velocity was found; the message says which joints do not close."""


class SimulationError(SparsebodyError, RuntimeError):
    """The motion could not be continued; what was computed is kept."""


class ControlError(SparsebodyError, RuntimeError):
    """A control failed, so that no shorter step and no other method leads on."""


class SimulationOptionError(SimulationError, ValueError):
    """An option of a simulation that makes no sense, or a file that does not fit it."""


class StudyError(SparsebodyError, ValueError):
    """A study file that makes no sense, or results that do not belong to it."""


class RankWarning(UserWarning):
    """The constraint rows that were left out do not hold at this state: the rank has changed."""


class AccuracyWarning(UserWarning):
    """Few digits are accurate: constraint rows are ill-conditioned, or steps too long."""


class ConvergenceWarning(UserWarning):
    """An iterative solve stalled: its residual is reported with the accelerations."""


class EnergyWarning(UserWarning):
    """The energy of a motion shows that steps are too long, or rigid joints not stiff enough."""


class InterruptionWarning(UserWarning):
    """A signal has ended a run early: whoever goes on works with a part of it."""


class ModelWarning(UserWarning):
    """Something in a file was left out or changed; the message names it."""


class MotionError(SparsebodyError, ValueError):
    """Wanted accelerations that joints forbid or actuators cannot cause; the message names both."""


class OrderingError(SparsebodyError, ValueError):
    """An elimination order that is none, or a mechanism too large for an exact one."""


def check_name(name: str, known: Iterable[str], what: str) -> None:
    """Raise UnknownNameError, which lists the known names of `what`, unless this is one of them."""
    if not isinstance(name, str) or name not in known:
        raise UnknownNameError(f"{what} is {name!r}; give one of {', '.join(known)}")


def required_package(name: str, needs: str, extra: str) -> Any:
    """Return an optional package; MissingDependencyError, in words what `needs` it, without it."""
    try:
        return import_module(name)
    except ImportError as error:
        message = f"{needs}; install it with: pip install 'sparsebody[{extra}]'"
        raise MissingDependencyError(message) from error


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line outside of this package that asked, however deep inside the cause is."""
    level, frame, package = 1, sys._getframe(), __name__.partition(".")[0]
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
