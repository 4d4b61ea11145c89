from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import ours, report, run
from benchmarks.cases import CASES, problem
from benchmarks.measure import COLUMNS, Row, Task, measure
from benchmarks.oracle import equations, reference, relative_violation, saddle_matrix
from benchmarks.peers import PEERS
from benchmarks.peers.tree import UnsupportedError, spanning_tree
from benchmarks.results import key_of, put_row, read_rows
from benchmarks.worker import guarded
from sparsebody.assembly.constraint import constraint_rows
from sparsebody.kinematics.coordinates import coordinate_motion
from sparsebody.kinematics.motion import joint_motion

SIZE = 8
LEAN = Path("out/pinocchio-lean")
CASE_OF_METHOD = [
    pytest.param(mechanism, method, id=f"{mechanism}-{method}")
    for mechanism in CASES
    for method in PEERS
    # compiling Pinocchio takes minutes: tested where the program is there already
    if run.fits(method, mechanism) and ("lean" not in method or any(LEAN.glob("lean-*")))
]


@pytest.fixture(autouse=True)
def _short(monkeypatch, tmp_path_factory):
    """Time little: these tests are about numbers, not about speed."""
    monkeypatch.setattr("benchmarks.measure.BATCH_SECONDS", 1e-4)
    monkeypatch.setattr("benchmarks.measure.REPEATS", 2)


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("references")


# ---- mechanisms --------------------------------------------------------------------------------


@pytest.mark.parametrize("relabelled", [False, True])
@pytest.mark.parametrize("mechanism", CASES)
def test_velocities_are_consistent_and_not_zero(mechanism, relabelled):
    given = problem(mechanism, 30, seed=3, relabelled=relabelled)
    motion = joint_motion(given.system, given.state)
    coordinates = coordinate_motion(given.system, given.state, motion)
    rows = constraint_rows(given.system, given.state, motion, coordinates)
    np.testing.assert_allclose(rows.velocity, 0.0, atol=1e-13)
    assert np.abs(rows.acceleration).max() > 1e-3
    assert given.system.n_bodies == CASES[mechanism].size(30)


@pytest.mark.parametrize("mechanism", CASES)
def test_shuffling_renumbers_bodies_and_joints_and_nothing_else(mechanism):
    first, second = (problem(mechanism, 30, relabelled=shuffled) for shuffled in (False, True))
    assert first.system.body_names != second.system.body_names
    assert first.system.joint_names != second.system.joint_names
    place = [second.system.body(name) for name in first.system.body_names]
    for field in ("position", "orientation", "velocity"):
        found = getattr(second.state, field)[place]
        np.testing.assert_allclose(found, getattr(first.state, field), atol=1e-15)


# ---- the oracle --------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", CASES)
def test_reference_equals_gauss_principle_by_dense_least_squares(mechanism):
    given = problem(mechanism, 16, seed=1)
    equation = equations(given)
    K, n = saddle_matrix(equation).toarray(), len(equation.force)
    root = np.linalg.inv(np.linalg.cholesky(K[:n, :n])).T
    free = np.linalg.solve(K[:n, :n], equation.force.astype(float))
    gap = (equation.rate - K[n:, :n] @ free).astype(float)
    world = free + root @ np.linalg.lstsq(K[n:, :n] @ root, gap, rcond=1e-10)[0]
    from benchmarks.oracle import to_spatial

    expected = to_spatial(given, world.reshape(-1, 6))
    found = reference(given)
    np.testing.assert_allclose(found.acceleration, expected, atol=1e-11)
    assert found.error < 1e-17
    assert 1.0 < found.kappa < 1e6


def test_relative_violation_sees_a_wrong_acceleration():
    given = problem("ladder", SIZE)
    exact = reference(given).acceleration
    assert relative_violation(given, exact) < 1e-14
    assert relative_violation(given, exact + 0.1 * np.eye(6)[4]) > 1e-4


def test_condition_is_that_of_the_independent_rows_where_a_lattice_has_dependent_ones():
    assert reference(problem("lattice", 121)).kappa < 1e8


# ---- methods -----------------------------------------------------------------------------------


def check_row(row: Row, tolerance: float) -> None:
    assert row.status == "ok"
    assert row.acceleration_error < tolerance
    assert row.cpu_us > 0.0
    assert row.wall_us > 0.0
    assert row.analyze_ms > 0.0
    assert row.peer_version
    assert row.machine
    assert row.python


@pytest.mark.parametrize("mechanism", CASES)
@pytest.mark.parametrize("method", ours.methods())
def test_sparsebody_with_every_factorization_gives_the_reference(mechanism, method, cache):
    if not ours.is_available(method):
        pytest.skip(f"{method} is not installed")
    row = measure(Task(mechanism, SIZE, method), cache)
    check_row(row, 1e-12)
    phases = (row.kinematics_us, row.factorize_us, row.solve_us)
    assert all(phase >= 0.0 for phase in phases)
    assert row.constraint_residual < 1e-12


@pytest.mark.parametrize(("mechanism", "method"), CASE_OF_METHOD)
def test_peers_get_the_same_mechanism_at_the_same_state(mechanism, method, cache):
    row = measure(Task(mechanism, SIZE, method, relabelled=True), cache)
    check_row(row, PEERS[method].tolerance)


@pytest.mark.parametrize("kind", ["breadth-first", "depth-first"])
def test_trees_list_every_subtree_in_one_piece(kind):
    tree = spanning_tree(problem("lattice", 36, relabelled=True), kind)
    path: list[int] = [-1]
    for joint in tree.joints:
        while path[-1] != joint.parent:
            path.pop()  # fails where a subtree is left and entered again
        path.append(joint.body)
    assert len(tree.joints) + len(tree.loops) == 36 + 48 - 36


@pytest.mark.skipif(find_spec("pinocchio") is None, reason="needs Pinocchio")
def test_aba_refuses_loops():
    with pytest.raises(UnsupportedError, match="trees only"):
        PEERS["pinocchio-aba"].prepare(problem("ladder", SIZE))


def test_unknown_methods_and_engines_that_fail_become_rows(cache):
    row = guarded(Task("ladder", SIZE, "abacus"), cache)
    assert row.status == "failed"
    assert "no method 'abacus'" in row.message


# ---- results -----------------------------------------------------------------------------------


def test_a_newer_row_replaces_the_one_of_the_same_case(tmp_path):
    target = tmp_path / "results" / "rows.csv"
    row = Row("ladder", 8, "sparsebody", False, 0, cpu_us=3.0, run="1")
    put_row(target, row)
    put_row(target, Row("ladder", 8, "exudyn", False, 0, status="timeout", run="1"))
    put_row(target, replace(row, cpu_us=2.0, run="2"))
    found = {key_of(line): line for line in read_rows(target)}
    assert len(found) == 2
    line = found["ladder", "8", "sparsebody", "False", "0"]
    assert list(line) == COLUMNS
    assert (line["cpu_us"], line["wall_us"], line["run"]) == ("2", "", "2")


def test_a_case_that_takes_too_long_is_a_row_and_larger_ones_are_skipped(tmp_path, monkeypatch):
    asked = []

    def slow(task, cache, seconds, gigabytes):
        asked.append(task.n_bodies)
        return Row(task.mechanism, task.n_bodies, task.method, False, 0, status="timeout")

    monkeypatch.setattr(run, "run_case", slow)
    todo = [Task("chain", size, "sparsebody") for size in (8, 32)]
    found = list(run.rows(todo, tmp_path, 1.0, 1.0, 60.0))
    assert [row.status for row in found] == ["timeout", "skipped"]
    assert set(asked) == {8}


def test_the_command_writes_rows_resumes_and_the_report_needs_the_file_alone(tmp_path):
    target = tmp_path / "rows.csv"
    options = ["--output", str(target), "--cache", str(tmp_path), "-m", "chain", "-n", "8"]
    options += ["--method", "sparsebody", "--memory", "16"]
    runner = CliRunner()
    first = runner.invoke(run.main, options, catch_exceptions=False)
    assert "[1/1] chain 8 sparsebody" in first.output
    again = runner.invoke(run.main, [*options, "--resume"], catch_exceptions=False)
    assert "[1/1]" not in again.output
    (line,) = read_rows(target)
    assert line["status"] == "ok"
    put_row(target, Row("chain", 80, "sparsebody", False, 0, cpu_us=8 * float(line["cpu_us"])))
    put_row(target, Row("chain", 800, "exudyn", False, 0, status="timeout", message="too slow"))
    arguments = ["--results", str(target), "--output", str(tmp_path / "out"), "--low", "8"]
    told = runner.invoke(report.main, arguments, catch_exceptions=False)
    assert "| chain | sparsebody | 8 to 80 | 0.90 (less than two decades) |" in told.output
    assert (tmp_path / "out" / "forward_dynamics_time.png").exists()
    assert "too slow" in (tmp_path / "out" / "forward_dynamics.md").read_text()


def test_a_process_that_dies_is_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr(run.sys, "executable", "/bin/false")
    row = run.run_case(Task("chain", 8, "sparsebody"), tmp_path, 10.0, 1.0)
    assert row.status == "crashed"
    assert "exit code 1" in row.message
    assert json.dumps(row.message)
