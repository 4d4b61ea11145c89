"""Work and precision: the error at the end of a motion against the CPU time that it took.

`python -m benchmarks.motion [CASE ...] [--output DIR] [--budget SECONDS]` halves the steps of every
scheme and engine, on the same mechanisms from the same states, and writes rows, a table and a
figure. The error is that of the worst body's position, against Radau IIA with tolerances of 1e-12
(1e-9 from 100 bodies on), which another scheme has to confirm. Preparing is not counted.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import click
import matplotlib.pyplot as plt
import numpy as np

import sparsebody as sb
from benchmarks import cases
from benchmarks.record import small
from sparsebody.arrays import FloatArray
from sparsebody.errors import SparsebodyError
from sparsebody.study.families import Problem

RESULTS = Path(__file__).parent / "results" / "motion"
LARGEST = 1e-2  # error that is worth comparing [m]
FEWEST = 6  # steps
FLOOR = 3.0  # errors of the reference, below which errors are not known
Run = Callable[[Problem, float, float], tuple[FloatArray, float]]
"""run(problem, duration, step): positions (n_bodies, 3) at the end, CPU time [s]."""


@dataclass(frozen=True)
class Case:
    """A motion."""

    problem: Callable[[], Problem]
    duration: float  # [s]


def in_gallery(name: str, **parameters: object) -> Callable[[], Problem]:
    """Return what builds a mechanism of the gallery at its initial state, made consistent."""

    def problem() -> Problem:
        system = sb.build(name, **parameters).compile()
        return Problem(name, system, sb.consistent_state(system))

    return problem


CASES = {
    "ladder 50": Case(lambda: cases.problem("ladder", 50), 0.2),
    "ladder 500": Case(lambda: cases.problem("ladder", 500), 0.2),
    "scissor 50": Case(lambda: cases.problem("scissor", 50), 0.5),
    "scissor 500": Case(lambda: cases.problem("scissor", 500), 0.25),
    "disordered lattice 64": Case(lambda: cases.problem("lattice", 64), 0.25),
    "rotating squares 64": Case(in_gallery("rotating-squares", rows=8, columns=8), 0.5),
    "n-four-bar 51": Case(in_gallery("n-four-bar", loops=25), 0.5),
    "compliant sheet 36": Case(in_gallery("compliant-lattice", rows=6, columns=6), 0.05),
}


# ---- engines: each returns positions at the end, and the CPU time --------------------------------


def own(method: str) -> Run:
    """Return runs of one of sparsebody's schemes."""

    def timed(problem: Problem, n: int, step: float) -> tuple[FloatArray, float]:
        begin = time.process_time()
        trajectory = sb.simulate(
            problem.system,
            problem.state,
            duration=n * step,
            step=step,
            record=sb.Recording(step=n * step),
            method=method,
        )
        return trajectory.position[-1], time.process_time() - begin

    def run(problem: Problem, duration: float, step: float) -> tuple[FloatArray, float]:
        n = round(duration / step)
        prepared = min(timed(problem, 1, step)[1] for _ in range(3))  # and one step
        position, cpu = timed(problem, n, step)
        return position, max(cpu - prepared, 1e-4) * n / (n - 1)

    return run


def mujoco(integrator: str) -> Run:
    """Return runs of MuJoCo with loops as stiff as a step allows: solref = (2 h, 1)."""
    import mujoco as engine

    from benchmarks.peers.mujoco import compiled

    def run(problem: Problem, duration: float, step: float) -> tuple[FloatArray, float]:
        model, data = compiled(problem)
        model.opt.integrator = getattr(engine.mjtIntegrator, f"mjINT_{integrator}")
        model.opt.timestep = step
        model.eq_solref[:] = (2.0 * step, 1.0)
        body = [model.body(f"body-{i}").id for i in range(problem.system.n_bodies)]
        begin = time.process_time()
        for _ in range(round(duration / step)):
            engine.mj_step(model, data)
        cpu = time.process_time() - begin
        engine.mj_kinematics(model, data)
        return np.array(data.xpos[body]), cpu

    return run


def exudyn(index: int) -> Run:
    """Return runs of Exudyn's generalized-alpha method, or of its trapezoidal rule of index 2."""
    import exudyn as engine

    from benchmarks.peers.exudyn import _settings, newton_iteration, silence

    def run(problem: Problem, duration: float, step: float) -> tuple[FloatArray, float]:
        prepared = newton_iteration(problem)
        settings, of_time = _settings(round(duration / step)), None
        of_time = settings.timeIntegration
        of_time.endTime = duration
        of_time.newton.useModifiedNewton = True
        of_time.generalizedAlpha.useIndex2Constraints = index == 2
        of_time.generalizedAlpha.useNewmark = index == 2
        with silence():
            solver = engine.MainSolverImplicitSecondOrder()
            begin = time.process_time()
            done = solver.SolveSystem(prepared.mbs, settings)
            cpu = time.process_time() - begin
        if not done:
            raise RuntimeError("Exudyn does not converge")
        kind = engine.OutputVariableType.Position
        points = [
            np.zeros(3) if prepared.planar is None else prepared.planar.local_com(i)
            for i in range(problem.system.n_bodies)
        ]
        position = np.array(
            [
                prepared.mbs.GetObjectOutputBody(body, kind, list(point))
                for body, point in zip(prepared.bodies, points, strict=False)
            ]
        )
        return position if prepared.planar is None else position @ prepared.planar.axes, cpu

    return run


ENGINES: dict[str, tuple[Callable[..., Run], str | int]] = {
    "rk4": (own, "rk4"),
    "variational-4": (own, "variational-4"),
    "radau-iia": (own, "radau-iia"),
    "generalized-alpha": (own, "generalized-alpha"),
    "generalized-alpha-2": (own, "generalized-alpha-2"),
    "MuJoCo implicitfast": (mujoco, "IMPLICITFAST"),
    "MuJoCo RK4": (mujoco, "RK4"),
    "Exudyn index 3": (exudyn, 3),
    "Exudyn index 2": (exudyn, 2),
}
PEERS = ("MuJoCo", "Exudyn")


# ---- measuring -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A run."""

    case: str
    engine: str
    step: float  # [s]
    error: float  # [m] of the worst body's position at the end
    cpu: float  # [s]


def reference(case: Case) -> tuple[FloatArray, float]:
    """Return positions at the end, and by how much another scheme differs from them."""
    problem = case.problem()
    tolerance = 1e-12 if problem.system.n_bodies < 100 else 1e-9
    ends = [
        sb.simulate(
            problem.system,
            problem.state,
            duration=case.duration,
            record=sb.Recording(step=case.duration),
            **options,
        ).position[-1]
        for options in (
            {"method": "radau-iia", "step": "auto", "rtol": tolerance, "atol": tolerance},
            {"method": "rk4", "step": case.duration / 1024},
        )
    ]
    return ends[0], distance(*ends)


def distance(a: FloatArray, b: FloatArray) -> float:
    """Return the largest distance between positions (n, 3)."""
    return float(np.linalg.norm(a - b, axis=1).max())


def rows_of(name: str, case: Case, longest: float, until: float) -> Iterator[Row]:
    """Yield the runs of all engines with smaller and smaller steps, none longer than that [s]."""
    exact, doubt = reference(case)
    print(f"{name}: reference confirmed to {doubt:.1e} m")
    problem = case.problem()
    for engine, (make, option) in ENGINES.items():
        step, cpu, factor = case.duration / FEWEST, 0.0, 2
        try:
            run = make(option)
            while factor * cpu < longest and time.monotonic() + factor * cpu < until:
                position, cpu = run(problem, case.duration, step)
                error = distance(position, exact)
                yield Row(name, engine, step, error, cpu)
                if error < FLOOR * doubt:
                    break
                step /= factor
        except (SparsebodyError, RuntimeError, ImportError, NotImplementedError) as reason:
            print(f"  {engine} at {step:.2g} s: {str(reason).splitlines()[0]}")


def speedups(rows: list[Row]) -> Iterator[str]:
    """Yield lines of a table: CPU times of peers over ours for at most the same error."""
    yield "| mechanism | peer | times faster at its errors | its least error [m] |"
    yield "| --- | --- | --- | --- |"
    for case in dict.fromkeys(row.case for row in rows):
        ours = [r for r in rows if r.case == case and not r.engine.startswith(PEERS)]
        for peer in ENGINES:
            theirs = [r for r in rows if (r.case, r.engine) == (case, peer)]
            if not theirs or not peer.startswith(PEERS):
                continue
            ratios = [
                r.cpu / min((o.cpu for o in ours if o.error <= r.error), default=np.inf)
                for r in theirs
                if r.error < LARGEST
            ]
            times = f"{min(ratios):.2g} to {max(ratios):.2g}" if ratios else "no error below 1 cm"
            yield f"| {case} | {peer} | {times} | {min(r.error for r in theirs):.1e} |"


def draw(rows: list[Row], path: Path) -> None:
    """Draw a diagram for each case."""
    names = list(dict.fromkeys(row.case for row in rows))
    shape = (len(names) + 2) // 3, min(len(names), 3)
    figure = plt.figure(figsize=(4 * shape[1], 0.4 + 3.6 * shape[0]), layout="constrained")
    lines = {}
    for place, name in enumerate(names, 1):
        axes = figure.add_subplot(*shape, place)
        for k, engine in enumerate(ENGINES):
            line = [(r.cpu, r.error) for r in rows if (r.case, r.engine) == (name, engine)]
            style = "o--" if engine.startswith(PEERS) else "s-"
            if line:
                lines[engine] = axes.loglog(*zip(*line, strict=True), style, ms=3, color=f"C{k}")[0]
        axes.set(title=name, xlabel="CPU time [s]", ylabel="error [m]")
    figure.legend(list(lines.values()), list(lines), loc="outside lower center", ncols=5)
    figure.savefig(path, dpi=110)
    small(path)


def report(rows: list[Row], output: Path) -> str:
    """Write rows, the table and the figure; return the table."""
    output.mkdir(parents=True, exist_ok=True)
    with (output / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(Row)])
        writer.writerows((*astuple(r)[:2], *(f"{x:.4g}" for x in astuple(r)[2:])) for r in rows)
    draw(rows, output / "work_precision.png")
    table = "\n".join(speedups(rows))
    (output / "README.md").write_text(
        f"# Work and precision\n\n{__doc__.split(chr(10) * 2)[1]}\n\n{table}\n\n"
        "![diagrams](work_precision.png)\n"
    )
    return table


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1)
@click.option("--output", type=click.Path(path_type=Path), default=RESULTS)
@click.option("--budget", default=500.0, show_default=True, help="Seconds for all cases.")
@click.option("--longest", default=2.0, show_default=True, help="Seconds of a run.")
def main(names: tuple[str, ...], output: Path, budget: float, longest: float) -> None:
    """Measure the cases that are named, or all."""
    chosen, rows, begin = names or tuple(CASES), [], time.monotonic()
    for k, name in enumerate(chosen):
        until = begin + budget * (k + 1) / len(chosen)
        for row in rows_of(name, CASES[name], longest, until):
            print(f"  {row.engine:20} {row.step:9.2g} s {row.error:9.1e} m {row.cpu:8.3f} s")
            rows.append(row)
    print(report(rows, output))


if __name__ == "__main__":
    main()
