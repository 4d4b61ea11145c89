"""The native kernels, one submodule for each folder of `core/`; stubs of any build serve all."""

# ruff: noqa: I001

from sparsebody._core.native import (
    base as base,
    dynamics as dynamics,
    factorization as factorization,
    graph as graph,
    joints as joints,
    linearization as linearization,
    model as model,
    ordering as ordering,
    rank as rank,
    simulation as simulation,
    tree as tree,
)

level: str

def available_levels() -> list[str]: ...
