"""Arrays without reference counts, for generated modules only.

Reference counting of the views into a batch is the whole difference between small kernels over
NamedTuples and fused C++, and unpacking array after array is most of what a call from Python costs
(``docs/design/kernels.md``). A borrowed array must never leave the compiled call that made it, and
its bounds are not checked: the caller vouches for them, and keeps the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

_PLAIN = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined] # made at run time


def lend(arrays: Sequence[NDArray[Any]]) -> Any:
    """What compiled code is given in place of some arrays: where each lies, and its length.

    Args:
        arrays: One-dimensional, contiguous and writeable. Whoever lends them keeps them alive.
    """
    if _PLAIN:
        return tuple(arrays)
    return np.array([number for each in arrays for number in (each.ctypes.data, len(each))])


def _part(array: Any, start: Any, stop: Any) -> Any:
    """The same as ``borrow`` in plain Python."""
    return array[start:stop]


def _member(loan: Any, number: Any, dtype: Any) -> Any:  # noqa: ARG001
    """The same as ``lent`` in plain Python."""
    return loan[number]


def _borrow(typing_context: Any, array: Any, start: Any, stop: Any) -> Any:  # noqa: ARG001
    one_dimensional = isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"
    if not (
        one_dimensional and isinstance(start, types.Integer) and isinstance(stop, types.Integer)
    ):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        source = context.make_array(array)(context, builder, arguments[0])
        first = context.cast(builder, arguments[1], start, types.intp)
        last = context.cast(builder, arguments[2], stop, types.intp)
        item = context.get_data_type(array.dtype)
        data = builder.gep(source.data, [first], source_etype=item)
        return _array(context, builder, array, data, builder.sub(last, first))

    return array(array, start, stop), generate


def _lent(typing_context: Any, loan: Any, number: Any, dtype: Any) -> Any:  # noqa: ARG001
    if not (isinstance(number, types.IntegerLiteral) and isinstance(dtype, types.NumberClass)):
        return None
    array = types.Array(dtype.dtype, 1, "C")
    place = 2 * number.literal_value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        numbers = context.make_array(loan)(context, builder, arguments[0]).data
        kind = context.get_value_type(types.intp)
        address, size = (
            builder.load(cgutils.gep_inbounds(builder, numbers, place + k), typ=kind)
            for k in range(2)
        )
        item = context.get_data_type(array.dtype)
        return _array(context, builder, array, builder.inttoptr(address, item.as_pointer()), size)

    return array(loan, number, dtype), generate


def _array(context: Any, builder: Any, kind: Any, data: Any, size: Any) -> Any:
    """An array over memory that nobody counts the users of."""
    array = context.make_array(kind)(context, builder)
    step = context.get_constant(
        types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype))
    )
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    array.nitems = size
    array.itemsize = step
    array.shape = cgutils.pack_array(builder, [size])
    array.strides = cgutils.pack_array(builder, [step])
    array.data = data
    return array._getvalue()


borrow = _part if _PLAIN else intrinsic(_borrow)
"""``borrow(array, start, stop)``: a part of a one-dimensional array."""

lent = _member if _PLAIN else intrinsic(prefer_literal=True)(_lent)
"""``lent(loan, number, dtype)``: one of the arrays that were lent."""
