"""Public names of `sparsebody.assembly`, loaded at first use."""

# ruff: noqa: I001

# Constraints
from .constraint import (
    KKTStructure as KKTStructure,
    constraint_rows as constraint_rows,
    kkt_structure as kkt_structure,
)

# Forces
from .body_forces import bias_forces as bias_forces
