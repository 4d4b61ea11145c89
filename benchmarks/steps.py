"""Steps of time against what they evaluate, on the CPU.

`python -m benchmarks.steps [CASE ...]` moves mechanisms in steps of 2 ms by "auto" and writes the
CPU time of a step without and with its record, and of its parts [us]; how many of them it has; and
its time over that of these parts alone, the median of several. Parts of explicit steps are
evaluations, the compiled pass of `ForwardDynamics`, and factorizations besides; those of implicit
ones iterations, that is residuals and a solution, and factorizations.
"""

import time
import warnings
from collections.abc import Callable
from functools import partial

import click
import numpy as np

import sparsebody as sb
from sparsebody.arrays import FloatArray
from sparsebody.errors import EnergyWarning
from sparsebody.simulation.implicit.implicit_stepper import ImplicitStepper
from sparsebody.simulation.options import EVERY_STEP, Solver, simulation_options
from sparsebody.simulation.outer_steppers import Inner
from sparsebody.simulation.simulate import stepper_of
from sparsebody.simulation.stepper import Stepper
from sparsebody.simulation.stepping import Problem

STEP, N_STEPS, REPEATS = 2e-3, 250, 9
LEAST = 0.005  # [s] of a measurement
CASES: dict[str, Callable[[], sb.Mechanism]] = {
    "ladder 10": partial(sb.build, "ladder", rungs=10),
    "ladder 100": partial(sb.build, "ladder", rungs=100),
    "scissor 10": partial(sb.build, "scissor", pairs=10),
    "lattice 8x8": partial(sb.build, "lattice", rows=8, columns=8),
    "lattice 16x16": partial(sb.build, "lattice", rows=16, columns=16),
    "lattice 4x4x4": partial(sb.build, "lattice", rows=4, columns=4, layers=4),
    "tube": partial(sb.build, "tube"),
    "four-bar-torus": partial(sb.build, "four-bar-torus"),
    "n-four-bar 51": partial(sb.build, "n-four-bar", loops=25),
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

    return np.array(
        [cpu(lambda: evaluator.accelerate(state, None, none, acceleration, none)), cpu(factorize)]
    )


def parts_of_implicit(stepper: ImplicitStepper) -> FloatArray:
    """Return the times of an iteration and of a factorization [s]."""
    equations, newton = stepper.equations, stepper.newton
    twist, multiplier = stepper._matrix.twist, stepper._matrix.multiplier
    coefficients = stepper.method.coefficients.of_newton(STEP)

    def iterate() -> None:
        equations.native.evaluate()
        newton.fill_correction(twist, multiplier)

    newton.factorize(*coefficients)
    return np.array([cpu(iterate), cpu(lambda: newton.factorize(*coefficients))])


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
    return np.array([native.n_evaluations, native.n_factorizations]) - (before or (0, 0))


def take_all(stepper: Inner, ends: FloatArray) -> None:
    """Take steps to times, as a run does between two records."""
    k = 0
    while k < len(ends):
        taken = stepper.take_steps(ends[k:], False)
        if taken is None:
            stepper.advance(float(ends[k]))
        k += 1 if taken is None else taken.n_steps


# ---- measuring -----------------------------------------------------------------------------------


def cpu(function: Callable[[], object]) -> float:
    """Return the least CPU time of a call [s]."""
    n, times = 1, []
    while len(times) < 3:
        begin = time.process_time()
        for _ in range(n):
            function()
        took = time.process_time() - begin
        if took < LEAST:
            n *= 2
        else:
            times.append(took / n)
    return min(times)


def measured(mechanism: sb.Mechanism) -> tuple[str, ...]:
    """Return a row of the table."""
    system = mechanism.compile()
    state = sb.consistent_state(system)
    options = simulation_options(STEP, (0.0, 0.0), "auto", Solver(), EVERY_STEP)
    problem = Problem(system, state, options, None, lambda event: None)

    def started() -> Inner:
        stepper = stepper_of(problem, Solver())
        stepper.start(state)
        stepper.advance(STEP)
        return stepper

    stepper, ends = started(), STEP * np.arange(2, N_STEPS + 1)
    counts = np.mean([counted(stepper, end) for end in ends], axis=0)
    inner = stepper._inner
    is_implicit = isinstance(inner, ImplicitStepper)
    parts_of = parts_of_implicit if is_implicit else parts_of_explicit
    step, recorded, parts, ratio = [], [], [], []
    warnings.simplefilter("ignore", EnergyWarning)  # of lattices' joints
    for _ in range(REPEATS):  # one after the other, as the machine's speed varies
        parts.append(parts_of(inner))
        stepper, begin = started(), time.process_time()
        take_all(stepper, ends)
        step.append((time.process_time() - begin) / len(ends))
        ratio.append(step[-1] / (counts @ parts[-1]))
        begin = time.process_time()
        sb.simulate(system, state, duration=STEP * N_STEPS, step=STEP)
        whole = time.process_time() - begin
        begin = time.process_time()
        sb.simulate(system, state, duration=STEP, step=STEP)
        recorded.append((whole - time.process_time() + begin) / (N_STEPS - 1))
    least = np.array([min(step), min(recorded), *np.min(parts, axis=0)])
    times = (1e6 * least).round(1).astype(str)
    return (
        "implicit" if is_implicit else "explicit",
        *times,
        *counts.round(2).astype(str),
        f"{np.median(ratio):.2f}",
    )


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1)
def main(names: tuple[str, ...]) -> None:
    """Measure the cases that are named, or all."""
    header = "case", "steps", "step", "recorded", "part", "factors", "parts", "factors", "ratio"
    print(("{:15}" + "{:>10}" * 8).format(*header))
    for name in names or CASES:
        print(("{:15}" + "{:>10}" * 8).format(name, *measured(CASES[name]())), flush=True)


if __name__ == "__main__":
    main()
