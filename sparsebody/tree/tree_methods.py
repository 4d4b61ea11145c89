"""Tables of the methods in joint coordinates, and the dynamics by one of them."""

from typing import Any

from sparsebody.errors import check_name
from sparsebody.model.system import System
from sparsebody.tree import loop_methods, loops_aba, loops_projection
from sparsebody.tree.joint_space import ProjectedInverse, RecursiveNewtonEuler, TreeInverseMethod
from sparsebody.tree.method import ArticulatedBody, CompositeRigidBody, TreeDynamics
from sparsebody.tree.spanning_tree import AnyTree, loop_error

TREE_METHODS: dict[str, type[TreeDynamics]] = {
    "aba": ArticulatedBody,
    "crba": CompositeRigidBody,
    "loops-aba": loops_aba.LoopsArticulatedBody,
    "loops-direct": loop_methods.LoopsDirect,
    "loops-force": loop_methods.LoopsForce,
    "loops-projection": loops_projection.LoopsProjection,
}
TREE_INVERSE_METHODS: dict[str, type[TreeInverseMethod]] = {
    "rnea": RecursiveNewtonEuler,
    "loops-projection": ProjectedInverse,
}


def tree_dynamics(
    method: str, system: System, tree: AnyTree = "auto", **options: Any
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
