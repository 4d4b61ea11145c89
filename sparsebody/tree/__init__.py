"""The spanning-tree school: dynamics in joint coordinates. Featherstone (2008), chs. 4 to 8.

The public names are below under headings. The tables of the book are in `recursions.py` (5.1, 6.2
to 6.5, 7.1) and `loop_constraints.py` (8.4), the methods of sec. 8.5 in `loop_methods.py` and
`loops_projection.py`, explicit constraints (secs. 3.2, 8.11) in `explicit_constraints.py`.
"""

# ruff: noqa: I001

from typing import Any

from sparsebody.errors import check_name
from sparsebody.model.system import System

# Trees, and their coordinates
from sparsebody.tree.spanning_tree import SpanningTree as SpanningTree, loop_error
from sparsebody.tree.tree_choice import TREE_CHOICES as TREE_CHOICES, spanning_tree as spanning_tree
from sparsebody.tree.tree_choice import nonzero_bound as nonzero_bound
from sparsebody.tree.recursions import (
    joint_coordinates as joint_coordinates,
    position_rates as position_rates,
    tree_state as tree_state,
)

# Recursions, on the motion of the links; H is packed, `symmetric` makes it dense
from sparsebody.tree.recursions import (
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
from sparsebody.tree.joint_derivatives import (
    ForwardDynamicsDerivatives as ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives as InverseDynamicsDerivatives,
    TreeDerivatives as TreeDerivatives,
)

# Loops, K qdd = k, and all solutions x = G y + g
from sparsebody.tree.loop_constraints import (
    loop_clusters as loop_clusters,
    loop_equations as loop_equations,
)
from sparsebody.tree.loop_properties import assemblies as assemblies
from sparsebody.tree.loops_projection import (
    LoopsProjection as LoopsProjection,
    explicit_form as explicit_form,
)

# Explicit constraints, q = gamma(y), and systems of dense matrices, whatever they come from
from sparsebody.tree.explicit_constraints import (
    ExplicitDynamics as ExplicitDynamics,
    LoopClosure as LoopClosure,
    dual_system as dual_system,
    explicit_system as explicit_system,
    implicit_system as implicit_system,
    projected_system as projected_system,
)

# Methods, by name, and as a function for integrators
from sparsebody.tree.joint_space import (
    JointSpace as JointSpace,
    ProjectedInverse,
    RecursiveNewtonEuler,
    StateSpace as StateSpace,
    TreeInverseMethod,
    joint_space as joint_space,
)
from sparsebody.tree.loop_methods import LoopsDirect, LoopsForce
from sparsebody.tree.loops_aba import LoopsArticulatedBody
from sparsebody.tree.method import ArticulatedBody, CompositeRigidBody, TreeDynamics as TreeDynamics

TREE_METHODS: dict[str, type[TreeDynamics]] = {
    "aba": ArticulatedBody,
    "crba": CompositeRigidBody,
    "loops-aba": LoopsArticulatedBody,
    "loops-direct": LoopsDirect,
    "loops-force": LoopsForce,
    "loops-projection": LoopsProjection,
}
TREE_INVERSE_METHODS: dict[str, type[TreeInverseMethod]] = {
    "rnea": RecursiveNewtonEuler,
    "loops-projection": ProjectedInverse,
}


def tree_dynamics(
    method: str, system: System, tree: SpanningTree | str = "auto", **options: Any
) -> TreeDynamics:
    """Return the dynamics of a mechanism by a method of TREE_METHODS; see TreeDynamics.

    Raises UnknownNameError if there is no such method, ModelError if it takes trees only, and a
    joint closes a loop.
    """
    check_name(method, TREE_METHODS, "method")
    chosen = TREE_METHODS[method]
    dynamics = chosen(system, tree, **options)
    if dynamics.tree.n_loops and not chosen.takes_loops:
        others = [name for name, other in TREE_METHODS.items() if other.takes_loops]
        raise loop_error(dynamics.tree, method, ["sparse", *others])
    return dynamics
