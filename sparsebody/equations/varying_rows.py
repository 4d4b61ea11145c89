"""Rows of joints whose T varies on both bodies, in one native call."""

from __future__ import annotations

import numpy as np

from sparsebody._core import dynamics
from sparsebody.model.system import State, System


class VaryingRows:
    """Rows of A and gamma of a system of joints whose T varies on both bodies."""

    def __init__(self, system: System) -> None:
        self.rows, self.gamma = np.zeros((system.n_rows, 2, 6)), np.zeros(system.n_rows)
        kinds = system.joint_kind, system.first_row
        self.native = dynamics.VaryingRows(system.joint_frames, *kinds, self.rows, self.gamma)

    def fill(self, state: State) -> None:
        """Fill `rows` and `gamma` at a state with contiguous arrays."""
        self.native.fill(state.position, state.orientation, state.velocity)
