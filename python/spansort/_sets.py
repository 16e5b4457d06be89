# SPDX-License-Identifier: Apache-2.0
"""Values without their duplicates, by the array API's names."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._arrays import Array, source
from ._sort import argsort, sort, take


#: Elements that NumPy moves at a time.
_PART = 1 << 21


class UniqueCounts(NamedTuple):
    """What :func:`unique_counts` returns."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What :func:`unique_inverse` returns."""

    values: Any
    inverse_indices: Any


class UniqueAll(NamedTuple):
    """What :func:`unique_all` returns."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


def _firsts(keys: Array, equal_nan: bool) -> Array:
    """Return, of sorted keys, which differ from their left neighbour."""
    firsts = np.empty(len(keys), "bool")
    firsts[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=firsts[1:])
    if equal_nan and keys.dtype.names is None and len(keys) > 0 and bool(keys[-1] != keys[-1]):
        # NaN and NaT are last: the first of them stays.
        num_others = len(keys) - int(np.count_nonzero(keys != keys))
        firsts[num_others + 1 :] = False
    return firsts


def _counts(firsts: Array) -> Array:
    return np.diff(np.append(np.flatnonzero(firsts), len(firsts)))


def unique_values(x: Any, /, *, equal_nan: bool = False, devices: str = "auto", threads: int = 0) -> Any:
    """
    Return the values of an array, sorted, each once.

    Parameters
    ----------
    x : array_like
        As :func:`spansort.sort` takes, of any shape.
    equal_nan : bool, optional
        Whether NaN equals NaN, and NaT NaT. The array API wants that every NaN counts by itself, ``numpy.unique`` that
        all are one.
    devices, threads
        As :func:`spansort.sort`.

    Returns
    -------
    array, one dimension

    Examples
    --------
    >>> import numpy as np, spansort
    >>> spansort.unique_values(np.array([3, 1, 3]))
    array([1, 3])
    """
    array, back = source(x, "unique_values")
    keys = sort(array.reshape(-1), devices=devices, threads=threads)
    return back(keys[_firsts(keys, equal_nan)])


def unique_counts(x: Any, /, *, equal_nan: bool = False, devices: str = "auto", threads: int = 0) -> UniqueCounts:
    """
    Return the values of an array, sorted, and how often each is there.

    Parameters
    ----------
    x, equal_nan, devices, threads
        As :func:`unique_values`.

    Returns
    -------
    UniqueCounts
        A named tuple of ``values`` and ``counts`` (int64).
    """
    array, back = source(x, "unique_counts")
    keys = sort(array.reshape(-1), devices=devices, threads=threads)
    firsts = _firsts(keys, equal_nan)
    return UniqueCounts(back(keys[firsts]), back(_counts(firsts)))


def unique_all(x: Any, /, *, equal_nan: bool = False, devices: str = "auto", threads: int = 0) -> UniqueAll:
    """
    Return the values of an array, sorted, where each is first, which value each element has, and counts.

    Parameters
    ----------
    x, equal_nan, devices, threads
        As :func:`unique_values`.

    Returns
    -------
    UniqueAll
        A named tuple of ``values``, ``indices`` of their first places in `x` as one sequence, ``inverse_indices`` of
        the shape of `x`, with which ``values[inverse_indices]`` equals `x`, and ``counts``, all int64.
    """
    array, back = source(x, "unique_all")
    shape = array.shape
    flat = array.reshape(-1)
    order = argsort(flat, devices=devices, threads=threads)
    keys = take(flat, order, threads=threads)
    firsts = _firsts(keys, equal_nan)
    inverse = np.empty(len(flat), "int64")
    num_values = 0
    for begin in range(0, len(flat), _PART):  # signals are looked at between parts
        part = slice(begin, begin + _PART)
        numbers = np.cumsum(firsts[part], dtype="int64")
        inverse[order[part]] = numbers + (num_values - 1)
        num_values += int(numbers[-1])
    return UniqueAll(back(keys[firsts]), back(order[firsts]), back(inverse.reshape(shape)), back(_counts(firsts)))


def unique_inverse(x: Any, /, *, equal_nan: bool = False, devices: str = "auto", threads: int = 0) -> UniqueInverse:
    """
    Return the values of an array, sorted, and which of them each element has.

    Parameters
    ----------
    x, equal_nan, devices, threads
        As :func:`unique_values`.

    Returns
    -------
    UniqueInverse
        A named tuple of ``values`` and ``inverse_indices``, as of :func:`unique_all`.
    """
    found = unique_all(x, equal_nan=equal_nan, devices=devices, threads=threads)
    return UniqueInverse(found.values, found.inverse_indices)
