"""Views without reference counts, for generated runners only.

Reference counting of the views into a batch is the whole difference between small kernels over
NamedTuples and fused C++ (``docs/design/kernels.md``). A borrowed view must never leave the
compiled call that made it, and its bounds are not checked: the runner's caller vouches for them.
"""

from __future__ import annotations

from typing import Any

import numba
from numba.core import cgutils, types
from numba.extending import intrinsic


def _slice(array: Any, start: Any, stop: Any) -> Any:
    """The same in plain Python."""
    return array[start:stop]


def _borrow(typing_context: Any, array: Any, start: Any, stop: Any) -> Any:  # noqa: ARG001
    one_dimensional = isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"
    if not (
        one_dimensional and isinstance(start, types.Integer) and isinstance(stop, types.Integer)
    ):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        make = context.make_array(array)
        source = make(context, builder, arguments[0])
        first = context.cast(builder, arguments[1], start, types.intp)
        last = context.cast(builder, arguments[2], stop, types.intp)
        size = builder.sub(last, first)
        view = make(context, builder)
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        view.nitems = size
        view.itemsize = source.itemsize
        view.shape = cgutils.pack_array(builder, [size])
        view.strides = cgutils.pack_array(builder, [source.itemsize])
        view.data = builder.gep(
            source.data, [first], source_etype=context.get_data_type(array.dtype)
        )
        return view._getvalue()

    return array(array, start, stop), generate


borrow = _slice if numba.config.DISABLE_JIT else intrinsic(_borrow)  # type: ignore[attr-defined]
"""``borrow(array, start, stop)``: a part of a one-dimensional array."""
