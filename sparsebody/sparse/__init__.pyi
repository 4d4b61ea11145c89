"""Public names of `sparsebody.sparse`, loaded at first use."""

# ruff: noqa: I001

# Matrices
from .pattern import (
    BlockPattern as BlockPattern,
    SymmetricPattern as SymmetricPattern,
    symmetric_pattern as symmetric_pattern,
)
from .saddle import (
    SaddleMatrix as SaddleMatrix,
    constraint_matrix as constraint_matrix,
    saddle_csc as saddle_csc,
)

# Elimination
from .elimination_tree import ordering_metrics as ordering_metrics, repair as repair
from .cycles import (
    face_cycles as face_cycles,
    fundamental_cycles as fundamental_cycles,
    minimum_cycles as minimum_cycles,
    short_cycles as short_cycles,
)

# Rank
from .rank import RankDecision as RankDecision, independent_rows as independent_rows

# Files
from .matrix_files import (
    read_array as read_array,
    read_symmetric as read_symmetric,
    write_array as write_array,
    write_matrix as write_matrix,
)
from .matrix_files import (
    read_order as read_order,
    read_pattern as read_pattern,
    write_order as write_order,
)
