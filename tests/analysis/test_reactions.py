"""Which reactions are determined, against the dense null space."""

import json

import numpy as np
import oracles
import pytest
from overconstrained import random_mechanism

from sparsebody.analysis.determined_reactions import (
    LOOPS,
    RANDOM,
    ReactionReport,
    determined_reactions,
)
from sparsebody.analysis.null_space import circulations, joint_sizes, null_vectors
from sparsebody.assembly.constraint import kkt_structure
from sparsebody.dynamics.forward import ForwardDynamics
from sparsebody.equations.initial_state import consistent_state
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.errors import UnknownNameError
from sparsebody.model.gallery import build
from sparsebody.model.joints import Fixed, PointOnPlane, Revolute, Spherical
from sparsebody.model.mechanism import WORLD, Mechanism
from sparsebody.model.system import State, System
from sparsebody.sparse.saddle import constraint_matrix

SMALL = [
    ("scissor", {"pairs": 4}),
    ("scissor", {"pairs": 3, "drive": True}),
    ("n-four-bar", {"loops": 5}),
    ("four-bar", {}),
    ("bricard", {}),
    ("slider-crank", {}),
    ("governor", {}),
    ("stewart", {}),
    ("ring", {"bodies": 7}),
    ("ladder", {"rungs": 5}),
    ("rotating-squares", {"rows": 4, "columns": 4}),
    ("lattice", {"rows": 3, "columns": 3}),
    ("chain", {}),
    ("andrews", {}),
]


def subspaces(system: System, state: State) -> np.ndarray:
    moving = SystemMotion(system, state)
    return moving.constraint.subspace


def check_against_dense(system: System, state: State, found: ReactionReport) -> None:
    """The null space of A' by singular values, and what it does at each joint."""
    null = oracles.null_multipliers(system, state)
    T = subspaces(system, state)
    assert found.dimension == null.shape[1]
    for j in range(system.n_joints):
        rows = system.rows(j)
        wrench = T[rows].T @ null[rows]
        wrench[:3] /= joint_sizes(system)[j]
        unique = np.linalg.norm(wrench, axis=1) < 1e-7
        np.testing.assert_array_equal(found.unique[j], unique, system.joint_names[j])
        rank = np.linalg.matrix_rank(wrench, tol=1e-7) if wrench.size else 0
        assert found.freedom[j] == rank, system.joint_names[j]


@pytest.mark.parametrize(("name", "parameters"), SMALL)
def test_the_gallery_agrees_with_the_dense_null_space(
    name: str, parameters: dict[str, int]
) -> None:
    system = build(name, **parameters).compile()
    state = consistent_state(system)
    dynamics = ForwardDynamics(system, state, reactions="basic")
    for method in ("auto", "random"):
        found = determined_reactions(system, state, dynamics=dynamics, method=method)
        assert found.certain
        check_against_dense(system, state, found)


@pytest.mark.parametrize("first", range(0, 320, 20))
def test_random_mechanisms_agree_with_the_dense_null_space(first: int) -> None:
    for seed in range(first, first + 20):
        system = random_mechanism(seed).compile()
        state = system.initial_state
        found = determined_reactions(system, state)
        assert found.certain, seed
        check_against_dense(system, state, found)


def test_loops_of_a_scissor_lift_tell_everything_at_any_size() -> None:
    system = build("scissor", pairs=2000).compile()
    found = determined_reactions(system)
    assert (found.dimension, len(found.redundant_loops)) == (5997, 1999)
    assert found.certain
    assert found.method == LOOPS
    hinges = [j for j, name in enumerate(system.joint_names) if name != "support"]
    in_plane = found.unique[hinges][:, [2, 3, 4]]
    assert in_plane.all()
    assert set(found.freedom.tolist()) == {0, 3}


def test_random_null_vectors_agree_with_loops_on_a_long_lift() -> None:
    system = build("scissor", pairs=300).compile()
    one, other = (determined_reactions(system, method=method) for method in ("loops", "random"))
    np.testing.assert_array_equal(one.unique, other.unique)
    np.testing.assert_array_equal(one.freedom, other.freedom)
    assert other.certain


def test_sheets_share_redundancy_between_loops() -> None:
    """k x k squares have 3 (k - 1)^2 redundant rows in single loops and (k - 2)^2 besides."""
    k = 12
    found = determined_reactions(build("rotating-squares", rows=k, columns=k).compile())
    assert found.certain
    assert found.circulations.dimension.sum() == 3 * (k - 1) ** 2
    assert found.shared_dimension.sum() == (k - 2) ** 2
    assert RANDOM in found.method


def test_loops_alone_do_not_claim_what_they_cannot_know() -> None:
    system = build("rotating-squares").compile()
    assert not determined_reactions(system, method="loops").certain


def test_bodies_of_a_millimetre_beside_bodies_of_100_m() -> None:
    """Each parallelogram is closed by hinges of its own size; all hang on one another."""
    mechanism, base = Mechanism(), WORLD
    for k, size in enumerate((100.0, 1.0, 1e-3)):
        corner = np.array([sum((100.0, 1.0, 1e-3)[:k]), 0.0, 0.0])
        places = corner + size * np.array([[0, 0.5, 0], [0.5, 1, 0], [1, 0.5, 0]])
        for i, place in enumerate(places):
            mass = 10.0 * size**3
            inertia = [mass * size**2] * 3
            mechanism.add_body(f"{k}-{i}", mass=mass, inertia=inertia, position=place)
        ends = [base, f"{k}-0", f"{k}-1", f"{k}-2", base]
        points = corner + size * np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, 0]])
        for i in range(4):
            mechanism.add_joint(f"{k}-{i}", Revolute(), ends[i], ends[i + 1], point=points[i])
        base = f"{k}-2"
    system = mechanism.compile()
    for method in ("auto", "random"):
        found = determined_reactions(system, method=method)
        assert found.certain
        assert found.dimension == 9
        np.testing.assert_array_equal(found.freedom, 3)
        np.testing.assert_array_equal(found.unique[:, :2], False)
        np.testing.assert_array_equal(found.unique[:, 5], False)
        np.testing.assert_array_equal(found.unique[:, 2:5], True)


def test_a_plank_on_three_supports_has_one_open_component_at_each() -> None:
    mechanism = Mechanism()
    mechanism.add_body("plank", mass=1.0, inertia=[1, 1, 1])
    mechanism.add_joint("post", Spherical(), WORLD, "plank", point=[0, 0, 0])
    for i, x in enumerate((1.0, 2.0)):
        mechanism.add_joint(f"support {i}", PointOnPlane(), WORLD, "plank", point=[x, 0, 0])
    found = determined_reactions(mechanism.compile())
    assert found.dimension == 1
    expected = np.ones((3, 6), dtype=bool)
    expected[:, 5] = False
    np.testing.assert_array_equal(found.unique, expected)
    assert [line.split(": ")[1] for line in found.lines()] == [
        "force x, y unique; force z not",
        "force z not",
        "force z not",
    ]


def test_lines_name_the_loop_and_the_remedy() -> None:
    found = determined_reactions(build("scissor", pairs=3).compile())
    lines = list(found.lines({"outer-0-left": ("replace by point-on-line", 3)}))
    assert len(lines) == np.count_nonzero(found.freedom) == 7
    line = next(line for line in lines if line.startswith("joint 'outer-0-left'"))
    assert line.startswith(
        "joint 'outer-0-left': force x, y unique; force z, torque x, y not: "
        "3 redundant constraints in loop 0 ("
    )
    assert line.endswith("; replace by point-on-line to remove them")
    middle = list(found.lines({"middle-1": ("replace by point-on-line", 3)}))[1]
    assert middle.endswith("to remove 3 of them")


def test_the_dictionary_is_plain_json() -> None:
    found = determined_reactions(build("rotating-squares", rows=3, columns=3).compile()).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["dimension"] == 13
    assert found["of_several_loops"] == 1
    assert {"joint", "unique", "indeterminate", "dimension", "loops"} == set(found["joints"][0])


def test_trees_have_all_reactions_determined() -> None:
    found = determined_reactions(build("chain", bodies=5).compile())
    assert found.is_unique
    assert found.certain
    assert str(found) == "all determined"
    assert list(found.lines()) == []


def test_dynamics_that_keep_all_rows_are_decided_anew() -> None:
    system = build("four-bar").compile()
    state = consistent_state(system)
    keeping = ForwardDynamics(system, state, redundancy="keep", factorization="dense")
    assert determined_reactions(system, state, dynamics=keeping).dimension == 3


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="guess"):
        determined_reactions(build("four-bar").compile(), method="guess")


def test_the_null_basis_has_a_one_at_each_left_out_row() -> None:
    system = build("rotating-squares").compile()
    state = consistent_state(system)
    dynamics = ForwardDynamics(system, state, reactions="basic")
    structure = kkt_structure(system)
    matrix = structure.matrix(dynamics.evaluate(state).constraint)
    keep = dynamics.rank_decision.keep
    rows, multiplier = null_vectors(matrix, keep, np.arange(structure.pattern.n_dual), np.eye)
    null = np.zeros((system.n_rows, multiplier.shape[1]))
    null[rows] = multiplier
    expected = oracles.null_multipliers(system, state)
    assert null.shape == expected.shape
    np.testing.assert_allclose(null - expected @ (expected.T @ null), 0.0, atol=1e-12)
    assert np.linalg.matrix_rank(null[~keep]) == np.count_nonzero(~keep)
    np.testing.assert_allclose(constraint_matrix(matrix).T @ null, 0.0, atol=1e-13)


def test_circulations_balance_on_every_body() -> None:
    """Their multipliers are in the null space of A'."""
    system = build("n-four-bar", loops=4).compile()
    state = consistent_state(system)
    T = subspaces(system, state)
    sample = circulations(system, state, T).sample.copy()
    sample[:, :3] *= joint_sizes(system)[:, None, None]
    multiplier = np.einsum("ra,rak->rk", T, sample[system.row_joint])
    null = oracles.null_multipliers(system, state)
    np.testing.assert_allclose(multiplier - null @ (null.T @ multiplier), 0.0, atol=1e-12)
    assert np.linalg.matrix_rank(multiplier) == 6


def test_joints_welded_twice_leave_their_whole_wrench_open() -> None:
    mechanism = Mechanism()
    mechanism.add_body("arm", mass=1.0, inertia=[1, 1, 1])
    mechanism.add_joint("one", Fixed(), WORLD, "arm")
    mechanism.add_joint("other", Fixed(), WORLD, "arm", point=[1, 2, 3], axis=[1, 1, 0])
    found = determined_reactions(mechanism.compile())
    np.testing.assert_array_equal(found.freedom, 6)
    assert not found.unique.any()
