"""Public names of `sparsebody.tree`, loaded at first use."""

# ruff: noqa: I001

# Trees, and their coordinates
from .spanning_tree import SpanningTree as SpanningTree
from .tree_choice import TREE_CHOICES as TREE_CHOICES, spanning_tree as spanning_tree
from .tree_choice import nonzero_bound as nonzero_bound
from .recursions import (
    joint_coordinates as joint_coordinates,
    position_rates as position_rates,
    tree_state as tree_state,
)

# Recursions, on the motion of the links; H is packed, `symmetric` makes it dense
from .recursions import (
    TreeMotion as TreeMotion,
    body_jacobian as body_jacobian,
    forward_dynamics_tree as forward_dynamics_tree,
    inverse_dynamics as inverse_dynamics,
    joint_space_inertia as joint_space_inertia,
    ltdl_factor as ltdl_factor,
    ltdl_solve as ltdl_solve,
    ltl_factor as ltl_factor,
    ltl_solve as ltl_solve,
    motion_at_coordinates as motion_at_coordinates,
    motion_at_state as motion_at_state,
    symmetric as symmetric,
    velocity_product_accelerations as velocity_product_accelerations,
)

# Derivatives by joint coordinates
from .joint_derivatives import (
    ForwardDynamicsDerivatives as ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives as InverseDynamicsDerivatives,
    TreeDerivatives as TreeDerivatives,
)

# Loops, K qdd = k, and all solutions x = G y + g
from .loop_constraints import loop_clusters as loop_clusters, loop_equations as loop_equations
from .loop_properties import assemblies as assemblies
from .loops_projection import LoopsProjection as LoopsProjection, explicit_form as explicit_form

# Explicit constraints, q = gamma(y), and systems of dense matrices, whatever they come from
from .explicit_constraints import (
    ExplicitDynamics as ExplicitDynamics,
    LoopClosure as LoopClosure,
    dual_system as dual_system,
    explicit_system as explicit_system,
    implicit_system as implicit_system,
    projected_system as projected_system,
)

# Methods by name, in joint coordinates, and as functions for integrators
from .tree_methods import (
    TREE_INVERSE_METHODS as TREE_INVERSE_METHODS,
    TREE_METHODS as TREE_METHODS,
    tree_dynamics as tree_dynamics,
)
from .method import TreeDynamics as TreeDynamics
from .joint_space import (
    JointSpace as JointSpace,
    StateSpace as StateSpace,
    joint_space as joint_space,
)
