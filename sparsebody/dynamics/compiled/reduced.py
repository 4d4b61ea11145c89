"""The table of what bodies keep in place that move within displacement subgroups about the world."""

from __future__ import annotations

from sparsebody._core import dynamics

STRAY = 1e-6  # how far a point may, in sizes of the body: integrators keep it by corrections only

# Columns of the table `held`: two directions on the body and in the world; a point on the body, in
# the world, the directions in which it must not move, and how far it may.
FIRST, FIRST_AT, SECOND, SECOND_AT, POINT, POINT_AT, ACROSS, REACH = 0, 3, 6, 9, 12, 15, 18, 27
N_HELD = dynamics.FIXED_COLUMNS
