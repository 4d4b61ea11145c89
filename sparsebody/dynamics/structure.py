"""Rank decisions that begin with what displacement subgroups tell, at every pose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sparsebody._core import model
from sparsebody.arrays import BoolArray
from sparsebody.model.subgroups import Classes, displacement_classes
from sparsebody.model.subgroups.classes import has_isolated_spherical_joints
from sparsebody.model.system import System
from sparsebody.sparse.rank import RankDecision


def rows_by_structure(classes: Classes | None) -> BoolArray | None:
    """Return (n_rows,) the rows that no subgroup makes redundant; None where all are such."""
    if classes is None or not classes.is_redundant.any():
        return None
    return ~classes.is_redundant


def classes_of(system: System) -> Classes | None:
    """Return the displacement classes; None where they could not close any loop."""
    return displacement_classes(system) if may_have_structure(system) else None


def with_structure(keep: BoolArray, decision: RankDecision) -> RankDecision:
    """Return a decision on all rows from one on those that are kept."""
    every = np.zeros_like(keep)
    every[keep] = decision.keep
    return replace(decision, keep=every, method=f"displacement subgroups, then {decision.method}")


def may_have_structure(system: System) -> bool:
    """Tell whether joints close loops that subgroups could say anything about."""
    return has_loops(system) and not has_isolated_spherical_joints(system)


def has_loops(system: System) -> bool:
    """Tell whether joints close any loop."""
    n = system.n_bodies + 1
    return bool(model.spanning_forest(n, system.predecessor % n, system.successor % n)[1].any())
