# SPDX-License-Identifier: Apache-2.0
"""Sorts, checks and statistics of files, larger than memory too."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._options import Path, Progress, Size, options
from ._statistics import box_of, box_options, made_options


class FileResult(NamedTuple):
    """What a sort of a file did.

    ``num_elements_in`` and ``num_elements_out``; ``verified`` is whether the result was checked; ``num_runs`` sorted
    runs went to temporary files (0: all was in memory at once), ``spilled_bytes`` in all.
    """

    num_elements_in: int
    num_elements_out: int
    verified: bool
    num_runs: int
    spilled_bytes: int


class FileCheck(NamedTuple):
    """What :func:`check_file` found.

    ``first_disorder`` is the index of the first element that is out of order with its left neighbour, None where there
    is none; ``element`` and ``left_neighbour`` are these two as text. ``checksum`` is equal for any order of the same
    elements.
    """

    is_sorted: bool
    elements: str
    num_elements: int
    num_duplicates: int
    first_disorder: int | None
    checksum: str
    element: str
    left_neighbour: str


def _type_name(dtype: Any) -> str:
    """Return a key type's name for the library, which knows NumPy's, too."""
    if dtype is None:
        return ""
    return dtype if isinstance(dtype, str) else np.dtype(dtype).name


def _by_text(by: str | Sequence[str | tuple[str, str]] | None) -> str:
    """Return fields in the notation of the library."""
    if by is None or isinstance(by, str):
        return by or ""
    return ",".join(entry if isinstance(entry, str) else entry[0] + {"asc": "", "desc": ":r"}[entry[1]] for entry in by)


def _job(
    *,
    dtype: Any = None,
    descending: bool = False,
    unique: bool = False,
    head: int | None = None,
    verify: bool = False,
    sync: bool = True,
    tmp: Path | Sequence[Path] = (),
    by: str | Sequence[str | tuple[str, str]] | None = None,
    record_bytes: int | None = None,
    axis: int | None = None,
    flatten: bool = False,
) -> _core.FileJob:
    job = _core.FileJob()
    folders = [tmp] if isinstance(tmp, (str, os.PathLike)) else list(tmp)
    job.set(
        descending=bool(descending),
        type=_type_name(dtype),
        unique=bool(unique),
        head=head,
        verify=bool(verify),
        sync=bool(sync),
        folders=[os.fspath(folder) for folder in folders],
    )
    if record_bytes is not None:
        job.set_records(record_bytes, _by_text(by))
    else:
        job.set_array(_by_text(by), axis, bool(flatten))
    return job


def sort_file(
    input: Path,
    output: Path | None = None,
    /,
    *,
    values: tuple[Path, Path] | None = None,
    dtype: Any = None,
    by: str | Sequence[str | tuple[str, str]] | None = None,
    record_bytes: int | None = None,
    descending: bool = False,
    unique: bool = False,
    head: int | None = None,
    axis: int | None = None,
    flatten: bool = False,
    verify: bool = False,
    sync: bool = True,
    tmp: Path | Sequence[Path] = (),
    devices: str = "auto",
    threads: int = 0,
    memory: Size = None,
    progress: Progress = None,
) -> FileResult:
    """
    Sort a file of any size.

    Parameters
    ----------
    input : path
        A ``.npy`` file by its header, anything else as raw little-endian keys of `dtype`.
    output : path, optional
        Default: `input`. It appears whole or not at all.
    values : (path, path), optional
        A second file with a row for each key, and where its rows are written in the order of the keys.
    dtype : dtype or str, optional
        Of raw keys: a name such as ``"u32"`` or ``"float64"``, or a dtype.
    by : str or sequence, optional
        Fields of a structured ``.npy`` array, as `order` of :func:`spansort.sort`, or ``"sym,price:r"``. With
        `record_bytes`: fields by their place, as of :func:`spansort.sort_records`.
    record_bytes : int, optional
        The file holds raw records of this size.
    descending : bool, optional
        The greatest first.
    unique : bool, optional
        Keep the first of equal elements only.
    head : int, optional
        Only so many elements of the sorted whole.
    axis : int, optional
        Of a ``.npy`` array of several dimensions: sort rows along it.
    flatten : bool, optional
        Sort all elements of such an array as one sequence.
    verify : bool, optional
        Check order, count and checksum of the result before it appears.
    sync : bool, optional
        Whether the result is on the disk when the call returns.
    tmp : path or sequence of paths, optional
        Folders for what does not fit in memory. Default: ``$TMPDIR``, else ``/tmp``.
    memory : int or str, optional
        Ceiling on the memory of the whole process. Default: half of what is free.
    devices, threads, progress
        As :func:`spansort.sort`.

    Returns
    -------
    FileResult

    Raises
    ------
    OSError
        With its errno.
    spansort.BadInputError
        For a file that is not what it claims to be.
    ValueError, spansort.OutOfMemoryError, spansort.DeviceError, spansort.Cancelled, KeyboardInterrupt
        As :func:`spansort.sort`; the output is as it was.
    """
    job = _job(dtype=dtype, by=by, record_bytes=record_bytes, descending=descending, unique=unique, head=head,
               axis=axis, flatten=flatten, verify=verify, sync=sync, tmp=tmp)  # fmt: skip
    if values is not None:
        job.set_values(os.fspath(values[0]), os.fspath(values[1]))
    path = os.fspath(input)
    with options(devices, threads, memory, progress) as given:
        return FileResult(*_core.sort_file(path, path if output is None else os.fspath(output), job, given))


def argsort_file(
    input: Path,
    output: Path,
    /,
    *,
    dtype: Any = None,
    by: str | Sequence[str | tuple[str, str]] | None = None,
    record_bytes: int | None = None,
    descending: bool = False,
    unique: bool = False,
    head: int | None = None,
    index_dtype: Any = "int64",
    verify: bool = False,
    sync: bool = True,
    tmp: Path | Sequence[Path] = (),
    devices: str = "auto",
    threads: int = 0,
    memory: Size = None,
    progress: Progress = None,
) -> FileResult:
    """
    Write the stable order of a file of any size, as indices.

    Parameters
    ----------
    input, dtype, by, record_bytes, descending, unique, head, verify, sync, tmp, devices, threads, memory, progress
        As :func:`sort_file`.
    output : path
        For the indices, a ``.npy`` file where it is so called.
    index_dtype : dtype or str, optional
        int64, uint64, int32 or uint32.

    Returns
    -------
    FileResult

    Raises
    ------
    As :func:`sort_file`.
    """
    job = _job(dtype=dtype, by=by, record_bytes=record_bytes, descending=descending, unique=unique, head=head,
               verify=verify, sync=sync, tmp=tmp)  # fmt: skip
    job.set_index_type(_type_name(index_dtype))
    with options(devices, threads, memory, progress) as given:
        return FileResult(*_core.argsort_file(os.fspath(input), os.fspath(output), job, given))


def merge_files(
    inputs: Sequence[Path],
    output: Path,
    /,
    *,
    dtype: Any = None,
    by: str | Sequence[str | tuple[str, str]] | None = None,
    record_bytes: int | None = None,
    descending: bool = False,
    unique: bool = False,
    head: int | None = None,
    verify: bool = False,
    sync: bool = True,
    tmp: Path | Sequence[Path] = (),
    devices: str = "auto",
    threads: int = 0,
    memory: Size = None,
    progress: Progress = None,
) -> FileResult:
    """
    Merge files that are sorted already into one.

    Parameters
    ----------
    inputs : sequence of paths
        Of one kind. Of equal elements those of earlier files come first.
    output : path
    dtype, by, record_bytes, descending, unique, head, verify, sync, tmp, devices, threads, memory, progress
        As :func:`sort_file`.

    Returns
    -------
    FileResult

    Raises
    ------
    spansort.BadInputError
        For a file that is not sorted, with the place.
    OSError, ValueError, spansort.OutOfMemoryError, spansort.Cancelled, KeyboardInterrupt
        As :func:`sort_file`.
    """
    job = _job(dtype=dtype, by=by, record_bytes=record_bytes, descending=descending, unique=unique, head=head,
               verify=verify, sync=sync, tmp=tmp)  # fmt: skip
    with options(devices, threads, memory, progress) as given:
        return FileResult(*_core.merge_files([os.fspath(path) for path in inputs], os.fspath(output), job, given))


def check_file(
    path: Path,
    /,
    *,
    dtype: Any = None,
    by: str | Sequence[str | tuple[str, str]] | None = None,
    record_bytes: int | None = None,
    descending: bool = False,
    unique: bool = False,
    axis: int | None = None,
    flatten: bool = False,
    threads: int = 0,
    progress: Progress = None,
) -> FileCheck:
    """
    Say whether a file is sorted, how many elements it has, and their checksum; in 16 MiB of memory.

    Parameters
    ----------
    path : path
        As `input` of :func:`sort_file`.
    unique : bool, optional
        Equal neighbours count as disorder.
    dtype, by, record_bytes, descending, axis, flatten, threads, progress
        As :func:`sort_file`.

    Returns
    -------
    FileCheck
    """
    job = _job(dtype=dtype, by=by, record_bytes=record_bytes, descending=descending, unique=unique, axis=axis,
               flatten=flatten)  # fmt: skip
    with options("auto", threads, None, progress) as given:
        return FileCheck(*_core.check_file(os.fspath(path), job, given))


def take_file(
    data: Path,
    order: Path,
    output: Path,
    /,
    *,
    dtype: Any = None,
    record_bytes: int = 0,
    index_dtype: Any = "int64",
    sync: bool = True,
    threads: int = 0,
    memory: Size = None,
    progress: Progress = None,
) -> int:
    """
    Write the elements of a file in the order of another one, as :func:`argsort_file` writes it.

    Parameters
    ----------
    data : path
        A ``.npy`` array, or raw keys of `dtype`, or raw records of `record_bytes`.
    order : path
        Indices: a ``.npy`` array, or raw ones of `index_dtype`.
    output : path
    sync, threads, memory, progress
        As :func:`sort_file`.

    Returns
    -------
    int
        Elements written.
    """
    with options("auto", threads, memory, progress) as given:
        return _core.take_file(os.fspath(data), os.fspath(order), os.fspath(output), _type_name(dtype), record_bytes,
                               _type_name(index_dtype), bool(sync), given)  # fmt: skip


def quantile_file(path: Path, q: Any, /, *, dtype: Any = None, method: str = "linear", nan_policy: str = "propagate",
                  threads: int = 0, memory: Size = None, progress: Progress = None) -> Any:  # fmt: skip
    """
    Return quantiles of a file of any size, exactly, without sorting it.

    Parameters
    ----------
    path, dtype, threads, memory, progress
        As :func:`sort_file`.
    q, method, nan_policy
        As :func:`spansort.quantile`.

    Returns
    -------
    float64 or ndarray of float64
    """
    made = made_options("quantile_file", method, nan_policy, None, "auto", threads)
    wanted = np.asarray(q, "float64")
    with options("auto", threads, memory, progress) as given:
        found = _core.quantiles_file(os.fspath(path), _type_name(dtype), wanted.reshape(-1).tolist(), made, given)
    return found.reshape(wanted.shape)[()]


def summary_file(path: Path, /, *, dtype: Any = None, whis: float | tuple[float, float] = 1.5, method: str = "linear",
                 nan_policy: str = "propagate", most_outliers: int = 1000, mean: bool = True, threads: int = 0,
                 memory: Size = None, progress: Progress = None) -> dict[str, Any]:  # fmt: skip
    """
    Return what a box plot of a file of any size shows.

    Parameters
    ----------
    path, dtype, threads, memory, progress
        As :func:`sort_file`.
    whis, method, nan_policy, most_outliers, mean
        As :func:`spansort.summary`.

    Returns
    -------
    dict
        As :func:`spansort.summary`.
    """
    made = box_options(whis, method, nan_policy, most_outliers, mean, None, "auto", threads)
    with options("auto", threads, memory, progress) as given:
        return box_of(_core.summarize_file(os.fspath(path), _type_name(dtype), made, given))


def histogram_file(path: Path, edges: Any, /, *, dtype: Any = None, threads: int = 0, memory: Size = None,
                   progress: Progress = None) -> Any:  # fmt: skip
    """
    Count keys of a file of any size between edges.

    Parameters
    ----------
    path, dtype, threads, memory, progress
        As :func:`sort_file`.
    edges : array_like of float
        As `bins` of :func:`spansort.histogram`.

    Returns
    -------
    ndarray of int64
    """
    made = made_options("histogram_file", "linear", "propagate", None, "auto", threads)
    with options("auto", threads, memory, progress) as given:
        return _core.histogram_file(
            os.fspath(path), _type_name(dtype), np.asarray(edges, "float64").tolist(), made, given
        )
