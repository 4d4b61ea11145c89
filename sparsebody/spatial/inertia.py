"""Spatial inertia of rigid bodies, the check of a user's values, and the inertia of solids."""

import math

import numpy as np

from sparsebody import arrays, tolerances
from sparsebody._core import model as native
from sparsebody.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from sparsebody.errors import ModelError
from sparsebody.spatial.transform import inverse_transform, skew, unskew


def spatial_inertia(
    mass: ArrayLike, center_of_mass: ArrayLike, rotational_inertia: ArrayLike
) -> FloatArray:
    """Return the spatial inertia [[I_c + m c x (c x)', m c x], [m (c x)', m 1]]. RBDA (2.63).

    From masses (...) [kg], centers of mass c (..., 3) [m], and rotational inertias about these in
    the axes of the body frame, I_c (..., 3, 3) [kg m^2].
    """
    m, c = arrays.floats(mass, (), "mass"), arrays.floats(center_of_mass, (3,), "center_of_mass")
    I_c = arrays.floats(rotational_inertia, (3, 3), "rotational_inertia")
    leading = arrays.leading_shape(mass=m.shape, center=c.shape[:-1], inertia=I_c.shape[:-2])
    cx, m = skew(c), m[..., None, None]
    inertia = np.zeros((*leading, 6, 6))
    inertia[..., :3, :3] = I_c - m * cx @ cx
    inertia[..., :3, 3:] = m * cx
    inertia[..., 3:, :3] = -m * cx
    inertia[..., 3:, 3:] = m * np.eye(3)
    return inertia


def inertia_parts(inertia: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mass, center of mass and rotational inertia about it; mass must not be zero."""
    matrix = arrays.floats(inertia, (6, 6), "inertia")
    mass = np.asarray(np.trace(matrix[..., 3:, 3:], axis1=-2, axis2=-1) / 3.0)
    center_of_mass = unskew(matrix[..., :3, 3:]) / mass[..., None]
    cx = skew(center_of_mass)
    return mass, center_of_mass, matrix[..., :3, :3] + mass[..., None, None] * cx @ cx


def summed_inertias(
    group: IntArray, n: int, mass: FloatArray, center: FloatArray, inertia: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return masses (n,), centers (n, 3) and inertias (n, 3, 3) about them of n rigid groups.

    Solids have masses (k,) [kg], centers (k, 3) [m] and inertias (k, 3, 3) about these [kg m^2] in
    the frames of their groups (k,). The center of a group without mass is the origin.
    """
    total, moment, rotational = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    np.add.at(total, group, mass)
    np.add.at(moment, group, mass[:, None] * center)
    middle = moment / np.where(total > 0.0, total, 1.0)[:, None]
    arm = skew(center - middle[group])
    np.add.at(rotational, group, inertia - mass[:, None, None] * arm @ arm)
    return total, middle, 0.5 * (rotational + np.swapaxes(rotational, 1, 2))


def transform_inertia(inertia: ArrayLike, transform: ArrayLike) -> FloatArray:
    """Return I_B = X* I_A inv(X) (..., 6, 6), exactly symmetric, for X_BA. RBDA sec. 2.13."""
    matrix, X_AB = arrays.floats(inertia, (6, 6), "inertia"), inverse_transform(transform)
    arrays.leading_shape(inertia=matrix.shape[:-2], transform=X_AB.shape[:-2])
    moved = np.swapaxes(X_AB, -2, -1) @ matrix @ X_AB
    return 0.5 * (moved + np.swapaxes(moved, -2, -1))


def symmetric_inverse(matrices: FloatArray) -> FloatArray:
    """Return the inverses of symmetric matrices (n, 3, 3), by their cofactors.

    As accurate as elimination, as at most one principal moment of a body is much smaller than the
    others.
    """
    inverse = np.empty((len(matrices), 3, 3))
    native.fill_symmetric_inverses(matrices, inverse)
    return inverse


# --- the check of what a user gives ---


def principal_moments(inertia: FloatArray) -> FloatArray:
    """Return the eigenvalues (n, 3), increasing, of rotational inertias (n, 3, 3) [kg m^2]."""
    entries = inertia.reshape(-1, 9)
    if entries[:, [1, 2, 3, 5, 6, 7]].any():
        return np.linalg.eigvalsh(inertia).astype(float)
    return np.sort(entries[:, ::4], axis=1)


def inertia_conditions(inertia: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return principal moments (n, 3) and conditions (4, n) of finite inertias (n, 3, 3).

    In turn: symmetric, positive semidefinite, no moment above the sum of the others (to 1e-9
    relative), positive definite.
    """
    moments = principal_moments(inertia)
    low, middle, high = moments.T
    difference = np.abs(inertia - np.swapaxes(inertia, 1, 2)).max(axis=(1, 2))
    is_symmetric = difference <= tolerances.INERTIA_TOLERANCE * np.abs(inertia).max(axis=(1, 2))
    zero = tolerances.MOMENT_TOLERANCE * np.maximum(-low, high)
    is_possible = high <= (1.0 + tolerances.INERTIA_TOLERANCE) * (low + middle)
    return moments, np.array([is_symmetric, low >= -zero, is_possible, low > zero])


def check_inertia(
    mass: float, inertia: ArrayLike, who: str, *, may_be_singular: bool = False
) -> None:
    """Raise ModelError, naming `who`, unless a rigid body can have this mass and inertia.

    The mass [kg] is positive; the inertia (3, 3) [kg m^2], about the center of mass, is symmetric
    and positive definite, and no principal moment exceeds the sum of the others (to 1e-9 relative).
    Where it may be singular, mass and moments may also be zero.
    """
    if not (math.isfinite(mass) and (mass > 0.0 or (may_be_singular and mass == 0.0))):
        raise ModelError(
            f"{who}: mass {mass} kg; give a positive one, or leave the body out and join its "
            "neighbours directly"
        )
    matrix = arrays.model_array(inertia, (3, 3), f"{who}: the rotational inertia")
    (moments,), conditions = inertia_conditions(matrix[None])
    is_symmetric, is_semidefinite, is_possible, is_definite = conditions[:, 0]
    shown = "{:.9g}, {:.9g}, {:.9g}".format(*moments)
    if not is_symmetric:
        row, column = np.unravel_index(np.argmax(np.abs(matrix - matrix.T)), (3, 3))
        raise ModelError(
            f"{who}: the rotational inertia is not symmetric, entry [{row}, {column}] is "
            f"{matrix[row, column]:.9g} and [{column}, {row}] is {matrix[column, row]:.9g}; "
            "make them equal"
        )
    if not (is_semidefinite if may_be_singular else is_definite):
        raise ModelError(
            f"{who}: the rotational inertia has principal moments {shown} kg m^2 and is not "
            "positive definite; give every axis a positive moment (a thin rod: a small radius)"
        )
    if not is_possible:
        raise ModelError(
            f"{who}: no body has principal moments {shown} kg m^2, as the largest exceeds the sum "
            "of the others; check the units and that they are about the center of mass"
        )


# --- solids of uniform density, about their center of mass ---


def box_inertia(mass: float, sides: ArrayLike) -> FloatArray:
    """Return the inertia (3, 3) [kg m^2] of a solid box of mass [kg] and full sides [m]."""
    lengths = arrays.model_array(sides, (3,), "box: sides")
    _check_positive("box", mass=mass, shortest_side=float(np.min(lengths)))
    squares = lengths**2
    return np.diag(mass / 12.0 * (np.sum(squares) - squares))


def sphere_inertia(mass: float, radius: float) -> FloatArray:
    """Return the inertia (3, 3) [kg m^2] of a solid sphere of a mass [kg] and a radius [m]."""
    _check_positive("sphere", mass=mass, radius=radius)
    return 0.4 * mass * radius**2 * np.eye(3)


def cylinder_inertia(
    mass: float, radius: float, length: float, axis: ArrayLike = (0.0, 0.0, 1.0)
) -> FloatArray:
    """Return the inertia (3, 3) [kg m^2] of a solid cylinder; `axis` has any length."""
    _check_positive("cylinder", mass=mass, radius=radius, length=length)
    return _axial_inertia("cylinder", mass, radius, length, axis)


def rod_inertia(
    mass: float, length: float, axis: ArrayLike = (0.0, 0.0, 1.0), *, radius: float = 0.0
) -> FloatArray:
    """Return the inertia (3, 3) [kg m^2] of a round rod, slender unless given a radius.

    A slender rod has no moment about its axis, which `check_inertia` refuses: as soon as a rod may
    spin about its axis, it needs a radius.
    """
    _check_positive("rod", mass=mass, length=length)
    if not (np.isfinite(radius) and radius >= 0.0):
        raise ModelError(f"rod: radius {radius}; give zero or a positive number")
    return _axial_inertia("rod", mass, radius, length, axis)


def _axial_inertia(
    solid: str, mass: float, radius: float, length: float, axis: ArrayLike
) -> FloatArray:
    """Return axial u u' + transverse (1 - u u') with u the unit vector along `axis`."""
    direction = arrays.model_array(axis, (3,), f"{solid}: axis")
    norm = np.linalg.norm(direction)
    if norm == 0.0:
        raise ModelError(f"{solid}: axis {direction.tolist()} has no direction; give another")
    u = direction / norm
    axial = 0.5 * mass * radius**2
    transverse = mass * (3.0 * radius**2 + length**2) / 12.0
    return transverse * np.eye(3) + (axial - transverse) * np.outer(u, u)


def _check_positive(solid: str, **values: float) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0.0):
            words = name.replace("_", " ")
            raise ModelError(f"{solid}: {words} {value}; give a positive number")
