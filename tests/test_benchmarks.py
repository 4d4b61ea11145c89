from __future__ import annotations

import os
import time
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import choice, criteria, oracle, ours, report, run
from benchmarks.cases import CASES, Problem, problem
from benchmarks.measure import (
    COLUMNS,
    Row,
    Task,
    blank_row,
    give_up_reference,
    known_reference,
    measure,
)
from benchmarks.oracle import equations, reference, relative_violation, saddle_matrix
from benchmarks.peers import PEERS
from benchmarks.peers.tree import UnsupportedError, spanning_tree
from benchmarks.results import key_of, put_row, read_rows
from benchmarks.spanning_tree import comparisons, ladder_comparison
from benchmarks.worker import REFERENCE, row_of, run_case
from sparsebody.assembly.constraint import constraint_rows
from sparsebody.kinematics.joint_motion import coordinate_motion, joint_motion
from sparsebody.model.gallery import build

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


@pytest.mark.parametrize("disorder", [0.0, 0.2])
def test_large_lattices_have_the_same_reference_by_another_factorization(monkeypatch, disorder):
    """Without disorder rows depend on each other, and the first one has to give up."""
    system = build("lattice", rows=9, columns=9, layers=1, disorder=disorder).compile()
    given = Problem("lattice", system, system.initial_state)
    by_pivoting = reference(given)
    monkeypatch.setattr(oracle, "LARGE_LATTICE", 0)
    found = reference(given)
    np.testing.assert_allclose(found.acceleration, by_pivoting.acceleration, rtol=1e-14, atol=1e-14)
    assert found.error < 1e-15
    assert found.kappa == pytest.approx(by_pivoting.kappa, rel=1.0)


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


# ---- results -----------------------------------------------------------------------------------


def test_a_newer_row_replaces_the_one_of_the_same_case(tmp_path):
    target = tmp_path / "results" / "rows.csv"
    row = Row("ladder", 8, "sparsebody", False, 0, cpu_us=3.0, run="1", scope="full")
    put_row(target, row)
    put_row(target, replace(row, method="exudyn", status="timeout"))
    put_row(target, replace(row, cpu_us=2.0, run="2"))
    put_row(target, replace(row, cpu_us=1.0, run="3", scope="quick"))
    found = {key_of(line): line for line in read_rows(target)}
    assert len(found) == 3
    line = found["full", "ladder", "8", "sparsebody", "False", "0"]
    assert list(line) == COLUMNS
    assert (line["cpu_us"], line["wall_us"], line["run"]) == ("2", "", "2")


def test_a_case_that_takes_too_long_is_a_row_and_larger_ones_are_skipped(tmp_path, monkeypatch):
    asked = []

    def slow(task, cache, seconds, gigabytes):
        asked.append((task.n_bodies, task.method))
        return blank_row(task, status="timeout", message="slow")

    monkeypatch.setattr(run, "run_case", slow)
    todo = [Task("chain", size, "sparsebody") for size in (8, 32)]
    found = list(run.rows(todo, tmp_path, 1.0, 1.0, time.monotonic() + 60.0))
    assert [row.status for row in found] == ["timeout", "skipped"]
    assert asked == [(8, REFERENCE), (8, "sparsebody")]
    assert list(run.rows(todo, tmp_path, 1.0, 1.0, time.monotonic() - 1.0)) == []


def test_without_a_reference_all_but_the_error_is_measured(tmp_path):
    task = Task("chain", SIZE, "sparsebody", relabelled=True)
    give_up_reference(task, tmp_path, "out-of-memory")
    row = measure(task, tmp_path)
    assert np.isnan(row.acceleration_error)
    assert row.message == "no reference: out-of-memory"
    assert row.constraint_residual < 1e-12


def test_a_reference_that_did_not_converge_is_none(tmp_path, monkeypatch):
    task = Task("chain", SIZE, "sparsebody")
    found = replace(reference(problem("chain", SIZE)), error=0.4)
    monkeypatch.setattr("benchmarks.measure.reference", lambda given: found)
    assert known_reference(task, tmp_path) == "no reference: its last correction was 4e-01"
    assert known_reference(task, tmp_path) == "no reference: its last correction was 4e-01"


def test_the_command_writes_rows_resumes_and_the_report_needs_the_file_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "run_case", lambda task, cache, *limits: row_of(task, cache))
    target = tmp_path / "rows.csv"
    options = ["--output", str(target), "--cache", str(tmp_path), "-m", "chain", "-n", "8"]
    options += ["--method", "sparsebody"]
    runner = CliRunner()
    first = runner.invoke(run.main, options, catch_exceptions=False)
    assert "chain 8 sparsebody: " in first.output
    again = runner.invoke(run.main, [*options, "--resume"], catch_exceptions=False)
    assert "nothing to do" in again.output
    (line,) = read_rows(target)
    assert line["status"] == "ok"
    same = {"run": line["run"], "scope": "part"}
    cpu = 8 * float(line["cpu_us"])
    put_row(target, Row("chain", 80, "sparsebody", False, 0, cpu_us=cpu, **same))
    failed = {"status": "timeout", "message": "too slow"}
    put_row(target, Row("chain", 800, "exudyn", False, 0, **failed, **same))
    put_row(target, Row("chain", 8, "drake", False, 0, cpu_us=1.0, run="2020", scope="full"))
    arguments = ["--results", str(target), "--output", str(tmp_path / "out"), "--low", "8"]
    told = runner.invoke(report.main, arguments, catch_exceptions=False)
    assert "| D: time over Pinocchio's ABA, N >= 128 | - | <= 1.5 | not measured |" in told.output
    assert (tmp_path / "out" / "forward_dynamics_time.png").exists()
    text = (tmp_path / "out" / "forward_dynamics.md").read_text()
    assert "| chain | sparsebody | 8 to 80 | 0.90 (less than two decades) |" in text
    assert "too slow" in text
    assert "drake" not in text  # a row of another run


def test_a_quick_run_has_every_mechanism_and_each_case_once():
    todo = run.quick_tasks()
    assert {task.mechanism for task in todo} == set(CASES)
    assert len({key_of(asdict(blank_row(task))) for task in todo}) == len(todo)
    assert any(task.relabelled for task in todo)


# ---- promises ----------------------------------------------------------------------------------


def findings(*rows: Row) -> dict[str, criteria.Finding]:
    text = [{name: str(value) for name, value in asdict(row).items()} for row in rows]
    return {one.promise: one for one in criteria.findings(text)}


def test_promises_are_judged_at_every_size_by_the_fastest_peer():
    ours_at = [Row("ladder", n, "sparsebody", False, 0, cpu_us=float(n)) for n in (32, 128, 512)]
    peers = [
        Row("ladder", n, "pinocchio-lcaba", False, 0, cpu_us=times * n, acceleration_error=1e-5)
        for n, times in ((32, 3.0), (128, 1.5))
    ]
    slower = replace(peers[0], method="pinocchio-constraint-dynamics", cpu_us=1e3)
    promise = "A: times faster than Pinocchio's fastest, N = 32 to 512"
    found = findings(*ours_at, *peers, slower)[promise]
    assert found.measured == "32: 3 (pinocchio-lcaba); 128: 1.5 (pinocchio-lcaba)"
    assert found.verdict == "NOT MET at 128"
    assert findings(*ours_at, peers[0])[promise].verdict == "met, but not measured at 128, 512"
    assert findings(*ours_at)[promise].verdict == "not measured"


def test_promises_take_lattices_of_about_the_size_and_the_errors_of_a_direct_solver():
    row = Row("lattice", 529, "sparsebody", False, 0, cpu_us=10.0)
    rows = [row, replace(row, method="linear-cholmod", cpu_us=8.0)]
    found = findings(*rows)["C50: time over CHOLMOD's factor + solve, N = 512 to 8192"]
    assert found.measured == "529: 1.25"
    assert found.verdict == "met, but not measured at 2048, 8192"
    row = Row("scissor", 2048, "sparsebody", False, 0, cpu_us=1.0, acceleration_error=1e-7)
    exact = replace(row, method="linear-superlu", acceleration_error=1e-12)
    promise = "B: acceleration error"
    assert findings(row)[promise].verdict == "not measured"
    assert findings(row, exact)[promise].verdict == "NOT MET at 2048"
    near = replace(exact, acceleration_error=2e-8)
    assert findings(row, near)[promise].verdict == "met"


def test_a_failure_of_ours_breaks_a_promise():
    row = Row("scissor", 512, "sparsebody", False, 0, cpu_us=1.0, cpu_us_per_body=0.1)
    lost = replace(row, n_bodies=2048, status="failed", cpu_us_per_body=np.nan)
    found = findings(row, lost)["B: us per body, N >= 128"]
    assert found.measured == "512: 0.1; 2048: inf (failed)"
    assert found.verdict == "NOT MET at 2048"


def test_promises_without_a_peer_or_a_reference_are_told_as_not_measured():
    row = Row("ladder", 2048, "sparsebody", False, 0, cpu_us=1e3)
    lost = replace(row, method="pinocchio-lean-lcaba", status="out-of-memory", cpu_us=np.nan)
    found = findings(row, lost)
    promise = "A: times faster than Pinocchio's fastest, N >= 2048"
    assert found[promise].verdict == "not measured"
    assert found["A: acceleration error"].verdict == "not measured"


# ---- the choice of ordering and factorization --------------------------------------------------


def invented_pairs(constants: np.ndarray) -> list[choice.Pair]:
    """Measurements that obey a model exactly, predicted twice as long."""
    work = np.random.default_rng(0).uniform(1.0, 1e4, (12, 3))
    time = 1e6 * (constants[0] + work @ constants[1:])
    return [
        choice.Pair(
            "ladder", 8, f"{i}", "block-ldl", i == 0, *work[i], 2 * time[i], time[i], ratio=2.0
        )
        for i in range(len(work))
    ]


def test_constants_are_fitted_to_measured_times():
    constants = np.array([2e-6, 3e-8, 5e-10, 6e-11])
    found = invented_pairs(constants)
    np.testing.assert_allclose(choice.fitted(found), constants, rtol=1e-6)
    assert choice.off_by(found) == (2.0, 2.0)
    np.testing.assert_allclose(choice.off_by(found, choice.fitted(found)), 1.0, rtol=1e-9)
    assert choice.fitted(found[:3]) is None
    assert any("refit" in line for line in choice.accuracy_table(found))


def test_regret_is_the_time_over_that_of_the_best_pair():
    found = choice.with_regret(invented_pairs(np.array([1e-6, 1e-8, 0.0, 0.0])))
    assert min(one.regret for one in found) == 1.0
    (line,) = choice.regret_table(found)
    assert f"regret {found[0].regret:.2f} (best of 12: " in line


def test_the_choice_is_measured_beside_other_pairs(tmp_path, monkeypatch):
    monkeypatch.setattr(choice, "BUDGET", 1e-4)
    target = tmp_path / "choice.csv"
    arguments = ["-m", "lattice", "-n", "9", "--output", str(target)]
    told = CliRunner().invoke(choice.main, arguments, catch_exceptions=False)
    assert "worst regret" in told.output
    rows = read_rows(target)
    assert [row["is_chosen"] for row in rows].count("True") == 1
    assert {"block-ldl", "superlu"} <= {row["factorization"] for row in rows}
    assert all(float(row["measured_us"]) > 0.0 for row in rows)


# ---- processes ---------------------------------------------------------------------------------


def dies(task: Task, cache: Path) -> Row:
    os.write(2, b"Aborted\n")
    os._exit(3)


def sleeps(task: Task, cache: Path) -> Row:
    time.sleep(60.0)
    return blank_row(task)


def test_a_process_that_dies_or_takes_too_long_is_a_row(tmp_path, monkeypatch):
    task = Task("chain", 8, "sparsebody")
    monkeypatch.setattr("benchmarks.worker.measure", dies)
    row = run_case(task, tmp_path, 60.0, 8.0)
    assert (row.status, row.message) == ("crashed", "the process died: Aborted")
    monkeypatch.setattr("benchmarks.worker.measure", sleeps)
    assert run_case(task, tmp_path, 0.2, 8.0).status == "timeout"


def test_a_row_comes_back_from_its_process(tmp_path):
    row = run_case(Task("chain", 8, "abacus"), tmp_path, 120.0, 16.0)
    assert row.status == "failed"
    assert "no method 'abacus'" in row.message


def test_algorithms_in_joint_coordinates_give_what_pinocchio_gives():
    for row in [*comparisons(12, budget=1e-3), ladder_comparison(12, budget=1e-3)]:
        assert row.error < 1e-10
        assert row.ratio > 0.0
