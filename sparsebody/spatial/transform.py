"""Rotations, unit quaternions, Plücker transforms, the operators v x and v x*, and subspaces.

A quaternion is (w, x, y, z) and turns body into world coordinates, and so does the rotation matrix
made from it: p_world = R p_body. A Plücker transform X_BA holds the opposite kind of matrix, the
coordinate rotation E from A to B coordinates; where A is the world and B a body, E = R'.
"""

import numpy as np

from sparsebody._core import model as kernels
from sparsebody.arrays import ArrayLike, FloatArray, floats, leading_shape, model_array
from sparsebody.errors import ModelError, ShapeError
from sparsebody.tolerances import SUBSPACE_TOLERANCE, TIE_TOLERANCE, UNIT_TOLERANCE


def skew(vector: ArrayLike) -> FloatArray:
    """Return the matrix of the cross product, `skew(a) @ b == cross(a, b)`. RBDA 2.8."""
    a = floats(vector, (3,), "vector")
    matrix = np.zeros((*a.shape, 3))
    matrix[..., 2, 1], matrix[..., 1, 2] = a[..., 0], -a[..., 0]
    matrix[..., 0, 2], matrix[..., 2, 0] = a[..., 1], -a[..., 1]
    matrix[..., 1, 0], matrix[..., 0, 1] = a[..., 2], -a[..., 2]
    return matrix


def unskew(matrix: ArrayLike) -> FloatArray:
    """Return the vector (..., 3) of the skew-symmetric part of a matrix; `unskew(skew(a)) == a`."""
    m = floats(matrix, (3, 3), "matrix")
    return 0.5 * (m[..., [2, 0, 1], [1, 2, 0]] - m[..., [1, 2, 0], [2, 0, 1]])


# --- quaternions ---


def quaternion_product(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """Return the Hamilton product p q (..., 4): the rotation q, followed by the rotation p."""
    p, q = floats(p, (4,), "p"), floats(q, (4,), "q")
    leading_shape(p=p.shape[:-1], q=q.shape[:-1])
    s, t = p[..., :1], q[..., :1]  # scalar parts
    u, v = p[..., 1:], q[..., 1:]  # vector parts
    scalar = s * t - np.sum(u * v, axis=-1, keepdims=True)
    return np.concatenate([scalar, s * v + t * u + np.cross(u, v)], axis=-1)


def quaternion_conjugate(quaternion: ArrayLike) -> FloatArray:
    """Return (w, -x, -y, -z), the inverse rotation of a unit quaternion (..., 4)."""
    conjugate = -floats(quaternion, (4,), "quaternion")
    conjugate[..., 0] *= -1.0
    return conjugate


def quaternion_exponential(rotation_vector: ArrayLike) -> FloatArray:
    """Return the unit quaternion of a rotation vector (..., 3), axis times angle [rad].

    To full accuracy at small angles too; w is negative for angles between pi and 3 pi.
    """
    phi = floats(rotation_vector, (3,), "rotation_vector")
    half_angle = 0.5 * np.linalg.norm(phi, axis=-1, keepdims=True)
    vector = 0.5 * _sinc(half_angle) * phi
    return np.concatenate([np.cos(half_angle), vector], axis=-1)


def quaternion_logarithm(quaternion: ArrayLike) -> FloatArray:
    """Return the shortest rotation vector (..., 3) of a unit quaternion; q and -q give the same.

    Axis times angle, the angle in 0 .. pi [rad]. At an angle of exactly pi both signs of the vector
    are right; the one along (x, y, z) is given.
    """
    q = floats(quaternion, (4,), "quaternion")
    q = np.where(q[..., :1] < 0.0, -q, q)
    w, vector = q[..., :1], q[..., 1:]
    sine = np.linalg.norm(vector, axis=-1, keepdims=True)  # of the half angle
    ratio = np.ones_like(sine)  # half angle / sine, which tends to 1
    np.divide(np.arctan2(sine, w), sine, out=ratio, where=sine > 0.0)
    rotation_vector: FloatArray = 2.0 * ratio * vector
    return rotation_vector


def quaternion_from_rotation(rotation: ArrayLike) -> FloatArray:
    """Return the unit quaternion (..., 4), with w >= 0, of a rotation matrix (..., 3, 3).

    The matrix 4 q q' is linear in R; its row with the largest diagonal entry is proportional to q
    and far from zero for every rotation. Shepperd (1978), J. Guidance and Control 1(3).
    """
    R = floats(rotation, (3, 3), "rotation")
    return kernels.quaternions(R.reshape(-1, 3, 3)).reshape(*R.shape[:-2], 4)


# --- rotation matrices ---


def rotation_from_quaternion(quaternion: ArrayLike) -> FloatArray:
    """Return R, p_world = R p_body, of a unit quaternion, whose norm is not checked.

    R = 1 + 2 w (u x) + 2 (u x)^2 with u = (x, y, z). RBDA sec. 4.5; his E is the transpose of R.
    """
    q = floats(quaternion, (4,), "quaternion")
    return kernels.rotations(q.reshape(-1, 4)).reshape(*q.shape[:-1], 3, 3)


def rotation_exponential(rotation_vector: ArrayLike) -> FloatArray:
    """Return the matrix (..., 3, 3) that rotates by a vector phi (..., 3) [rad], exp(phi x).

    Rodrigues' formula; a body turned by phi has p_world = R p_body.
    """
    phi = floats(rotation_vector, (3,), "rotation_vector")
    angle = np.linalg.norm(phi, axis=-1)[..., None, None]
    phix = skew(phi)
    return np.eye(3) + _sinc(angle) * phix + 0.5 * _sinc(0.5 * angle) ** 2 * (phix @ phix)


def rotation_logarithm(rotation: ArrayLike) -> FloatArray:
    """Return the shortest rotation vector [rad] of a matrix, accurate from 0 to pi."""
    return quaternion_logarithm(quaternion_from_rotation(rotation))


def rotation_about(axis: ArrayLike, angle: ArrayLike) -> FloatArray:
    """Return the matrix that rotates about unit vectors (..., 3) by angles (...) [rad].

    Its transpose is E, the coordinate rotation into the turned frame that `plucker_transform`
    takes: Featherstone's rx, ry and rz for any axis, RBDA sec. 2.8.
    """
    u, angle = floats(axis, (3,), "axis"), floats(angle, (), "angle")
    leading_shape(axis=u.shape[:-1], angle=angle.shape)
    error = np.abs(np.linalg.norm(u, axis=-1) - 1.0)
    if not np.all(error <= UNIT_TOLERANCE):
        raise ShapeError(f"axis must be a unit vector, its norm is off by {np.max(error):.3g}")
    ux = skew(u)
    sine, versine = np.sin(angle), 2.0 * np.sin(0.5 * angle) ** 2  # versine: 1 - cosine
    return np.eye(3) + sine[..., None, None] * ux + versine[..., None, None] * (ux @ ux)


def _sinc(x: FloatArray) -> FloatArray:
    """Return sin(x) / x, and 1 at zero."""
    return np.sinc(x / np.pi)


# --- Plücker transforms ---


def plucker_transform(rotation: ArrayLike, origin: ArrayLike) -> FloatArray:
    """Return X_BA = [[E, 0], [-E r x, E]], which takes motion vectors from A to B.

    `rotation` is E (..., 3, 3), from A to B coordinates; `origin` is r (..., 3), the origin of B in
    A coordinates [m]. RBDA sec. 2.8.
    """
    E, r = floats(rotation, (3, 3), "rotation"), floats(origin, (3,), "origin")
    leading = leading_shape(rotation=E.shape[:-2], origin=r.shape[:-1])
    X = np.zeros((*leading, 6, 6))
    X[..., :3, :3] = X[..., 3:, 3:] = E
    X[..., 3:, :3] = -E @ skew(r)
    return X


def plucker_parts(transform: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return E (..., 3, 3) and r (..., 3) [m] of X_BA, the inverse of `plucker_transform`.

    ShapeError where X is not a transform of motion vectors.
    """
    X = _motion_transform(transform)
    E = X[..., :3, :3]
    return E.copy(), -unskew(np.swapaxes(E, -2, -1) @ X[..., 3:, :3])


def inverse_transform(transform: ArrayLike) -> FloatArray:
    """Return X_AB = inv(X_BA) = [[E', 0], [r x E', E']] without rounding errors. RBDA sec. 2.8."""
    X = _motion_transform(transform)
    inverse = np.zeros_like(X)
    inverse[..., :3, :3] = inverse[..., 3:, 3:] = np.swapaxes(X[..., :3, :3], -2, -1)
    inverse[..., 3:, :3] = np.swapaxes(X[..., 3:, :3], -2, -1)
    return inverse


def force_transform(transform: ArrayLike) -> FloatArray:
    """Return X* = inv(X)' = [[E, -E r x], [0, E]], which takes force vectors."""
    X = _motion_transform(transform)
    dual = np.zeros_like(X)
    dual[..., :3, :3] = dual[..., 3:, 3:] = X[..., :3, :3]
    dual[..., :3, 3:] = X[..., 3:, :3]
    return dual


def _motion_transform(transform: ArrayLike) -> FloatArray:
    """Return X as an array; its upper right block must be zero, unlike that of X*."""
    X = floats(transform, (6, 6), "transform")
    if np.any(X[..., :3, 3:] != 0.0):
        raise ShapeError("transform must take motion vectors: its upper right block is not zero")
    return X


# --- cross operators and subspaces ---


def motion_cross(velocity: ArrayLike) -> FloatArray:
    """Return v x (..., 6, 6): the rate of motion vectors m that move with v is v x m.

    [[w x, 0], [u x, w x]] with w the angular and u the linear part. RBDA eq. (2.31).
    """
    v = floats(velocity, (6,), "velocity")
    matrix = np.zeros((*v.shape, 6))
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = skew(v[..., :3])
    matrix[..., 3:, :3] = skew(v[..., 3:])
    return matrix


def force_cross(velocity: ArrayLike) -> FloatArray:
    """Return v x* = -(v x)': `force_cross(v) @ f` is the rate of a force vector that moves with v.

    [[w x, u x], [0, w x]] with w the angular and u the linear part. RBDA eq. (2.32).
    """
    return -np.swapaxes(motion_cross(velocity), -2, -1)


def orthogonal_complement(subspace: ArrayLike) -> FloatArray:
    """Return T (6, 6 - n), orthonormal, with T' S = 0: forces that constrain motions, or back.

    T depends on what S (6, n) spans, not on the basis, and is made of unit vectors where S is.
    RBDA sec. 3.2, table 3.1.
    """
    S = np.asarray(subspace, dtype=float)
    if S.ndim != 2 or S.shape[0] != 6 or S.shape[1] > 6:
        raise ShapeError(f"subspace must have shape (6, n) with n <= 6, got {S.shape}")
    if not np.all(np.isfinite(S)):
        raise ShapeError(f"subspace must hold finite numbers, got {S.tolist()}")
    norms = np.linalg.norm(S, axis=0)
    S = S / np.where(norms > 0.0, norms, 1.0)
    values = np.linalg.svd(S, compute_uv=False)
    if np.any(values <= SUBSPACE_TOLERANCE * np.max(values, initial=0.0)):
        raise ShapeError(
            f"the {S.shape[1]} columns of subspace depend on each other; leave out the "
            "redundant ones"
        )
    basis, rows = np.zeros_like(S), np.any(S != 0.0, axis=1)  # zero in the rows where S is
    basis[rows] = np.linalg.qr(S[rows])[0]
    projector = np.eye(6) - basis @ basis.T
    complement = np.empty((6, 6 - basis.shape[1]))
    for column in complement.T:  # Cholesky with diagonal pivoting; each pivot is at least 1/6
        diagonal = np.diagonal(projector)
        pivot = int(np.argmax(diagonal >= np.max(diagonal) - TIE_TOLERANCE))
        column[:] = projector[pivot] / np.sqrt(diagonal[pivot])
        projector -= np.outer(column, column)
    return complement


# --- checks of what a user gives ---


def check_unit_quaternion(quaternion: ArrayLike, who: str) -> None:
    """Raise ModelError, naming `who`, unless it is one unit quaternion (4,) to within 1e-6."""
    q = model_array(quaternion, (4,), f"{who}: the quaternion (w, x, y, z)")
    norm = np.linalg.norm(q)
    if abs(norm - 1.0) > UNIT_TOLERANCE:
        remedy = "divide it by its norm" if norm > 0.0 else "use (1, 0, 0, 0) for no rotation"
        raise ModelError(f"{who}: quaternion {q.tolist()} has norm {norm:.9g}, not 1; {remedy}")
