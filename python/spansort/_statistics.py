# SPDX-License-Identifier: Apache-2.0
"""Order statistics of arrays, without sorting them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arrays import Array, Keys, axis_of, keys_of_dtype, native, source
from ._sort import argsort, take

_NAN_POLICIES = {"propagate": "propagate", "omit": "omit", "raise": "error"}
# So few keys are sorted in no more time than `top_k` takes: of 512 f64 2.2 us and 7.7, of 4096 22 and 10.
_MOST_SORTED_KEYS = 1 << 9
_SORTED = {None: "", "ascending": "ascending", "descending": "descending"}


class TopK(NamedTuple):
    """What :func:`top_k` returns."""

    values: Any
    indices: Any


class Rank(NamedTuple):
    """What :func:`rank` returns: how many keys are less than a value, equal to it, greater, and NaN."""

    num_less: int
    num_equal: int
    num_greater: int
    num_nans: int


def made_options(
    function: str, method: str, nan_policy: str, assume_sorted: str | None, devices: str, threads: int
) -> _core.StatisticsOptions:
    """Return the options of a call in the form of the module."""
    if nan_policy not in _NAN_POLICIES:
        raise ValueError(f"{function}: nan_policy: {nan_policy!r} is none of {', '.join(map(repr, _NAN_POLICIES))}")
    if assume_sorted not in _SORTED:
        raise ValueError(f"{function}: assume_sorted: None, 'ascending' or 'descending' is expected")
    made = _core.StatisticsOptions()
    made.set(
        method=method, nan=_NAN_POLICIES[nan_policy], order=_SORTED[assume_sorted], devices=devices, threads=threads
    )
    return made


def _numbers(x: Any, function: str) -> tuple[Array, Keys]:
    array = native(source(x, function).array)
    keys = keys_of_dtype(array.dtype)
    if keys is None or keys.has_nat:
        raise TypeError(f"{function}: numbers are expected, not elements of dtype {array.dtype}")
    return array, keys


def quantile(
    x: Any,
    q: Any,
    /,
    axis: int | None = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    nan_policy: str = "propagate",
    assume_sorted: str | None = None,
    devices: str = "auto",
    threads: int = 0,
) -> Any:
    """
    Return quantiles, exactly: keys are counted and selected by all threads, and few of them sorted in a copy.

    Parameters
    ----------
    x : array_like of numbers or bool
        Not changed.
    q : float or array_like of float
        From 0 to 1.
    axis : int or None, optional
        The axis along which each row has quantiles of its own; None takes all elements together.
    method : str, optional
        One of NumPy's thirteen, or ``"tukey"``.
    keepdims : bool, optional
        Whether the axes taken together stay, with length 1.
    nan_policy : {'propagate', 'omit', 'raise'}, optional
        Whether a NaN makes the quantile NaN, is left out, or raises :class:`spansort.BadInputError`.
    assume_sorted : {None, 'ascending', 'descending'}, optional
        The order in which the keys are known to be; only some dozens of them are looked at then.
    devices : str, optional
        ``"auto"`` is the CPU.
    threads : int, optional
        0 means one for each processor.

    Returns
    -------
    float64 or ndarray of float64
        The axes of `q` come first. Of float64 keys as ``numpy.quantile``, bit for bit; of narrower floats with the
        digits of float64.

    Raises
    ------
    spansort.BadInputError
        Where there are no keys.
    ValueError
        For q outside [0, 1].

    Examples
    --------
    >>> import numpy as np, spansort
    >>> spansort.quantile(np.array([1, 2, 3, 4]), [0.25, 0.5])
    array([1.75, 2.5 ])
    """
    return _quantiles(
        "quantile", x, np.asarray(q, "float64"), axis, method, keepdims, nan_policy, assume_sorted, devices, threads
    )


def _quantiles(function: str, x: Any, q: Array, axis: int | None, method: str, keepdims: bool, nan_policy: str,
               assume_sorted: str | None, devices: str, threads: int) -> Any:  # fmt: skip
    array, keys = _numbers(x, function)
    made = made_options(function, method, nan_policy, assume_sorted, devices, threads)
    flat_q = np.ascontiguousarray(q.reshape(-1))
    if axis is None:
        found = _core.quantiles(array.reshape(-1), keys.number, flat_q, made)
        shape = (1,) * array.ndim if keepdims else ()
        result = found.reshape(q.shape + shape)
    else:
        axis = axis_of(array, axis, function)
        rows = np.ascontiguousarray(np.moveaxis(array, axis, -1))
        kept = rows.shape[:-1]
        num_rows = math.prod(kept)
        if rows.size == 0 < num_rows:
            _core.quantiles(rows.reshape(-1), keys.number, flat_q, made)  # says that there are no keys
        by_row = _core.row_quantiles(rows, keys.number, flat_q, made).reshape(num_rows, len(flat_q))
        result = by_row.T.reshape(q.shape + kept)
        if keepdims:
            result = np.expand_dims(result, q.ndim + axis)
    return result[()] if result.ndim == 0 else np.ascontiguousarray(result)


def nanquantile(x: Any, q: Any, /, axis: int | None = None, *, method: str = "linear", keepdims: bool = False,
                assume_sorted: str | None = None, devices: str = "auto", threads: int = 0) -> Any:  # fmt: skip
    """
    Return quantiles of the keys that are not NaN.

    Parameters
    ----------
    x, q, axis, method, keepdims, assume_sorted, devices, threads
        As :func:`quantile`.

    Returns
    -------
    float64 or ndarray of float64
        NaN where all keys are NaN.
    """
    return _quantiles(
        "nanquantile", x, np.asarray(q, "float64"), axis, method, keepdims, "omit", assume_sorted, devices, threads
    )


def percentile(x: Any, q: Any, /, axis: int | None = None, *, method: str = "linear", keepdims: bool = False,
               nan_policy: str = "propagate", assume_sorted: str | None = None, devices: str = "auto",
               threads: int = 0) -> Any:  # fmt: skip
    """
    Return percentiles: :func:`quantile` with `q` from 0 to 100.

    Parameters
    ----------
    x, q, axis, method, keepdims, nan_policy, assume_sorted, devices, threads
        As :func:`quantile`.

    Returns
    -------
    float64 or ndarray of float64
    """
    parts = np.true_divide(np.asarray(q, "float64"), 100)
    return _quantiles(
        "percentile", x, np.asarray(parts), axis, method, keepdims, nan_policy, assume_sorted, devices, threads
    )


def median(x: Any, /, axis: int | None = None, *, keepdims: bool = False, nan_policy: str = "propagate",
           assume_sorted: str | None = None, devices: str = "auto", threads: int = 0) -> Any:  # fmt: skip
    """
    Return the median.

    Parameters
    ----------
    x, axis, keepdims, nan_policy, assume_sorted, devices, threads
        As :func:`quantile`.

    Returns
    -------
    float64 or ndarray of float64

    Examples
    --------
    >>> import numpy as np, spansort
    >>> float(spansort.median(np.array([5, 1, 3])))
    3.0
    """
    return _quantiles(
        "median", x, np.asarray(0.5), axis, "linear", keepdims, nan_policy, assume_sorted, devices, threads
    )


def top_k(
    x: Any,
    k: int,
    /,
    *,
    largest: bool = True,
    nan_policy: str = "propagate",
    devices: str = "auto",
    threads: int = 0,
) -> TopK:
    """
    Return the k largest or smallest keys, in order, and where they are: without sorting the others.

    Parameters
    ----------
    x : array_like, shape (n,)
        As :func:`spansort.sort` takes, but for bytes, strings, structured arrays and dates.
    k : int
        More than n are n.
    largest : bool, optional
        False takes the smallest ones.
    nan_policy : {'propagate', 'omit', 'raise'}, optional
        NaN keys are last, as in every sort; or left out, so that fewer than k keys may come back; or an error.
    devices, threads
        As :func:`quantile`.

    Returns
    -------
    TopK
        A named tuple of ``values`` and ``indices`` (int64): the first k of a stable argsort, descending where the
        largest are wanted.

    Examples
    --------
    >>> import numpy as np, spansort
    >>> spansort.top_k(np.array([3, 9, 5, 9]), 2)
    TopK(values=array([9, 9]), indices=array([1, 3]))
    """
    given, back = source(x, "top_k")
    array, keys = _numbers(given, "top_k")
    if array.ndim != 1:
        raise ValueError(f"top_k: an array of one dimension is expected, not of {array.ndim}")
    if k < 0:
        raise ValueError("top_k: k: 0 or more are expected")
    if len(array) <= _MOST_SORTED_KEYS and nan_policy == "propagate" and devices == "auto":
        indices = np.array(argsort(array, descending=bool(largest))[:k])
        return TopK(back(take(given, indices)), back(indices))
    made = made_options("top_k", "linear", nan_policy, None, devices, threads)
    indices = _core.first_indices(array, keys.number, min(k, len(array)), bool(largest), made)
    return TopK(back(take(given, indices, threads=threads)), back(indices))


def rank(x: Any, value: Any, /, *, assume_sorted: str | None = None, devices: str = "auto", threads: int = 0) -> Rank:
    """
    Return how many keys are less than a value, equal to it, and greater.

    Parameters
    ----------
    x : array_like of numbers or bool
    value : scalar
        Of a value that the dtype of `x` holds; it need not be among the keys.
    assume_sorted, devices, threads
        As :func:`quantile`.

    Returns
    -------
    Rank
        A named tuple of ``num_less``, ``num_equal``, ``num_greater`` and ``num_nans``. NaN is more than any number.

    Raises
    ------
    ValueError
        For a value that the dtype does not hold.
    """
    array, keys = _numbers(x, "rank")
    wanted = np.asarray(value)
    as_key = wanted.astype(array.dtype)
    if as_key.shape != () or not (bool(as_key == wanted) or bool((as_key != as_key) & (wanted != wanted))):
        raise ValueError(f"rank: value: one that dtype {array.dtype} holds is expected, not {value!r}")
    made = made_options("rank", "linear", "propagate", assume_sorted, devices, threads)
    return Rank(*_core.rank_of(array, keys.number, np.ascontiguousarray(as_key).reshape(1), made))


def histogram(
    x: Any,
    bins: Any = 10,
    range: tuple[float, float] | None = None,
    *,
    assume_sorted: str | None = None,
    devices: str = "auto",
    threads: int = 0,
) -> tuple[Any, Any]:
    """
    Count keys between edges, as ``numpy.histogram`` does.

    Parameters
    ----------
    x : array_like of numbers or bool
    bins : int or array_like of float, optional
        Bins of equal width, or their edges, which do not fall.
    range : (float, float), optional
        Of bins of equal width; default: the least and the greatest key.
    assume_sorted, devices, threads
        As :func:`quantile`.

    Returns
    -------
    counts : ndarray of int64
    edges : ndarray of float64
        One more than counts. Edge i belongs to bin i, the last edge to the last bin; NaN and keys beyond the edges are
        not counted.

    Examples
    --------
    >>> import numpy as np, spansort
    >>> spansort.histogram(np.array([1, 2, 2, 5]), 2)
    (array([3, 1]), array([1., 3., 5.]))
    """
    array, keys = _numbers(x, "histogram")
    made = made_options("histogram", "linear", "propagate", assume_sorted, devices, threads)
    edges = np.asarray(bins)
    if edges.ndim == 0:
        if edges.dtype.kind not in "iu" or int(edges) < 1:
            raise ValueError("histogram: bins: a number of 1 or more, or edges are expected")
        low, high = (float(end) for end in (range if range is not None else _ends(array, keys)))
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges = _core.equal_width_edges(low, high, int(edges))
    edges = np.ascontiguousarray(edges, "float64")
    return _core.histogram(array.reshape(-1), keys.number, edges, made), edges


def _ends(array: Array, keys: Keys) -> Array:
    if array.size == 0:
        return np.array([0.0, 1.0])
    made = made_options("histogram", "linear", "omit", None, "auto", 0)
    ends: Array = _core.quantiles(array.reshape(-1), keys.number, np.array([0.0, 1.0]), made)
    if not np.isfinite(ends).all():
        raise ValueError("histogram: range: the least and the greatest key are not finite; give a range")
    return ends


def summary(
    x: Any,
    /,
    *,
    whis: float | tuple[float, float] = 1.5,
    method: str = "linear",
    nan_policy: str = "propagate",
    most_outliers: int = 1000,
    mean: bool = True,
    assume_sorted: str | None = None,
    devices: str = "auto",
    threads: int = 0,
) -> dict[str, Any]:
    """
    Return what a box plot shows, exactly and without sorting: a dict for ``Axes.bxp`` of matplotlib, and more.

    Parameters
    ----------
    x : array_like of numbers or bool
    whis : float or (float, float), optional
        How far whiskers may reach: interquartile ranges beyond the quartiles, or two percentiles.
    method, nan_policy, assume_sorted, devices, threads
        As :func:`quantile`.
    most_outliers : int, optional
        So many outliers are listed at most, the outermost.
    mean : bool, optional
        False leaves the mean NaN.

    Returns
    -------
    dict
        ``med``, ``q1``, ``q3``, ``iqr``, ``whislo``, ``whishi``, ``mean`` and ``fliers`` as matplotlib has them;
        ``count`` and ``nan_count``, ``minimum`` and ``maximum``, ``fence_low`` and ``fence_high``,
        ``num_outliers_below`` and ``num_outliers_above``.

    Examples
    --------
    >>> import numpy as np, spansort
    >>> box = spansort.summary(np.array([1, 2, 3, 4, 100]))
    >>> box["med"], box["whishi"], box["fliers"]
    (3.0, 4.0, array([100.]))
    """
    array, keys = _numbers(x, "summary")
    made = box_options(whis, method, nan_policy, most_outliers, mean, assume_sorted, devices, threads)
    return box_of(_core.summarize(array.reshape(-1), keys.number, made))


def box_options(whis: float | tuple[float, float], method: str, nan_policy: str, most_outliers: int, mean: bool,
                assume_sorted: str | None, devices: str, threads: int) -> _core.StatisticsOptions:  # fmt: skip
    """Return the options of a summary in the form of the module."""
    made = made_options("summary", method, nan_policy, assume_sorted, devices, threads)
    if isinstance(whis, (int, float)):
        factor, percentiles = float(whis), []
    else:
        factor, percentiles = 1.5, [float(whis[0]), float(whis[1])]
    made.set_box(iqr_factor=factor, percentiles=percentiles, most_outliers=most_outliers, with_mean=bool(mean))
    return made


def box_of(found: dict[str, Any]) -> dict[str, Any]:
    """Return a summary by matplotlib's names."""
    names = {"median": "med", "lower_quartile": "q1", "upper_quartile": "q3", "whisker_low": "whislo",
             "whisker_high": "whishi", "outliers": "fliers"}  # fmt: skip
    return {names.get(name, name): value for name, value in found.items()}
