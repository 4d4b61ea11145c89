"""Work and precision: the error at the end of a motion against the CPU time that it took.

`python -m benchmarks.motion [CASE ...] [--output DIR] [--budget SECONDS]` takes 1, 2, 3, 4, 6, 8,
12, 16, 32, ... steps by every scheme and engine, on the same mechanisms from the same states, and
writes rows, a table and a figure. The error is that of the worst body's position, against Radau IIA
with tolerances of 1e-12, from 100 bodies on against rk4 with tolerances of 1e-10; another scheme
has to confirm either. Where steps follow errors, tolerances are those of as many steps to the power
of the order. Preparing is not counted.
"""

import csv
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

import click
import numpy as np
from matplotlib.figure import Figure

import sparsebody as sb
from benchmarks import cases
from benchmarks.record import small
from benchmarks.steps import seconds_of_steps, started
from sparsebody.arrays import FloatArray
from sparsebody.errors import AccuracyWarning
from sparsebody.plots.curves import Line, draw_growth
from sparsebody.simulation.integrators import INTEGRATORS
from sparsebody.study.families import Problem
from sparsebody.study.measure import cpu_seconds
from sparsebody.study.pages import Heading, Paragraph, Picture, Table, write_markdown

RESULTS = Path(__file__).parent / "results" / "motion"
LARGEST = 1e-2  # error that is worth comparing [m]
FEW_STEPS = (1, 2, 3, 4, 6, 8, 12, 16)  # of runs; of others twice as many as of the one before
OVERRUN = 10.0  # times what a run may take, after which it is given up
SHORT, REPEATS = 0.05, 9  # [s] of a run, of which the fastest of so many counts
FLOOR = 3.0  # errors of the reference, below which errors are not known
Run = tuple[FloatArray, float]
Results = dict[str, dict[str, FloatArray]]
"""Runs (k, 3) by case and engine: step [s], error of the worst position [m], CPU time [s]."""


def in_gallery(name: str, **parameters: object) -> Problem:
    """Return a mechanism of the gallery at its initial state, made consistent."""
    system = sb.build(name, **parameters).compile()
    return Problem(name, system, sb.consistent_state(system))


def bent_sheet() -> Problem:
    """Return a regular sheet of 64 balls that has fallen from flat, where rows are dependent."""
    sheet = in_gallery("lattice", rows=8, columns=8)
    options = {"duration": 0.5, "step": 2e-3, "record": sb.Recording(step=0.5)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)  # the branch does not matter
        run = sb.simulate(sheet.system, sheet.state, **options)
    start = run.state(len(run) - 1).with_(time=0.0)
    return Problem("lattice", sheet.system, sb.consistent_state(sheet.system, start))


CASES = {  # mechanisms, and how long they move [s]
    "ladder 50": (partial(cases.problem, "ladder", 50), 0.2),
    "ladder 500": (partial(cases.problem, "ladder", 500), 0.2),
    "scissor 50": (partial(cases.problem, "scissor", 50), 0.5),
    "scissor 500": (partial(cases.problem, "scissor", 500), 0.25),
    "regular lattice 64": (bent_sheet, 0.25),
    "disordered lattice 64": (partial(cases.problem, "lattice", 64), 0.25),
    "rotating squares 64": (partial(in_gallery, "rotating-squares", rows=8, columns=8), 0.5),
    "n-four-bar 51": (partial(in_gallery, "n-four-bar", loops=25), 0.5),
    "compliant sheet 36": (partial(in_gallery, "compliant-lattice", rows=6, columns=6), 0.05),
}


# ---- engines: each returns positions (n_bodies, 3) at the end, and the CPU time [s] --------------


def own(problem: Problem, duration: float, step: float, method: str) -> Run:
    """Move by one of sparsebody's schemes."""
    stepper = started(problem.system, problem.state, step, method)
    ends = problem.state.time + step * np.arange(1, round(duration / step) + 1)
    cpu = seconds_of_steps(stepper, ends)
    return stepper.state.position, cpu


def own_by_errors(problem: Problem, duration: float, step: float, method: str) -> Run:
    """Move by one of sparsebody's schemes with steps by error, of that order."""
    tolerance = (step / duration) ** INTEGRATORS[method].order
    stepper = started(problem.system, problem.state, "auto", method, tolerance)
    ends = list[sb.State]()
    end = problem.state.time + duration
    cpu = cpu_seconds(lambda: ends.append(stepper.advance(end)), 1)
    return ends[0].position, cpu


def mujoco(problem: Problem, duration: float, step: float, integrator: str) -> Run:
    """Move by MuJoCo with loops as stiff as a step allows: solref = (2 h, 1)."""
    import mujoco as engine

    from benchmarks.peers.mujoco import compiled

    model, data = compiled(problem)
    model.opt.integrator = getattr(engine.mjtIntegrator, f"mjINT_{integrator}")
    model.opt.timestep = step
    model.eq_solref[:] = (2.0 * step, 1.0)
    cpu = cpu_seconds(partial(engine.mj_step, model, data, round(duration / step)), 1)
    engine.mj_kinematics(model, data)
    body = [model.body(f"body-{i}").id for i in range(problem.system.n_bodies)]
    return np.array(data.xpos[body]), cpu


def exudyn(problem: Problem, duration: float, step: float, index: int) -> Run:
    """Move by Exudyn's generalized-alpha method, or by its trapezoidal rule of index 2."""
    import exudyn as engine

    from benchmarks.peers.exudyn import modelled, settings_of

    model, settings = modelled(problem), settings_of(round(duration / step))
    of_time = settings.timeIntegration
    of_time.endTime = duration
    of_time.newton.useModifiedNewton = True
    of_time.generalizedAlpha.useIndex2Constraints = index == 2
    of_time.generalizedAlpha.useNewmark = index == 2
    solver, done = engine.MainSolverImplicitSecondOrder(), list[bool]()
    cpu = cpu_seconds(lambda: done.append(solver.SolveSystem(model.mbs, settings)), 1)
    if not done[0]:
        raise RuntimeError("Exudyn does not converge")
    return model.output(engine.OutputVariableType.Position), cpu


SCHEMES = ("rk4", "variational-4", "radau-iia", "generalized-alpha", "generalized-alpha-2")
BY_ERRORS = "rk4, steps by error"
OWN = *SCHEMES, BY_ERRORS
ENGINES = {
    **{name: partial(own, method=name) for name in SCHEMES},
    BY_ERRORS: partial(own_by_errors, method="rk4"),
    "MuJoCo implicitfast": partial(mujoco, integrator="IMPLICITFAST"),
    "MuJoCo RK4": partial(mujoco, integrator="RK4"),
    "Exudyn index 3": partial(exudyn, index=3),
    "Exudyn index 2": partial(exudyn, index=2),
}


# ---- measuring -----------------------------------------------------------------------------------


def reference(problem: Problem, duration: float) -> Run:
    """Return positions at the end, and by how much another scheme differs from them."""
    small = ("radau-iia", 1e-12), ("rk4", 1024)
    large = ("rk4", 1e-10), ("variational-4", 4096)
    (method, tolerance), (other, n) = small if problem.system.n_bodies < 100 else large
    tight = {"method": method, "step": "auto", "rtol": tolerance, "atol": tolerance}
    position = end_of(problem, duration, **tight)
    return position, distance(position, end_of(problem, duration, method=other, step=duration / n))


def end_of(problem: Problem, duration: float, **options: Any) -> FloatArray:
    """Return positions (n_bodies, 3) at the end of a simulation."""
    options |= {"duration": duration, "record": sb.Recording(step=duration)}
    return sb.simulate(problem.system, problem.state, **options).position[-1]


def distance(a: FloatArray, b: FloatArray) -> float:
    """Return the largest distance between positions (n, 3)."""
    return float(np.linalg.norm(a - b, axis=1).max())


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after that time [s], as soon as Python runs."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError(f"takes longer than {seconds:.0f} s")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def measured(name: str, longest: float, until: float) -> dict[str, FloatArray]:
    """Return runs (k, 3) of all engines: step [s], error [m], CPU time [s].

    Steps are shortened as long as a run takes no longer than that [s], `until` a monotonic time.
    """
    make_problem, duration = CASES[name]
    try:
        with at_most(until - time.monotonic()):
            problem = make_problem()
            exact, doubt = reference(problem, duration)
    except TimeoutError as reason:
        print(f"{name}: the reference {reason}")
        return {}
    print(f"{name}: reference confirmed to {doubt:.1e} m")
    measurements: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ENGINES}
    for engine, run in ENGINES.items():
        cpu = 0.0
        try:
            for n_steps in chain(FEW_STEPS, (2**k * FEW_STEPS[-1] for k in count(1))):
                step = duration / n_steps
                if 2.0 * cpu > longest or time.monotonic() + 2.0 * cpu > until:
                    break
                with at_most(min(OVERRUN * longest, until - time.monotonic())):
                    position, cpu = run(problem, duration, step)
                    if cpu < SHORT:
                        cpu = min(
                            cpu, *(run(problem, duration, step)[1] for _ in range(1, REPEATS))
                        )
                error = distance(position, exact)
                measurements[engine].append((step, error, cpu))
                print(f"  {engine:20} {step:9.2g} s {error:9.1e} m {cpu:8.3f} s", flush=True)
                if error < FLOOR * doubt:
                    break
        except (sb.SparsebodyError, RuntimeError, SystemError, ImportError, TimeoutError) as reason:
            print(f"  {engine} at {step:.2g} s: {str(reason).splitlines()[0]}")
    return {engine: np.array(runs) for engine, runs in measurements.items() if runs}


def speedups(results: Results) -> Iterator[tuple[str, ...]]:
    """Yield lines of a table: CPU times of peers over ours for at most the same error."""
    for case, engines in results.items():
        ours = [np.zeros((0, 3)), *(engines[name] for name in engines if name in OWN)]
        _, error, cpu = np.concatenate(ours).T
        for peer in (name for name in engines if name not in OWN):
            theirs = engines[peer]
            ratios = [
                its_cpu / cpu[error <= its_error].min(initial=np.inf)
                for _, its_error, its_cpu in theirs
                if its_error < LARGEST
            ]
            times = f"{min(ratios):.2g} to {max(ratios):.2g}" if ratios else "no error below 1 cm"
            yield case, peer, times, f"{theirs[:, 1].min():.1e}"


def draw(results: Results, path: Path) -> None:
    """Draw a diagram for each case."""
    shape, none = ((len(results) + 2) // 3, min(len(results), 3)), np.zeros(0)
    figure = Figure(figsize=(4 * shape[1], 0.4 + 3.6 * shape[0]), layout="constrained")
    for points, (name, engines) in enumerate(results.items(), 1):
        axes = figure.add_subplot(*shape, points)
        runs = {engine: engines.get(engine, np.zeros((0, 3))).T for engine in ENGINES}
        draw_growth(axes, [Line(e, *runs[e][:0:-1], none, none, e in OWN) for e in ENGINES])
        axes.set(title=name, xlabel="CPU time [s]", ylabel="error [m]")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    figure.savefig(path, dpi=110)
    small(path)


def report(results: Results, output: Path) -> Path:
    """Write rows, the table and the figure; return the page."""
    output.mkdir(parents=True, exist_ok=True)
    named = [((c, e), runs) for c, engines in results.items() for e, runs in engines.items()]
    rows = [(*names, *(f"{number:.4g}" for number in run)) for names, runs in named for run in runs]
    table = [("case", "engine", "step", "error", "cpu"), *rows]
    with (output / "rows.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(table)
    draw(results, picture := output / "work_precision.png")
    header = ("mechanism", "peer", "times faster at its errors", "its least error [m]")
    method = Paragraph(__doc__.split("\n\n")[1])
    parts = [Heading("Work and precision", 1), method, Table(header, list(speedups(results)))]
    return write_markdown([*parts, Picture(picture, "diagrams")], output / "README.md")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1)
@click.option("--output", type=click.Path(path_type=Path), default=RESULTS)
@click.option("--budget", default=500.0, show_default=True, help="Seconds for all cases.")
@click.option("--longest", default=2.0, show_default=True, help="Seconds of a run.")
def main(names: tuple[str, ...], output: Path, budget: float, longest: float) -> None:
    """Measure the cases that are named, or all."""
    chosen, begin = names or tuple(CASES), time.monotonic()
    shares = {name: begin + budget * k / len(chosen) for k, name in enumerate(chosen, 1)}
    results = {name: measured(name, longest, until) for name, until in shares.items()}
    print(report(results, output).read_text())


if __name__ == "__main__":
    main()
