"""Displacement subgroups: sub-mechanisms in which bodies have fewer freedoms than six."""

from __future__ import annotations

from sparsebody.model.subgroups.classes import Classes, displacement_classes
from sparsebody.model.subgroups.displacements import KINDS
from sparsebody.model.subgroups.subgroup_report import Subgroup, describe, redundant_subgroups

__all__ = [
    "KINDS",
    "Classes",
    "Subgroup",
    "describe",
    "displacement_classes",
    "redundant_subgroups",
]
