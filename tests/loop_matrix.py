"""K of loops as chains of joints: what the closure of any basis asks of the joint velocities."""

import numpy as np
from scipy.sparse import coo_array

import sparsebody as sb
from sparsebody._core import rank as kernels
from sparsebody.analysis.null_space import joint_sizes, successor_frames
from sparsebody.assembly.constraint import constraint_rows
from sparsebody.kinematics.joint_motion import coordinate_motion, joint_motion
from sparsebody.tolerances import CIRCULATION_TOLERANCE, REMAINDER_FLOOR


def loop_cycles(system, basis, seed=0):
    """Return a basis of loops, one of LOOP_BASES; None for no faces."""
    return sb.compare_loop_bases(system, (basis,), seed=seed).cycles.get(basis)


def loop_closure_matrix(system, state, cycles):
    """Return K (6 n_cycles, sum of n_free): K qd = 0 closes the loops.

    The sum of +-S_j qd_j around a loop. Six rows a loop, angular velocities first, in world axes
    about the first joint of the loop; columns joint by joint, see `joint_freedoms`.
    """
    free, n_free = joint_freedoms(system, state)
    axes, origin = successor_frames(system, state)
    first = np.concatenate([[0], np.cumsum(n_free)]).astype(np.intp)
    rows, columns, values = ([np.zeros(0, dtype=kind)] for kind in (np.intp, np.intp, float))
    for c in range(len(cycles)):
        entries = slice(cycles.start[c], cycles.start[c + 1])
        center = origin[cycles.edge[entries][0]]
        for j, sign in zip(cycles.edge[entries], cycles.sign[entries], strict=True):
            angular, linear = (
                free[j, : n_free[j], :3] @ axes[j].T,
                free[j, : n_free[j], 3:] @ axes[j].T,
            )
            linear = linear + np.cross(angular, center - origin[j])
            row, column = np.indices((6, n_free[j]))
            rows.append(6 * c + row.ravel())
            columns.append(first[j] + column.ravel())
            values.append(sign * np.hstack([angular, linear]).T.ravel())
    where = np.concatenate(rows), np.concatenate(columns)
    shape = 6 * len(cycles), int(first[-1])
    return coo_array((np.concatenate(values), where), shape=shape).tocsr()


def joint_freedoms(system, state):
    """Return S (n_joints, 6, 6) in S axes, n_free[j] rows of it, and n_free (n_joints,).

    What the rows of a joint leave, those of drives among them; none where a joint has no rows.
    """
    motion = joint_motion(system, state)
    subspace = constraint_rows(system, state, motion, coordinate_motion(system, state, motion))
    sizes = joint_sizes(system)
    free, n_free = kernels.joint_freedoms(
        system.first_row, subspace.subspace, sizes, CIRCULATION_TOLERANCE, REMAINDER_FLOOR
    )
    free[:, :, :3] /= sizes[:, None, None]  # they are angular times size, linear
    n_free[np.diff(system.first_row) == 0] = 0
    return free, n_free
