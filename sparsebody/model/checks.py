"""Turn what the user gives into arrays, or say which body or joint has what wrong."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray
from sparsebody.errors import ModelError


def numbers(value: ArrayLike, who: str, what: str) -> FloatArray:
    """Return a copy of `value` as a float array of any shape."""
    try:
        return np.array(value, dtype=float)
    except (OverflowError, TypeError, ValueError) as error:
        raise ModelError(f"{who}: {what} is {value!r}; give numbers") from error


def vector(value: ArrayLike, who: str, what: str, size: int = 3) -> FloatArray:
    """Return `value` as a finite (size,) array; `who` and `what` name it in the error."""
    try:
        array = np.array(value, dtype=float)
    except (OverflowError, TypeError, ValueError) as error:
        raise ModelError(f"{who}: {what} is {value!r}; give {size} numbers") from error
    if array.shape != (size,):
        raise ModelError(f"{who}: {what} has shape {array.shape}; give {size} numbers")
    if not np.all(np.isfinite(array)):
        raise ModelError(f"{who}: {what} is {array.tolist()}; every number must be finite")
    array.flags.writeable = False
    return array


def scalar(value: object, who: str, what: str) -> float:
    """Return `value` as a finite float."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (OverflowError, TypeError, ValueError) as error:
        raise ModelError(f"{who}: {what} is {value!r}; give a number") from error
    if not np.isfinite(number):
        raise ModelError(f"{who}: {what} is {number}; it must be finite")
    return number


def positive(value: object, who: str, what: str) -> float:
    """Return `value` as a finite float above zero."""
    number = scalar(value, who, what)
    if not number > 0.0:
        raise ModelError(f"{who}: {what} is {number}; it must be positive")
    return number


def direction(value: ArrayLike, who: str, what: str) -> FloatArray:
    """Return `value` as a unit 3-vector; its length may be anything but zero."""
    array = vector(value, who, what)
    length = float(np.linalg.norm(array))
    if length == 0.0:
        raise ModelError(f"{who}: {what} is the zero vector; give a direction")
    return np.asarray(array / length)
