"""Check the shapes of array arguments, so that an error names the argument."""

from __future__ import annotations

import numpy as np

from sparsebody.arrays import ArrayLike, FloatArray
from sparsebody.errors import ModelError, ShapeError


def floats(value: ArrayLike, trailing: tuple[int, ...], name: str) -> FloatArray:
    """Return `value` as a float array (..., *trailing), or raise ShapeError naming it."""
    try:
        array = np.asarray(value, dtype=float)
    except (OverflowError, TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be an array of numbers, got {value!r}") from error
    if array.shape[array.ndim - len(trailing) :] != trailing:
        wanted = ", ".join(map(str, trailing))
        raise ShapeError(f"{name} must have shape (..., {wanted}), got {array.shape}")
    return array


def leading_shape(**leading: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that these leading axes broadcast to, or raise ShapeError naming them."""
    try:
        return np.broadcast_shapes(*leading.values())
    except ValueError as error:
        found = ", ".join(f"{name} {shape}" for name, shape in leading.items())
        raise ShapeError(f"leading axes do not fit each other: {found}") from error


def model_array(value: ArrayLike, shape: tuple[int, ...], what: str) -> FloatArray:
    """Return one finite array of this shape, or raise ModelError that begins with `what`."""
    try:
        array = np.asarray(value, dtype=float)
    except (OverflowError, TypeError, ValueError) as error:
        raise ModelError(f"{what} is {value!r}; give numbers of shape {shape}") from error
    if array.shape != shape:
        raise ModelError(f"{what} has shape {array.shape}; give one of shape {shape}")
    if not np.all(np.isfinite(array)):
        raise ModelError(f"{what} is {array.tolist()}; give finite numbers")
    return array
