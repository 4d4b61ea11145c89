"""Vectors of four numbers inside compiled kernels.

Loops of four are too short for the loop vectorizer, and numba leaves LLVM's other one switched
off. So kernels that work on tiles of four rows say what they mean: a variable of type Float64x4
lives in one vector register on any processor that has them.
"""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic, models, register_model

_VECTOR = ir.VectorType(ir.DoubleType(), 4)
_FAST = ("contract", "reassoc", "nsz")


class _Float64x4(types.Type):
    """Four numbers in one register."""

    def __init__(self) -> None:
        super().__init__("Float64x4")


_float64x4 = _Float64x4()


@register_model(_Float64x4)
class _Float64x4Model(models.PrimitiveModel):
    """An LLVM vector, as variable and as argument."""

    def __init__(self, manager, kind) -> None:
        super().__init__(manager, kind, _VECTOR)


def _pointer(context, builder, array_type, array, index):
    """Return the address of array[index] as one of a vector; no bounds, no negative indices."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


def _broadcast(builder, scalar):
    """Return a vector of four times the scalar."""
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0, 0, 0, 0])
    single = builder.insert_element(
        ir.Constant(_VECTOR, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0)
    )
    return builder.shuffle_vector(single, ir.Constant(_VECTOR, ir.Undefined), lanes)


@intrinsic
def _zero4(typing_context):
    """Return zeros."""

    def code(context, builder, signature, arguments):
        return ir.Constant(_VECTOR, [0.0] * 4)

    return _float64x4(), code


@intrinsic
def _load4(typing_context, array, index):
    """Return array[index : index + 4]."""

    def code(context, builder, signature, arguments):
        place = _pointer(context, builder, signature.args[0], *arguments)
        return builder.load(place, align=8)

    return _float64x4(array, types.uintp), code


@intrinsic
def _store4(typing_context, array, index, vector):
    """Set array[index : index + 4] to a vector."""

    def code(context, builder, signature, arguments):
        place = _pointer(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.uintp, _float64x4), code


@intrinsic
def _multiply_add4(typing_context, vector, factor, other):
    """Return vector + factor other, with a number as factor."""

    def code(context, builder, signature, arguments):
        vector, factor, other = arguments
        product = builder.fmul(other, _broadcast(builder, factor), flags=_FAST)
        return builder.fadd(vector, product, flags=_FAST)

    return _float64x4(_float64x4, types.float64, _float64x4), code


@intrinsic
def _multiply4(typing_context, vector, other):
    """Return the products of the elements."""

    def code(context, builder, signature, arguments):
        return builder.fmul(*arguments, flags=_FAST)

    return _float64x4(_float64x4, _float64x4), code


@intrinsic
def _add4(typing_context, vector, other):
    """Return the sums of the elements."""

    def code(context, builder, signature, arguments):
        return builder.fadd(*arguments, flags=_FAST)

    return _float64x4(_float64x4, _float64x4), code


@intrinsic
def _sum4(typing_context, vector):
    """Return the sum of the elements."""

    def code(context, builder, signature, arguments):
        parts = [
            builder.extract_element(arguments[0], ir.Constant(ir.IntType(32), i)) for i in range(4)
        ]
        left = builder.fadd(parts[0], parts[1], flags=_FAST)
        right = builder.fadd(parts[2], parts[3], flags=_FAST)
        return builder.fadd(left, right, flags=_FAST)

    return types.float64(_float64x4), code


if config.DISABLE_JIT:  # the same in Python, slowly: intrinsics are for compiled code only

    def zero4():
        """Return zeros."""
        return np.zeros(4)

    def load4(array, index):
        """Return array[index : index + 4]."""
        return array[int(index) : int(index) + 4].copy()

    def store4(array, index, vector):
        """Set array[index : index + 4] to a vector."""
        array[int(index) : int(index) + 4] = vector

    def multiply_add4(vector, factor, other):
        """Return vector + factor other, with a number as factor."""
        return vector + factor * other

    multiply4, add4, sum4 = np.multiply, np.add, np.sum
else:
    zero4, load4, store4 = _zero4, _load4, _store4
    multiply_add4, multiply4, add4, sum4 = _multiply_add4, _multiply4, _add4, _sum4
