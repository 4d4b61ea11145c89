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
from dataclasses import replace
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


def difference(function: Callable[[float], float]) -> float:
    """Return the derivative at zero, of sixth order in DIFFERENCE."""
    wide, narrow = (
        sum(weight * function(k * h) for k, weight in STENCIL) / (12.0 * h)
        for h in (DIFFERENCE, 0.5 * DIFFERENCE)
    )
    return (16.0 * narrow - wide) / 15.0


class Case:
    """A lift, so many steps of a method, and the height of the last bar at the end [m]."""

    def __init__(self, pairs: int, n_steps: int, method: str) -> None:
        self.pairs, self.n_steps = pairs, n_steps
        self.system, self.state = lift(pairs)
        implicit = sb.Method("generalized-alpha", compliance=COMPLIANCE)
        chosen = implicit if method == "generalized-alpha" else method
        self.options: dict[str, Any] = {"duration": n_steps * STEP, "step": STEP, "method": chosen}

    def height(
        self, system: sb.System, state: sb.State, control: FloatArray | None = None
    ) -> float:
        """Return the height of another system from another state."""
        options = {**self.options, "memory": 0, "record": sb.Recording(step=self.n_steps * STEP)}
        run = sb.simulate_with_pullback(system, state, control=control, **options)
        return float(run.trajectory.position[-1, -1, 2])

    def gradient(self, frames: bool = False, **more: Any) -> dict[str, FloatArray]:
        """Return the gradient of the height."""
        weight = np.zeros((self.system.n_bodies, 3))
        weight[-1, 2] = 1.0
        options = {"memory": 2**40, **self.options, **more}
        return sb.simulate_with_pullback(self.system, self.state, **options)(
            position=weight, frames=frames
        )

    def spent(self) -> dict[str, float]:
        """Return processor times [s]: of a simulation, and of gradients."""
        ways: dict[str, Callable[[], object]] = {
            "simulation": lambda: sb.simulate(self.system, self.state, **self.options),
            "all steps kept": self.gradient,
            "checkpoints": lambda: self.gradient(memory=0),
            "by frames as well": lambda: self.gradient(frames=True),
        }
        rounds = [{name: cpu_seconds(run, 1) for name, run in ways.items()} for _ in range(REPEATS)]
        return {name: min(spent[name] for spent in rounds) for name in ways}

    def errors(self) -> dict[str, float]:
        """Return the relative errors of directional derivatives."""
        system, state = self.system, self.state
        rate = SPIN / np.sqrt(system.n_bodies)  # of the angle, in the motion of `scissor_motion`
        motion = scissor_motion(system, 0).velocity / rate
        mass = np.zeros(system.n_bodies)
        mass[self.pairs] = 50.0  # of one bar, which counts little: differences change a tenth
        control = np.zeros((self.n_steps + 1, system.n_bodies, 6))
        control[:, 0, 2] = np.linspace(MOMENT, 0.0, self.n_steps + 1)  # on the lowest bar
        spring, point, gravity = system.joint_forces, system.successor_point, 10.0 * system.gravity
        arm = np.zeros((system.n_joints, 6))  # bars longer by a share on the side of successors
        arm[:, 3:] = FRAME_SHARE * np.einsum("nji,nj->ni", system.successor_rotation, point)

        def changed(**fields: Any) -> tuple[sb.System, sb.State]:
            other = replace(system, **fields)
            return other, sb.consistent_state(
                other, state
            ) if "successor_point" in fields else state

        # the direction of a derivative, and what is simulated at h along it
        cases: dict[str, tuple[FloatArray, Callable[[float], tuple[Any, ...]]]] = {
            "position": (motion, lambda h: (system, lift(self.pairs, ANGLE + h)[1])),
            "velocity": (motion, lambda h: (system, state.with_(velocity=h * motion))),
            "mass": (mass, lambda h: changed(mass=system.mass + h * mass)),
            "gravity": (gravity, lambda h: changed(gravity=system.gravity + h * gravity)),
            "stiffness": (
                spring.stiffness,
                lambda h: changed(
                    joint_forces=replace(spring, stiffness=(1 + h) * spring.stiffness)
                ),
            ),
            "control": (control, lambda h: (system, state, h * control)),
            "successor_frame": (
                arm,
                lambda h: changed(successor_point=(1 + FRAME_SHARE * h) * point),
            ),
        }
        gradient, errors = self.gradient(control=np.zeros_like(control), frames=True), {}
        for name, (along, simulated) in cases.items():
            slope = difference(lambda h, at=simulated: self.height(*at(h)))
            errors[name] = abs(float(np.sum(gradient[name] * along)) / slope - 1.0)
        return errors


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
