"""The gradient of a whole simulation: its time in simulations, and its error.

`python -m benchmarks.gradient [--pairs N] [--steps N] [--method NAME]` lifts a scissor lift with a
spring at its base, and takes the gradient of its height at the end by its adjoint; that of
"generalized-alpha" with the compliance of a mechanism of 400 bodies given, for a gradient is one at
fixed compliance. "radau-iia" is left out unless it is named, with few steps: the spring is so stiff
that each of them takes half a second. Times are of the processor, with all steps kept and with
checkpoints. Errors are those of directional derivatives by central differences of fourth order, of
whole simulations, extrapolated to sixth order. Ends with status 1 unless the promises hold: 1e-7,
and at most five simulations where steps are kept, six by "variational" and eight by
"variational-4", and 1.6 times as many by frames as well, of bodies that leave their plane.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import click
import numpy as np

import sparsebody as sb
from benchmarks.cases import SPIN, scissor_motion
from sparsebody.arrays import FloatArray
from sparsebody.linearization.adjoint import ADJOINT_METHODS
from sparsebody.study.measure import cpu_seconds

STEP, ANGLE = 1e-3, 0.4  # [s], [rad]
COMPLIANCE = 2e-17  # [m/N]
SLOW = "radau-iia"
LARGEST_ERROR, MOST_SIMULATIONS, REPEATS = 1e-7, 5.0, 5
MOST_OF_METHOD, SHARE_OF_FRAMES = {"variational": 6.0, "variational-4": 8.0}, 1.6
STENCIL = ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0))  # over 12 h
DIFFERENCE = 2e-3  # of directions
FRAME_SHARE = 5e-3  # of bars, for each of these
MOMENT = 1e4  # [N m]


def lift(pairs: int, angle: float = ANGLE) -> tuple[sb.System, sb.State]:
    """Return a lift that a spring at its base pushes up, at rest."""
    mechanism = sb.build("scissor", pairs=pairs, angle=angle)
    weight = 2 * pairs * 9.81 * pairs * np.cos(ANGLE)  # energy per angle, of bars of 1 m and 1 kg
    spring = {"stiffness": weight, "rest": ANGLE + 1.05, "damping": 0.01 * weight}
    mechanism.add_joint_force("spring", "base", **spring)
    system = mechanism.compile()
    return system, sb.consistent_state(system)


def difference(function: Callable[[float], Any], h: float) -> Any:
    """Return the derivative at zero, of sixth order in h."""
    wide, narrow = (
        sum(weight * function(k * step) for k, weight in STENCIL) / (12.0 * step)
        for step in (h, 0.5 * h)
    )
    return (16.0 * narrow - wide) / 15.0


@dataclass(frozen=True)
class Case:
    """A lift, so many steps of a method, and the height at the end."""

    pairs: int
    n_steps: int
    method: str

    @property
    def options(self) -> dict[str, Any]:
        """Those of the simulation."""
        implicit = sb.Method("generalized-alpha", compliance=COMPLIANCE)
        method = implicit if self.method == "generalized-alpha" else self.method
        return {"duration": self.n_steps * STEP, "step": STEP, "method": method}

    def height(
        self, system: sb.System, state: sb.State, control: FloatArray | None = None
    ) -> float:
        """Return that of the last bar at the end [m]."""
        options = {**self.options, "memory": 0, "record": sb.Recording(step=self.n_steps * STEP)}
        run = sb.simulate_with_pullback(system, state, control=control, **options)
        return float(run.trajectory.position[-1, -1, 2])

    def gradient(
        self, memory: int = 2**40, frames: bool = False, **more: Any
    ) -> dict[str, FloatArray]:
        """Return the gradient of the height."""
        system, state = lift(self.pairs)
        weight = np.zeros((system.n_bodies, 3))
        weight[-1, 2] = 1.0
        pullback = sb.simulate_with_pullback(system, state, memory=memory, **self.options, **more)
        return pullback(position=weight, frames=frames)

    def spent(self) -> dict[str, float]:
        """Return processor times [s]: of a simulation, and of a gradient in both ways."""
        system, state = lift(self.pairs)
        ways: dict[str, Callable[[], object]] = {
            "simulation": lambda: sb.simulate(system, state, **self.options),
            "all steps kept": self.gradient,
            "checkpoints": lambda: self.gradient(0),
            "by frames as well": lambda: self.gradient(frames=True),
        }
        rounds = [{name: cpu_seconds(run, 1) for name, run in ways.items()} for _ in range(REPEATS)]
        return {name: min(spent[name] for spent in rounds) for name in ways}

    def errors(self) -> dict[str, float]:
        """Return the relative errors of directional derivatives."""
        system, state = lift(self.pairs)
        rate = SPIN / np.sqrt(system.n_bodies)  # of the angle, in the motion of `scissor_motion`
        motion = scissor_motion(system, 0).velocity / rate
        spring, mass, middle = system.joint_forces, np.zeros(system.n_bodies), self.pairs
        mass[middle] = 50.0  # of one bar, which counts little: differences change it by a tenth
        control = np.zeros((self.n_steps + 1, system.n_bodies, 6))
        control[:, 0, 2] = np.linspace(MOMENT, 0.0, self.n_steps + 1)  # on the lowest bar

        arm = np.zeros((system.n_joints, 6))  # bars longer by a share on the side of successors
        arm[:, 3:] = np.einsum("nji,nj->ni", system.successor_rotation, system.successor_point)

        def with_(**parts: Any) -> tuple[sb.System, sb.State]:
            return replace(system, **parts), state

        def stiffer(h: float) -> tuple[sb.System, sb.State]:
            return with_(joint_forces=replace(spring, stiffness=(1.0 + h) * spring.stiffness))

        def longer(h: float) -> tuple[sb.System, sb.State]:
            changed, _ = with_(successor_point=(1.0 + FRAME_SHARE * h) * system.successor_point)
            return changed, sb.consistent_state(changed, state)

        # what is simulated at h, and the direction of the derivative
        cases: dict[str, tuple[Callable[[float], tuple[Any, ...]], FloatArray]] = {
            "position": (lambda h: (system, lift(self.pairs, ANGLE + h)[1]), motion),
            "velocity": (lambda h: (system, state.with_(velocity=h * motion)), motion),
            "mass": (lambda h: with_(mass=system.mass + h * mass), mass),
            "gravity": (
                lambda h: with_(gravity=(1.0 + 10.0 * h) * system.gravity),
                10.0 * system.gravity,
            ),
            "stiffness": (stiffer, spring.stiffness),
            "control": (lambda h: (system, state, h * control), control),
            "successor_frame": (longer, FRAME_SHARE * arm),
        }
        gradient = self.gradient(control=np.zeros_like(control), frames=True)

        def error(name: str) -> float:
            simulated, along = cases[name]
            slope = difference(lambda h: self.height(*simulated(h)), DIFFERENCE)
            return abs(float(np.sum(gradient[name] * along)) / slope - 1.0)

        return {name: error(name) for name in cases}


@click.command()
@click.option("--pairs", default=200, show_default=True, help="Of bars, two bodies each.")
@click.option("--steps", "n_steps", default=500, show_default=True, help="Of 1 ms.")
@click.option("--method", "methods", multiple=True, type=click.Choice(ADJOINT_METHODS))
def main(pairs: int, n_steps: int, methods: tuple[str, ...]) -> None:
    """Print the time of a gradient in simulations, and its errors."""
    holds = True
    for method in methods or [name for name in ADJOINT_METHODS if name != SLOW]:
        case = Case(pairs, n_steps, method)
        spent, errors = case.spent(), case.errors()
        simulation = spent.pop("simulation")
        print(f"{method}: {2 * pairs} bodies, {n_steps} steps in {simulation:.2f} s;")
        for name, seconds in spent.items():
            print(f"  with its gradient, {name}: {seconds / simulation:.2f} simulations")
        for name, error in errors.items():
            print(f"  by {name:15}: relative error {error:.1e}")
        most = simulation * MOST_OF_METHOD.get(method, MOST_SIMULATIONS)
        holds &= spent["all steps kept"] <= most
        holds &= spent["by frames as well"] <= SHARE_OF_FRAMES * most
        holds &= max(errors.values()) <= LARGEST_ERROR
    sys.exit(not holds)


if __name__ == "__main__":
    main()
