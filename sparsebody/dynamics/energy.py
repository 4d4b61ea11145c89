"""Energy and momentum of a mechanism in a state."""

from dataclasses import dataclass

import numpy as np

from sparsebody._core import model, simulation
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.model.system import State, States, System, body_arrays
from sparsebody.model.time_functions import is_constant


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
    return energy_and_momentum(system, state)[0]


def potential_energy(system: System, state: State) -> float:
    """Return the energy of gravity and of all springs [J]; joints use `state.coordinate`."""
    return energy(system, state).potential


def spring_energies(system: System, states: States) -> FloatArray:
    """Return (k,) the energies of all springs at k times [J]."""
    if not system.has_loads:
        return np.zeros(len(states.time))
    joint, point = system.joint_forces, system.point_forces
    total = _elastic_energies(system, states)
    if len(joint.item):
        stretch = states.coordinate[:, joint.item] - joint.rest
        total += 0.5 * np.sum(joint.stiffness * stretch**2, axis=1)
    if len(point.first):
        first = _in_world(point.first, point.first_point, states)
        second = _in_world(point.second, point.second_point, states)
        stretch = np.linalg.norm(second - first, axis=2) - point.rest_length
        total += 0.5 * np.sum(point.stiffness * stretch**2, axis=1)
    return total


def _elastic_energies(system: System, states: States) -> FloatArray:
    """Return (k,) those of compliant joints, bushings and beams [J]."""
    return simulation.elastic_energies(system.elastic.arrays, states[:3])


def kinetic_energy(system: System, state: State) -> float:
    """Return sum(v' I v) / 2 [J]. Featherstone (2008), eq. (2.67)."""
    return energy(system, state).kinetic


def elastic_energy(system: System, state: State) -> float:
    """Return the energy of compliant joints, bushings and beams [J]."""
    body_arrays(system, state)  # or what is wrong with them
    return float(_elastic_energies(system, States.of(state))[0])


def total_momentum(system: System, state: State) -> FloatArray:
    """Return (6,) the momentum of all bodies about the world's origin, in world axes.

    Angular momentum first [kg m^2/s, kg m/s].
    """
    return energy_and_momentum(system, state)[1]


def energy_and_momentum(system: System, state: State) -> tuple[Energy, FloatArray]:
    """Return energy, and momentum (6,) about the world's origin, in one pass over the bodies."""
    body_arrays(system, state)  # or what is wrong with them
    states, bodies = States.of(state), (system.mass, system.inertia, system.gravity)
    (kinetic,), potential, (momentum,) = simulation.momenta(bodies, states[:3])
    potential += spring_energies(system, states)
    return Energy(float(kinetic), float(potential[0])), momentum


def is_conservative(system: System) -> bool:
    """Return whether energy is conserved: no prescribed motion, effort, damper or load acts."""
    dampers = (system.joint_forces, system.point_forces, system.elastic)
    return is_passive(system) and not any(np.any(forces.damping) for forces in dampers)


def is_passive(system: System) -> bool:
    """Return whether energy never grows: no prescribed motion, effort or load acts."""
    tracked = system.coordinates
    motions = [tracked.motion[item] for item in tracked.prescribed]
    efforts = system.joint_forces.effort + system.point_forces.effort
    at_rest = all(motion is not None and is_constant(motion) for motion in motions)
    passive = all(is_constant(effort) and effort(0.0)[0] == 0.0 for effort in efforts)
    springs = system.joint_forces, system.point_forces
    damped = all(np.all(forces.damping >= 0.0) for forces in springs)
    return at_rest and passive and damped and len(system.external_forces.body) == 0


def _in_world(body: IntArray, point: FloatArray, states: States) -> FloatArray:
    """World positions (k, n, 3) of body points; those of body -1 are in world coordinates."""
    k, n = len(states.time), len(body)
    rotation = model.rotations(states.orientation[:, body].reshape(k * n, 4)).reshape(k, n, 3, 3)
    moved = states.position[:, body] + np.einsum("knij,nj->kni", rotation, point)
    return np.where((body >= 0)[:, None], moved, point)
