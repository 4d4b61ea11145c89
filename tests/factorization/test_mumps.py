"""MUMPS: parts of ranks, null pivots and errors; what all backends share is tested with them."""

import dataclasses

import mpi_runs
import numpy as np
import pytest
from random_saddles import draw, natural, rigid_matrix

import sparsebody as sb
from sparsebody import errors, ranks
from sparsebody.factorization import analyze, layouts, mumps
from sparsebody.ordering import order
from sparsebody.sparse.saddle import saddle_csc

pytestmark = pytest.mark.mpi


def filled(layout, columns, matrix):
    """The entries of some columns of the unscaled matrix, as a sparse matrix."""
    values = np.empty(layout.n_values)
    layout.fill(matrix, np.ones(matrix.pattern.n_rows), 0.0, values)
    return columns.matrix(values).toarray()


@pytest.mark.parametrize("n_parts", [1, 2, 5, 40])
def test_the_parts_of_ranks_add_up_to_the_lower_triangle(monkeypatch, n_parts):
    matrix = draw(3)
    pattern = matrix.pattern
    blocks = order(pattern, "nested-dissection")
    total, ends = np.zeros((pattern.n_rows, pattern.n_rows)), []
    for rank in range(n_parts):
        world = dataclasses.make_dataclass("World", ["rank", "size"])(rank, n_parts)
        monkeypatch.setattr(ranks, "communicator", lambda world=world: world)
        part = mumps.part_of_order(pattern, blocks)
        total += filled(*layouts.saddle_columns(pattern, blocks, lower=True, part=part), matrix)
        ends.append(part)
    assert [first for first, _ in ends[1:]] == [last for _, last in ends[:-1]]
    rows = pattern.scalar_order(blocks)
    exact = saddle_csc(matrix).toarray()[np.ix_(rows, rows)]
    np.testing.assert_array_equal(np.tril(total), np.tril(exact))


LATTICES = {
    "cube": {"rows": 4, "columns": 4, "layers": 4},
    "cube in general position": {"rows": 4, "columns": 4, "layers": 4, "disorder": 0.1},
    "hinges": {"rows": 4, "columns": 4, "layers": 3, "joint": "revolute"},
    "universal joints": {"rows": 5, "columns": 5, "joint": "universal"},
}


@pytest.mark.parametrize("parameters", LATTICES.values(), ids=LATTICES)
def test_null_pivots_give_the_rank_that_qr_decides_and_the_same_accelerations(parameters):
    system = sb.build("lattice", **parameters).compile()
    state = sb.consistent_state(system)
    spatial = sb.Formulation(reduction="none")
    decided = sb.ForwardDynamics(system, state, factorization="superlu", formulation=spatial)
    kept = sb.ForwardDynamics(
        system, state, factorization="mumps", redundancy="keep", formulation=spatial
    )
    force = np.random.default_rng(0).normal(size=(system.n_bodies, 6))
    exact = decided(state, body_force=force).acceleration
    acceleration = kept(state, body_force=force).acceleration
    assert decided.rank_decision.n_dependent > 0
    assert kept.evaluator._numeric.rank == decided.rank_decision.rank
    assert np.abs(acceleration - exact).max() < 1e-10 * np.abs(exact).max()


def test_a_dependent_row_is_an_error_that_names_its_block_unless_it_is_accepted():
    rng = np.random.default_rng(0)
    wrenches = [rng.normal(size=(2, 6)), rng.normal(size=(1, 6))]
    wrenches.append(2.0 * wrenches[1])
    matrix = rigid_matrix(rng, [(-1, 0), (0, 1), (0, 1)], wrenches)
    symbolic = analyze("mumps", matrix.pattern, natural(matrix.pattern))
    with pytest.raises(errors.SingularSystemError, match=r"of dual block [12] vanishes"):
        symbolic.factorize(matrix)
    symbolic.accept_dependent_rows()
    assert symbolic.factorize(matrix).rank == 3


def test_factors_larger_than_the_memory_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr(mumps, "available_megabytes", lambda: -1.0)
    pattern = draw(1).pattern
    with pytest.raises(errors.MemoryLimitError, match=r"-1 MB are available there: give more"):
        analyze("mumps", pattern, natural(pattern))


def test_errors_of_mumps_become_errors_with_their_meaning_and_a_remedy():
    assert isinstance(mumps.failure(-13, 8), errors.MemoryLimitError)
    assert "cannot be allocated: give more ranks" in str(mumps.failure(-13, 8))
    assert "delayed pivots need more workspace: take an order" in str(mumps.failure(-9, 8))
    assert isinstance(mumps.failure(-10, 8), errors.SingularSystemError)
    assert "error -3 (2), ranks have called" in str(mumps.failure(-3, 2))
    assert "see its users' guide" in str(mumps.failure(-77, 2))


def test_more_room_is_given_once_where_delayed_pivots_lack_it():
    matrix = draw(3)
    symbolic = analyze("mumps", matrix.pattern, natural(matrix.pattern))
    context, room = symbolic.factor._context, []

    def lacks_room(job):
        room.append(context.get_icntl(14))
        raise RuntimeError

    context.run, context.get_infog = lacks_room, lambda index: -9
    with pytest.raises(errors.MemoryLimitError, match="delayed pivots"):
        symbolic.factorize(matrix)
    assert room == [30, mumps.MORE_ROOM]


@pytest.mark.parametrize(("method", "disorder"), [("auto", 0.0), ("radau-iia", 0.1)])
def test_implicit_steps_by_mumps_are_those_by_multifrontal_ldl(method, disorder):
    system = sb.build("lattice", rows=3, columns=3, layers=2, disorder=disorder).compile()
    mumps_, own = (
        sb.simulate(system, duration=0.01, step=0.005, method=method, dynamics=sb.Solver(*name))
        for name in (("auto", "mumps"), ("auto", "multifrontal"))
    )
    assert len(own.time) == 3
    np.testing.assert_allclose(mumps_.velocity, own.velocity, rtol=1e-7, atol=1e-10)


ON_RANKS = """
import sys
import numpy as np
import sparsebody as sb
from sparsebody import ranks
system = sb.build("lattice", rows=4, columns=4, layers=4).compile()
state = sb.consistent_state(system)
force = np.random.default_rng(0).normal(size=(system.n_bodies, 6))
for redundancy in ("remove", "keep"):
    dynamics = sb.ForwardDynamics(system, state, factorization="mumps", redundancy=redundancy)
    acceleration = dynamics(state, body_force=force).acceleration
    assert len(dynamics.explain()["megabytes"]["used"]) == ranks.n_ranks()
    np.save(f"{sys.argv[1]}/{redundancy}-{ranks.rank()}-{ranks.n_ranks()}.npy", acceleration)
"""


def test_ranks_have_the_same_bits_and_the_accelerations_of_one_process(monkeypatch, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(ON_RANKS)
    assert mpi_runs.run(2, mpi_runs.SPARSEBODY[0], script, tmp_path)[0] == 0
    monkeypatch.setattr("sys.argv", ["script", str(tmp_path)])
    exec(ON_RANKS)
    for redundancy in ("remove", "keep"):
        alone = np.load(tmp_path / f"{redundancy}-0-1.npy")
        first, second = (np.load(tmp_path / f"{redundancy}-{rank}-2.npy") for rank in (0, 1))
        np.testing.assert_array_equal(first, second)
        assert np.abs(first - alone).max() < 1e-10 * np.abs(alone).max()


def test_ranks_that_do_not_analyze_the_same_are_told():
    script = (
        "import sparsebody as sb; from sparsebody import ranks; "
        "sb.ForwardDynamics(sb.build('lattice', rows=2 + ranks.rank()).compile(), "
        "factorization='mumps')"
    )
    code, _, text = mpi_runs.run(2, mpi_runs.SPARSEBODY[0], "-c", script)
    assert code != 0
    assert text.count("the ranks analyze different matrices") == 1
