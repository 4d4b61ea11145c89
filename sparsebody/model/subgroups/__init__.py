"""Displacement subgroups: sub-mechanisms in which bodies have fewer freedoms than six."""

from sparsebody.model.subgroups.classes import (
    Classes,
    Subgroup,
    describe,
    displacement_classes,
    loop_classes,
    redundant_subgroups,
)
from sparsebody.model.subgroups.links import Kind

__all__ = [
    "Classes",
    "Kind",
    "Subgroup",
    "describe",
    "displacement_classes",
    "loop_classes",
    "redundant_subgroups",
]
