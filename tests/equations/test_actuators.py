import numpy as np
import pytest
from linkages import one_body
from random_mechanisms import random_tree

import sparsebody as sb
from sparsebody.equations import inverse
from sparsebody.equations.inverse import actuators_of
from sparsebody.errors import ModelError
from sparsebody.kinematics.joint_motion import coordinate_motion, joint_motion
from sparsebody.tree import joint_coordinates, spanning_tree


def test_rows_give_the_velocities_of_joints_of_every_type():
    system = random_tree(np.random.default_rng(0), 24, tuple(sb.JOINT_TYPES)).compile()
    actuators, tree = actuators_of(system), spanning_tree(system)
    _, qd = joint_coordinates(tree, system.initial_state)
    rows = inverse.actuator_rows(system, actuators, joint_motion(system, system.initial_state))
    position = tree.first_velocity[tree.tree_index[actuators.joint]] + actuators.coordinate
    np.testing.assert_allclose(rows.rate, qd[position], atol=1e-12)
    v = np.concatenate([system.initial_state.velocity, np.zeros((1, 6))])
    ends = np.stack([system.predecessor, system.successor], axis=1)[actuators.joint]
    np.testing.assert_allclose(
        np.einsum("mea,mea->m", rows.rows, v[ends]), qd[position], atol=1e-12
    )


def test_forces_act_where_those_of_the_model_do():
    mechanism = random_tree(np.random.default_rng(1), 20, tuple(sb.JOINT_TYPES))
    pairs = [(n, k) for n, j in mechanism.joints.items() for k in j.type.scalar_positions]
    for name, k in pairs:
        mechanism.add_joint_force(f"{name} {k}", name, coordinate=k, effort=1.0)
    system = mechanism.compile()
    motion = joint_motion(system, system.initial_state)
    rows = inverse.actuator_rows(system, actuators_of(system, pairs), motion)
    model = coordinate_motion(system, system.initial_state, motion)
    items = [system.coordinates.joint.tolist(), system.coordinates.index.tolist()]
    order = [list(zip(*items, strict=True)).index((system.joint(n), k)) for n, k in pairs]
    np.testing.assert_allclose(rows.active_force, model.active_force[order], atol=1e-14)


def test_joints_stand_for_all_their_freedoms_in_the_order_given():
    system = sb.build("slider-crank").compile()
    rows = actuators_of(system, ["pin", ("wrist", 1), "pivot"])
    assert list(rows.names) == ["pin 0", "pin 1", "pin 2", "wrist 1", "pivot"]
    assert rows.coordinate.tolist() == [0, 1, 2, 1, 0]
    assert len(actuators_of(system)) == 1 + 3 + 2 + 1
    assert list(actuators_of(system, "slide").names) == ["slide"]


def test_other_drives_keep_their_rows_when_one_is_released():
    motion = {k: sb.Polynomial((0.0, float(k + 1))) for k in range(2)}
    system = one_body(sb.Cylindrical(), joint={"prescribed": motion}).compile()
    items, actuator = inverse.released_coordinates(
        system, actuators_of(system, [("joint", 1), ("joint", 0)])
    )
    assert (items.tolist(), actuator.tolist()) == ([0, 1], [1, 0])
    items, _ = inverse.released_coordinates(system, actuators_of(system, [("joint", 0)]))
    rest = inverse.without_prescribed(system, items)
    assert (system.n_rows, rest.n_rows) == (6, 5)
    assert rest.coordinates.row.tolist() == [-1, 4]
    assert rest.coordinates.motion[0] is None
    np.testing.assert_array_equal(rest.subspace[:4], system.subspace[:4])
    assert inverse.without_prescribed(system, items[:0]) is system


@pytest.mark.parametrize(
    ("freedoms", "message"),
    [
        (["knee"], "no joint 'knee'"),
        (["weld"], "'weld' is fixed and has no freedom"),
        ([("wrist", 2)], r"'wrist' has no coordinate 2.*from 0 to 1"),
        (["wrist", ("wrist", 1)], "coordinate 1 of joint 'wrist' is named twice"),
    ],
)
def test_freedoms_that_are_not_there_are_refused(freedoms, message):
    mechanism = sb.build("slider-crank")
    mechanism.add_joint("weld", sb.Fixed(), "slider", sb.WORLD)
    with pytest.raises(ModelError, match=message):
        actuators_of(mechanism.compile(), freedoms)
