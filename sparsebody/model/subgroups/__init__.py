"""Displacement subgroups: sub-mechanisms in which bodies have fewer freedoms than six."""

from __future__ import annotations

from sparsebody.model.subgroups.classes import Classes, displacement_classes
from sparsebody.model.subgroups.found import Subgroup, describe, found_subgroups
from sparsebody.model.subgroups.kinds import KINDS

__all__ = ["KINDS", "Classes", "Subgroup", "describe", "displacement_classes", "found_subgroups"]
