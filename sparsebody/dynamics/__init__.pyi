"""Public names of `sparsebody.dynamics`, loaded at first use."""

# ruff: noqa: I001

# Forward
from .forward import Evaluation as Evaluation, ForwardDynamics as ForwardDynamics
from .preparation import Formulation as Formulation
from .conditioning import ConditionEstimate as ConditionEstimate
from .compliant_reactions import (
    LeastEnergy as LeastEnergy,
    joint_compliances as joint_compliances,
    uniform_compliance as uniform_compliance,
)
from .kkt_matrix import KKTMatrix as KKTMatrix, kkt_matrix as kkt_matrix

# Inverse
from .inverse_dynamics import (
    InverseDynamics as InverseDynamics,
    driven_accelerations as driven_accelerations,
)

# Counts and energy
from .mobility import (
    Mobility as Mobility,
    count_loops as count_loops,
    count_mobility as count_mobility,
    generic_mobility as generic_mobility,
)
from .energy import Energy as Energy, total_momentum as total_momentum
