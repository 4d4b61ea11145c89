"""Energy and momentum of a mechanism in a state."""

from dataclasses import dataclass

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import FloatArray, IntArray
from sparsebody.assembly.body_forces import elastic_motion
from sparsebody.equations.system_motion import model_loads
from sparsebody.kinematics.joint_motion import body_rotations
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


def _spring_energy(system: System, state: State) -> float:
    joint, point = system.joint_forces, system.point_forces
    total = elastic_energy(system, state)
    if len(joint.item):
        stretch = state.coordinate[joint.item] - joint.rest
        total += 0.5 * float(np.sum(joint.stiffness * stretch**2))
    if len(point.first):
        rotation = body_rotations(state)
        first = _in_world(point.first, point.first_point, state, rotation)
        second = _in_world(point.second, point.second_point, state, rotation)
        stretch = np.linalg.norm(second - first, axis=1) - point.rest_length
        total += 0.5 * float(np.sum(point.stiffness * stretch**2))
    return total


def kinetic_energy(system: System, state: State) -> float:
    """Return sum(v' I v) / 2 [J]. Featherstone (2008), eq. (2.67)."""
    return energy(system, state).kinetic


def elastic_energy(system: System, state: State) -> float:
    """Return the energy of compliant joints, bushings and beams [J]."""
    return elastic_motion(system, state).energy if system.elastic.kind.size else 0.0


def total_momentum(system: System, state: State) -> FloatArray:
    """Return (6,) the momentum of all bodies about the world's origin, in world axes.

    Angular momentum first [kg m^2/s, kg m/s].
    """
    return energy_and_momentum(system, state)[1]


def energy_and_momentum(system: System, state: State) -> tuple[Energy, FloatArray]:
    """Return energy, and momentum (6,) about the world's origin, in one pass over the bodies."""
    body_arrays(system, state)  # or what is wrong with them
    (kinetic,), (potential,), (momentum,) = energies_and_momenta(system, States.of(state))
    return Energy(float(kinetic), float(potential)), momentum


def energies_and_momenta(
    system: System, states: States
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return kinetic and potential energies (k,), and momenta (k, 6), at k times."""
    poses, bodies = states[:3], (system.mass, system.inertia, system.gravity)
    kinetic, potential, momentum = model.momenta(*bodies, *poses)
    if system.has_loads:
        potential += [_spring_energy(system, states.at(k)) for k in range(len(potential))]
    return kinetic, potential, momentum


def damping_power(system: System, state: State) -> float:
    """Return the power that dampers take [W]; point forces and joints use `state.coordinate`."""
    still = state.with_(velocity=np.zeros_like(state.velocity))
    damping = model_loads(system, state) - model_loads(system, still)
    return -float(np.sum(damping * state.velocity))


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


def _in_world(body: IntArray, point: FloatArray, state: State, rotation: FloatArray) -> FloatArray:
    """World positions of body points; those of body -1 are in world coordinates."""
    moved = state.position[body] + np.einsum("nij,nj->ni", rotation[body], point)
    return np.where((body >= 0)[:, None], moved, point)
