"""Accelerations and simulations as functions of PyTorch tensors, with derivatives."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.errors import ModelError, ShapeError, required_package
from sparsebody.linearization import vector_functions as functions
from sparsebody.model.system import State, System


def torch_accelerations(
    system: System, state: State | None = None
) -> Callable[..., tuple[Any, Any]]:
    """Return the accelerations of a system as a function of PyTorch tensors.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        Time, and all that a call does not give; default: the consistent initial state. Dependent
        rows are decided here, and angles of springs are those within half a turn of it.

    Returns
    -------
    function
        Of keywords "position" (n_bodies, 3), "orientation" (n_bodies, 4), "velocity" (n_bodies, 6)
        and the other variables of `Derivatives`, of float64 on the CPU; returns accelerations
        (n_bodies, 6) and multipliers (n_rows,), with derivatives of first order, forward and
        reverse. Quaternions are normalized; gradients by them are tangent to the sphere. State and
        "force" are cheap to change, changing other parameters refactorizes.

    Raises
    ------
    MissingDependencyError
        Without PyTorch.
    ShapeError
        At a call, for a shape or a type that does not fit.
    UnknownNameError
        At a call, for a name that is none.
    """
    on_arrays = partial(_on_tensors, _torch())
    return functions.by_keywords(on_arrays, functions.AccelerationFunction, system, state)


def torch_simulation(
    system: System,
    state: State | None = None,
    *,
    duration: float,
    step: float = 1e-3,
    **options: Any,
) -> Callable[..., tuple[Any, Any, Any]]:
    """Return the end of a simulation as a function of PyTorch tensors, with reverse derivatives.

    Parameters
    ----------
    system, state, duration, step, options
        As of `simulate_with_pullback`; `state` is that of all that a call does not give.

    Returns
    -------
    function
        Of the keywords of `torch_accelerations`, "control" (n_steps + 1, n_bodies, 6) in place of
        "prescribed_acceleration": wrenches at the ends of steps; returns positions (n_bodies, 3),
        quaternions (n_bodies, 4) and velocities (n_bodies, 6) at the end. It begins at the
        consistent state nearest to the given one, and its gradients are those at consistent states.

    Raises
    ------
    SimulationOptionError, UnknownNameError
        For times that are not positive, an option that there is not, or a control given here.
    MissingDependencyError, ShapeError, UnknownNameError
        As of `torch_accelerations`; at a call besides what `simulate_with_pullback` raises.
    """
    options |= functions.simulation_times(duration, step, options)
    on_arrays = partial(_on_tensors, _torch())
    return functions.by_keywords(on_arrays, functions.SimulationFunction, system, state, **options)


def _torch() -> Any:
    return required_package("torch", "functions of tensors need PyTorch", "torch")


def _on_tensors(torch: Any, function: functions.VectorFunction) -> Callable[[dict[str, Any]], Any]:
    """Return the function of a dictionary of tensors."""
    products = _operation(torch, function.vjp), _operation(torch, function.jvp)
    vector_function = _operation(torch, function.value, *products)

    def on_tensors(values: dict[str, Any]) -> tuple[Any, ...]:
        values = {name: torch.as_tensor(value) for name, value in values.items()}
        for name, value in values.items():
            if value.dtype != torch.float64 or value.device.type != "cpu":
                kind = f"{value.dtype} on {value.device}"
                raise ShapeError(f"{name} is {kind}; give torch.float64 on the CPU")
        function.check(values)
        y = vector_function(torch.cat([values[name].reshape(-1) for name in function.inputs]))
        return tuple(functions.split(y, function.outputs).values())

    return on_tensors


def _first_order_only(*_: Any) -> Any:
    raise ModelError(functions.FIRST_ORDER_ONLY)


def _operation(
    torch: Any,
    method: Callable[..., FloatArray],
    vjp: Callable[..., Any] = _first_order_only,
    jvp: Callable[..., Any] = _first_order_only,
) -> Callable[..., Any]:
    """Return a method on NumPy's vectors as an operation on tensors."""

    class Operation(torch.autograd.Function):  # type: ignore[misc]
        """y = f(x), with J' w and J dx."""

        @staticmethod
        def forward(*vectors: Any) -> Any:
            return torch.from_numpy(method(*(np.ascontiguousarray(v.detach()) for v in vectors)))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, weight: Any) -> Any:
            return vjp(*ctx.saved_tensors, weight)

        @staticmethod
        def jvp(ctx: Any, *directions: Any) -> Any:
            return jvp(*ctx.saved_tensors, *directions)

        @staticmethod
        def vmap(info: Any, in_dims: tuple[int | None, ...], *vectors: Any) -> tuple[Any, int]:
            batches = [
                v.expand(info.batch_size, -1) if at is None else v.movedim(at, 0)
                for v, at in zip(vectors, in_dims, strict=True)
            ]
            return torch.stack([Operation.apply(*row) for row in zip(*batches, strict=True)]), 0

    return Operation.apply
