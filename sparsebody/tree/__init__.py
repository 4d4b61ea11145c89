"""The spanning-tree school: dynamics in joint coordinates. Featherstone (2008), chs. 4 to 8.

Trees
    `spanning_tree`, `SpanningTree`, `TREE_CHOICES`; between states of the bodies and joint
    coordinates: `joint_coordinates`, `tree_state`, `position_rates`; `nonzero_bound`.
    q, qd, qdd, H and C of a mechanism at a state: `joint_space`.
Recursions, on a `TreeMotion` of the links (`motion_at_state`, `motion_at_coordinates`)
    tables 5.1, 6.2 and 7.1: `inverse_dynamics`, `joint_space_inertia`, `forward_dynamics_tree`; H
    is packed, `symmetric` makes it dense, `ltl_factor` and `ltdl_factor` factorize it without
    fill-in; `body_jacobian`, `velocity_product_accelerations` for operational space.
Loops, K qdd = k
    `loop_clusters`, `loop_equations`; `explicit_form`, all solutions x = G y + g; `assemblies`.
Explicit constraints, q = gamma(y)
    `LoopClosure`, `ExplicitDynamics`; on dense matrices, whatever they come from:
    `implicit_system`, `explicit_system`, `dual_system`, `projected_system`.
Methods, at many states
    `tree_dynamics` by a name from `TREE_METHODS`, inverse dynamics from `TREE_INVERSE_METHODS`;
    `StateSpace`, for integrators. A method is one file with a class derived from TreeDynamics, and
    one line in TREE_METHODS.
"""

from sparsebody.errors import UnknownNameError
from sparsebody.model.system import System
from sparsebody.tree.aba import ArticulatedBody, forward_dynamics_tree
from sparsebody.tree.crba import CompositeRigidBody, joint_space_inertia
from sparsebody.tree.joint_coordinates import joint_coordinates, position_rates, tree_state
from sparsebody.tree.joint_space import JointSpace, joint_space
from sparsebody.tree.loops.closure_functions import LoopClosure
from sparsebody.tree.loops.explicit_dynamics import (
    ExplicitDynamics,
    dual_system,
    explicit_system,
    implicit_system,
    projected_system,
)
from sparsebody.tree.loops.loop_clusters import loop_clusters
from sparsebody.tree.loops.loop_equations import loop_equations
from sparsebody.tree.loops.loop_properties import assemblies
from sparsebody.tree.loops.loops_aba import LoopsArticulatedBody
from sparsebody.tree.loops.loops_direct import LoopsDirect
from sparsebody.tree.loops.loops_force import LoopsForce
from sparsebody.tree.loops.loops_projection import LoopsProjection, explicit_form
from sparsebody.tree.ltl import ltdl_factor, ltdl_solve, ltl_factor, ltl_solve, symmetric
from sparsebody.tree.method import StateSpace, TreeDynamics
from sparsebody.tree.nonzero_bound import nonzero_bound
from sparsebody.tree.rnea import inverse_dynamics
from sparsebody.tree.spanning_tree import SpanningTree, loop_error
from sparsebody.tree.tree_choice import TREE_CHOICES, spanning_tree
from sparsebody.tree.tree_inverse import (
    ProjectedInverse,
    RecursiveNewtonEuler,
    TreeInverseMethod,
)
from sparsebody.tree.tree_motion import (
    TreeMotion,
    body_jacobian,
    motion_at_coordinates,
    motion_at_state,
    velocity_product_accelerations,
)

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
    method: str,
    system: System,
    tree: SpanningTree | str = "auto",
    *,
    reactions: str = "minimum-norm",
    baumgarte: float | None = None,
) -> TreeDynamics:
    """Return the dynamics of a mechanism by a method of TREE_METHODS; see TreeDynamics.

    Raises
    ------
    UnknownNameError
        If there is no such method.
    ModelError
        If the method takes trees only, and a joint closes a loop.
    """
    if method not in TREE_METHODS:
        known = ", ".join(TREE_METHODS)
        raise UnknownNameError(f"method is {method!r}; give one of {known}")
    chosen = TREE_METHODS[method]
    dynamics = chosen(system, tree, reactions=reactions, baumgarte=baumgarte)
    if dynamics.tree.n_loops and not chosen.takes_loops:
        others = [name for name, other in TREE_METHODS.items() if other.takes_loops]
        raise loop_error(dynamics.tree, method, ["sparse", *others])
    return dynamics


__all__ = [
    "TREE_CHOICES",
    "TREE_INVERSE_METHODS",
    "TREE_METHODS",
    "ExplicitDynamics",
    "JointSpace",
    "LoopClosure",
    "LoopsProjection",
    "SpanningTree",
    "StateSpace",
    "TreeDynamics",
    "TreeMotion",
    "assemblies",
    "body_jacobian",
    "dual_system",
    "explicit_form",
    "explicit_system",
    "forward_dynamics_tree",
    "implicit_system",
    "inverse_dynamics",
    "joint_coordinates",
    "joint_space",
    "joint_space_inertia",
    "loop_clusters",
    "loop_equations",
    "ltdl_factor",
    "ltdl_solve",
    "ltl_factor",
    "ltl_solve",
    "motion_at_coordinates",
    "motion_at_state",
    "nonzero_bound",
    "position_rates",
    "projected_system",
    "spanning_tree",
    "symmetric",
    "tree_dynamics",
    "tree_state",
    "velocity_product_accelerations",
]
