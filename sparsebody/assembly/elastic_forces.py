"""Forces of compliant joints, bushings and beams, and the energy that they store."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import FloatArray
from sparsebody.model.system import State, System


@dataclass(frozen=True, eq=False)
class ElasticMotion:
    """Stretches z of the elastic elements, and the forces z + D dz/dt on them."""

    value: FloatArray  # (n, 6) z [sqrt(J)], zero beyond the rows of an element
    force: FloatArray  # (n, 6) z + D dz/dt
    rows: FloatArray  # (n, 6, 2, 6) dz/dt per velocity of predecessor and successor

    @property
    def energy(self) -> float:
        """The sum of z'z / 2 [J]."""
        return 0.5 * float(np.sum(self.value**2))


def elastic_motion(system: System, state: State) -> ElasticMotion:
    """Return what elastic elements are stretched by, and what they resist with."""
    bodies = state.position, state.orientation, state.velocity
    value, rate, rows = model.elastic_motion(system.elastic.arrays, bodies)
    damping = np.einsum("nij,nj->ni", system.elastic.damping, rate)
    return ElasticMotion(value, value + damping, rows)


def stretch_rates(system: System, state: State) -> FloatArray:
    """Return dz/dt (n, 6) of the elastic elements."""
    bodies = state.position, state.orientation, state.velocity
    return model.elastic_motion(system.elastic.arrays, bodies)[1]


def add_elastic_forces(system: System, state: State, force: FloatArray) -> None:
    """Add the forces of elastic elements to `force` (n_bodies, 6) in body coordinates."""
    motion, elastic = elastic_motion(system, state), system.elastic
    wrench = -np.einsum("ni,nisa->sna", motion.force, motion.rows)
    for body, of_side in zip((elastic.predecessor, elastic.successor), wrench, strict=True):
        moves = body >= 0
        np.add.at(force, body[moves], of_side[moves])
