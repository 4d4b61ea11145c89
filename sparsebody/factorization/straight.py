"""Straight-line code on vector registers inside compiled kernels.

The steps of a factorization by small blocks are a few hundred operations on vectors of 4 or 8
numbers. Loops that short are not vectorized by a compiler, and indexed arrays are not kept in
registers. So such a step is a Python function that runs once, when the kernel that calls it is
compiled: its loops are unrolled by running them, and every operation on a `_Vector`, `_Number` or
`_Place` emits one instruction. Without a compiler (NUMBA_DISABLE_JIT) it runs on NumPy's numbers.
"""

# mypy: ignore-errors

from __future__ import annotations

import inspect

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

_FAST = ("contract", "nsz")  # fused multiply-adds, in the sequence as written
_DOUBLE, _INT, _BIT = ir.DoubleType(), ir.IntType(32), ir.IntType(1)


class _Emitted:
    """A value of the compiled program."""

    def __init__(self, builder, value):
        self.builder, self.value = builder, value


class _Place(_Emitted):
    """An unsigned index."""

    def __add__(self, other):
        return _Place(self.builder, self.builder.add(self.value, self._same(other)))

    def __mul__(self, other):
        return _Place(self.builder, self.builder.mul(self.value, self._same(other)))

    def _same(self, other):
        return other.value if isinstance(other, _Place) else self.value.type(other)


class _Number(_Emitted):
    """A float in a register."""

    def __add__(self, other):
        return _Number(self.builder, self.builder.fadd(self.value, _double(other), flags=_FAST))

    def __sub__(self, other):
        return _Number(self.builder, self.builder.fsub(self.value, _double(other), flags=_FAST))

    def __mul__(self, other):
        if isinstance(other, _Vector):
            return other * self
        return _Number(self.builder, self.builder.fmul(self.value, _double(other), flags=_FAST))

    def __neg__(self):
        return _Number(self.builder, self.builder.fneg(self.value, flags=_FAST))

    def __truediv__(self, other):
        return _Number(self.builder, self.builder.fdiv(self.value, _double(other), flags=_FAST))

    def __rtruediv__(self, other):
        return _Number(self.builder, self.builder.fdiv(_double(other), self.value, flags=_FAST))

    def __gt__(self, other):
        return _Truth(self.builder, self.builder.fcmp_ordered(">", self.value, _double(other)))

    def call(self, name, *others):
        """Return what an instruction that looks like a function makes of numbers."""
        function = ir.FunctionType(_DOUBLE, [_DOUBLE] * (1 + len(others)))
        known = cgutils.get_or_insert_function(self.builder.module, function, f"llvm.{name}.f64")
        values = [self.value, *(other.value for other in others)]
        return _Number(self.builder, self.builder.call(known, values))

    __rmul__ = __mul__


class _Truth(_Emitted):
    """A condition."""

    def __and__(self, other):
        other = other.value if isinstance(other, _Truth) else _BIT(int(other))
        return _Truth(self.builder, self.builder.and_(self.value, other))

    __rand__ = __and__


class _Vector(_Emitted):
    """4 or 8 numbers in one register, or in as many as the processor needs."""

    def __add__(self, other):
        return self._with(self.builder.fadd(self.value, other.value, flags=_FAST))

    def __sub__(self, other):
        return self._with(self.builder.fsub(self.value, other.value, flags=_FAST))

    def __mul__(self, other):
        if not isinstance(other, _Vector):
            other = self._broadcast(other)
        return self._with(self.builder.fmul(self.value, other.value, flags=_FAST))

    def __getitem__(self, lane):
        return _Number(self.builder, self.builder.extract_element(self.value, _INT(lane)))

    __rmul__ = __mul__

    def _with(self, value):
        return _Vector(self.builder, value)

    def _broadcast(self, number):
        kind = self.value.type
        nothing = ir.Constant(kind, ir.Undefined)
        single = self.builder.insert_element(nothing, _double(number), _INT(0))
        lanes = ir.Constant(ir.VectorType(_INT, kind.count), [0] * kind.count)
        return self._with(self.builder.shuffle_vector(single, nothing, lanes))


def _double(number):
    return number.value if isinstance(number, _Number) else _DOUBLE(float(number))


def _index(place):
    return place.value if isinstance(place, _Place) else ir.IntType(64)(place)


class _Memory:
    """The data of a contiguous array of any shape, by flat places; no bounds are checked."""

    def __init__(self, builder, data):
        self.builder, self.data = builder, data

    def load(self, place, lanes, used=None):
        """Return data[place : place + lanes], or only the first `used` of them and zeros."""
        if used in (None, lanes):
            return _Vector(self.builder, self.builder.load(self._vector(place, lanes), align=8))
        kind = ir.VectorType(_DOUBLE, lanes)
        zero = ir.Constant(kind, [0.0] * lanes)
        arguments = [self._vector(place, lanes), _INT(8), _first_lanes(lanes, used), zero]
        return _Vector(self.builder, self._masked("load", kind, arguments))

    def store(self, place, vector, used=None):
        """Set as many entries as the vector has, or only the first `used` of them."""
        lanes = vector.value.type.count
        if used in (None, lanes):
            self.builder.store(vector.value, self._vector(place, lanes), align=8)
            return
        arguments = [vector.value, self._vector(place, lanes), _INT(8), _first_lanes(lanes, used)]
        self._masked("store", ir.VoidType(), arguments)

    def _masked(self, what, returned, arguments):
        lanes = arguments[-1].type.count if what == "store" else returned.count
        function = ir.FunctionType(returned, [a.type for a in arguments])
        name = f"llvm.masked.{what}.v{lanes}f64.p0"
        masked = cgutils.get_or_insert_function(self.builder.module, function, name)
        return self.builder.call(masked, arguments)

    def prefetch(self, place, distance):
        """Ask for the line of memory with data[place + distance], which need not exist."""
        pointer = ir.IntType(8).as_pointer()
        function = ir.FunctionType(ir.VoidType(), [pointer, _INT, _INT, _INT])
        name = "llvm.prefetch.p0"
        prefetch = cgutils.get_or_insert_function(self.builder.module, function, name)
        to_read, keep, of_data = _INT(0), _INT(3), _INT(1)
        line = self.builder.bitcast(self._pointer(place + distance), pointer)
        self.builder.call(prefetch, [line, to_read, keep, of_data])

    def __getitem__(self, place):
        return _Number(self.builder, self.builder.load(self._pointer(place), align=8))

    def __setitem__(self, place, number):
        self.builder.store(number.value, self._pointer(place), align=8)

    def _pointer(self, place):
        return self.builder.gep(self.data, [_index(place)])

    def _vector(self, place, lanes):
        kind = ir.VectorType(_DOUBLE, lanes)
        return self.builder.bitcast(self._pointer(place), kind.as_pointer())


def _first_lanes(lanes, used):
    """Return the mask of the first `used` lanes."""
    return ir.Constant(ir.VectorType(_BIT, lanes), [int(lane < used) for lane in range(lanes)])


class _NumpyMemory:
    """The same without a compiler."""

    def __init__(self, array):
        self.data = array.reshape(-1)

    def load(self, place, lanes, used=None):
        """Return data[place : place + lanes], or only the first `used` of them and zeros."""
        vector = np.zeros(lanes)
        used = lanes if used is None else used
        vector[:used] = self.data[int(place) : int(place) + used]
        return vector

    def store(self, place, vector, used=None):
        """Set as many entries as the vector has, or only the first `used` of them."""
        used = len(vector) if used is None else used
        self.data[int(place) : int(place) + used] = vector[:used]

    def prefetch(self, place, distance):
        """Do nothing."""

    def __getitem__(self, place):
        return self.data[int(place)]

    def __setitem__(self, place, number):
        self.data[int(place)] = number


def zeros(memory, lanes):
    """Return a vector of zeros."""
    if isinstance(memory, _NumpyMemory):
        return np.zeros(lanes)
    return _Vector(memory.builder, ir.Constant(ir.VectorType(_DOUBLE, lanes), [0.0] * lanes))


def with_lane(vector, lane, number):
    """Return the vector with another number at one place."""
    if isinstance(vector, np.ndarray):
        changed = vector.copy()
        changed[lane] = number
        return changed
    inserted = vector.builder.insert_element(vector.value, _double(number), _INT(lane))
    return _Vector(vector.builder, inserted)


def gathered(memory, numbers, lanes):
    """Return a vector of numbers, filled up with zeros."""
    vector = zeros(memory, lanes)
    for lane, number in enumerate(numbers):
        vector = with_lane(vector, lane, number)
    return vector


def root(number):
    """Return the square root."""
    return number.call("sqrt") if isinstance(number, _Number) else np.sqrt(number)


def with_sign(number, other):
    """Return the magnitude of a number with the sign of another one."""
    if isinstance(number, _Number):
        return number.call("copysign", other)
    return np.copysign(number, other)


def least(number, bound):
    """Return the lesser number; NaN stays."""
    if isinstance(number, _Number):
        keep = number.builder.fcmp_unordered("<", number.value, _double(bound))
        chosen = number.builder.select(keep, number.value, _double(bound))
        return _Number(number.builder, chosen)
    return bound if bound <= number else number


def larger(sizes, vector):
    """Return the larger of numbers from 0 on and the magnitudes of a vector; NaN may get lost."""
    if isinstance(vector, np.ndarray):
        return np.fmax(sizes, np.abs(vector))
    builder, kind = vector.builder, vector.value.type
    function = ir.FunctionType(kind, [kind])
    name = f"llvm.fabs.v{kind.count}f64"
    size = builder.call(
        cgutils.get_or_insert_function(builder.module, function, name), [vector.value]
    )
    is_larger = builder.fcmp_ordered(">", size, sizes.value)
    return _Vector(builder, builder.select(is_larger, size, sizes.value))


def shuffled(first, second, lanes):
    """Return the vector of these lanes, those of `second` counted on from those of `first`."""
    if isinstance(first, np.ndarray):
        return np.concatenate([first, second])[lanes]
    chosen = ir.Constant(ir.VectorType(_INT, len(lanes)), lanes)
    mixed = first.builder.shuffle_vector(first.value, second.value, chosen)
    return _Vector(first.builder, mixed)


def sums(memory, vectors, lanes):
    """Return a vector of the sums of at most `lanes` vectors of 4, filled up with zeros."""
    quads = [_sums4(memory, vectors[i : i + 4]) for i in range(0, lanes, 4)]
    return quads[0] if lanes == 4 else shuffled(*quads, list(range(8)))


def _sums4(memory, vectors):
    """Return the sums of up to 4 vectors: fold halves of two into one, then neighbours."""
    v = [*vectors, *[zeros(memory, 4)] * 4][:4]
    even, odd = (
        shuffled(v[i], v[i + 2], [0, 1, 4, 5]) + shuffled(v[i], v[i + 2], [2, 3, 6, 7])
        for i in range(2)
    )
    return shuffled(even, odd, [0, 4, 2, 6]) + shuffled(even, odd, [1, 5, 3, 7])


def folded(vector):
    """Return a vector of 4 with the same sum."""
    width = len(vector) if isinstance(vector, np.ndarray) else vector.value.type.count
    if width == 4:
        return vector
    return shuffled(vector, vector, [0, 1, 2, 3]) + shuffled(vector, vector, [4, 5, 6, 7])


def for_each(count, body):
    """Run body(0), ..., body(count - 1) in a loop of the compiled program."""
    if not isinstance(count, _Place):
        for i in range(int(count)):
            body(i)
        return
    with cgutils.for_range(count.builder, count.value) as loop:
        body(_Place(count.builder, loop.index))


def straight_line(returns=types.void):
    """Make a step, to be called in compiled code, of a function of arrays, places and numbers.

    It may return nothing or, if `returns` is a boolean, a condition.
    """
    return lambda function: (
        _without_compiler(function) if config.DISABLE_JIT else _compiled(function, returns)
    )


def _without_compiler(function):
    """Return a function of NumPy's arrays and numbers."""

    def step(*arguments):
        return function(*(_NumpyMemory(a) if isinstance(a, np.ndarray) else a for a in arguments))

    return step


def _compiled(function, returns):
    """Return an intrinsic that runs the function to emit its code."""

    def emit(typing_context, *arguments):
        signature = returns(*(types.uintp if _is_place(a) else a for a in arguments))

        def code(context, builder, signature, values):
            emitted = (
                _wrapped(context, builder, kind, value)
                for kind, value in zip(signature.args, values, strict=True)
            )
            result = function(*emitted)
            return context.get_dummy_value() if result is None else result.value

        return signature, code

    names = ["typing_context", *inspect.signature(function).parameters]
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    emit.__signature__ = inspect.Signature([inspect.Parameter(n, positional) for n in names])
    return intrinsic(emit)


def _is_place(kind):
    return isinstance(kind, types.Integer)


def _wrapped(context, builder, kind, value):
    """Return an argument as what the function of a step works on."""
    if isinstance(kind, types.Array):
        return _Memory(builder, context.make_array(kind)(context, builder, value).data)
    return (_Place if _is_place(kind) else _Number)(builder, value)
