"""Rank decisions that begin with what displacement subgroups tell, at every pose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparsebody.arrays import BoolArray
from sparsebody.model.subgroups import displacement_classes
from sparsebody.model.subgroups.frames import spanning_forest
from sparsebody.model.system import System
from sparsebody.sparse.rank import RankDecision


def rows_by_structure(system: System) -> BoolArray | None:
    """Return (n_rows,) the rows that no subgroup makes redundant; None where all are such."""
    if not has_loops(system):
        return None
    is_redundant = displacement_classes(system).is_redundant
    return ~is_redundant if is_redundant.any() else None


def with_structure(keep: BoolArray, found: RankDecision) -> RankDecision:
    """Return a decision on all rows from one on those that are kept."""
    every = np.zeros_like(keep)
    every[keep] = found.keep
    return replace(found, keep=every, method=f"displacement subgroups, then {found.method}")


def has_loops(system: System) -> bool:
    """Tell whether joints close any loop."""
    n = system.n_bodies + 1
    return bool(spanning_forest(n, system.predecessor % n, system.successor % n)[1].any())
