"""Determined reactions against the dense null space."""

import json

import numpy as np
import oracles
import pytest
from linkages import at_start, one_body
from overconstrained import random_system

import sparsebody as sb
from sparsebody.analysis.reactions import LOOPS, RANDOM, joint_sizes
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.errors import UnknownNameError

PLAIN = ("four-bar", "bricard", "slider-crank", "governor", "stewart", "chain", "andrews")
SMALL = [
    *((name, {}) for name in PLAIN),
    *(("scissor", {"pairs": 4}), ("scissor", {"pairs": 3, "drive": True})),
    *(("n-four-bar", {"loops": 5}), ("ring", {"bodies": 7}), ("ladder", {"rungs": 5})),
    *((name, {"rows": n, "columns": n}) for name, n in (("rotating-squares", 4), ("lattice", 3))),
]


def assert_agrees_with_null_space(system, state, report):
    """The null space of A' by singular values, and what it does at each joint."""
    null, T = oracles.null_multipliers(system, state), SystemMotion(system, state).subspace
    assert report.certain
    assert report.dimension == null.shape[1]
    for j in range(system.n_joints):
        rows = system.rows(j)
        wrench = T[rows].T @ null[rows]
        wrench[:3] /= joint_sizes(system)[j]
        unique = np.linalg.norm(wrench, axis=1) < 1e-7
        np.testing.assert_array_equal(report.unique[j], unique, system.joint_names[j])
        rank = np.linalg.matrix_rank(wrench, tol=1e-7) if wrench.size else 0
        assert report.n_indeterminate[j] == rank, system.joint_names[j]


@pytest.mark.parametrize(("name", "parameters"), SMALL)
def test_the_gallery_agrees_with_the_dense_null_space(name, parameters):
    system, state = at_start(sb.build(name, **parameters))
    dynamics = sb.ForwardDynamics(system, state, reactions="basic")
    for method in ("auto", "random"):
        report = sb.determined_reactions(system, state, dynamics=dynamics, method=method)
        assert_agrees_with_null_space(system, state, report)


@pytest.mark.parametrize("first", range(0, 160, 20))
def test_random_mechanisms_agree_with_the_dense_null_space(first):
    for seed in range(first, first + 20):
        system = random_system(seed)
        report = sb.determined_reactions(system, system.initial_state)
        assert_agrees_with_null_space(system, system.initial_state, report)


def test_loops_of_a_scissor_lift_tell_everything_at_any_size():
    system = sb.build("scissor", pairs=2000).compile()
    report = sb.determined_reactions(system)
    assert (report.dimension, len(report.redundant_loops)) == (5997, 1999)
    assert report.certain
    assert report.method == LOOPS
    hinges = [j for j, name in enumerate(system.joint_names) if name != "support"]
    assert report.unique[hinges][:, [2, 3, 4]].all()  # what is in the plane
    assert set(report.n_indeterminate.tolist()) == {0, 3}


def test_sheets_share_redundancy_between_loops():
    """k x k squares have 3 (k - 1)^2 redundant rows in single loops and (k - 2)^2 besides."""
    k = 12
    report = sb.determined_reactions(sb.build("rotating-squares", rows=k, columns=k).compile())
    assert report.certain
    assert report.circulations.dimension.sum() == 3 * (k - 1) ** 2
    assert report.shared_dimension.sum() == (k - 2) ** 2
    assert RANDOM in report.method
    system = sb.build("rotating-squares").compile()
    by_loops = sb.determined_reactions(system, method="loops")
    assert not by_loops.certain  # they do not claim what they cannot know


def test_bodies_of_a_millimetre_beside_bodies_of_100_m():
    """Each parallelogram is closed by hinges of its own size; all hang on one another."""
    mechanism, base, corner = sb.Mechanism(), sb.WORLD, 0.0
    for size in (100.0, 1.0, 1e-3):
        mass = 10.0 * size**3
        position = size * np.array([[0, 0.5, 0], [0.5, 1, 0], [1, 0.5, 0]]) + [corner, 0, 0]
        point = size * np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, 0]]) + [corner, 0, 0]
        bars = [f"{size}-{i}" for i in range(3)]
        mechanism.add_bodies(bars, mass=mass, inertia=[mass * size**2] * 3, position=position)
        ends, names = [base, *bars, base], [f"{size}-{i}" for i in range(4)]
        mechanism.add_joints(names, sb.Revolute(), ends[:-1], ends[1:], point=point)
        base, corner = bars[-1], corner + size
    system = mechanism.compile()
    for method in ("auto", "random"):
        report = sb.determined_reactions(system, method=method)
        assert (report.certain, report.dimension) == (True, 9)
        np.testing.assert_array_equal(report.n_indeterminate, 3)
        np.testing.assert_array_equal(report.unique, [[False, False, True, True, True, False]] * 12)


def test_a_plank_on_three_supports_has_one_open_component_at_each():
    mechanism = one_body(sb.Spherical(), joint={"point": [0, 0, 0]})
    for i, x in enumerate((1.0, 2.0)):
        mechanism.add_joint(f"support {i}", sb.PointOnPlane(), sb.WORLD, "body", point=[x, 0, 0])
    report = sb.determined_reactions(mechanism.compile())
    assert report.dimension == 1
    np.testing.assert_array_equal(report.unique, [[True] * 5 + [False]] * 3)
    said = [line.split(": ")[1] for line in report.lines()]
    assert said == [
        "force x, y unique; force z indeterminate",
        "force z indeterminate",
        "force z indeterminate",
    ]


def test_lines_name_the_loop_and_the_remedy():
    report = sb.determined_reactions(sb.build("scissor", pairs=3).compile())
    lines = list(report.lines({"outer-0-left": ("replace by point-on-line", 3)}))
    assert len(lines) == np.count_nonzero(report.n_indeterminate) == 7
    line = next(line for line in lines if line.startswith("joint 'outer-0-left'"))
    assert line.startswith(
        "joint 'outer-0-left': force x, y unique; force z, torque x, y indeterminate: "
        "3 redundant constraints in loop 0 ("
    )
    assert line.endswith("; replace by point-on-line to remove them")
    middle = list(report.lines({"middle-1": ("replace by point-on-line", 3)}))[1]
    assert middle.endswith("to remove 3 of them")


def test_the_dictionary_is_plain_json():
    squares = sb.build("rotating-squares", rows=3, columns=3).compile()
    document = sb.determined_reactions(squares).to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert (document["dimension"], document["of_several_loops"]) == (13, 1)
    assert {"joint", "unique", "indeterminate", "dimension", "loops"} == set(document["joints"][0])


def test_trees_have_all_reactions_determined():
    report = sb.determined_reactions(sb.build("chain", bodies=5).compile())
    assert (report.is_unique, report.certain) == (True, True)
    assert str(report) == "all determined"
    assert list(report.lines()) == []


def test_dynamics_that_keep_all_rows_are_decided_anew():
    system, state = at_start(sb.build("four-bar"))
    keeping = sb.ForwardDynamics(system, state, redundancy="keep", factorization="dense")
    assert sb.determined_reactions(system, state, dynamics=keeping).dimension == 3
    with pytest.raises(UnknownNameError, match="guess"):
        sb.determined_reactions(system, method="guess")
