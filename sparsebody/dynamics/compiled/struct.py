"""Arrays behind one pointer: one small argument of a compiled call, however many there are."""

# numba's structref is untyped.
# mypy: ignore-errors

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from numba import config
from numba.core import cgutils, datamodel
from numba.core.imputils import lower_getattr_generic, lower_setattr_generic
from numba.core.runtime.context import NRTContext
from numba.core.typing.templates import AttributeTemplate
from numba.experimental import structref
from numba.extending import infer_getattr


class Struct(structref.StructRefProxy):
    """Arrays by name.

    The annotated fields are attributes in compiled code only, or without a compiler in Python's.
    """

    def __new__(cls, **arrays: Any) -> Any:
        """Make one of all its fields, by name."""
        values = [arrays[name] for name in cls.__annotations__]
        if config.DISABLE_JIT:
            return SimpleNamespace(**dict(zip(cls.__annotations__, values, strict=True)))
        return structref.StructRefProxy.__new__(cls, *values)


def register(kind: type) -> type:
    """Let compiled code read the fields of a type, also code that counts no references.

    Such code (`_nrt`: False) cannot read those of numba's own structures.
    """
    datamodel.default_manager.register(kind, datamodel.models.StructRefModel)

    @infer_getattr
    class Fields(AttributeTemplate):
        key = kind

        def generic_resolve(self, typ, attr):
            return typ.field_dict.get(attr)

    @lower_getattr_generic(kind)
    def read(context, builder, typ, value, attr):
        field = getattr(_fields(context, builder, typ, value), attr)
        if context.enable_nrt:
            context.nrt.incref(builder, typ.field_dict[attr], field)
        return field

    @lower_setattr_generic(kind)
    def fill(context, builder, signature, values, attr):
        """What only the constructor does, once."""
        typ = signature.args[0]
        context.nrt.incref(builder, signature.args[1], values[1])
        setattr(_fields(context, builder, typ, values[0]), attr, values[1])

    return kind


def _fields(context, builder, typ, value):
    """Return the fields of an instance in compiled code."""
    meminfo = cgutils.create_struct_proxy(typ)(context, builder, value=value).meminfo
    data = NRTContext(context, True).meminfo_data(builder, meminfo)
    payload = typ.get_data_type()
    pointer = context.data_model_manager[payload].get_value_type().as_pointer()
    data = builder.bitcast(data, pointer)
    return cgutils.create_struct_proxy(payload)(context, builder, ref=data)
