import numpy as np
import pytest
from random_arms import Case, Instant, random_arm

from sparsebody.classical import ALGORITHMS, Arm
from sparsebody.classical.costs import GEOMETRIES
from sparsebody.classical.counting import Counted, Tally, converted, interpreted
from sparsebody.classical.operators import SpatialOperators
from sparsebody.errors import ModelError, SingularSystemError

WRENCHES = [a.name for a in ALGORITHMS.values() if a.takes_wrenches]


@pytest.fixture(scope="module")
def cases():
    """Serial arms of both conventions, then trees."""
    rng, kinds = np.random.default_rng(7), ("standard", "modified")
    arms = [Case.random(rng, 1 + k % 12, convention=kinds[k // 12 % 2]) for k in range(200)]
    rng = np.random.default_rng(8)
    trees = [Case.random(rng, 2 + k % 11, tree=True) for k in range(60)]
    return arms, trees


def error(name, one, wrench=None):
    """Of forces, or of accelerations, relative; wrenches do not change these."""
    chosen, at = ALGORITHMS[name], one.at
    tau = one.tau if wrench is None else one.loaded
    given, expected = (tau, one.qdd) if chosen.is_forward else (at.qdd, tau)
    result = chosen(one.arm, at.q, at.qd, given, wrench)
    return float(np.abs(result - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("name", ALGORITHMS)
def test_forces_and_accelerations_are_pinocchios(name, cases):
    """Of all arms; by an algorithm of higher order than n of fewer ones, and of the longest."""
    (arms, trees), growth = cases, ALGORITHMS[name].growth
    if growth > 1:
        longest = max(arms, key=lambda one: one.arm.n)
        arms = [longest, *(x for x in arms[:60] if x.arm.n <= (7 if growth > 2 else 12))]
    assert max(error(name, one) for one in arms + trees) < 1e-11


@pytest.mark.parametrize("name", WRENCHES)
def test_wrenches_on_links_count(name, cases):
    assert max(error(name, one, one.at.wrench) for one in cases[0][:60] + cases[1]) < 1e-11


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_counted_numbers_are_the_numbers(name, geometry):
    arm = GEOMETRIES[geometry](4)
    motion = arm.motion(*np.full((3, 4), 0.5))
    tally = Tally()
    links = converted(arm.links, lambda x: Counted(x, tally, is_constant=True))
    kernel, moving = ALGORITHMS[name].kernel, converted(motion, lambda x: Counted(x, tally))
    result, expected = interpreted(kernel)(links, moving), kernel(arm.links, motion)
    np.testing.assert_allclose([float(x) for x in result], expected, rtol=1e-10, atol=1e-12)


def test_wrenches_where_there_is_no_place_for_them_are_an_error():
    rng = np.random.default_rng(4)
    arm, at = random_arm(rng, 2), Instant.random(rng, 2)
    for name in set(ALGORITHMS) - set(WRENCHES):
        with pytest.raises(ModelError, match=f"{name} takes no wrenches"):
            ALGORITHMS[name](arm, at.q, at.qd, at.qdd, at.wrench)


@pytest.mark.parametrize("name", [a.name for a in ALGORITHMS.values() if a.is_forward])
def test_a_joint_that_moves_no_inertia_is_an_error(name):
    nothing = np.zeros((2, 3))
    arm = Arm.from_dh(np.zeros((2, 4)), [1.0, 1.0], nothing, nothing)
    with pytest.raises(SingularSystemError, match=f"{name}: joint 2: nothing resists"):
        ALGORITHMS[name](arm, [0, 0], [0, 0], [1, 1])


@pytest.mark.parametrize("joints", ["R", "P"])
def test_two_joints_along_one_axis_are_an_error_where_rounding_hides_it(joints):
    rng = np.random.default_rng(6)
    arm = random_arm(rng, 3)
    table = [[0.3, 0.2, 0.0, 0.0], [0.7, 0.1, 0.4, 0.5], [0.1, 0.2, 0.3, 0.7]]
    inertia = [np.zeros((3, 3)), *arm.inertia[1:]]
    com = [np.zeros(3), *arm.com[1:]]
    mass = [1e-30, *arm.mass[1:]]
    coaxial = Arm.from_dh(table, mass, com, inertia, joints=2 * joints + "R")
    with pytest.raises(SingularSystemError, match="joint 1: nothing resists"):
        ALGORITHMS["walker-orin-3"](coaxial, [0.1, 0.2, 0.3], [0, 0, 0], [1, 1, 1])
    with pytest.raises(SingularSystemError, match="joint 1: nothing resists its motion"):
        SpatialOperators.of(coaxial, [0.1, 0.2, 0.3]).inverse_mass_matrix()


def test_a_long_chain_of_unlike_links_is_not_taken_for_singular():
    n = 400
    mass = np.geomspace(1.0, 1e-8, n)
    ball = [m * np.eye(3) for m in mass]
    arm = Arm.from_dh([[0.1, 0.0, 1.0, 0.1]] * n, mass, np.zeros((n, 3)), ball)
    at = Instant.random(np.random.default_rng(8), n)
    tau = ALGORITHMS["luh-walker-paul"](arm, at.q, at.qd, at.qdd)
    qdd = ALGORITHMS["spatial-operators-forward"](arm, at.q, at.qd, tau)
    again = ALGORITHMS["luh-walker-paul"](arm, at.q, at.qd, qdd)
    np.testing.assert_allclose(again, tau, rtol=1e-9, atol=1e-9 * np.abs(tau).max())


def test_a_result_out_of_the_range_of_numbers_is_an_error():
    rng = np.random.default_rng(5)
    arm, at = random_arm(rng, 2), Instant.random(rng, 2)
    with pytest.raises(ModelError, match=r"luh-walker-paul: joint \d gets (nan|-?inf); give coord"):
        ALGORITHMS["luh-walker-paul"](arm, at.q, 1e200 * at.qd, at.qdd)
