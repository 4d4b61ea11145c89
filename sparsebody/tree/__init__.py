"""The spanning-tree baseline: dynamics in joint coordinates. Featherstone (2008), chs. 4 to 8.

A method is one file with a class derived from TreeDynamics, and one line in TREE_METHODS.
"""

from sparsebody.errors import UnknownNameError
from sparsebody.model.system import System
from sparsebody.tree.aba import ArticulatedBody
from sparsebody.tree.choice import TREE_CHOICES, spanning_tree
from sparsebody.tree.coordinates import joint_coordinates, tree_state
from sparsebody.tree.crba import CompositeRigidBody
from sparsebody.tree.explicit.closure_functions import LoopClosure
from sparsebody.tree.explicit.explicit_dynamics import ExplicitDynamics
from sparsebody.tree.fronts.loops_aba import LoopsArticulatedBody
from sparsebody.tree.inverse import ProjectedInverse, RecursiveNewtonEuler, TreeInverseMethod
from sparsebody.tree.loops.loops_direct import LoopsDirect
from sparsebody.tree.loops.loops_force import LoopsForce
from sparsebody.tree.loops.loops_projection import LoopsProjection
from sparsebody.tree.method import TreeDynamics
from sparsebody.tree.spanning_tree import SpanningTree, loop_error
from sparsebody.tree.state_space import StateSpace

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
        known = ", ".join(["sparse", *TREE_METHODS])
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
    "LoopClosure",
    "SpanningTree",
    "StateSpace",
    "TreeDynamics",
    "joint_coordinates",
    "spanning_tree",
    "tree_dynamics",
    "tree_state",
]
