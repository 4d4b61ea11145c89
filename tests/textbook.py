"""I, P, T and both sides of (8.64) as SciPy sparse matrices, in world coordinates.

The form of the book, with blocks of +1 and -1 in P; the oracle of the fast form, not its rival:
moments about the world's origin lose digits on large mechanisms.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import block_array, block_diag, csc_array

from sparsebody.arrays import FloatArray
from sparsebody.assembly.body_forces import applied_forces
from sparsebody.assembly.constraint import constraint_rows
from sparsebody.kinematics.joint_motion import body_rotations, coordinate_motion, joint_motion
from sparsebody.spatial import force_cross, plucker_transform


@dataclass(frozen=True, eq=False)
class TextbookSystem:
    """Featherstone (2008), eq. (8.64), all in world coordinates at the world's origin."""

    inertia: csc_array  # I (6 n_bodies, 6 n_bodies), block diagonal
    incidence: csc_array  # P (6 n_bodies, 6 n_joints), blocks +1 at successor, -1 at predecessor
    subspace: csc_array  # T (6 n_joints, n_rows), block diagonal
    matrix: csc_array  # [I, P T; T' P', 0]
    right_hand_side: FloatArray  # [P T_a tau - v x* I v + f_x; -(dT/dt)' P' v]
    world_to_body: FloatArray  # (n_bodies, 6, 6) X: body-coordinate a_i = X_i a_i


def assemble(system, state):
    """Return the matrices of (8.64) at a state; its solution is [a; -lambda] in world coordinates.

    Parameters
    ----------
    system : System
        Mechanism of n bodies and m joints with c constraint rows.
    state : State
        Poses and velocities.

    Returns
    -------
    TextbookSystem
        Sparse matrices of size 6n + c.

    References
    ----------
    Featherstone (2008), sec. 8.13.
    """
    n, m = system.n_bodies, system.n_joints
    rotation = body_rotations(state)
    X = np.array([plucker_transform(R.T, x) for R, x in zip(rotation, state.position, strict=True)])
    motion = joint_motion(system, state)
    coordinates = coordinate_motion(system, state, motion)
    constraint = constraint_rows(system, state, motion, coordinates)

    world_inertia = X.transpose(0, 2, 1) @ system.spatial_inertia @ X
    inertia = block_diag(list(world_inertia), format="csc")
    blocks = [[None] * m for _ in range(n)]
    for j in range(m):
        if system.predecessor[j] >= 0:
            blocks[system.predecessor[j]][j] = csc_array(-np.eye(6))
        if system.successor[j] >= 0:
            blocks[system.successor[j]][j] = csc_array(np.eye(6))
    for i in range(n):  # a body without a joint still has its rows
        if m and all(block is None for block in blocks[i]):
            blocks[i][0] = csc_array((6, 6))
    incidence = block_array(blocks, format="csc") if m else csc_array((6 * n, 0))

    X_S = [_world_to_joint(system, rotation, state, j) for j in range(m)]
    T = [X_S[j].T @ constraint.subspace[system.rows(j)].T for j in range(m)]
    subspace = block_diag(T, format="csc") if m else csc_array((0, 0))
    PT = csc_array(incidence @ subspace)
    matrix = block_array([[inertia, PT], [PT.T, None]], format="csc")

    velocity = np.einsum("nij,nj->ni", np.linalg.inv(X), state.velocity)  # in world coordinates
    applied = applied_forces(system, state, motion, coordinates)
    force = np.empty((n, 6))
    for i in range(n):
        v = velocity[i]
        force[i] = X[i].T @ applied[i] - force_cross(v) @ world_inertia[i] @ v
    return TextbookSystem(
        inertia=csc_array(inertia),
        incidence=csc_array(incidence),
        subspace=csc_array(subspace),
        matrix=csc_array(matrix),
        right_hand_side=np.concatenate(
            [force.ravel(), _accelerations(system, constraint.drift, velocity, T)]
        ),
        world_to_body=X,
    )


def _world_to_joint(system, rotation, state, j):
    """X (6, 6) from world to S coordinates."""
    s = system.successor[j]
    R = system.successor_rotation[j]
    point = system.successor_point[j]
    if s < 0:
        return plucker_transform(R.T, point)
    return plucker_transform((rotation[s] @ R).T, state.position[s] + rotation[s] @ point)


def _accelerations(system, drift, velocity, T):
    """Return -(dT/dt)' P' v + d sigma/dt, where dT/dt = v_s x* T + what changes within S."""
    zero = np.zeros(6)
    acceleration = -drift
    for j, T_j in enumerate(T):
        p, s = system.predecessor[j], system.successor[j]
        v_p = velocity[p] if p >= 0 else zero
        v_s = velocity[s] if s >= 0 else zero
        acceleration[system.rows(j)] -= (force_cross(v_s) @ T_j).T @ (v_s - v_p)
    return acceleration
