"""Generated mechanisms: counts, closed joints, published numbers, and arrays."""

import math

import networkx as nx
import numpy as np
import pytest
from oracles import gauss_accelerations, prescribed_velocities, rank

import sparsebody as sb
from sparsebody.dynamics.energy import elastic_energy
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.errors import ModelError
from sparsebody.model.columns import Table
from sparsebody.model.forces import Beam
from sparsebody.model.gallery import GALLERY, build

RIGID_SHEET = {"rows": 4, "columns": 4, "joint": "revolute", "disorder": 0.2}  # on one hinge
# name, parameters, bodies, joints, rows, mobility, redundant rows
COUNTS = [
    ("chain", {"bodies": 7}, 7, 7, 35, 7, 0),
    ("chain", {"bodies": 7, "joint": "spherical"}, 7, 7, 21, 21, 0),
    ("tree", {"bodies": 9, "branching": 1.5}, 9, 9, 45, 9, 0),
    ("tree", {"bodies": 1}, 1, 1, 5, 1, 0),
    ("ladder", {"rungs": 1}, 2, 3, 9, 3, 0),
    ("ladder", {"rungs": 6, "disorder": 0.1}, 12, 18, 54, 18, 0),
    ("ladder", {"rungs": 6, "joint": "revolute", "disorder": 0.1}, 12, 18, 90, 0, 18),
    ("scissor", {"pairs": 1, "drive": False}, 2, 3, 11, 1, 0),
    ("scissor", {"pairs": 9, "drive": False}, 18, 27, 131, 1, 24),
    ("scissor", {"pairs": 9, "angle": 0.9, "drive": True}, 18, 27, 132, 0, 24),
    ("n-four-bar", {"loops": 7}, 15, 22, 110, 1, 21),
    ("five-bar-array", {"loops": 6, "spacing": 1.0}, 19, 25, 125, 7, 18),
    ("four-bar-torus", {"rows": 4, "columns": 5}, 40, 61, 305, 5, 70),
    ("lattice", {"rows": 1, "columns": 1}, 1, 1, 3, 3, 0),
    ("lattice", {"rows": 2, "columns": 2, "layers": 2}, 8, 13, 39, 9, 0),
    ("lattice", {"rows": 6, "columns": 6, "disorder": 0.2}, 36, 61, 183, 33, 0),
    ("lattice", {"rows": 6, "columns": 6}, 36, 61, 183, 49, (6 - 2) ** 2),  # balls in one plane
    ("lattice", RIGID_SHEET, 16, 25, 125, 1, 3 * 9 + 3),
    ("tube", {"rings": 2, "rails": 3}, 6, 10, 30, 6, 0),
    ("tube", {"rings": 3, "rails": 4}, 12, 21, 63, 10, 1),
    ("tube", {"rings": 3, "rails": 4, "joint": "revolute"}, 12, 21, 105, 4, 37),
    ("rotating-squares", {"rows": 1, "columns": 4}, 4, 4, 20, 4, 0),
    ("rotating-squares", {"rows": 5, "columns": 5, "angle": 0.6}, 25, 41, 205, 2, 57),
    ("ring", {"bodies": 8}, 8, 9, 27, 21, 0),
    ("ring", {"bodies": 8, "joint": "revolute"}, 8, 9, 45, 6, 3),
    ("stewart", {}, 13, 18, 72, 6, 0),
    ("stewart", {"drive": True}, 13, 18, 78, 0, 0),
    ("four-bar", {"angle": 2.0, "speed": 3.0}, 3, 4, 20, 1, 3),
    ("slider-crank", {}, 3, 4, 17, 1, 0),
    ("bricard", {}, 5, 6, 30, 1, 1),
    ("andrews", {}, 7, 10, 50, 1, 9),
    ("governor", {}, 4, 4, 20, 4, 0),
    ("pendulum", {}, 1, 1, 5, 1, 0),
    ("beam", {"elements": 3}, 3, 0, 0, 18, 0),
    ("beam", {"elements": 3, "support": "free"}, 4, 0, 0, 24, 0),
    ("compliant-lattice", {"rows": 2, "columns": 3}, 6, 3, 18, 18, 0),
    ("ladder", {"rungs": 2, "compliance": 1e-6}, 4, 6, 0, 24, 0),
    ("scissor", {"pairs": 2, "compliance": 1e-6}, 4, 6, 6, 18, 0),
]
MORE = [
    ("n-four-bar", {"loops": 60}),
    ("lattice", {"rows": 3, "columns": 4, "layers": 2, "keep": 0.5, "joint": "universal"}),
    ("tree", {"bodies": 40, "moving": True, "taper": 0.95}),
    ("tree", {"bodies": 40, "moving": True, "random": True}),
    ("rotating-squares", {"rows": 7, "columns": 11}),
    ("slider-crank", {"speed": -2.0}),
]
ALL = [(name, {}) for name in GALLERY] + MORE + [(name, given) for name, given, *_ in COUNTS]


def identity(case):
    return "-".join(map(str, (case[0], *case[1].items())))


@pytest.mark.parametrize("case", COUNTS, ids=identity)
def test_bodies_joints_rows_and_mobility_are_as_documented(case):
    name, parameters, bodies, joints, n_rows, mobility, redundant = case
    system = build(name, **parameters).compile()
    independent, counted = rank(system, system.initial_state), sb.count_mobility(system)
    assert (system.n_bodies, system.n_joints, system.n_rows) == (bodies, joints, n_rows)
    assert (6 * bodies - independent, n_rows - independent) == (mobility, redundant)
    assert (counted.mobility, counted.redundant_rows) == (mobility, redundant)
    assert (counted.bodies, counted.joints, counted.constraint_rows) == (bodies, joints, n_rows)


@pytest.mark.parametrize("case", ALL, ids=identity)
def test_joints_close_at_the_start(case):
    system = build(case[0], **case[1]).compile()
    moving = SystemMotion(system, system.initial_state)
    reach = 1.0 + np.abs(system.initial_state.position).max()
    velocity_error = moving.constraint.velocity - prescribed_velocities(system, 0.0)
    assert np.abs(moving.position_error).max(initial=0.0) < 2e-15 * reach
    assert np.abs(velocity_error).max(initial=0.0) < 1e-14 * reach
    assert elastic_energy(system, system.initial_state) < 1e-20


@pytest.mark.parametrize("name", GALLERY)
def test_default_mechanism_is_connected_can_be_drawn_and_has_what_its_entry_says(name):
    mechanism, entry = build(name), GALLERY[name]
    graph = nx.Graph(mechanism.graph)
    beams = [force for force in mechanism.forces.values() if isinstance(force, Beam)]
    graph.add_edges_from((beam.predecessor, beam.successor) for beam in beams)
    assert nx.is_connected(graph)
    assert all(body.shape is not None for body in mechanism.bodies.values())
    assert all(body in mechanism.bodies for body, _ in entry.points.values())
    assert build(name, **entry.defaults).n_bodies == mechanism.n_bodies
    for parameter in entry.size_parameters:
        larger = build(name, **{parameter: entry.defaults[parameter] + 1})
        assert larger.n_bodies > mechanism.n_bodies


# ---- parameters -----------------------------------------------------------------------------


def test_strings_are_converted_as_the_parameters_ask():
    mechanism = build("scissor", pairs="3", angle="0.5", drive="yes", gravity="0, 1, -9")
    assert mechanism.n_bodies == 6
    assert mechanism.joint("base").prescribed
    np.testing.assert_array_equal(mechanism.gravity, [0.0, 1.0, -9.0])
    assert build("chain", bodies="1e1", joint="spherical").n_bodies == 10


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("scissor", {"pair": 3}, "scissor has no parameter 'pair'; it has pairs, angle, drive"),
        ("scissor", {"pairs": 0}, "scissor: pairs is 0; give 1 or more"),
        ("scissor", {"pairs": "2.5"}, "scissor: pairs is '2.5'; give a whole number"),
        ("ladder", {"seed": -1}, "ladder: seed is -1; give 0 or more"),
        ("scissor", {"pairs": True}, "scissor: pairs is True; give a number"),
        ("scissor", {"angle": 1.6}, "scissor: angle is 1.6; give a number between 0 and 1.5708"),
        ("scissor", {"angle": "nan"}, "scissor: angle is 'nan'; give a number"),
        ("scissor", {"drive": "perhaps"}, "scissor: drive is 'perhaps'; give true or false"),
        ("scissor", {"gravity": "9.81"}, "gravity is '9.81'; give 3 numbers, such as 0,0,-9.81"),
        ("chain", {"joint": "rubber"}, "chain: joint is 'rubber'; give one of: revolute, sph"),
        ("ring", {"bodies": 2}, "ring: bodies is 2; give 3 or more"),
        ("lattice", {"keep": -0.1}, "lattice: keep is -0.1; give a number from 0 to 1"),
        ("ladder", {"disorder": -1}, "ladder: disorder is -1.0; give 0.0 or more"),
        ("four-bar", {"coupler": 0.05}, "four-bar: angle is 1.0: coupler .* do not meet"),
        ("chain", {"mass": 10**400}, "chain: mass is 10*; give a number"),
        ("chain", {"bodies": 10**12}, r"bodies is 1e\+12; a mechanism has 10000000 bodies at most"),
        ("lattice", {"rows": 10**4, "layers": 10**3}, "10000, columns is 4, layers is 1000; a mec"),
        ("chain", {"length": "1e300"}, r"chain: length = 1e\+300 leads out of the range of num"),
        ("pendulum", {"radius": 1e300}, r"out of the range of numbers \(Numerical result out of"),
        ("tree", {"skew": 1e300}, r"skew = 1e\+300 leads out of .*overflow.*; give moderate ones"),
    ],
)
def test_unfit_parameter_is_named_with_its_value_and_the_remedy(name, parameters, message):
    with pytest.raises(ModelError, match=message):
        build(name, **parameters)


def test_more_branching_than_bodies_gives_a_star():
    star = build("tree", bodies=5, branching=1e300)
    assert all(joint.predecessor == "body-1" for joint in list(star.joints.values())[1:])


# ---- single families ------------------------------------------------------------------------


def test_coordinate_of_the_scissor_base_is_the_angle_of_the_bars():
    mechanism = build("scissor", pairs=3, drive=True, angle=0.7, lifted=0.8, rise_time=2.0)
    motion = mechanism.joint("base").prescribed[0]
    assert motion(0.0)[0] == 0.7
    assert motion(2.0)[0] == 0.8
    end = mechanism.body("left-0").to_world((0.5, 0.0, 0.0))
    np.testing.assert_allclose(end, [math.cos(0.7), 0.0, math.sin(0.7)], atol=1e-15)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("ladder", {"disorder": 0.1}), ("tree", {"random": True}), ("lattice", {"keep": 0.5})],
)
def test_same_seed_gives_the_same_mechanism_and_another_seed_another(name, parameters):
    def digest(seed):
        system = build(name, seed=seed, **parameters).compile()
        return system.initial_state.position.tobytes(), system.joint_names

    assert digest(1) == digest(1)
    assert digest(1) != digest(2)


def test_random_trees_use_all_their_joint_types():
    mechanism = build("tree", bodies=60, random=True)
    types = {joint.type.name for joint in mechanism.joints.values()}
    others = {"fixed", "free", "constant-distance", "point-on-line", "point-on-plane"}
    assert types == set(sb.JOINT_TYPES) - others


def initial_accelerations(mechanism):
    """System, and spatial accelerations in body coordinates at its start, by dense algebra."""
    system = mechanism.compile()
    return system, gauss_accelerations(system, system.initial_state)[0]


# ---- published numbers ----------------------------------------------------------------------


@pytest.mark.parametrize("loops", [1, 2, 40])
def test_n_four_bar_starts_with_the_published_energy_and_speed_of_b0(loops):
    system = build("n-four-bar", loops=loops).compile()
    state = system.initial_state
    kinetic = 0.5 * np.einsum("na,nab,nb->", state.velocity, system.spatial_inertia, state.velocity)
    potential = -system.mass @ state.position @ system.gravity
    expected = (loops + 1) / 6 + loops / 2 + 9.81 * ((loops + 1) / 2 + loops)
    assert kinetic + potential == pytest.approx(expected, rel=1e-14)
    B0 = system, state, *GALLERY["n-four-bar"].points["B0"]
    np.testing.assert_allclose(sb.point_position(*B0), [0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(sb.point_velocity(*B0), [1, 0, 0], atol=1e-15)


def test_bricard_starts_with_the_published_acceleration():
    system, a = initial_accelerations(build("bricard"))
    P3 = sb.point_position(system, system.initial_state, *GALLERY["bricard"].points["P3"])
    np.testing.assert_allclose(P3, [1, -1, 1], atol=1e-15)
    assert a[0, 2] == pytest.approx(1.9580838323353293, rel=1e-12)


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
    run = sb.simulate(system, duration=0.3, step=1e-3, record=sb.Recording(step=0.1))
    published = [0.226785384, 0.263034975, 0.28194126]
    np.testing.assert_allclose(run.position[1:, run.body("slider"), 0], published, atol=2e-5)


# ---- families built from arrays, against their definitions body by body ----------------------


def assert_joints_at(mechanism, expected):
    """Names, ends and places of joints in this order; both frames lie there."""
    assert list(mechanism.joints)[: len(expected)] == list(expected)
    for name, (predecessor, successor, position) in expected.items():
        joint = mechanism.joint(name)
        assert (joint.predecessor, joint.successor) == (predecessor, successor)
        frames = joint.predecessor_frame, joint.successor_frame
        for end, frame in zip((predecessor, successor), frames, strict=True):
            on_world = end == sb.WORLD
            at = frame.origin if on_world else mechanism.body(end).to_world(frame.origin)
            np.testing.assert_allclose(at, position, atol=1e-12)


@pytest.mark.parametrize("size", [(1, 1, 1), (2, 3, 1), (3, 2, 4)])
@pytest.mark.parametrize("keep", [0.0, 0.4, 1.0])
def test_lattice(size, keep):
    mechanism = build("lattice", rows=size[0], columns=size[1], layers=size[2], keep=keep, seed=3)
    cells = [(r, c, k) for r in range(size[0]) for c in range(size[1]) for k in range(size[2])]
    assert list(mechanism.bodies) == ["cube-{}-{}-{}".format(*cell) for cell in cells]
    for (r, c, k), cube in zip(cells, mechanism.bodies.values(), strict=True):
        np.testing.assert_array_equal(cube.position, [c, r, k])
    pairs = [
        (cell, other)
        for cell in cells
        for step in ((0, 1, 0), (1, 0, 0), (0, 0, 1))
        if (other := tuple(np.add(cell, step).tolist())) in cells
    ]
    joined, tree, others = nx.utils.UnionFind(), [], []  # Kruskal, in a random order
    for index in np.random.default_rng(3).permutation(len(pairs)).tolist():
        first, second = pairs[index]
        (others if joined[first] == joined[second] else tree).append(index)
        joined.union(first, second)
    expected = {"base": (sb.WORLD, "cube-0-0-0", (-0.5, 0, 0))}
    for index in sorted(tree + others[: round(keep * len(others))]):
        first, second = ("cube-{}-{}-{}".format(*cell) for cell in pairs[index])
        r, c, k = np.mean(pairs[index], axis=0)
        expected[f"{first}:{second}"] = (first, second, (c, r, k))
    assert_joints_at(mechanism, expected)


def test_bodies_of_a_tapered_tree_shrink_as_a_power_does():
    for i, body in enumerate(build("tree", bodies=9, taper=0.9).bodies.values()):
        measured = [body.shape.points[1][0], body.mass]
        np.testing.assert_allclose(measured, [0.9**i, 0.9 ** (3 * i)], rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "parameters", "bodies", "joints"),
    [
        ("ladder", {"rungs": 20_000, "disorder": 0.1}, 40_000, 60_000),
        ("scissor", {"pairs": 20_000, "drive": True}, 40_000, 60_000),
        ("chain", {"bodies": 40_000}, 40_000, 40_000),
        ("tree", {"bodies": 40_000, "moving": True}, 40_000, 40_000),
        ("n-four-bar", {"loops": 20_000}, 40_001, 60_001),
        ("lattice", {"rows": 200, "columns": 200, "keep": 0.5}, 40_000, 59_800),
        ("rotating-squares", {"rows": 200, "columns": 200}, 40_000, 79_601),
        ("ring", {"bodies": 40_000}, 40_000, 40_001),
    ],
)
def test_large_mechanisms_are_made_and_compiled_without_an_object_per_body(
    name, parameters, bodies, joints, monkeypatch
):
    made, make = [], Table.__getitem__
    monkeypatch.setattr(Table, "__getitem__", lambda *given: made.append(1) or make(*given))
    mechanism = build(name, **parameters)
    system = mechanism.compile()
    assert (system.n_bodies, system.n_joints) == (bodies, joints)
    assert len(made) <= 2
    some = np.random.default_rng(0).integers(bodies, size=50).tolist()
    assert [system.body(system.body_names[i]) for i in some] == some
    assert [system.joint(system.joint_names[i]) for i in some] == some
