"""Checks of what a user says about the links of an arm: errors name the link."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparsebody.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.model.checks import numbers
from sparsebody.spatial.inertia import check_inertia

_THIN = 1e-9  # relative; rods and point masses, without inertia about an axis, are links as well
_CANCELLED = 1e-14  # relative to mass times squared distance, of moments moved to the center


def check_links(
    table: FloatArray, mass: FloatArray, com: FloatArray, inertia: FloatArray, are_diagonals: bool
) -> None:
    """Raise ModelError unless all is finite and bodies can have these masses and inertias."""
    read = (
        " (whose inertia is row {} of a 3 x 3 array)" if are_diagonals and len(table) == 3 else ""
    )
    for i in range(len(table)):
        who = f"link {i + 1}"
        for what, row in (("table row", table[i]), ("com", com[i])):
            if not np.isfinite(row).all():
                raise ModelError(f"{who}: {what} is {row.tolist()}; every number must be finite")
        _check_inertia(float(mass[i]), com[i], inertia[i], who + read.format(i + 1))


def _check_inertia(mass: float, com: FloatArray, inertia: FloatArray, who: str) -> None:
    """As of any body, but that a rod or a point mass may have moments of zero, to rounding."""
    if 0.0 < mass < np.inf and np.isfinite(inertia).all():
        slack = _THIN * np.abs(inertia).max() + _CANCELLED * mass * com @ com
        least, middle, largest = np.linalg.eigvalsh(inertia)
        is_symmetric = np.abs(inertia - inertia.T).max() <= slack
        if is_symmetric and abs(least) <= slack and largest <= least + middle + slack:
            return
    check_inertia(mass, inertia, who)


def joint_types(joints: str, n: int) -> BoolArray:
    """Return whether each of n joints is revolute; "" makes all so."""
    if not isinstance(joints, str):
        raise ModelError(f"arm: joints is {joints!r}; give letters such as 'RRP'")
    letters = joints.upper() or "R" * n
    for i, letter in enumerate(letters, start=1):
        if letter not in "RP":
            raise ModelError(f"joint {i}: type is {letter!r}; give R (revolute) or P (prismatic)")
    if len(letters) != n:
        raise ModelError(f"arm: joints is {joints!r} of {len(letters)} letters; the table has {n}")
    return np.array([letter == "R" for letter in letters])


def parents_of(parent: Sequence[int] | None, n: int) -> IntArray:
    """Return the links that n links hang on, checked; None makes a chain."""
    try:
        parents = np.arange(-1, n - 1) if parent is None else np.array(parent)
    except ValueError:  # rows of several lengths
        parents = np.empty(0)
    if parents.shape != (n,) or not np.issubdtype(parents.dtype, np.integer):
        raise ModelError(f"arm: parent is {parent!r}; give {n} whole numbers, -1 for the base")
    for i, p in enumerate(parents.tolist()):
        if not -1 <= p < i:
            raise ModelError(
                f"link {i + 1}: parent is {p}; give -1 for the base, or the index of a link before "
                f"it, 0 to {i - 1}"
            )
    return parents.astype(np.intp)


def wrenches_on(wrench: ArrayLike, n: int) -> FloatArray:
    """Return (n, 6) finite numbers."""
    wrenches = numbers(wrench, "arm", "wrench")
    if wrenches.shape != (n, 6):
        raise ModelError(f"arm: wrench has shape {wrenches.shape}; give ({n}, 6) numbers")
    for i, row in enumerate(wrenches):
        if not np.isfinite(row).all():
            raise ModelError(f"link {i + 1}: wrench is {row.tolist()}; every number must be finite")
    return wrenches
