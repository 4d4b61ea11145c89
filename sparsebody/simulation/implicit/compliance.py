"""Compliance C of rigid joint rows, delta = C lambda, a numerical means: one block a joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsebody.arrays import FloatArray, IntArray
from sparsebody.dynamics.energy import kinetic_energy
from sparsebody.equations.initial_state import mechanism_size
from sparsebody.equations.system_motion import SystemMotion
from sparsebody.model.system import State, System

_OPENING = 1e-8  # of the mechanism's extent: what all its loads together open a joint by
NEGLIGIBLE_OPENING = 1e-7  # the same by the actual multipliers; if larger, joints are made stiffer
_LEAST = 1e-11  # C b m, in which rounding of the factors hides no dependent row


@dataclass(frozen=True, eq=False)
class Compliance:
    """The blocks of all joints, row by row, one after the other."""

    entries: FloatArray
    first_entry: IntArray  # (n_joints + 1,)
    diagonal: FloatArray  # (n_rows,)

    def set_to(self, other: Compliance, factor: float) -> None:
        """Become a multiple of another one in place, for equations hold views."""
        np.multiply(other.entries, factor, out=self.entries)
        np.multiply(other.diagonal, factor, out=self.diagonal)


def uniform_compliance(system: System, state: State, translation: float) -> Compliance:
    """Return the same compliance everywhere, [m/N] along rows that translate.

    Rows that only rotate have it divided by the square of the mechanism's size [rad/(N m)].
    """
    linear = np.abs(SystemMotion(system, state).constraint.subspace[:, 3:]).max(axis=1) > 0.0
    rotation = translation / mechanism_size(system) ** 2
    diagonal = np.where(linear, translation, rotation)
    size = np.diff(system.first_row)
    first_entry = np.concatenate([[0], np.cumsum(size**2)]).astype(np.intp)
    local = np.arange(system.n_rows) - system.first_row[system.row_joint]
    entries = np.zeros(first_entry[-1])
    entries[first_entry[system.row_joint] + local * (size[system.row_joint] + 1)] = diagonal
    return Compliance(entries, first_entry, diagonal)


def extent_of(system: System, state: State) -> float:
    """Return how far a mechanism reaches [m]."""
    return mechanism_size(system) + float(np.linalg.norm(np.ptp(state.position, axis=0)))


def least_compliance(system: System, b: float) -> float:
    """Return the least compliance [m/N] that factors of b M + A' C^-1 A bear."""
    return _LEAST / (b * float(system.mass.max()))


def all_loads(system: System, state: State) -> float:
    """Return the sum of all loads, and of the forces that the motion takes [N]; positive."""
    extent = extent_of(system, state)
    load = float(np.linalg.norm(SystemMotion(system, state).applied[:, 3:], axis=1).sum())
    load += 2.0 * kinetic_energy(system, state) / extent
    return load if load > 0.0 else float(system.mass.sum()) * extent


def negligible_compliance(system: System, state: State) -> float:
    """Return a compliance [m/N] by which no joint opens noticeably under all loads at once."""
    return _OPENING * extent_of(system, state) / all_loads(system, state)
