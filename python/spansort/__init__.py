# SPDX-License-Identifier: Apache-2.0
"""Spansort sorts arrays, pairs, records and files on all cores, and finds quantiles without sorting.

Functions have the names and defaults of NumPy and of the array API. `docs/python.md` of the project is the manual.
"""

from ._core import version as __version__
from ._errors import BadInputError, Cancelled, DeviceError, Error, InternalError, OutOfMemoryError
from ._files import (
    FileCheck,
    FileResult,
    argsort_file,
    check_file,
    histogram_file,
    merge_files,
    quantile_file,
    sort_file,
    summary_file,
    take_file,
)
from ._gpu_array import GpuArray
from ._machine import devices, links, release_kept_memory
from ._segments import argsort_segments, sort_segments
from ._sets import (
    UniqueAll,
    UniqueCounts,
    UniqueInverse,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from ._sort import (
    SortedPairs,
    argsort,
    is_sorted,
    merge,
    searchsorted,
    sort,
    sort_inplace,
    sort_pairs,
    sort_records,
    take,
)
from ._sorter import Sorter
from ._statistics import (
    Rank,
    TopK,
    histogram,
    median,
    nanquantile,
    percentile,
    quantile,
    rank,
    summary,
    top_k,
)

from ._table_stream import TableStream
from ._tables import Column, Table, argsort_table, sort_table, take_table

__all__ = [
    "BadInputError",
    "Cancelled",
    "Column",
    "DeviceError",
    "Error",
    "FileCheck",
    "FileResult",
    "GpuArray",
    "InternalError",
    "OutOfMemoryError",
    "Rank",
    "SortedPairs",
    "Sorter",
    "Table",
    "TableStream",
    "TopK",
    "UniqueAll",
    "UniqueCounts",
    "UniqueInverse",
    "__version__",
    "argsort",
    "argsort_file",
    "argsort_segments",
    "argsort_table",
    "check_file",
    "devices",
    "histogram",
    "histogram_file",
    "is_sorted",
    "links",
    "median",
    "merge",
    "merge_files",
    "nanquantile",
    "percentile",
    "quantile",
    "quantile_file",
    "rank",
    "release_kept_memory",
    "searchsorted",
    "sort",
    "sort_file",
    "sort_inplace",
    "sort_pairs",
    "sort_records",
    "sort_segments",
    "sort_table",
    "summary",
    "summary_file",
    "take",
    "take_file",
    "take_table",
    "top_k",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]
