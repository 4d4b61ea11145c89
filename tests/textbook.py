"""I, P, T and both sides of (8.64) as SciPy sparse matrices, in world coordinates.

The form of the book, with blocks of +1 and -1 in P; the oracle of the fast form, not its rival:
moments about the world's origin lose digits on large mechanisms.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import block_array, block_diag, csc_array, kron
from world_view import WorldView, applied_loads

from sparsebody.arrays import FloatArray
from sparsebody.assembly.body_forces import elastic_motion
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

    @property
    def rows(self):
        """A = T' P' (n_rows, 6 n_bodies), dense."""
        return (self.incidence @ self.subspace).T.toarray()


def assemble(system, state):
    """Return the matrices of (8.64), sparse, of size 6n + c for c constraint rows, at a state.

    The solution is [a; -lambda] in world coordinates. Featherstone (2008), sec. 8.13.
    """
    n, m = system.n_bodies, system.n_joints
    rotation = [*body_rotations(state), np.eye(3)]  # the last of all is the world
    position = [*state.position, np.zeros(3)]
    X = np.array([plucker_transform(R.T, x) for R, x in zip(rotation, position, strict=True)])
    motion = joint_motion(system, state)
    coordinates = coordinate_motion(system, state, motion)
    constraint = constraint_rows(system, state, motion, coordinates)

    world_inertia = X[:n].transpose(0, 2, 1) @ system.spatial_inertia @ X[:n]
    sign = np.zeros((n + 1, m))
    sign[system.successor, np.arange(m)] = 1.0
    sign[system.predecessor, np.arange(m)] = -1.0
    incidence = kron(csc_array(sign[:n]), np.eye(6), format="csc")

    T = []
    for j, s in enumerate(system.successor):
        R, x = system.successor_rotation[j], system.successor_point[j]
        X_S = plucker_transform((rotation[s] @ R).T, position[s] + rotation[s] @ x)
        T.append(X_S.T @ constraint.subspace[system.rows(j)].T)
    inertia = block_diag(list(world_inertia), format="csc")
    subspace = block_diag(T, format="csc") if m else csc_array((0, 0))
    PT = csc_array(incidence @ subspace)
    matrix = block_array([[inertia, PT], [PT.T, None]], format="csc")

    velocity = np.zeros((n + 1, 6))  # in world coordinates
    velocity[:n] = np.einsum("nij,nj->ni", np.linalg.inv(X[:n]), state.velocity)
    applied = applied_forces(system, state)
    force = [
        X[i].T @ applied[i] - force_cross(velocity[i]) @ world_inertia[i] @ velocity[i]
        for i in range(n)
    ]
    acceleration = -constraint.drift  # dT/dt = v_s x* T + what changes within S, the drift
    for j, (p, s) in enumerate(zip(system.predecessor, system.successor, strict=True)):
        relative = velocity[s] - velocity[p]
        acceleration[system.rows(j)] -= (force_cross(velocity[s]) @ T[j]).T @ relative
    return TextbookSystem(
        inertia=csc_array(inertia),
        incidence=csc_array(incidence),
        subspace=csc_array(subspace),
        matrix=csc_array(matrix),
        right_hand_side=np.concatenate([*force, acceleration]),
        world_to_body=X[:n],
    )


def applied_forces(system, state):
    """P T_a tau + f_x (n_bodies, 6) in body coordinates, load by load: the oracle of kernels."""
    view, force = WorldView(system, state), np.zeros((system.n_bodies, 6))
    for body, points, moment, push in applied_loads(system, state):
        if body >= 0:
            about_com = moment + np.cross(points - view.center[body], push)
            force[body] += (np.array([about_com, push]) @ view.rotation[body]).ravel()
    if len(system.elastic):
        stretch, elastic = elastic_motion(system, state), system.elastic
        on_sides = -np.einsum("ni,nisa->sna", stretch.force, stretch.rows)
        for body, of_side in zip((elastic.predecessor, elastic.successor), on_sides, strict=True):
            np.add.at(force, body[body >= 0], of_side[body >= 0])
    return force
