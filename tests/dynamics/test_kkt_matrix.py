import numpy as np
import pytest
from random_mechanisms import random_loops

import sparsebody as sb
from sparsebody.errors import ShapeError, UnknownNameError


@pytest.mark.parametrize("seed", range(4))
def test_a_dense_solve_gives_accelerations_and_multipliers_of_forward_dynamics(seed):
    mechanism = random_loops(np.random.default_rng(seed), 7, 2, moving=True)
    mechanism.add_external_force("load", "b3", force=[1, 2, 3])
    system = mechanism.compile()
    state = sb.consistent_state(system)
    kkt = sb.kkt_matrix(system, state, rows="independent")
    x = np.linalg.solve(kkt.matrix.toarray(), kkt.right_hand_side)
    expected = sb.ForwardDynamics(system, state)(state)
    n = 6 * system.n_bodies
    size = np.abs(expected.acceleration).max()
    np.testing.assert_allclose(x[:n].reshape(-1, 6), expected.acceleration, atol=1e-10 * size)
    if len(kkt.structure.rows) == system.n_rows:
        size = np.abs(expected.multiplier).max()
        np.testing.assert_allclose(-x[n:], expected.multiplier, atol=1e-9 * size)


def test_labels_name_bodies_and_components_joints_and_rows():
    system = sb.build("scissor", pairs=2, drive=True).compile()
    kkt = sb.kkt_matrix(system)
    assert kkt.matrix.shape == (len(kkt.row_labels),) * 2 == (len(kkt.column_labels),) * 2
    first = system.body_names[0]
    assert kkt.row_labels[:4] == (*((first, f"moment {a}") for a in "xyz"), (first, "force x"))
    assert kkt.column_labels[2:4] == ((first, "angular z"), (first, "linear x"))
    n, joints = 6 * system.n_bodies, list(system.joint_names)
    rows = [(joints[j], f"row {k - system.first_row[j]}") for k, j in enumerate(system.row_joint)]
    assert kkt.row_labels[n:] == tuple(rows)
    assert kkt.column_labels[-1] == (rows[-1][0], rows[-1][1].replace("row", "multiplier"))
    # the masses are where the labels say
    where = kkt.row_labels.index((system.body_names[1], "force y"))
    assert kkt.matrix[where, where] == system.mass[1]
    fewer = sb.kkt_matrix(system, rows="independent")
    assert set(fewer.row_labels) < set(kkt.row_labels)
    assert np.linalg.matrix_rank(kkt.matrix.toarray()) == len(fewer.row_labels)


def test_bad_states_and_words_are_refused():
    system = sb.build("four-bar").compile()
    with pytest.raises(UnknownNameError, match="rows is 'kept'; give one of all, independent"):
        sb.kkt_matrix(system, rows="kept")
    short = system.initial_state.with_(velocity=np.zeros((2, 6)))
    with pytest.raises(ShapeError, match=r"state.velocity has shape \(2, 6\)"):
        sb.kkt_matrix(system, short)
