"""Gallery mechanisms of published benchmarks, against the published numbers."""

import math

import numpy as np
import pytest
from oracles import gauss_accelerations

from sparsebody.kinematics.joint_motion import body_rotations
from sparsebody.kinematics.poses import displaced
from sparsebody.model.gallery import GALLERY, build
from sparsebody.model.gallery.andrews import BETA


def initial_accelerations(mechanism):
    """System, and spatial accelerations in body coordinates at its start, by dense algebra."""
    system = mechanism.compile()
    return system, gauss_accelerations(system, system.initial_state)[0]


def place_and_velocity(system, point):
    """Of a point (body, place in the body frame), in the world."""
    state, name = system.initial_state, point[0]
    body = system.body(name)
    arm = np.asarray(point[1]) - system.center_of_mass[body]
    R, v = body_rotations(state)[body], state.velocity[body]
    return state.position[body] + R @ arm, R @ (v[3:] + np.cross(v[:3], arm))


# ---- Andrews' squeezer ----------------------------------------------------------------------


def test_andrews_starts_with_the_published_accelerations():
    system, a = initial_accelerations(build("andrews"))
    turn = {name: a[system.body(name), 2] for name in ("K1", "K2")}
    assert turn["K1"] == pytest.approx(14222.4439199541138705911625887, rel=1e-9)
    assert turn["K2"] - turn["K1"] == pytest.approx(-10666.8329399655854029433719415, rel=1e-9)


def test_andrews_links_meet_in_the_common_point_of_the_test_set():
    mechanism = build("andrews")
    common = 0.007 * math.cos(BETA) - 0.028 * math.cos(BETA), -0.021 * math.sin(BETA), 0.0
    for body, point in (
        ("K2", (-0.028, 0, 0)),
        ("K3", (0, -0.035, 0)),
        ("K4", (0, -0.02, 0)),
        ("K6", (0.02, 0, 0)),
    ):
        np.testing.assert_allclose(mechanism.body(body).to_world(point), common, atol=1e-16)


# ---- autoTree -------------------------------------------------------------------------------

# Forward dynamics at q_i = 0.1 i cos(i), qd_i = 0.3 sin(2 i), tau_i = 2 sin(0.9 i); a world-frame
# Newton-Euler recursion and Pinocchio agree on these numbers to 1e-13.
TREES = [
    ({"bodies": 2, "branching": 1, "skew": 0.0}, [0, 1], [-5.546015165835841, 19.635769702046346]),
    (
        {"bodies": 7, "branching": 2, "skew": 0.3},
        [0, 1, 1, 2, 2, 3, 3],
        [
            4.05951768100301,
            -0.5846515904958328,
            -4.804368677098328,
            -22.011492054375015,
            -26.014908444470873,
            -14.32703298452824,
            -9.756827650243727,
        ],
    ),
]


def joint_accelerations(system, a):
    """Of revolutes: qdd = z'(w_s - w_p)' in S axes, without the turn of z with the predecessor."""
    state = system.initial_state
    R = body_rotations(state)
    qdd = []
    for p, s in zip(system.predecessor, system.successor, strict=True):
        spin, change, axis = R[s] @ state.velocity[s, :3], R[s] @ a[s, :3], R[s][:, 2]
        if p >= 0:
            change = change - R[p] @ a[p, :3] - np.cross(R[p] @ state.velocity[p, :3], spin)
        qdd.append(axis @ change)
    return np.array(qdd)


@pytest.mark.parametrize(("parameters", "parents", "expected"), TREES)
def test_auto_tree_has_the_published_accelerations(parameters, parents, expected):
    mechanism = build("tree", moving=True, **parameters)
    for i in range(1, mechanism.n_bodies + 1):
        mechanism.add_joint_force(f"effort-{i}", f"joint-{i}", effort=2 * math.sin(0.9 * i))
    system, a = initial_accelerations(mechanism)
    assert (system.predecessor + 1).tolist() == parents
    np.testing.assert_allclose(joint_accelerations(system, a), expected, rtol=1e-11)


def test_auto_tree_tapers():
    system = build("tree", bodies=4, branching=2, taper=0.9).compile()
    np.testing.assert_allclose(system.mass, 0.9 ** (3 * np.arange(4)), rtol=1e-14)
    np.testing.assert_allclose(system.center_of_mass[:, 0], 0.9 ** np.arange(4) / 2, rtol=1e-14)


# ---- IFToMM library -------------------------------------------------------------------------


@pytest.mark.parametrize("loops", [1, 2, 40])
def test_n_four_bar_starts_with_the_published_energy_and_speed_of_b0(loops):
    system = build("n-four-bar", loops=loops).compile()
    v = system.initial_state.velocity
    kinetic = 0.5 * np.einsum("na,nab,nb->", v, system.spatial_inertia, v)
    potential = -system.mass @ system.initial_state.position @ system.gravity
    expected = (loops + 1) / 6 + loops / 2 + 9.81 * ((loops + 1) / 2 + loops)
    assert kinetic + potential == pytest.approx(expected, rel=1e-14)
    place, velocity = place_and_velocity(system, GALLERY["n-four-bar"].points["B0"])
    np.testing.assert_allclose(place, [0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(velocity, [1, 0, 0], atol=1e-15)


def test_bricard_starts_with_the_published_acceleration():
    system, a = initial_accelerations(build("bricard"))
    place, _ = place_and_velocity(system, GALLERY["bricard"].points["P3"])
    np.testing.assert_allclose(place, [1, -1, 1], atol=1e-15)
    assert a[0, 2] == pytest.approx(1.9580838323353293, rel=1e-12)


def test_pendulum_starts_to_fall_like_a_point_mass():
    _, a = initial_accelerations(build("pendulum"))
    assert a[0, 2] == pytest.approx(9.81, rel=1e-8)
    assert a[0, 4] == pytest.approx(-9.81, rel=1e-8)


def test_governor_starts_with_the_accelerations_of_its_lagrangian():
    system, a = initial_accelerations(build("governor"))
    rate, angle = 2 * math.pi, math.pi / 6
    moments = 0.3 * 0.5 + 5.0, 0.3 / 3 + 5.0  # sums of m s and m s^2 along a rod
    centrifugal = rate**2 * (0.05 * moments[0] + moments[1] * math.cos(angle)) * math.sin(angle)
    fall = (9.81 * moments[0] * math.cos(angle) - centrifugal) / moments[1]
    right, left = a[system.body("right")], a[system.body("left")]
    assert right[2] == pytest.approx(fall, rel=1e-5)  # the rods are 1 cm thick
    assert left[2] == pytest.approx(-fall, rel=1e-5)
    assert a[system.body("slider"), 5] == pytest.approx(-9.81, rel=1e-9)
    assert a[system.body("shaft"), :3] == pytest.approx(0.0, abs=1e-9)


def test_slider_crank_reaches_the_published_positions():
    system = build("slider-crank").compile()
    slider, step, published = system.body("slider"), 1e-3, [0.226785384, 0.263034975, 0.28194126]
    state, reached = system.initial_state, []
    for count in range(1, 301):  # explicit midpoint rule
        v = state.velocity
        half = displaced(state, step / 2 * v).with_(
            velocity=v + step / 2 * gauss_accelerations(system, state)[0]
        )
        travel = np.einsum("nij,nj->ni", body_rotations(half), step * half.velocity[:, 3:])
        state = displaced(state, step * half.velocity).with_(
            position=state.position + travel,
            velocity=v + step * gauss_accelerations(system, half)[0],
        )
        if count % 100 == 0:
            reached.append(state.position[slider, 0])
    np.testing.assert_allclose(reached, published, atol=2e-5)
