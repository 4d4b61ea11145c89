import numpy as np
import pytest
from random_arms import Instant, random_arm, random_table, tip_pose

from sparsebody.classical import ALGORITHMS, Arm
from sparsebody.errors import ModelError
from sparsebody.spatial import rotation_about
from sparsebody.tree import spanning_tree, tree_dynamics, tree_state

BALL = [[0.1, 0.1, 0.1]]


def standard_pose(rows):
    """Rotation and origin of the last frame, by homogeneous transforms as a textbook has them."""
    W = np.eye(4)
    for theta, d, a, alpha in rows:
        turn, twist = np.eye(4), np.eye(4)
        turn[:3, :3], turn[2, 3] = rotation_about([0, 0, 1], theta), d
        twist[:3, :3], twist[0, 3] = rotation_about([1, 0, 0], alpha), a
        W = W @ turn @ twist
    return W[:3, :3], W[:3, 3]


def test_standard_parameters_put_the_tip_where_a_textbook_has_it():
    rng = np.random.default_rng(0)
    rows = random_table(rng, 5)
    arm = Arm.from_dh(rows, [1.0] * 5, np.zeros((5, 3)), BALL * 5, joints="RPRRP")
    q = rng.normal(size=5)
    moved = rows.copy()
    moved[arm.revolute, 0] += q[arm.revolute]
    moved[~arm.revolute, 1] += q[~arm.revolute]
    for result, value in zip(tip_pose(arm, q), standard_pose(moved), strict=True):
        np.testing.assert_allclose(result, value, atol=1e-14)


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("method", ["aba", "crba"])
def test_the_mechanism_of_an_arm_moves_as_the_arm(tree, method):
    rng = np.random.default_rng(1)
    arm = random_arm(rng, 6, convention="modified", tree=tree)
    system = arm.mechanism().compile()
    assert system.predecessor.tolist() == arm.parent.tolist()
    grown = spanning_tree(system)
    position = grown.first_velocity[grown.tree_index]  # of each joint among the tree's coordinates
    at = Instant.random(rng, 6)
    q, qd = np.empty(6), np.empty(6)
    q[position], qd[position] = at.q, at.qd
    dynamics = tree_dynamics(method, system, grown)
    qdd = dynamics.solve(dynamics.problem(tree_state(grown, q, qd))).qdd[position]
    tau = ALGORITHMS["luh-walker-paul"](arm, at.q, at.qd, qdd)  # falling freely, nothing pushes
    np.testing.assert_allclose(tau, 0.0, atol=1e-11 * np.abs(arm.gravity).max())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": [[0, 0, 1]]}, r"table has shape \(1, 3\); give rows \(theta, d, a, alpha\)"),
        ({"table": np.zeros((0, 4))}, r"table has shape \(0, 4\)"),
        ({"table": [[0, 0, 1, np.nan]] * 2}, "link 1: table row is .*nan.*must be finite"),
        ({"mass": [1.0]}, r"mass has shape \(1,\); the table needs \(2,\)"),
        ({"mass": [1.0, -2.0]}, "link 2: mass -2.0 kg; give a positive one"),
        ({"com": [[0, 0, np.inf]] * 2}, "link 1: com is"),
        ({"inertia": [[1, 1, 3]] * 2}, "link 1: .*"),
        ({"inertia": [[-5e-10, 1e-9, 1e-9]] * 2}, "link 1: .* moments -5e-10, 1e-09, 1e-09 kg"),
        ({"inertia": [[1e-10, 1e-11, 1e-11]] * 2}, "link 1: no body has .* 1e-11, 1e-11, 1e-10 kg"),
        (
            {"inertia": [[1, 1, np.nan]] * 2},
            r"link 1: .*\[\[1.0, 0.0, 0.0\], .* 0.0, nan\]\]; every",
        ),
        ({"mass": [np.inf, 1]}, "link 1: mass inf kg"),
        ({"joints": "RX"}, "joint 2: type is 'X'; give R"),
        ({"joints": 2}, "joints is 2; give letters such as 'RRP'"),
        ({"joints": "RRP"}, "joints is 'RRP' of 3 letters; the table has 2"),
        ({"convention": "craig"}, "convention is 'craig'; give one of"),
        ({"parent": [-1, 0]}, "a tree needs modified parameters"),
        ({"parent": [-1, 1], "convention": "modified"}, "link 2: parent is 1; give -1"),
        ({"parent": [-1], "convention": "modified"}, r"parent is \[-1\]; give 2 whole numbers"),
        (
            {"parent": [[-1], [0, 0]], "convention": "modified"},
            r"parent is \[\[-1\], .*; give 2 whole",
        ),
        ({"gravity": [0, 0]}, r"gravity has shape \(2,\)"),
    ],
)
def test_an_arm_that_cannot_be_is_an_error_that_names_the_link(change, message):
    arguments = {"table": [[0, 0, 1, 0]] * 2, "mass": [1, 1], "com": np.zeros((2, 3))}
    arguments |= {"inertia": BALL * 2} | change
    positional = [arguments.pop(name) for name in ("table", "mass", "com", "inertia")]
    with pytest.raises(ModelError, match=message):
        Arm.from_dh(*positional, **arguments)


def test_coordinates_that_do_not_fit_are_an_error():
    arm = Arm.from_dh([[0, 0, 1, 0]] * 2, [1, 1], np.zeros((2, 3)), BALL * 2)
    with pytest.raises(ModelError, match=r"arm: qd has shape \(3,\); give 2 numbers"):
        arm.motion([0, 0], [0, 0, 0], [0, 0])
    with pytest.raises(ModelError, match=r"wrench has shape \(6,\); give \(2, 6\) numbers"):
        arm.motion([0, 0], [0, 0], [0, 0], np.zeros(6))
    with pytest.raises(ModelError, match=r"link 2: wrench is \[nan, .*must be finite"):
        arm.motion([0, 0], [0, 0], [0, 0], [[0] * 6, [np.nan] * 6])


def test_one_tensor_for_three_links_is_an_error_that_says_how_it_is_read():
    with pytest.raises(ModelError, match=r"link 1 \(whose inertia is row 1 of a 3 x 3 array\): "):
        Arm.from_dh(np.zeros((3, 4)), [1] * 3, np.zeros((3, 3)), np.diag([0.2, 0.2, 0.3]))


def test_an_arm_cannot_change_under_its_links():
    arm = Arm.from_dh([[0, 0, 1, 0]], [1], np.zeros((1, 3)), BALL)
    with pytest.raises(ValueError, match="read-only"):
        arm.mass[0] = 2.0


def test_thin_rods_in_any_direction_are_links():
    direction = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    rod = 0.1 * (np.eye(3) - np.outer(direction, direction))
    left = 5e-17 * np.diag([-1.0, 1.0, 1.0])  # of a point mass, moved to the center
    arm = Arm.from_dh([[0, 0, 1, 0]] * 2, [2, 2], [[-1, 0, 0]] * 2, [rod, left])
    np.testing.assert_allclose(np.trace(arm.inertia[0]), 0.2)
