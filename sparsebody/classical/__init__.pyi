"""Public names of `sparsebody.classical`, loaded at first use."""

# ruff: noqa: I001

# Arms and algorithms
from .arm import Arm as Arm
from .algorithms import ALGORITHMS as ALGORITHMS, Algorithm as Algorithm, algorithm as algorithm

# Operation counts, beside the published ones
from .costs import (
    GEOMETRIES as GEOMETRIES,
    Counts as Counts,
    comparisons as comparisons,
    count as count,
    counted as counted,
)

# Spatial operators
from .operators import SpatialOperators as SpatialOperators
from .six_revolute import (
    BODIES as BODIES,
    sine_torques as sine_torques,
    six_revolute_arm as six_revolute_arm,
    six_revolute_symbols as six_revolute_symbols,
)
