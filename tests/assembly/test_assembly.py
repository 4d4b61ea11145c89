"""Constraint rows, forces and both forms of (8.64), on random mechanisms of every joint type."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from compliant_mechanisms import STIFF, deformed, joint_type
from linkages import at_start, one_body
from random_mechanisms import TREE_TYPES, random_tree
from textbook import assemble

import sparsebody as sb
from sparsebody.assembly.body_forces import elastic_motion
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.dynamics.energy import elastic_energy
from sparsebody.equations.system_motion import SystemMotion, model_loads
from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.methods import METHODS
from sparsebody.sparse.saddle import constraint_matrix, saddle_csc
from sparsebody.spatial import quaternion_exponential, quaternion_product, rotation_from_quaternion


def rows_and_errors(system, state):
    moving = SystemMotion(system, state)
    return moving.constraint, moving.position_error


def random_system(name, seed):
    rng = np.random.default_rng(seed)
    return random_tree(rng, 6, TREE_TYPES if name == "mixed" else (name,)).compile()


every_type = pytest.mark.parametrize("name", [*TREE_TYPES, "mixed"])
some_seeds = pytest.mark.parametrize("seed", range(3))


@every_type
@some_seeds
def test_rows_are_the_gradient_of_the_position_errors(name, seed):
    system = random_system(name, seed)
    state, h = system.initial_state, 1e-5
    A = constraint_matrix(kkt_structure(system).matrix(rows_and_errors(system, state)[0]))
    twist = np.random.default_rng(seed).normal(size=(system.n_bodies, 6))
    ahead = rows_and_errors(system, sb.displaced(state, h * twist))[1]
    behind = rows_and_errors(system, sb.displaced(state, -h * twist))[1]
    np.testing.assert_allclose((ahead - behind) / (2 * h), A @ twist.ravel(), atol=1e-7)


@every_type
@some_seeds
def test_asked_acceleration_is_what_keeps_the_velocity_consistent(name, seed):
    """d(A v)/dt = 0 = A a + (dA/dt) v, so the right-hand side is -(dA/dt) v."""
    system = random_system(name, seed)
    state, h = system.initial_state, 1e-5
    gamma = rows_and_errors(system, state)[0].acceleration
    ahead = rows_and_errors(system, sb.displaced(state, h * state.velocity))[0].velocity
    behind = rows_and_errors(system, sb.displaced(state, -h * state.velocity))[0].velocity
    np.testing.assert_allclose(-(ahead - behind) / (2 * h), gamma, atol=2e-7)


@every_type
def test_fast_and_textbook_form_have_the_same_solution(name):
    system = random_system(name, seed=7)
    state = system.initial_state
    moving, structure = SystemMotion(system, state), kkt_structure(system)
    constraint, force = moving.constraint, moving.applied - moving.bias
    x = np.linalg.solve(
        saddle_csc(structure.matrix(constraint)).toarray(),
        structure.right_hand_side(force, constraint.acceleration),
    )
    book = assemble(system, state)
    y = np.linalg.solve(book.matrix.toarray(), book.right_hand_side)
    n = 6 * system.n_bodies
    a = np.einsum("nij,nj->ni", book.world_to_body, y[:n].reshape(-1, 6)).ravel()
    np.testing.assert_allclose(x[:n], a, atol=1e-11 * (1.0 + np.abs(x).max()))
    np.testing.assert_allclose(x[n:], y[n:], atol=1e-11 * np.abs(x).max())


def test_point_springs_pull_along_their_line():
    mechanism = sb.Mechanism(gravity=[0, 0, 0])
    position = {"position": [[1, 0, 0], [1, 3, 0]], "linear_velocity": [[0, 0, 0], [0, 1, 0]]}
    center = [0.25, 0, 0]
    mechanism.add_bodies(["a", "b"], mass=1.0, inertia=[1, 1, 1], center_of_mass=center, **position)
    points = {"first_point": [0.75, 0, 0], "second_point": [0.75, 0, 0]}
    spring = {"stiffness": 10.0, "rest_length": 2.0, "damping": 4.0, "effort": 3.0}
    mechanism.add_point_force("spring", "a", "b", **points, **spring)
    mechanism.add_point_force("tie", sb.WORLD, "a", stiffness=1.0, rest_length=0.25)
    system = mechanism.compile()
    force = SystemMotion(system, system.initial_state).applied
    pull = 10.0 * (3.0 - 2.0) + 4.0 * 1.0 - 3.0
    np.testing.assert_allclose(force[0], [0, 0, 0.5 * pull, -0.75, pull, 0], atol=1e-14)
    np.testing.assert_allclose(force[1], [0, 0, -0.5 * pull, 0, -pull, 0], atol=1e-14)


def test_external_forces_act_at_their_point_in_their_axes():
    pose = {"center_of_mass": [1, 0, 0], "orientation": np.array([1, 0, 0, 1]) / np.sqrt(2)}
    mechanism = one_body(gravity=(0, 0, 0), **pose)
    mechanism.add_external_force("w", "body", force=[0, 2, 0], point=[1, 1, 0])  # 2 along body x
    mechanism.add_external_force("b", "body", force=[0, 0, 5], moment=[1, 0, 0], axes="body")
    system = mechanism.compile()
    force = SystemMotion(system, system.initial_state).applied
    np.testing.assert_allclose(force[0], [1, 0, -2, 2, 0, 5], atol=1e-14)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
def test_joints_have_as_many_rows_as_are_kept_and_vanish_without_any(share):
    system = sb.build("scissor", pairs=6).compile()
    keep = np.random.default_rng(0).random(system.n_rows) < share
    structure = kkt_structure(system, keep)
    joints, sizes = np.unique(system.row_joint[keep], return_counts=True)
    pattern = structure.pattern
    np.testing.assert_array_equal(structure.joints, joints)
    np.testing.assert_array_equal(pattern.block_sizes[pattern.n_primal :], sizes)
    np.testing.assert_array_equal(pattern.ends[:, 0], system.predecessor[joints])
    np.testing.assert_array_equal(pattern.ends[:, 1], system.successor[joints])
    np.testing.assert_array_equal(structure.rows, np.flatnonzero(keep))


# ---- elastic elements ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", STIFF)
def test_forces_are_the_gradient_of_the_energy_however_far_joints_open(name):
    system = deformed(sum(map(ord, name)), [name]).compile()
    state = system.initial_state
    rng, h = np.random.default_rng(3), 1e-6
    force = model_loads(system, state)
    for _ in range(4):
        twist = rng.normal(size=(system.n_bodies, 6))
        energies = [elastic_energy(system, sb.displaced(state, s * h * twist)) for s in (-1, 1)]
        power = float(np.sum(force * twist))
        assert (energies[0] - energies[1]) / (2 * h) == pytest.approx(power, rel=1e-7, abs=1e-7)


def test_rates_of_stretches_are_their_derivatives():
    system = deformed(1, ["revolute", "universal"]).compile()
    state, h = system.initial_state, 1e-6
    ends = [
        elastic_motion(system, sb.displaced(state, s * h * state.velocity)).value for s in (-1, 1)
    ]
    rate = (ends[1] - ends[0]) / (2 * h)
    np.testing.assert_allclose(elastic_motion(system, state).rate, rate, atol=1e-8)


def test_bushings_and_beams_do_not_see_a_motion_of_the_whole():
    """Turned and shifted, world frames included: the same energy and forces in body axes."""
    system = deformed(4, []).compile()
    state, elastic = system.initial_state, system.elastic
    energy, force = elastic_energy(system, state), model_loads(system, state)
    turn = quaternion_exponential([0.7, -1.1, 0.4])
    R, shift = rotation_from_quaternion(turn), np.array([3.0, -2.0, 5.0])
    moved = state.with_(
        position=state.position @ R.T + shift,
        orientation=np.array([quaternion_product(turn, q) for q in state.orientation]),
    )
    in_world = elastic.successor == -1
    elastic.successor_rotation[in_world] = R @ elastic.successor_rotation[in_world]
    elastic.successor_point[in_world] = elastic.successor_point[in_world] @ R.T + shift
    assert elastic_energy(system, moved) == pytest.approx(energy, rel=1e-12)
    np.testing.assert_allclose(model_loads(system, moved), force, atol=1e-12)


def test_a_bushing_stores_the_square_of_its_twist():
    """One screw motion of both rotation and translation, whose logarithm is known."""
    angle, pitch, stiffness = 1.3, 0.4, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    mechanism = one_body(gravity=(0, 0, 0))
    mechanism.add_bushing("bush", "world", "body", point=(0, 0, 0), stiffness=stiffness)
    system = mechanism.compile()
    state = system.initial_state.with_(
        position=np.array([[0.0, 0.0, pitch]]),
        orientation=quaternion_exponential([0, 0, angle])[None],
    )
    energy = 0.5 * (3.0 * angle**2 + 6.0 * pitch**2)
    assert elastic_energy(system, state) == pytest.approx(energy, rel=1e-14)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_takes_compliant_joints_for_springs(method):
    mechanism = deformed(5, ["revolute", "spherical"])
    mechanism.add_joint("weld", sb.Revolute(), "b1", "b2", point=(1.5, 0.3, -0.1))
    mechanism.add_joint_force("motor", "j0", stiffness=2.0, effort=1.0, damping=0.1)
    system, state = at_start(mechanism)
    motion = SystemMotion(system, state)
    expected = sb.forward_dynamics(system, state, factorization="dense")
    assert sb.count_mobility(system, sb.ForwardDynamics(system)).mobility == 30 - 5
    result = sb.forward_dynamics(system, state, method=method)
    np.testing.assert_allclose(result.acceleration, expected.acceleration, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(result.joint_wrench, expected.joint_wrench, rtol=1e-8, atol=1e-8)
    assert np.abs(motion.applied).max() > 1.0


@pytest.mark.parametrize(
    ("name", "compliance", "rigid"),
    [
        ("revolute", 1e-3, "free"),
        ("revolute", [1e-3, 2e-3, 0, 0, 0], "spherical"),
        ("revolute", [0, 0, 1e-3, 1e-3, 0], "planar"),
        ("revolute", [0, 0, 0, 0, 1e-3], "cylindrical"),
        ("fixed", [0, 0, 1e-3, 0, 0, 0], "revolute"),
        ("fixed", [0, 0, 0, 0, 0, 1e-3], "prismatic"),
        ("universal", [1e-3, 0, 0, 0], "spherical"),
    ],
)
def test_rigid_rows_stay_constraints_and_compliant_ones_give_way(name, compliance, rigid):
    def split(compliance):
        body = {"inertia": [0.1, 0.1, 0.1], "position": [0.4, 0.1, 0.0]}
        joint = {"point": (0, 0, 0), "compliance": compliance}
        return one_body(joint_type(name), (0.3, -0.2, -9.81), joint, **body).compile()

    system = split(compliance)
    assert system.joint_types[0].name == rigid
    result = sb.forward_dynamics(system)
    soft = np.broadcast_to(compliance, joint_type(name).n_constraints)
    rows = SystemMotion(split(0.0), system.initial_state).constraint.rows[:, 1]
    acceleration = rows @ result.acceleration[0]
    np.testing.assert_allclose(acceleration[soft == 0.0], 0.0, atol=1e-12)
    assert np.abs(SystemMotion(system, system.initial_state).applied).max() > 1.0


def test_the_reaction_of_a_compliant_joint_carries_the_weight():
    body = {"mass": 2.0, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, -0.5]}
    joint = {"point": (0, 0, 0), "axis": (0, 1, 0), "compliance": 1e-4}
    system = one_body(sb.Revolute(), joint=joint, **body).compile()
    state = sb.equilibrium(system).state
    assert state.position[0, 2] == pytest.approx(-0.5 - 1e-4 * 2.0 * 9.81, rel=1e-12)
    wrench = sb.forward_dynamics(system, state).joint_wrench[0]
    rotation = body_rotations(state)[0] @ system.successor_rotation[0]
    np.testing.assert_allclose(rotation @ wrench[3:], [0, 0, 2.0 * 9.81], atol=1e-9)
    np.testing.assert_allclose(wrench[:3], 0.0, atol=1e-9)


def test_threads_ask_for_loads_at_times_of_their_own():
    mechanism = sb.build("pendulum")
    mechanism.add_joint_force("motor", "pivot", effort=sb.Polynomial([0.0, 1.0]))
    system = mechanism.compile()

    def moments(time):
        state = system.initial_state.with_(time=time)
        return {float(model_loads(system, state)[0, 2].round(12)) for _ in range(300)}

    times = [0.25, 0.5, 0.75]
    with ThreadPoolExecutor(len(times)) as pool:
        assert list(pool.map(moments, times)) == [{time} for time in times]
