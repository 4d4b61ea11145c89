"""Energy and momentum of a mechanism in a state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.kinematics.motion import body_rotations
from sparsebody.model.system import State, System


@dataclass(frozen=True)
class Energy:
    """Kinetic and potential energy [J]."""

    kinetic: float
    potential: float

    @property
    def total(self) -> float:
        """Their sum [J]."""
        return self.kinetic + self.potential


def energy(system: System, state: State) -> Energy:
    """Return the kinetic energy, and the potential energy of gravity and of all springs."""
    potential = gravity_energy(system, state)
    potential += joint_spring_energy(system, state) + point_spring_energy(system, state)
    return Energy(kinetic_energy(system, state), potential)


def kinetic_energy(system: System, state: State) -> float:
    """Return sum(v' I v) / 2 [J]. Featherstone (2008), eq. (2.67)."""
    return 0.5 * float(np.sum(state.velocity * _momenta(system, state)))


def gravity_energy(system: System, state: State) -> float:
    """Return -sum(m g' c) [J], c the centers of mass: zero with all masses at the origin."""
    return -float(system.mass @ (state.position @ system.gravity))


def joint_spring_energy(system: System, state: State) -> float:
    """Return the energy of the springs on joint coordinates [J]; uses `state.coordinate`."""
    springs = system.joint_forces
    stretch = state.coordinate[springs.item] - springs.rest
    return 0.5 * float(np.sum(springs.stiffness * stretch**2))


def point_spring_energy(system: System, state: State) -> float:
    """Return the energy of the springs between points [J]."""
    springs = system.point_forces
    if len(springs.first) == 0:
        return 0.0
    rotation = body_rotations(state)
    first = _places(springs.first, springs.first_point, state, rotation)
    second = _places(springs.second, springs.second_point, state, rotation)
    stretch = np.linalg.norm(second - first, axis=1) - springs.rest_length
    return 0.5 * float(np.sum(springs.stiffness * stretch**2))


def total_momentum(system: System, state: State) -> FloatArray:
    """Return (6,) the momentum of all bodies about the world's origin, in world axes.

    Angular momentum first [kg m^2/s, kg m/s].
    """
    rotation = body_rotations(state)
    momentum = _momenta(system, state)
    linear = np.einsum("nij,nj->ni", rotation, momentum[:, 3:])
    total = np.empty(6)
    np.einsum("nij,nj->i", rotation, momentum[:, :3], out=total[:3])
    np.sum(linear, axis=0, out=total[3:])
    moment = state.position.T @ linear  # sum of x p', of which x x p is the antisymmetric part
    total[0] += moment[1, 2] - moment[2, 1]
    total[1] += moment[2, 0] - moment[0, 2]
    total[2] += moment[0, 1] - moment[1, 0]
    return total


def is_conservative(system: System) -> bool:
    """Tell whether energy must be constant: no drive, effort, damper or external force.

    A coordinate prescribed to be constant does no work and does not count as a drive.
    """
    tracked = system.coordinates
    drives = [tracked.motion[item] for item in tracked.prescribed]
    efforts = system.joint_forces.effort + system.point_forces.effort
    at_rest = all(_is_constant(drive) for drive in drives)
    passive = all(_is_constant(effort) and effort(0.0)[0] == 0.0 for effort in efforts)
    undamped = not np.any(system.joint_forces.damping) and not np.any(system.point_forces.damping)
    return at_rest and passive and undamped and len(system.external_forces.body) == 0


def _is_constant(function: object) -> bool:
    coefficients = getattr(function, "coefficients", None)  # of a Polynomial
    return coefficients is not None and not any(coefficients[1:])


def _momenta(system: System, state: State) -> FloatArray:
    """I v (n_bodies, 6) in body coordinates."""
    momentum = np.empty_like(state.velocity)
    np.einsum("nij,nj->ni", system.inertia, state.velocity[:, :3], out=momentum[:, :3])
    np.multiply(system.mass[:, None], state.velocity[:, 3:], out=momentum[:, 3:])
    return momentum


def _places(body: IntArray, point: FloatArray, state: State, rotation: FloatArray) -> FloatArray:
    """World positions of body points; those of body -1 are given in the world."""
    moved = state.position[body] + np.einsum("nij,nj->ni", rotation[body], point)
    return np.where((body >= 0)[:, None], moved, point)
