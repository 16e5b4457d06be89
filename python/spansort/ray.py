# SPDX-License-Identifier: Apache-2.0
"""Sorts of datasets and files on a Ray cluster: three kinds of tasks, which Ray places, spills and runs again.

    import ray, spansort.ray
    dataset = ray.data.read_parquet("trips/")
    spansort.ray.sort(dataset, ["city", ("fare", "desc")]).write_parquet("sorted/")

1. ``spansort.sample``: a block's keys, some of them by chance; from all of them come splitters, by one sort.
2. ``spansort.sort_and_cut``: a block in order, cut at the splitters into a piece for each range.
3. ``spansort.merge``: the pieces of one range in order: a block of the result.

That is the shuffle of Exoshuffle (arXiv 2203.05072) in its simplest form: as many objects as blocks times ranges. A
task that was lost with its worker, or whose result was lost with its node, is run again by Ray, alone, and makes the same.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

try:
    import pyarrow as pa
    import ray
    import ray.data
except ImportError as reason:
    raise ImportError(f"spansort.ray needs Ray and pyarrow: pip install 'spansort[ray]' ({reason})") from None

from . import _ranges, _ray_files
from ._errors import BadInputError
from ._ranges import Order
from ._sort import sort as sort_array
from ._statistics import quantile
from ._tables import By, columns_of

__all__ = ["quantiles", "sort", "sort_files"]

_Options = Mapping[str, Any]
_METHODS = ("linear", "lower", "higher", "midpoint")
_NAN_POLICIES = ("propagate", "omit", "raise")
#: Of a block, for quantiles: between two samples lies a 4,096th of it.
_SAMPLES_OF_RUN = 4096


def _load(source: Any, columns: Sequence[str] | None = None) -> Any:
    """Return a block: Ray has put the table in the place of its reference, a part of a file is read."""
    if isinstance(source, _ray_files.Part):
        return source.read(columns)
    return source if columns is None or source.num_rows == 0 else source.select(columns)


def _sample(source: Any, order: Order, num_samples: int, number: int) -> _ranges.Sample:
    return _ranges.sample(_load(source, order.names), num_samples, number)


def _sort_and_cut(source: Any, order: Order, number: int, splitters: _ranges.Splitters, threads: int) -> Any:
    pieces = _ranges.sort_and_cut(_load(source), number, splitters, order, threads)
    return pieces if len(pieces) > 1 else pieces[0]


def _merge(order: Order, threads: int, *pieces: Any) -> Any:
    return _ranges.merge(pieces, order, threads)


def _write(prefix: str, file_format: str, order: Order, threads: int, *pieces: Any) -> str:
    """Write a range to a file of a new name, for a worker that counts as lost may be writing yet. Return the name."""
    path = f"{prefix}-{secrets.token_hex(8)}"
    _ray_files.write(_ranges.merge(pieces, order, threads), path, file_format)
    return path


def _sort_column(block: Any, on: str, threads: int) -> Any:
    """Return a column's numbers in order, without NaN and nulls, and a sample of them."""
    if block.num_rows == 0:
        return np.empty(0), _ranges.run_sample(np.empty(0), 0, 1)
    column = block.column(on)
    if pa.types.is_null(column.type):
        return np.empty(0), _ranges.run_sample(np.empty(0), 0, 1)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise TypeError(f"quantiles: column '{on}' is of {column.type}, which is no number")
    run = sort_array(column.drop_null().combine_chunks().to_numpy(zero_copy_only=False), threads=threads)
    num_nans = int(np.isnan(run[np.searchsorted(run, np.inf, "right") :]).sum()) if run.dtype.kind == "f" else 0
    run = run[: len(run) - num_nans]
    return run, _ranges.run_sample(run, num_nans, _SAMPLES_OF_RUN)


def _between(run: Any, brackets: Sequence[_ranges.Bracket]) -> list[_ranges.Between]:
    return [_ranges.between(run, bracket) for bracket in brackets]


def _interpolated(low: Any, high: Any, fraction: float, method: str) -> float:
    """Return a quantile between two neighbours, in float64: integers overflow, and infinities have no difference."""
    pair = np.array([low, high], "float64")
    return float(pair[0] if pair[0] == pair[1] else quantile(pair, fraction, method=method))


def _task(function: Any, options: _Options, **more: Any) -> Any:
    return ray.remote(function).options(name=f"spansort.{function.__name__.strip('_')}", **{**options, **more})


def _threads(options: _Options) -> int:
    return max(1, int(options.get("num_cpus", 1)))


def _ranges_of(sources: Sequence[Any], order: Order, num_ranges: int, options: _Options) -> list[list[Any]]:
    """Return references to the pieces of each range, in the order of the blocks."""
    num_samples = _ranges.SAMPLES_A_RANGE * num_ranges
    take_sample = _task(_sample, options)
    even = -(-num_samples // len(sources))
    samples = ray.get([take_sample.remote(source, order, even, i) for i, source in enumerate(sources)])
    larger = _ranges.uneven(samples, num_samples)
    again = [take_sample.remote(sources[i], order, count, i) for i, count in larger.items()]
    for i, found in zip(larger, ray.get(again)):
        samples[i] = found
    splitters = _ranges.find_splitters(samples, num_ranges, order)
    if splitters is None:
        return []
    shared = ray.put(splitters)
    cut = _task(_sort_and_cut, options, num_returns=num_ranges)
    pieces = [cut.remote(source, order, i, shared, _threads(options)) for i, source in enumerate(sources)]
    return [list(of_range) for of_range in zip(*pieces)] if num_ranges > 1 else [pieces]


def sort(
    dataset: ray.data.Dataset,
    by: By,
    *,
    descending: bool = False,
    preset: str = "numpy",
    num_blocks: int | None = None,
    ray_remote_args: _Options | None = None,
) -> ray.data.Dataset:
    """
    Return a dataset's rows in the order of columns, stable.

    Blocks until all is sorted. Ray holds the blocks, the pieces and the result in its object store and spills what does
    not fit; a task needs some five times the memory of its block. Rows with equal keys keep the order in which Ray
    gives the blocks, which is that of the source where ``DataContext.execution_options.preserve_order`` is set.

    Parameters
    ----------
    dataset : ray.data.Dataset
        It is executed where it is not materialized.
    by, descending, preset
        As :func:`spansort.sort_table`.
    num_blocks : int, optional
        Of the result, all of about one size, however often a key is there; as many as the dataset has, by default.
    ray_remote_args : mapping, optional
        What the tasks are given, as ``{"num_cpus": 4, "max_retries": 10}``. A task computes by ``num_cpus`` threads.

    Returns
    -------
    ray.data.Dataset
        Materialized; its blocks one after the other are in order.

    Raises
    ------
    TypeError, ValueError
        As :func:`spansort.sort_table`.
    ray.exceptions.RayError
        A task failed more often than Ray was allowed to run it again.

    Examples
    --------
    >>> import ray, spansort.ray  # doctest: +SKIP
    >>> spansort.ray.sort(ray.data.from_items([{"a": 2}, {"a": 1}]), "a").take_all()  # doctest: +SKIP
    [{'a': 1}, {'a': 2}]
    """
    order = Order(columns_of(by, descending, "spansort.ray.sort"), preset)
    _check_columns(dataset, order.names)
    options = ray_remote_args or {}
    blocks = dataset.to_arrow_refs()
    num_ranges = _checked_count(num_blocks, len(blocks), "num_blocks")
    ranges = _ranges_of(blocks, order, num_ranges, options) if blocks else []
    merge = _task(_merge, options)
    merged = []
    while ranges:  # a piece that nobody names any more is freed when its range is merged
        merged.append(merge.remote(order, _threads(options), *ranges.pop(0)))
    return ray.data.from_arrow_refs(merged) if merged else dataset.materialize()


def sort_files(
    inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output_folder: str | os.PathLike[str],
    by: By | None = None,
    *,
    descending: bool = False,
    preset: str = "numpy",
    file_format: str | None = None,
    record_bytes: int | None = None,
    key_bytes: int | None = None,
    key_offset: int = 0,
    num_files: int | None = None,
    part_bytes: int = 256 << 20,
    ray_remote_args: _Options | None = None,
) -> list[str]:
    """
    Sort files into a folder of files that are in order one after the other, stable.

    Tasks read the inputs and write the outputs, so that the files lie where all nodes see them; of the inputs nothing
    is put into the object store but keys, a sample, and the pieces on their way. Blocks until all is written. Outputs have
    hidden names until all of them are whole; then they are given theirs.

    Parameters
    ----------
    inputs : path, or sequence of paths
        Files, folders, and patterns.
    output_folder : path
        Is made; must be empty where it is there.
    by, descending, preset
        As :func:`spansort.sort_table`, for Parquet and Arrow IPC.
    file_format : {'parquet', 'ipc', 'records'}, optional
        By the files' names where it is not given.
    record_bytes, key_bytes, key_offset : int, optional
        Binary records of one width and where their key lies, which is ordered by its bytes; 100, 10 and 0 are those of
        the Sort Benchmark.
    num_files : int, optional
        Of the output; by default one for each part that is read.
    part_bytes : int, optional
        How much of its file one task reads, about; a row group at least. In memory Parquet may be many times as large.
    ray_remote_args
        As :func:`sort`.

    Returns
    -------
    list of str
        The files, in order.

    Raises
    ------
    ValueError
        Files that are not alike or of no known format, records that are not whole, an output folder that is not empty.
    OSError
        A file cannot be read or written. No output is left then.
    ray.exceptions.RayError
        As :func:`sort`.

    Examples
    --------
    >>> spansort.ray.sort_files("trips/", "sorted/", ["city", ("fare", "desc")])  # doctest: +SKIP
    ['sorted/part-00000.parquet', 'sorted/part-00001.parquet']
    """
    layout = _layout(record_bytes, key_bytes, key_offset, by)
    files = _ray_files.files_of(inputs)
    wanted = "records" if layout is not None else file_format
    formats = {_ray_files.format_of(path, wanted) for path in files}
    if len(formats) != 1:
        raise ValueError(f"sort_files: the inputs have several formats: {', '.join(sorted(formats))}")
    found = formats.pop()
    if (found == "records") != (layout is not None):
        raise ValueError("sort_files: record_bytes and key_bytes are expected for records")
    order = Order(columns_of(_ray_files.KEY if by is None else by, descending, "spansort.ray.sort_files"), preset)
    _check_schemas(files, found, layout, order.names)
    parts = [part for path in files for part in _ray_files.parts_of(path, found, layout, part_bytes)]
    folder = os.path.abspath(output_folder)
    os.makedirs(folder, exist_ok=True)
    if os.listdir(folder):
        raise ValueError(f"{folder}: it is not empty")
    options = ray_remote_args or {}
    num_ranges = _checked_count(num_files, len(parts), "num_files")
    ranges = _ranges_of(parts, order, num_ranges, options) if parts else []
    suffix = "" if found == "records" else {"parquet": ".parquet", "ipc": ".arrow"}[found]
    names = [f"part-{i:05}{suffix}" for i in range(len(ranges))]
    hidden = f".spansort-{secrets.token_hex(8)}-"
    write = _task(_write, options)
    writing = []
    results: list[str] = []
    is_done = False
    try:
        for name in names:
            prefix = os.path.join(folder, hidden + name)
            writing.append(write.remote(prefix, found, order, _threads(options), *ranges.pop(0)))
        for path, name in zip(ray.get(writing), names):
            os.rename(path, os.path.join(folder, name))
            results.append(os.path.join(folder, name))
        is_done = True
    finally:
        _end(writing)
        for name in os.listdir(folder):
            if name.startswith(hidden):
                os.unlink(os.path.join(folder, name))
        for path in [] if is_done else results:
            os.unlink(path)
    return results


def _end(tasks: Sequence[Any]) -> None:
    """End the workers of what still runs, and wait until they have ended."""
    _, running = ray.wait(list(tasks), num_returns=len(tasks), timeout=0) if tasks else ([], [])
    for task in running:
        ray.cancel(task, force=True)
    if running:
        ray.wait(running, num_returns=len(running), timeout=60)


def quantiles(
    dataset: ray.data.Dataset,
    on: str,
    q: Any,
    *,
    method: str = "linear",
    nan_policy: str = "propagate",
    ray_remote_args: _Options | None = None,
) -> Any:
    """
    Return quantiles of a dataset's column, exactly.

    Each block's column is sorted by a task and stays in Ray's object store; samples of all bracket each quantile, and
    what lies between its brackets, some thousandth of the rows, is looked at here. Nulls are left out. Blocks.

    Parameters
    ----------
    dataset : ray.data.Dataset
    on : str
        A column of integers or floats.
    q : float or array_like of float
        From 0 to 1.
    method : {'linear', 'lower', 'higher', 'midpoint'}, optional
    nan_policy : {'propagate', 'omit', 'raise'}, optional
        Whether a NaN makes all quantiles NaN, is left out, or raises :class:`spansort.BadInputError`.
    ray_remote_args
        As :func:`sort`.

    Returns
    -------
    float64 or ndarray of float64
        As :func:`spansort.quantile` of the whole column has them.

    Raises
    ------
    spansort.BadInputError
        Where there are no keys.
    TypeError, ValueError
        The column is not there or has no numbers; q outside [0, 1]; an unknown method or policy.

    Examples
    --------
    >>> spansort.ray.quantiles(ray.data.range(5), "id", [0.25, 0.5])  # doctest: +SKIP
    array([1., 2.])
    """
    wanted = np.asarray(q, "float64")
    if not ((wanted >= 0) & (wanted <= 1)).all():
        raise ValueError("quantiles: q: numbers from 0 to 1 are expected")
    for name, given, known in (("method", method, _METHODS), ("nan_policy", nan_policy, _NAN_POLICIES)):
        if given not in known:
            raise ValueError(f"quantiles: {name}: {given!r} is none of {', '.join(map(repr, known))}")
    _check_columns(dataset, [on])
    options = ray_remote_args or {}
    sort_column = _task(_sort_column, options, num_returns=2)
    runs = [sort_column.remote(block, on, _threads(options)) for block in dataset.to_arrow_refs()]
    found = _ranges.RunSamples(ray.get([sampled for _, sampled in runs]))
    if found.num_nans > 0 and nan_policy == "raise":
        raise BadInputError(f"quantiles: {found.num_nans} of the numbers are NaN")
    if found.num_nans > 0 and nan_policy == "propagate":
        return np.full(wanted.shape, np.nan)[()]
    if found.num_keys == 0:
        raise BadInputError("quantiles: there are no numbers")
    places = wanted * (found.num_keys - 1)
    ranks = np.unique([np.floor(places), np.ceil(places)]).astype("int64")
    brackets = [found.bracket(rank) for rank in ranks]
    look = _task(_between, options)
    seen = ray.get([look.remote(run, brackets) for run, _ in runs])
    keys = {rank: _ranges.key_of_rank(rank, bracket, [of_run[i] for of_run in seen])
            for i, (rank, bracket) in enumerate(zip(ranks.tolist(), brackets))}  # fmt: skip
    result = np.empty(wanted.shape)
    for at, place in np.ndenumerate(places):
        low, high = keys[int(np.floor(place))], keys[int(np.ceil(place))]
        result[at] = _interpolated(low, high, float(place - np.floor(place)), method)
    return result[()]


def _layout(
    record_bytes: int | None, key_bytes: int | None, key_offset: int, by: By | None
) -> _ray_files.Records | None:
    if record_bytes is None and key_bytes is None:
        if by is None:
            raise TypeError("sort_files: by, or record_bytes and key_bytes, are expected")
        return None
    if record_bytes is None or key_bytes is None or by is not None:
        raise TypeError("sort_files: record_bytes and key_bytes are expected together, and without by")
    if not (record_bytes > 0 and key_bytes > 0 and 0 <= key_offset <= record_bytes - key_bytes):
        raise ValueError(f"sort_files: a key of {key_bytes} bytes at {key_offset} does not lie in {record_bytes} bytes")
    return _ray_files.Records(record_bytes, key_bytes, key_offset)


def _check_columns(dataset: ray.data.Dataset, names: Sequence[str]) -> None:
    schema = dataset.schema()
    missing = [name for name in names if schema is not None and name not in schema.names]
    if missing:
        raise ValueError(f"spansort.ray: no column '{missing[0]}'; there are {', '.join(schema.names)}")


def _check_schemas(files: Sequence[str], found: str, layout: _ray_files.Records | None, names: Sequence[str]) -> None:
    first = _ray_files.schema_of(files[0], found, layout)
    for name in names:
        if name not in first.names:
            raise ValueError(f"{files[0]}: no column '{name}'; there are {', '.join(first.names)}")
    for path in files[1:]:
        if not _ray_files.schema_of(path, found, layout).equals(first):
            raise ValueError(f"{path}: its columns are not those of {files[0]}")


def _checked_count(given: int | None, otherwise: int, name: str) -> int:
    if given is not None and given < 1:
        raise ValueError(f"spansort.ray: {name}: at least 1 is expected, not {given}")
    return given or max(1, otherwise)
