"""Displacement subgroups against dense ranks, at poses of generality and in every kind."""

from __future__ import annotations

import numpy as np
import pytest
from planted_loops import FREEDOMS, TYPES, plant, planted, pose
from random_mechanisms import random_loops
from textbook import assemble

from sparsebody.model.gallery import build
from sparsebody.model.joints import Fixed, Revolute, Spherical, Universal
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.subgroups import (
    Kind,
    Subgroup,
    describe,
    displacement_classes,
    redundant_subgroups,
)
from sparsebody.model.time_functions import Sinusoid


def rank(rows: np.ndarray) -> int:
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    return int(np.linalg.matrix_rank(rows / np.where(sizes > 0.0, sizes, 1.0), tol=1e-9))


def found_in(mechanism: Mechanism) -> tuple[Subgroup, ...]:
    return redundant_subgroups(displacement_classes(mechanism.compile()))


def names(found: Subgroup) -> tuple[set[str], set[str]]:
    told = found.to_dict()
    return set(told["bodies"]), set(told["joints"])


@pytest.mark.parametrize("seed", range(150))
def test_rows_left_out_depend_on_the_others(seed: int) -> None:
    system = planted(seed).compile()
    classes = displacement_classes(system)
    n = 6 * system.n_bodies
    rows = assemble(system, system.initial_state).matrix.toarray()[n:, :n]
    assert rank(rows[~classes.is_redundant]) == rank(rows)
    found = redundant_subgroups(classes)
    assert sum(one.redundant_rows for one in found) == np.count_nonzero(classes.is_redundant)
    assert all(one.loops > 0 for one in found)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_found_in_loops_without_symmetry(seed: int) -> None:
    names = ("revolute", "helical", "cylindrical", "spherical", "universal", "planar")
    mechanism = random_loops(np.random.default_rng(seed), 6, 3, names, names)
    assert found_in(mechanism) == ()


@pytest.mark.parametrize("base", [WORLD, "carrier 0"])
@pytest.mark.parametrize("kind", TYPES)
def test_every_loop_of_a_class_has_as_many_rows_too_many_as_freedoms_are_missing(
    kind: str, base: str
) -> None:
    mechanism, rng = Mechanism(), np.random.default_rng(5)
    plant(mechanism, rng, "carrier", "spherical", WORLD, 1, 0)
    plant(mechanism, rng, "p", kind, base, 5, 3)
    found = found_in(mechanism)
    (whole,) = [one for one in found if one.kind == kind] or [None]
    if whole is None or len(found) > 1:  # where slides happen to make smaller classes
        assert kind in ("translational", "Schoenflies")
        return
    bodies, joints = names(whole)
    assert whole.base_name == base.replace(WORLD, "world")
    assert bodies == {f"p {i}" for i in range(5)}
    assert joints == {name for name in mechanism.joints if name.startswith("p ")}
    assert (whole.loops, whole.redundant_rows) == (3, 3 * (6 - FREEDOMS[kind]))


@pytest.mark.parametrize(
    ("name", "parameters", "told"),
    [
        ("scissor", {"pairs": 6}, "12 bodies, 17 joints, 5 loops: 15 redundant rows"),
        ("andrews", {}, "7 bodies, 10 joints, 3 loops: 9 redundant rows"),
        ("n-four-bar", {"loops": 40}, "81 bodies, 121 joints, 40 loops: 120 redundant rows"),
    ],
)
def test_planar_mechanisms_of_the_gallery(name: str, parameters: dict, told: str) -> None:
    assert describe(found_in(build(name, **parameters))) == [f"planar, about the world: {told}"]


@pytest.mark.parametrize("name", ["bricard", "ladder", "lattice", "governor", "stewart", "chain"])
def test_mechanisms_that_move_in_space_have_no_class(name: str) -> None:
    assert found_in(build(name)) == ()


def four_bar(mechanism: Mechanism, base: str, axis: np.ndarray, twin: bool = False) -> None:
    """Three bars on a base, between corners that are not in one plane."""
    corners = np.array([[0, 0, 0], [0, 1, 0.3], [1, 1.5, 0.1], [1.5, 0, 0.2]])
    Q, x = pose(mechanism, base)
    corners = x + corners @ Q.T
    bars = [base, "bar 0", "bar 1", "bar 2", base]
    for i in range(3):
        middle = (corners[i] + corners[i + 1]) / 2
        mechanism.add_body(f"bar {i}", mass=1.0, inertia=[0.1, 0.1, 0.1], position=middle)
    for i in range(4):
        mechanism.add_joint(
            f"hinge {i}", Revolute(), bars[i], bars[i + 1], point=corners[i], axis=axis
        )
    if twin:
        x = corners[1] + 0.25 * axis
        mechanism.add_joint("twin", Revolute(), "bar 0", "bar 1", point=x, axis=-axis)


def test_a_twin_hinge_in_a_planar_loop_is_counted_once() -> None:
    mechanism = Mechanism()
    four_bar(mechanism, WORLD, np.array([0.0, 0.0, 1.0]), twin=True)
    twin, loop = found_in(mechanism)
    assert (twin.kind, twin.redundant_rows) == ("rotation about a line", 5)
    assert names(twin)[1] == {"hinge 1", "twin"}
    assert (loop.kind, loop.loops, loop.redundant_rows) == ("planar", 2, 3)


def test_a_planar_loop_on_a_vehicle_tells_its_normal_and_its_base() -> None:
    mechanism, axis = Mechanism(), np.array([0.6, 0.0, 0.8])
    mechanism.add_body("a vehicle", mass=1.0, inertia=[1, 1, 1], orientation=[0.6, 0, 0.8, 0])
    R = pose(mechanism, "a vehicle")[0]
    four_bar(mechanism, "a vehicle", R @ axis)
    (loop,) = found_in(mechanism)
    assert (loop.base_name, loop.kind, loop.point) == ("a vehicle", "planar", None)
    np.testing.assert_allclose(np.abs(loop.axis @ axis), 1.0, atol=1e-12)


@pytest.mark.parametrize("base", [WORLD, "cart"])
def test_hinges_that_meet_in_a_point_are_spherical_and_tell_their_center(base: str) -> None:
    mechanism, center = Mechanism(), np.array([1.0, 2.0, 3.0])
    middle = np.array([0.3, 0.0, 0.0])
    mechanism.add_body(
        "cart", mass=1.0, inertia=[1, 1, 1], position=[5, 0, 0], center_of_mass=middle
    )
    bodies = [base, "a", "b", "c", base]
    for name in "abc":
        mechanism.add_body(name, mass=1.0, inertia=[1.0, 1.0, 1.0])
    rng = np.random.default_rng(1)
    for i in range(4):
        axis = rng.normal(size=3)
        mechanism.add_joint(
            f"{i}", Revolute(), bodies[i], bodies[i + 1], point=center + i * axis, axis=axis
        )
    (found,) = found_in(mechanism)
    assert (found.kind, found.redundant_rows, found.axis) == ("spherical", 3, None)
    np.testing.assert_allclose(found.point, center - [5 * (base == "cart"), 0, 0], atol=1e-12)


def test_bodies_welded_together_move_as_one() -> None:
    mechanism = Mechanism()
    four_bar(mechanism, WORLD, np.array([0.0, 0.0, 1.0]))
    mechanism.add_body("box", mass=1.0, inertia=[1.0, 1.0, 1.0])
    for i, joint_type in enumerate((Fixed(), Fixed(), Universal(), Spherical())):
        mechanism.add_joint(f"weld {i}", joint_type, "bar 1", "box", point=[i, 0, 0])
    rigid, loop = found_in(mechanism)
    assert (rigid.kind, rigid.redundant_rows) == ("rigid", 6 + 4 + 3)
    assert names(loop)[0] == {"bar 0", "bar 1", "bar 2", "box"}


@pytest.mark.parametrize("tilt", [1e-9, 1e-3])
def test_one_hinge_out_of_parallel_is_enough_to_find_nothing(tilt: float) -> None:
    mechanism = Mechanism()
    four_bar(mechanism, WORLD, np.array([0.0, 0.0, 1.0]))
    joint = mechanism.joints["hinge 2"]
    mechanism.add_joint(
        "odd", Revolute(), "bar 2", WORLD, point=[2, 0, 0], axis=[0, np.sin(tilt), np.cos(tilt)]
    )
    assert joint.type.name == "revolute"
    (loop,) = found_in(mechanism)
    assert "odd" not in names(loop)[1]


def test_a_prescribed_row_is_never_left_out() -> None:
    mechanism = Mechanism()
    mechanism.add_body("bar", mass=1.0, inertia=[1.0, 1.0, 1.0])
    for name in ("hinge", "twin"):
        mechanism.add_joint(name, Revolute(), WORLD, "bar", prescribed=Sinusoid(1.0, 2.0))
    classes = displacement_classes(mechanism.compile())
    np.testing.assert_array_equal(classes.is_redundant, [*6 * [False], *5 * [True], False])


def test_kinds_are_in_the_order_of_their_dimensions() -> None:
    assert [kind.freedoms for kind in Kind] == list(FREEDOMS.values())
    assert [kind.title for kind in Kind] == list(FREEDOMS)


def test_alike_classes_about_moving_bodies_are_told_in_one_line() -> None:
    mechanism, rng = Mechanism(), np.random.default_rng(0)
    for k in range(3):
        mechanism.add_body(f"body {k}", mass=1.0, inertia=[1.0, 1.0, 1.0], position=[k, 0, 0])
        plant(mechanism, rng, f"p{k}", "rotation about a line", f"body {k}", 1, 1)
    (line,) = describe(found_in(mechanism))
    assert line.startswith("rotation about a line, about 3 moving bodies, each: 1 body, 2 joints")
