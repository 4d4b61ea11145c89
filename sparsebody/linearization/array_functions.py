"""Accelerations and simulations as functions of JAX arrays and of PyTorch tensors.

The products J dx and J' w are callbacks. JAX transposes linear solves, so J dx is one of them:
y of [1 0; -J 1] [x; y] = [dx; 0], and J' w likewise of the transposed matrix.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sparsebody.arrays import FloatArray
from sparsebody.errors import ModelError, ShapeError, required_package
from sparsebody.linearization import vector_functions as functions
from sparsebody.model.system import State, System

_PART = 8192  # numbers: JAX copies larger arrays asynchronously; callbacks that wait can deadlock


def _first_order_only(*_: Any) -> Any:
    raise ModelError("this function has first derivatives only; take differences of these")


# ---- JAX ----------------------------------------------------------------------------------------


def jax_accelerations(system: System, state: State | None = None) -> Callable[..., tuple[Any, Any]]:
    """Return the accelerations of a system as a function of JAX arrays.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    state : State, optional
        Time and every variable that a call leaves out; default: the consistent initial state.
        Dependent rows are decided here, and angles of springs are within half a turn of their
        values here.

    Returns
    -------
    function
        Of keywords "position" (n_bodies, 3), "orientation" (n_bodies, 4), "velocity" (n_bodies, 6)
        and the other variables of `Derivatives`, each once; returns accelerations (n_bodies, 6) and
        multipliers (n_rows,). It has derivatives of first order (`jax.grad`, `jax.vjp`,
        `jax.jvp`, `jax.jacfwd`, `jax.jacrev`), and works under `jax.jit` and, one by one, under
        `jax.vmap`. Quaternions are normalized; gradients in these are tangent to the sphere. State
        and "force" are cheap to change, changing other parameters refactorizes.

    Raises
    ------
    MissingDependencyError
        Without JAX.
    ShapeError
        At a call, for a shape that does not fit, or if JAX's numbers have 32 bits only.
    UnknownNameError
        At a call, for a name of no variable.
    """
    on_arrays = partial(_on_arrays, _jax())
    return functions.by_keywords(on_arrays, functions.AccelerationFunction, system, state)


def jax_simulation(
    system: System,
    state: State | None = None,
    *,
    duration: float,
    step: float = 1e-3,
    **options: Any,
) -> Callable[..., tuple[Any, Any, Any]]:
    """Return the end of a simulation as a function of JAX arrays, with reverse derivatives.

    Parameters
    ----------
    system, state, duration, step, options
        As of `simulate_with_pullback`; `state` holds every variable that a call leaves out.

    Returns
    -------
    function
        Of the keywords of `jax_accelerations`, "control" (n_steps + 1, n_bodies, 6) in place of
        "prescribed_acceleration": wrenches at the ends of steps; returns positions (n_bodies, 3),
        quaternions (n_bodies, 4) and velocities (n_bodies, 6) at the end. It begins at the
        consistent state nearest to the given one; gradients include this projection, linearized.

    Raises
    ------
    SimulationOptionError, UnknownNameError
        For times that are not positive, an unknown option, or a control among the options.
    MissingDependencyError, ShapeError, UnknownNameError
        As of `jax_accelerations`; at a call besides what `simulate_with_pullback` raises.
    """
    options |= functions.simulation_times(duration, step, options)
    on_arrays = partial(_on_arrays, _jax())
    return functions.by_keywords(on_arrays, functions.SimulationFunction, system, state, **options)


def _jax() -> Any:
    return required_package("jax", "functions of JAX arrays need JAX", "jax")


def _on_arrays(jax: Any, function: functions.VectorFunction) -> Callable[[dict[str, Any]], Any]:
    """Return the function of a dictionary of arrays."""
    vector_function = _on_vectors(jax, function)

    def on_arrays(values: dict[str, Any]) -> tuple[Any, ...]:
        if not jax.config.jax_enable_x64:
            raise ShapeError(
                "JAX's numbers have 32 bits, accelerations need 64; "
                "call jax.config.update('jax_enable_x64', True) first"
            )
        function.check(values)
        parts = [jax.numpy.asarray(values[name], float).ravel() for name in function.inputs]
        y = vector_function(jax.numpy.concatenate(parts))
        return tuple(functions.split(y, function.outputs).values())

    return on_arrays


def _on_vectors(jax: Any, function: functions.VectorFunction) -> Callable[[Any], Any]:
    """Return the function of a vector, with its derivatives."""
    n, m = functions.size_of(function.inputs), functions.size_of(function.outputs)

    def call(method: Callable[..., FloatArray], size: int, *vectors: Any) -> Any:
        def on_parts(*parts: Any) -> FloatArray:
            return method(*(np.concatenate([np.asarray(a) for a in part]) for part in parts))

        result = jax.ShapeDtypeStruct((size,), float)
        parts = [jax.numpy.split(v, [*range(_PART, len(v), _PART)]) for v in vectors]
        return jax.pure_callback(on_parts, result, *parts, vmap_method="sequential")

    def changes(at: tuple[Any], along: tuple[Any]) -> tuple[Any, Any]:
        x, (direction,) = first_order(*at), along
        _, change = jax.numpy.split(
            jax.lax.custom_linear_solve(
                lambda both: both,  # stands for the matrix, which is not multiplied with
                jax.numpy.pad(direction, (0, m)),
                lambda _, b: b.at[n:].add(call(function.jvp, m, x, b[:n])),
                lambda _, b: b.at[:n].add(call(function.vjp, n, x, b[n:])),
            ),
            [n],
        )
        return value(*at), change

    first_order = jax.custom_jvp(lambda x: x)  # blocks second derivatives
    first_order.defjvp(_first_order_only)
    value = jax.custom_jvp(lambda x: call(function.value, m, x))
    value.defjvp(changes)
    return value


# ---- PyTorch ------------------------------------------------------------------------------------


def torch_accelerations(
    system: System, state: State | None = None
) -> Callable[..., tuple[Any, Any]]:
    """Return the accelerations of a system as a function of PyTorch tensors.

    Parameters
    ----------
    system, state
        As of `jax_accelerations`.

    Returns
    -------
    function
        Of keywords "position" (n_bodies, 3), "orientation" (n_bodies, 4), "velocity" (n_bodies, 6)
        and the other variables of `Derivatives`, of float64 on the CPU; returns accelerations
        (n_bodies, 6) and multipliers (n_rows,), with derivatives of first order, forward and
        reverse. Quaternions are normalized; gradients in these are tangent to the sphere. State and
        "force" are cheap to change, changing other parameters refactorizes.

    Raises
    ------
    MissingDependencyError
        Without PyTorch.
    ShapeError
        At a call, for a shape or a type that does not fit.
    UnknownNameError
        At a call, for a name of no variable.
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
        As of `simulate_with_pullback`; `state` holds every variable that a call leaves out.

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
        For times that are not positive, an unknown option, or a control among the options.
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
