"""Indeterminate reactions of a four-bar
=====================================

A planar four-bar with spatial hinges: unique accelerations, indeterminate reactions.

Three of the constraint rows of four parallel hinges are redundant. With a ball and a cylindrical
joint in place of two of the hinges none is redundant; the accelerations and the forces in the plane
are the same.
"""

import tempfile
from pathlib import Path

import numpy as np

import sparsebody as sb
from sparsebody.plots import MechanismPictures, Options, save_figure

EXACT = {"rocker-pin": sb.Spherical(), "rocker-pivot": sb.Cylindrical()}


def exactly_constrained(four_bar: sb.Mechanism) -> sb.Mechanism:
    """Return the same bars with joints whose constraint rows are independent."""
    copy = sb.Mechanism("exact four-bar", four_bar.gravity)
    for body in four_bar.bodies.values():
        copy.add_body(
            body.name,
            mass=body.mass,
            inertia=body.inertia,
            position=body.position,
            orientation=body.orientation,
        )
    for joint in four_bar.joints.values():
        copy.add_joint(
            joint.name,
            EXACT.get(joint.name, joint.type),
            joint.predecessor,
            joint.successor,
            predecessor_frame=joint.predecessor_frame,
            successor_frame=joint.successor_frame,
        )
    return copy


def main() -> float:
    """Return the largest difference of accelerations and forces in the plane, over the largest."""
    four_bar = sb.build("four-bar")
    solutions = []
    for mechanism in (four_bar, exactly_constrained(four_bar)):
        system = mechanism.compile()
        dynamics = sb.ForwardDynamics(system)
        counts = sb.count_mobility(system, dynamics)
        solution = dynamics(sb.consistent_state(system))
        solutions.append(solution)
        print(
            f"{mechanism.name}: mobility {counts.mobility}, {counts.constraint_rows} rows, "
            f"{counts.redundant_rows} redundant"
        )
        for name, wrench in zip(system.joint_names, solution.joint_wrench, strict=True):
            print(f"  {name:<12} force in the plane {np.linalg.norm(wrench[3:5]):.6f} N")
    first, second = (
        np.concatenate([solution.acceleration.ravel(), solution.joint_wrench[:, 3:5].ravel()])
        for solution in solutions
    )
    difference = float(np.abs(first - second).max() / np.abs(first).max())
    print(f"largest relative difference {difference:.1e}")
    picture = MechanismPictures(four_bar, Options()).figure("mechanism")
    folder = Path(tempfile.gettempdir())
    print(save_figure(picture, folder / "four-bar.png"))
    sb.show(four_bar, output=folder / "four-bar.html")  # red rings: redundant rows
    return difference


if __name__ == "__main__":
    main()
