"""Steps of time against what they evaluate, on the CPU.

`python -m benchmarks.steps [CASE ...]` moves mechanisms in steps of 2 ms by "auto" and writes the
CPU time of a step, and of its parts, the least of several; what its record, a control of zeros, or
an event that never happens adds to it, the medians [us]; how many parts it has; and its time over
that of these alone, the median. Parts of explicit steps are evaluations, the compiled pass of
`ForwardDynamics`, and factorizations beyond one for each; those of implicit ones iterations, that
is residuals and a solution, and factorizations.
"""

import warnings
from collections.abc import Callable
from functools import partial

import click
import numpy as np

import sparsebody as sb
from sparsebody.arrays import FloatArray
from sparsebody.errors import AccuracyWarning, EnergyWarning
from sparsebody.simulation.implicit.implicit_stepper import ImplicitStepper
from sparsebody.simulation.options import EVERY_STEP, Solver, simulation_options
from sparsebody.simulation.outer_steppers import AdaptiveStepper, Inner
from sparsebody.simulation.simulate import stepper_of
from sparsebody.simulation.stepper import Stepper
from sparsebody.simulation.stepping import Problem
from sparsebody.study.measure import cpu_seconds

STEP, N_STEPS, REPEATS = 2e-3, 1000, 11
N_SHORT, SHORT_REPEATS = 200, 41  # of runs between which the machine's speed varies little
LEAST = 0.005  # [s] of a measurement
LINE = "{:15}" + "{:>10}" * 10
CASES: dict[str, Callable[[], sb.Mechanism]] = {
    "ladder 10": partial(sb.build, "ladder", rungs=10),
    "ladder 100": partial(sb.build, "ladder", rungs=100),
    "scissor 10": partial(sb.build, "scissor", pairs=10),
    "lattice 8x8": partial(sb.build, "lattice", rows=8, columns=8),
    "lattice 16x16": partial(sb.build, "lattice", rows=16, columns=16),
    "lattice 4x4x4": partial(sb.build, "lattice", rows=4, columns=4, layers=4),
    "tube": partial(sb.build, "tube"),
    "four-bar-torus": partial(sb.build, "four-bar-torus"),
    "rotating-squares": partial(sb.build, "rotating-squares"),
    "n-four-bar 51": partial(sb.build, "n-four-bar", loops=25),
    "n-four-bar 201": partial(sb.build, "n-four-bar", loops=100),
}


# ---- parts of steps ------------------------------------------------------------------------------


def parts_of_explicit(stepper: Stepper) -> FloatArray:
    """Return the times of an evaluation, and of a factorization besides [s]."""
    state, none = stepper.state, np.zeros(0)
    evaluator = stepper.evaluate(state).dynamics.evaluator
    acceleration = np.zeros(stepper.acceleration.shape)

    def factorize() -> None:
        evaluator.assembler.assemble(state, None, none)
        evaluator.factorize(0.0)

    evaluate = partial(evaluator.accelerate, state, None, none, acceleration, none)
    return np.array([least_seconds(evaluate), least_seconds(factorize)])


def parts_of_implicit(stepper: ImplicitStepper) -> FloatArray:
    """Return the times of an iteration and of a factorization [s]."""
    equations, newton = stepper.equations, stepper.newton
    twist, multiplier = stepper._matrix.twist, stepper._matrix.multiplier
    coefficients = stepper.method.coefficients.of_newton(STEP)

    def iterate() -> None:
        equations.native.evaluate()
        newton.fill_correction(twist, multiplier)

    factorize = partial(newton.factorize, *coefficients)
    factorize()
    return np.array([least_seconds(iterate), least_seconds(factorize)])


def counted(stepper: Inner, time: float) -> FloatArray:
    """Advance; return how many evaluations or iterations, and factorizations, that took."""
    inner = stepper._inner
    is_implicit = isinstance(inner, ImplicitStepper)
    native = None if is_implicit else inner._compiled.native(inner._rows.dynamics)
    before = native and (native.n_evaluations, native.n_factorizations)
    stepper.advance(time)
    if is_implicit:
        return np.array([inner.newton.n_iterations + 1, inner.newton.n_factorizations])
    newest = inner._compiled.native(inner._rows.dynamics)
    if newest is not native:  # of other rows: counts begin anew
        native, before = newest, None
    n_evaluations, n_factorizations = np.subtract(
        (native.n_evaluations, native.n_factorizations), before or (0, 0)
    )
    return np.array([n_evaluations, max(0, n_factorizations - n_evaluations)])


# ---- measuring -----------------------------------------------------------------------------------


def started(
    system: sb.System, state: sb.State, step: float | str, method: str, tolerance: float = 0.0
) -> Inner | AdaptiveStepper:
    """Return the stepper of a method, at a state, which records nothing."""
    options = simulation_options(step, (tolerance, tolerance), method, Solver(), EVERY_STEP)
    problem = Problem(system, state, options, None, lambda event: None)
    stepper = stepper_of(problem, Solver())
    stepper.start(state)
    return stepper


def seconds_of_steps(stepper: Inner, ends: FloatArray) -> float:
    """Take steps to times, as a run does between two records; return the CPU time [s]."""

    def take_all() -> None:
        k = 0
        while k < len(ends):
            taken = stepper.take_steps(ends[k:])
            if taken is None:
                stepper.advance(float(ends[k]))
            k += 1 if taken is None else taken.n_steps

    return cpu_seconds(take_all, 1)


def least_seconds(function: Callable[[], object]) -> float:
    """Return the least CPU time of a call [s]."""
    n = 1
    while (took := cpu_seconds(function, n)) * n < LEAST:
        n *= 2
    return min(took, *(cpu_seconds(function, n) for _ in range(2)))


def seconds_added(system: sb.System, state: sb.State) -> FloatArray:
    """Return what a record of every step, a control and an event add to a step [s]."""
    zeros = np.zeros((system.n_bodies, 6))
    once = {"record": sb.Recording(step=STEP * N_SHORT)}
    runs = [
        partial(sb.simulate, system, state, duration=STEP * N_SHORT, step=STEP, **options)
        for options in (
            *(once, {}, once | {"control": lambda time, state: zeros}),
            once | {"events": lambda time, state: 1.0},
        )
    ]
    times = np.array([[cpu_seconds(run, 1) for run in runs] for _ in range(SHORT_REPEATS)])
    return np.median(times[:, 1:] - times[:, :1], axis=0) / N_SHORT


def measured(mechanism: sb.Mechanism) -> tuple[str, ...]:
    """Return a row of the table."""
    system = mechanism.compile()
    state = sb.consistent_state(system)

    def after_one_step() -> Inner:
        stepper = started(system, state, STEP, "auto")
        stepper.advance(STEP)
        return stepper

    stepper, ends = after_one_step(), STEP * np.arange(2, N_STEPS + 1)
    counts = np.mean([counted(stepper, end) for end in ends], axis=0)
    inner = stepper._inner
    is_implicit = isinstance(inner, ImplicitStepper)
    parts_of = parts_of_implicit if is_implicit else parts_of_explicit
    for category in (AccuracyWarning, EnergyWarning):  # of lattices
        warnings.simplefilter("ignore", category)
    times = []
    for _ in range(REPEATS):  # one after the other, as the machine's speed varies
        parts = parts_of(inner)
        step = seconds_of_steps(after_one_step(), ends) / len(ends)
        times.append([step, *parts, step / (counts @ parts)])
    step, part, factors, _ = np.min(times, axis=0)
    ratio, added = np.median(times, axis=0)[-1], seconds_added(system, state)
    in_us = (f"{1e6 * time:.1f}" for time in (step, *added, part, factors))
    kind = "implicit" if is_implicit else "explicit"
    return kind, *in_us, *(f"{number:.2f}" for number in (*counts, ratio))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1)
def main(names: tuple[str, ...]) -> None:
    """Measure the cases that are named, or all."""
    added = "record", "control", "event"
    header = "case", "steps", "step", *added, "part", "factors", "parts", "factors", "ratio"
    print(LINE.format(*header))
    for name in names or CASES:
        print(LINE.format(name, *measured(CASES[name]())), flush=True)


if __name__ == "__main__":
    main()
