"""Equilibria, their paths and vibrations, by closed forms."""

import numpy as np
import pytest
from linkages import one_body
from random_mechanisms import copied
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

import sparsebody as sb

E, WIDTH, HEIGHT = 2.1e11, 0.02, 0.01
EI = E * WIDTH * HEIGHT**3 / 12  # of a length of one


LATTICE, FALLING = sb.build("compliant-lattice").compile(), one_body().compile()


def cantilever(elements, **load):
    mechanism = sb.build("beam", elements=elements, gravity=(0, 0, 0))
    if load:
        mechanism.add_external_force("load", f"node-{elements}", **load)
    return mechanism.compile()


def test_one_element_bends_as_a_linear_beam_under_small_loads():
    """P l^3 / 3 E I and P l^2 / 2 E I at the tip. The stiffness is exact, however few elements."""
    load = 1e-4
    end = sb.equilibrium(cantilever(1, force=(0, 0, -load)), tolerance=1e-14).state
    assert -end.position[0, 2] == pytest.approx(load / (3 * EI), rel=1e-6)
    assert 2 * end.orientation[0, 2] == pytest.approx(load / (2 * EI), rel=1e-6)


def test_an_end_moment_bends_a_beam_to_a_circle():
    angle = 1.5 * np.pi
    balanced = sb.equilibrium(cantilever(30, moment=(0, -EI * angle, 0)))
    expected = [np.sin(angle) / angle, 0, (1 - np.cos(angle)) / angle]
    np.testing.assert_allclose(balanced.state.position[-1], expected, atol=1e-9)


@pytest.mark.parametrize("alpha", [1.0, 2.0, 3.0])
def test_an_end_force_bends_a_beam_to_an_elastica(alpha):
    """Bisshopp and Drucker (1945), Q. Appl. Math. 3:272; alpha^2 = P l^2 / E I."""

    def parts(slope):
        k2 = (1 + np.sin(slope)) / 2
        return k2, float(np.arcsin(1 / np.sqrt(2 * k2)))

    def excess(slope):
        k2, start = parts(slope)
        return float(ellipk(k2) - ellipkinc(start, k2) - alpha)

    slope = brentq(excess, 1e-9, np.pi / 2 - 1e-9, xtol=1e-14)
    k2, start = parts(slope)
    x = np.sqrt(2 * np.sin(slope)) / alpha
    z = 1 - 2 / alpha * (ellipe(k2) - ellipeinc(start, k2))
    state = sb.equilibrium(cantilever(100, force=(0, 0, -EI * alpha**2))).state
    np.testing.assert_allclose(state.position[-1], [x, 0, -z], atol=1e-4)


def test_a_chain_hangs_straight_down():
    """From level, past poses in which it is unstable."""
    balanced = sb.equilibrium(sb.build("chain", bodies=4, joint="spherical").compile())
    np.testing.assert_allclose(balanced.state.position[:, :2], 0.0, atol=1e-8)
    assert balanced.n_unstable == 0
    assert balanced.residual < 1e-6


@pytest.mark.parametrize("name", ["bricard", "five-bar-array", "four-bar-torus"])
def test_overconstrained_linkages_sink_to_rest(name):
    """Dependent rows do not exert forces against each other on the way."""
    system = sb.build(name).compile()
    balanced = sb.equilibrium(system)
    assert balanced.n_unstable == 0
    assert balanced.residual < 1e-6 * system.mass.sum() * 9.81


def test_row_of_parallelograms_hangs_straight_down():
    hanging = sb.equilibrium(sb.build("n-four-bar", loops=2).compile()).state
    np.testing.assert_allclose(hanging.position[:, 1], [-0.5, -1, -0.5, -1, -0.5], atol=1e-12)


def test_an_equilibrium_may_be_unstable_where_that_is_asked_for():
    axis, bob = {"point": (0, 0, 0), "axis": (0, 1, 0)}, {"position": (0.1, 0, 1.0)}
    system = one_body(sb.Revolute(), joint=axis, inertia=[0.1, 0.1, 0.1], **bob).compile()
    above = sb.equilibrium(system, stable=False)
    assert above.n_unstable == 1
    below = sb.equilibrium(system, above.state)
    for sign, balanced in ((1.0, above), (-1.0, below)):
        assert balanced.state.position[0, 2] == pytest.approx(sign * np.hypot(0.1, 1.0), rel=1e-9)


# ---- paths --------------------------------------------------------------------------------------


def truss():
    """A body on a vertical guide between two springs that lead down to the sides."""
    mechanism = sb.Mechanism("truss", gravity=(0, 0, 0))
    mechanism.add_body("top", mass=1.0, inertia=[0.01] * 3, position=(0, 0, 0.3))
    mechanism.add_joint("guide", sb.Prismatic(), "world", "top")
    spring = {"stiffness": 1000.0, "rest_length": np.hypot(1.0, 0.3)}
    for side in (-1, 1):
        ends = f"bar {side}", "world", "top"
        mechanism.add_point_force(*ends, first_point=(side, 0, 0), **spring)
    mechanism.add_external_force("load", "top", force=(0, 0, -1.0))
    return mechanism.compile()


def test_a_von_mises_truss_snaps_through_at_both_its_folds():
    """P = 2 k z (l_0 / l - 1), l^2 = 1 + z^2; folds at l^3 = l_0."""
    path = sb.follow(truss(), "load", stop=60.0, step=2.0)
    z = np.array([state.position[0, 2] for state in path.states])
    rest = np.hypot(1.0, 0.3)
    np.testing.assert_allclose(path.parameter, 2e3 * z * (rest / np.hypot(1.0, z) - 1), atol=1e-8)
    height = np.sqrt(rest ** (2 / 3) - 1)
    load = 2e3 * height * (rest ** (2 / 3) - 1)
    np.testing.assert_allclose([fold.parameter for fold in path.folds], [load, -load], rtol=1e-9)
    heights = [fold.state.position[0, 2] for fold in path.folds]
    np.testing.assert_allclose(heights, [height, -height], rtol=1e-5)
    assert set(path.n_unstable) == {0, 1}
    assert path.n_unstable[-1] == 0
    assert not path.bifurcations
    assert path.parameter[-1] == pytest.approx(60.0, rel=0.2)


def test_a_column_buckles_at_eulers_load_and_follows_the_elastica():
    """P_cr = pi^2 E I / 4 l^2; beyond, sqrt(P / P_cr) = 2 K(sin(a / 2)) / pi with a at the tip."""
    critical = np.pi**2 * EI / 4
    system = cantilever(30, force=(-1.0, 0, 0))
    straight = sb.follow(system, "load", stop=1.5 * critical, step=critical / 5)
    (buckling,) = straight.bifurcations
    assert buckling.parameter == pytest.approx(critical, rel=1e-4)
    assert straight.n_unstable[0] == 0
    assert straight.n_unstable[-1] == 1
    for sign in (1.0, -1.0):
        branch = sb.follow(
            system, "load", stop=1.3 * critical, step=2.0, branch=buckling, sign=sign
        )
        tip = [state.orientation[-1] for state in branch.states]
        angle = np.array([2 * np.arctan2(q[2], q[0]) for q in tip])
        expected = (2 * ellipk(np.sin(angle / 2) ** 2) / np.pi) ** 2
        np.testing.assert_allclose(branch.parameter / critical, expected, rtol=2e-4)
        assert np.abs(angle[-1]) > 1.0
        assert branch.n_unstable[-1] == 0


def test_a_square_column_buckles_in_two_planes_at_once():
    mechanism = sb.build("beam", elements=10, width=0.01, height=0.01, gravity=(0, 0, 0))
    mechanism.add_external_force("load", "node-10", force=(-1.0, 0, 0))
    critical = np.pi**2 * E * 0.01**4 / 12 / 4
    path = sb.follow(mechanism.compile(), "load", stop=1.5 * critical, step=critical / 3)
    (buckling,) = path.bifurcations
    assert buckling.parameter == pytest.approx(critical, rel=1e-3)
    assert len(buckling.directions) == 2


def test_a_prescribed_coordinate_can_be_followed():
    """The kinematic path of a crank: its angle is the parameter."""
    motor = {"point": (0, 0, 0), "prescribed": 0.0}
    crank = one_body(sb.Revolute(), (0, 0, 0), motor, inertia=[0.1] * 3, position=(1.0, 0, 0))
    path = sb.follow(crank.compile(), "joint", stop=1.0, step=0.1)
    position = np.array([state.position[0] for state in path.states]).T
    expected = [np.cos(path.parameter), np.sin(path.parameter)]
    np.testing.assert_allclose(position[:2], expected, atol=1e-9)


def test_gravity_can_be_followed():
    system = sb.build("beam", elements=10).compile()
    path = sb.follow(system, "gravity", stop=1.0, step=0.5)
    sag = sb.equilibrium(system).state.position[-1, 2]
    assert path.parameter[-1] == pytest.approx(1.0, abs=1e-9)
    assert path.states[-1].position[-1, 2] == pytest.approx(sag, rel=1e-7)


@pytest.mark.parametrize(
    ("message", "ask"),
    [
        ("do not balance at this state; give one that `equil", lambda: sb.modes(LATTICE)),
        (
            "hold (it|what moves freely)",
            lambda: sb.equilibrium(one_body().compile(), max_iterations=20),
        ),
        (
            "max_iterations is 0; give one or more",
            lambda: sb.equilibrium(truss(), max_iterations=0),
        ),
        ("after 1 iterations", lambda: sb.equilibrium(truss(), max_iterations=1)),
        ("no parameter 'wind'; give 'gravity', the name", lambda: sb.follow(truss(), "wind")),
        (r"step is 0\.0 and max_points 200; give", lambda: sb.follow(truss(), "load", step=0.0)),
        (
            r"start and stop are 1\.0; give two",
            lambda: sb.follow(truss(), "load", start=1.0, stop=1.0, step=0.1),
        ),
    ],
)
def test_what_has_no_answer_is_an_error_that_tells_the_remedy(message, ask):
    with pytest.raises(sb.SparsebodyError, match=message):
        ask()


@pytest.mark.parametrize(
    ("name", "ratio"),
    [("tree", 1.0), *((name, r) for name in ("chain", "four-bar") for r in (1e8, 1e-8))],
)
def test_equilibria_are_found_whatever_the_ratios_of_masses(name, ratio):
    mechanism = sb.build(name)
    masses = np.where(np.arange(len(mechanism.body_names)) % 2, 1.0, ratio)
    system = copied(mechanism, masses=masses).compile()
    state = sb.equilibrium(system).state
    acceleration = sb.ForwardDynamics(system, state)(state).acceleration
    assert np.abs(acceleration).max() < 1e-9
