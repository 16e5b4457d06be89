# SPDX-License-Identifier: Apache-2.0
"""Sorts of JAX arrays as custom calls of XLA: JAX traces, compiles, maps and differentiates them like its own functions.

JAX is imported by the caller, whose arrays come here.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import _core
from ._arrays import axis_of_shape
from ._gpu_library import key_type_of

#: Values of these sizes are moved by the sort; others are gathered by its order.
_MOVED_BYTES = (4, 8, 16)
#: The order of so many keys is found as numbers of 32 bits and widened, which halves what is moved.
_NARROW_ORDERS = range(1 << 20, 1 << 31)

for _name, _platform, _target in _core.xla_targets():
    jax.ffi.register_ffi_target(_name, _target, platform=_platform)


def _call(name: str, results: Any, *operands: Any, descending: bool, aliases: dict[int, int] | None = None) -> Any:
    """Call a target, which sorts along the last axis of what it gets. Results that are aliases begin as copies."""
    call = jax.ffi.ffi_call(name, results, vmap_method="broadcast_all", input_output_aliases=aliases)
    return call(*operands, descending=np.bool_(descending))


def _like(x: Any) -> Any:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def _order_of_rows(keys: Any, descending: bool) -> Any:
    dtype = jax.dtypes.canonicalize_dtype(np.int64)
    if keys.shape[-1] > 1 << 31 and dtype == np.int32:
        raise ValueError(
            f"orders of {keys.shape[-1]} keys need int64, which this library has not (jax_enable_x64 turns it on)"
        )
    found = np.dtype(np.int32) if keys.size in _NARROW_ORDERS else dtype
    order = _call("spansort_argsort", jax.ShapeDtypeStruct(keys.shape, found), keys, descending=descending)
    return order.astype(dtype)


def _moved(x: Any, order: Any) -> Any:
    """Return what moves along the last axis by an order; tangents of integers have no elements that could."""
    return x if x.dtype == jax.dtypes.float0 else jnp.take_along_axis(x, order, axis=-1)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _sorted_rows(keys: Any, descending: bool) -> Any:
    return _call("spansort_sort", _like(keys), keys, descending=descending, aliases={0: 0})


def _sorted_rows_jvp(descending: bool, primals: Any, tangents: Any) -> Any:
    # The keys are sorted once more: -0.0 and 0.0 are in another order among themselves than by the stable order.
    order = _order_of_rows(jax.lax.stop_gradient(primals[0]), descending)
    return _sorted_rows(primals[0], descending), _moved(tangents[0], order)


_sorted_rows.defjvp(_sorted_rows_jvp)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def _sorted_pairs(keys: Any, values: Any, descending: bool) -> Any:
    results, aliases = [_like(keys), _like(values)], {0: 0, 1: 1}
    return tuple(_call("spansort_sort_pairs", results, keys, values, descending=descending, aliases=aliases))


def _sorted_pairs_jvp(descending: bool, primals: Any, tangents: Any) -> Any:
    order = _order_of_rows(jax.lax.stop_gradient(primals[0]), descending)
    return tuple(tuple(_moved(each, order) for each in half) for half in (primals, tangents))


_sorted_pairs.defjvp(_sorted_pairs_jvp)


def _along_last_axis(x: Any, axis: int | None) -> tuple[Any, int]:
    """Return keys with the axis last along which they are sorted, and which axis of the result that is."""
    if axis is None:
        return x.reshape(-1), -1
    return jnp.moveaxis(x, axis, -1), axis


@functools.partial(jax.jit, static_argnums=(1, 2))
def _sort(x: Any, axis: int | None, descending: bool) -> Any:
    keys, axis = _along_last_axis(x, axis)
    return jnp.moveaxis(_sorted_rows(keys, descending), -1, axis)


@functools.partial(jax.jit, static_argnums=(1, 2))
def _argsort(x: Any, axis: int | None, descending: bool) -> Any:
    keys, axis = _along_last_axis(jax.lax.stop_gradient(x), axis)
    return jnp.moveaxis(_order_of_rows(keys, descending), -1, axis)


@functools.partial(jax.jit, static_argnums=(2,))
def _sort_pairs(x: Any, values: Any, descending: bool) -> Any:
    if values.ndim == 1 and isinstance(values.dtype, np.dtype) and values.dtype.itemsize in _MOVED_BYTES:
        return _sorted_pairs(x, values, descending)
    order = _order_of_rows(jax.lax.stop_gradient(x), descending)
    return jnp.take(x, order, axis=0), jnp.take(values, order, axis=0)


def _check(x: Any, axis: int | None, given: Any, function: str) -> int | None:
    """Return the axis counted from 0, None for all elements as one sequence."""
    if given.names_gpu and isinstance(x, jax.core.Tracer):
        raise ValueError(f"{function}: devices: a program is sorted where JAX runs it; 'auto' is expected, not 'gpu'")
    if not isinstance(x.dtype, np.dtype) or key_type_of(x.dtype) is None:
        raise TypeError(
            f"{function}: elements of dtype {x.dtype.name} have no order; keys are integers and floats of 8 to 64 bits, "
            "bfloat16 and bool"
        )
    return axis_of_shape(x.shape, axis, function) if axis is not None else None


def sort(x: Any, axis: int | None, given: Any) -> Any:
    """Return a sorted copy."""
    return _sort(x, _check(x, axis, given, "sort"), given.descending)


def argsort(x: Any, axis: int | None, given: Any) -> Any:
    """Return the stable order: int64, or int32 where JAX has no 64 bits."""
    return _argsort(x, _check(x, axis, given, "argsort"), given.descending)


def sort_pairs(x: Any, values: Any, given: Any) -> tuple[Any, Any]:
    """Return keys sorted and values moved along."""
    for array, name in ((x, "keys"), (values, "values")):
        if not isinstance(array, (jax.Array, np.ndarray)):
            raise TypeError(f"sort_pairs: {name}: an array of JAX or NumPy is expected")
    _check(x, 0, given, "sort_pairs")
    if len(x.shape) != 1:
        raise ValueError(f"sort_pairs: an array of one dimension is expected, not of {len(x.shape)}")
    if len(values.shape) == 0 or values.shape[0] != x.shape[0]:
        raise ValueError(f"sort_pairs: as many values as keys are expected: {math.prod(x.shape)}")
    ordered, moved = _sort_pairs(jnp.asarray(x), jnp.asarray(values), given.descending)
    return ordered, moved
