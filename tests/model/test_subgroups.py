"""Displacement subgroups against dense ranks, at poses of generality and in every kind."""

import numpy as np
import pytest
from planted_loops import FREEDOMS, TYPES, plant, planted, pose
from random_mechanisms import random_loops
from textbook import assemble

import sparsebody as sb
from sparsebody.model.subgroups import Kind, describe, displacement_classes, redundant_subgroups


def rank(rows):
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    return int(np.linalg.matrix_rank(rows / np.where(sizes > 0.0, sizes, 1.0), tol=1e-9))


def subgroups_of(mechanism):
    return redundant_subgroups(displacement_classes(mechanism.compile()))


def bodies_and_joints(subgroup):
    description = subgroup.to_dict()
    return set(description["bodies"]), set(description["joints"])


@pytest.mark.parametrize("seed", range(75))
def test_rows_left_out_depend_on_the_others(seed):
    system = planted(seed).compile()
    classes = displacement_classes(system)
    n = 6 * system.n_bodies
    rows = assemble(system, system.initial_state).matrix.toarray()[n:, :n]
    assert rank(rows[~classes.is_redundant]) == rank(rows)
    subgroups = redundant_subgroups(classes)
    assert sum(one.redundant_rows for one in subgroups) == np.count_nonzero(classes.is_redundant)
    assert all(one.loops > 0 for one in subgroups)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_found_in_loops_without_symmetry(seed):
    names = ("revolute", "helical", "cylindrical", "spherical", "universal", "planar")
    mechanism = random_loops(np.random.default_rng(seed), 6, 3, names, names)
    assert subgroups_of(mechanism) == ()


@pytest.mark.parametrize("base", [sb.WORLD, "carrier 0"])
@pytest.mark.parametrize("kind", TYPES)
def test_every_loop_of_a_class_has_as_many_rows_too_many_as_freedoms_are_missing(kind, base):
    mechanism, rng = sb.Mechanism(), np.random.default_rng(5)
    plant(mechanism, rng, "carrier", "spherical", sb.WORLD, 1, 0)
    plant(mechanism, rng, "p", kind, base, 5, 3)
    subgroups = subgroups_of(mechanism)
    if (
        len(subgroups) > 1 or subgroups[0].kind != kind
    ):  # where prismatic joints make smaller classes
        assert kind in ("translational", "Schoenflies")
        return
    (subgroup,) = subgroups
    joints = {name for name in mechanism.joints if name.startswith("p ")}
    assert subgroup.base_name == base.replace(sb.WORLD, "world")
    assert bodies_and_joints(subgroup) == ({f"p {i}" for i in range(5)}, joints)
    assert (subgroup.loops, subgroup.redundant_rows) == (3, 3 * (6 - FREEDOMS[kind]))


@pytest.mark.parametrize(
    ("name", "parameters", "description"),
    [
        ("scissor", {"pairs": 6}, "12 bodies, 17 joints, 5 loops: 15 redundant rows"),
        ("andrews", {}, "7 bodies, 10 joints, 3 loops: 9 redundant rows"),
        ("n-four-bar", {"loops": 40}, "81 bodies, 121 joints, 40 loops: 120 redundant rows"),
    ],
)
def test_planar_mechanisms_of_the_gallery(name, parameters, description):
    assert describe(subgroups_of(sb.build(name, **parameters))) == [
        f"planar, about the world: {description}"
    ]


@pytest.mark.parametrize("name", ["bricard", "ladder", "lattice", "governor", "stewart", "chain"])
def test_mechanisms_that_move_in_space_have_no_class(name):
    assert subgroups_of(sb.build(name)) == ()


def four_bar(mechanism, base, axis):
    """Three bars on a base, between corners that are not in one plane."""
    Q, x = pose(mechanism, base)
    corners = x + np.array([[0, 0, 0], [0, 1, 0.3], [1, 1.5, 0.1], [1.5, 0, 0.2]]) @ Q.T
    middle = (corners[1:] + corners[:-1]) / 2
    mechanism.add_bodies("bar {}", mass=1.0, inertia=[0.1, 0.1, 0.1], position=middle)
    bars = [base, "bar 0", "bar 1", "bar 2", base]
    mechanism.add_joints("hinge {}", sb.Revolute(), bars[:-1], bars[1:], point=corners, axis=axis)


def test_a_twin_hinge_in_a_planar_loop_is_counted_once():
    mechanism, axis = sb.Mechanism(), np.array([0.0, 0.0, 1.0])
    four_bar(mechanism, sb.WORLD, axis)
    mechanism.add_joint("twin", sb.Revolute(), "bar 0", "bar 1", point=[0, 1, 0.55], axis=-axis)
    twin, loop = subgroups_of(mechanism)
    assert (twin.kind, twin.redundant_rows) == ("rotation about a line", 5)
    assert bodies_and_joints(twin)[1] == {"hinge 1", "twin"}
    assert (loop.kind, loop.loops, loop.redundant_rows) == ("planar", 2, 3)


def test_a_planar_loop_on_a_vehicle_tells_its_normal_and_its_base():
    mechanism, axis = sb.Mechanism(), np.array([0.6, 0.0, 0.8])
    mechanism.add_body("a vehicle", mass=1.0, inertia=[1, 1, 1], orientation=[0.6, 0, 0.8, 0])
    R = pose(mechanism, "a vehicle")[0]
    four_bar(mechanism, "a vehicle", R @ axis)
    (loop,) = subgroups_of(mechanism)
    assert (loop.base_name, loop.kind, loop.point) == ("a vehicle", "planar", None)
    np.testing.assert_allclose(np.abs(loop.axis @ axis), 1.0, atol=1e-12)


@pytest.mark.parametrize("base", [sb.WORLD, "cart"])
def test_hinges_that_meet_in_a_point_are_spherical_and_tell_their_center(base):
    mechanism, center = sb.Mechanism(), np.array([1.0, 2.0, 3.0])
    solid = {"mass": 1.0, "inertia": [1.0, 1.0, 1.0]}
    mechanism.add_body("cart", **solid, position=[5, 0, 0], center_of_mass=[0.3, 0.0, 0.0])
    mechanism.add_bodies(["a", "b", "c"], **solid)
    bodies = [base, "a", "b", "c", base]
    axis = np.random.default_rng(1).normal(size=(4, 3))
    point = center + np.arange(4)[:, None] * axis
    mechanism.add_joints("{}", sb.Revolute(), bodies[:-1], bodies[1:], point=point, axis=axis)
    (subgroup,) = subgroups_of(mechanism)
    assert (subgroup.kind, subgroup.redundant_rows, subgroup.axis) == ("spherical", 3, None)
    np.testing.assert_allclose(subgroup.point, center - [5 * (base == "cart"), 0, 0], atol=1e-12)


def test_bodies_welded_together_move_as_one():
    mechanism = sb.Mechanism()
    four_bar(mechanism, sb.WORLD, np.array([0.0, 0.0, 1.0]))
    mechanism.add_body("box", mass=1.0, inertia=[1.0, 1.0, 1.0])
    for i, joint_type in enumerate((sb.Fixed(), sb.Fixed(), sb.Universal(), sb.Spherical())):
        mechanism.add_joint(f"weld {i}", joint_type, "bar 1", "box", point=[i, 0, 0])
    rigid, loop = subgroups_of(mechanism)
    assert (rigid.kind, rigid.redundant_rows) == ("rigid", 6 + 4 + 3)
    assert bodies_and_joints(loop)[0] == {"bar 0", "bar 1", "bar 2", "box"}


@pytest.mark.parametrize("tilt", [1e-9, 1e-3])
def test_a_hinge_out_of_parallel_belongs_to_no_planar_loop(tilt):
    mechanism = sb.Mechanism()
    four_bar(mechanism, sb.WORLD, np.array([0.0, 0.0, 1.0]))
    axis = [0, np.sin(tilt), np.cos(tilt)]
    mechanism.add_joint("odd", sb.Revolute(), "bar 2", sb.WORLD, point=[2, 0, 0], axis=axis)
    (loop,) = subgroups_of(mechanism)
    assert "odd" not in bodies_and_joints(loop)[1]


def test_a_prescribed_row_is_never_left_out():
    mechanism = sb.Mechanism()
    mechanism.add_body("bar", mass=1.0, inertia=[1.0, 1.0, 1.0])
    for name in ("hinge", "twin"):
        mechanism.add_joint(name, sb.Revolute(), sb.WORLD, "bar", prescribed=sb.Sinusoid(1.0, 2.0))
    classes = displacement_classes(mechanism.compile())
    np.testing.assert_array_equal(classes.is_redundant, [*6 * [False], *5 * [True], False])


def test_kinds_are_in_the_order_of_their_dimensions():
    assert [kind.freedoms for kind in Kind] == list(FREEDOMS.values())
    assert [kind.title for kind in Kind] == list(FREEDOMS)


def test_alike_classes_about_moving_bodies_are_told_in_one_line():
    mechanism, rng = sb.Mechanism(), np.random.default_rng(0)
    for k in range(3):
        mechanism.add_body(f"body {k}", mass=1.0, inertia=[1.0, 1.0, 1.0], position=[k, 0, 0])
        plant(mechanism, rng, f"p{k}", "rotation about a line", f"body {k}", 1, 1)
    (line,) = describe(subgroups_of(mechanism))
    assert line.startswith("rotation about a line, about 3 moving bodies, each: 1 body, 2 joints")
