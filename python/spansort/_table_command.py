# SPDX-License-Identifier: Apache-2.0
"""The command spansort-table: Parquet, Arrow IPC and CSV files in the order of columns. It needs pyarrow."""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import signal
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._errors import Error
from ._options import size_bytes
from ._table_parts import Bounds, UsageError, arrow, sorted_parts, write_parts
from ._tables import Column, argsort_table, sort_table, take_table

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc", ".csv": "csv"}
PRESETS = ("numpy", "pandas", "duckdb", "polars", "datafusion")
_ORDERS: dict[str, dict[str, Any]] = {
    "asc": {"descending": False},
    "desc": {"descending": True},
    "nulls-first": {"nulls": "first"},
    "nulls-last": {"nulls": "last"},
    "nan-last": {"nans": "last"},
    "nan-largest": {"nans": "largest"},
    "nan-null": {"nans": "null"},
}


class Unsorted(Exception):
    """Rows are out of order."""


def parse_by(text: str) -> list[Column]:
    """Return the columns of a text such as ``country,price:desc:nulls-first``."""
    columns = []
    for entry in text.split(","):
        name, *words = entry.split(":")
        given: dict[str, Any] = {}
        for word in words:
            if word not in _ORDERS:
                raise UsageError(f"--by: '{word}' is none of {', '.join(_ORDERS)}")
            given.update(_ORDERS[word])
        if not name:
            raise UsageError("--by: a column without a name")
        columns.append(Column(name, **given))
    return columns


def format_of(path: str, given: str | None) -> str:
    """Return the format of a file by its name, unless one is given."""
    if given is not None:
        return given
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in FORMATS:
        raise UsageError(f"{path}: its name says no format: one of {', '.join(FORMATS)}, or --format, is expected")
    return FORMATS[suffix]


def read(path: str, file_format: str) -> Any:
    """Return a file as a table of pyarrow, whole in memory."""
    pa = arrow("pyarrow")
    if file_format == "parquet":
        table = arrow("pyarrow.parquet").read_table(path)
    elif file_format == "ipc":
        with pa.memory_map(path) as source:
            table = arrow("pyarrow.ipc").open_file(source).read_all()
    else:
        table = arrow("pyarrow.csv").read_csv(path)
    return table.unify_dictionaries()


def read_text(path: str) -> Any:
    """Return a CSV file as a table of its text, so that what is written is what was read: 007 stays 007."""
    csv = arrow("pyarrow.csv")
    text = arrow("pyarrow").string()
    with csv.open_csv(path) as reader:
        names = reader.schema.names
    options = csv.ConvertOptions(column_types={name: text for name in names}, strings_can_be_null=False)
    return csv.read_csv(path, convert_options=options)


def _give_owner(name: str, old: str) -> None:
    """Let a new file belong to whom an old one belongs to, and be read by nobody who could not read the old one."""
    found = os.stat(old)
    mode = stat.S_IMODE(found.st_mode) & 0o777
    for uid, gid in ((found.st_uid, found.st_gid), (-1, found.st_gid)):
        with contextlib.suppress(PermissionError):
            os.chown(name, uid, gid)
            break
    if os.stat(name).st_gid != found.st_gid:
        mode &= ~0o070
    os.chmod(name, mode)
    access = "system.posix_acl_access"
    with contextlib.suppress(OSError):  # file systems without lists
        if access in os.listxattr(old):
            # The permissions of the group are the mask of the list, and more than it may have, until the list is there.
            os.chmod(name, mode & ~0o070)
            os.setxattr(name, access, os.getxattr(old, access))


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """Give the name of a new file, which takes the place of `path` where all goes well and is gone where not."""
    target = os.path.realpath(path)
    is_there = os.path.exists(target)
    if is_there and not os.path.isfile(target):
        raise UsageError(f"{path}: it is no regular file, and cannot be replaced")
    name = os.path.join(os.path.dirname(target), f".spansort-{secrets.token_hex(8)}")
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if is_there else 0o666))
    try:
        yield name
        if is_there:
            _give_owner(name, target)
        with open(name, "rb") as written:
            os.fsync(written.fileno())
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):  # pyarrow removes what it could not write
            os.unlink(name)
        raise
    with contextlib.suppress(OSError):  # the output is there, also where the folder may not be read
        folder = os.open(os.path.dirname(target), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _parquet_options(source: str | None, schema: Any, by: list[Column]) -> dict[str, Any]:
    """Return compression, row groups and sorting columns for an output, as the input has them."""
    parquet = arrow("pyarrow.parquet")
    options: dict[str, Any] = {
        "sorting_columns": [
            parquet.SortingColumn(schema.get_field_index(c.name), c.descending, c.nulls == "first") for c in by
        ]
    }
    if source is None:
        return options
    with parquet.ParquetFile(source) as file:
        found = file.metadata
        if found.num_row_groups == 0:
            return options
        groups = [found.row_group(i) for i in range(found.num_row_groups)]
        options["compression"] = {
            groups[0].column(i).path_in_schema: groups[0].column(i).compression.replace("UNCOMPRESSED", "NONE")
            for i in range(groups[0].num_columns)
        }
        if rows := max(group.num_rows for group in groups):
            options["row_group_size"] = rows
    return options


def write_csv(table: Any, where: Any) -> None:
    """Write a table as CSV, text in quotes."""
    arrow("pyarrow.csv").write_csv(table, where)


def write(table: Any, path: str, file_format: str, source: str | None, by: list[Column]) -> None:
    """Write a table of pyarrow, whole or not at all. `source` is a Parquet file whose layout is kept."""
    with replacing(path) as name:
        if file_format == "parquet":
            options = _parquet_options(source, table.schema, by)
            arrow("pyarrow.parquet").write_table(table, name, **options)
        elif file_format == "ipc":
            pa = arrow("pyarrow")
            with pa.OSFile(name, "wb") as sink, arrow("pyarrow.ipc").new_file(sink, table.schema) as writer:
                writer.write_table(table)
        else:
            write_csv(table, name)


def sort_in_bounds(arguments: argparse.Namespace, by: list[Column], formats: tuple[str, str]) -> None:
    """Sort a file part by part, in as much memory as is given."""
    arrow("pyarrow")
    bounds = Bounds(arguments.memory, arguments.tmp)
    with replacing(arguments.output) as name:  # a place that cannot be written is told before the work
        parts = sorted_parts(arguments.input, formats, by, arguments.preset, arguments.threads, bounds)
        source = arguments.input if formats == ("parquet", "parquet") else None
        options = _parquet_options(source, parts.schema, by) if formats[1] == "parquet" else {}
        write_parts(parts, name, formats[1], options, bounds)


def with_nulls(by: list[Column], preset: str) -> list[Column]:
    """Return the columns with the place of nulls that the preset gives where none is said."""
    named = []
    for column in by:
        first = preset == "polars" or (preset == "datafusion" and column.descending)
        named.append(column if column.nulls is not None else column._replace(nulls="first" if first else "last"))
    return named


def sort(arguments: argparse.Namespace) -> None:
    """Run the verb `sort`."""
    pa = arrow("pyarrow")
    by = with_nulls(parse_by(arguments.by), arguments.preset)
    input_format = format_of(arguments.input, arguments.format)
    output_format = format_of(arguments.output, None)
    if arguments.memory:
        return sort_in_bounds(arguments, by, (input_format, output_format))
    table = read(arguments.input, input_format)
    if input_format == output_format == "csv":
        order = argsort_table(table, by, preset=arguments.preset, threads=arguments.threads)
        result = take_table(read_text(arguments.input), order, threads=arguments.threads)
    else:
        result = sort_table(table, by, preset=arguments.preset, threads=arguments.threads)
    source = arguments.input if input_format == output_format == "parquet" else None
    write(pa.table(result), arguments.output, output_format, source, by)


def check(arguments: argparse.Namespace) -> None:
    """Run the verb `check`: a stable order of rows that are in order is that of the rows themselves."""
    table = read(arguments.input, format_of(arguments.input, arguments.format))
    order = argsort_table(table, parse_by(arguments.by), preset=arguments.preset, threads=arguments.threads)
    wrong = np.flatnonzero(order != np.arange(len(order)))
    if len(wrong) != 0:
        raise Unsorted(f"{arguments.input}: not in order: row {order[wrong[0]]} belongs to place {wrong[0]}")
    print(f"{arguments.input}: {len(order)} rows, in order")


def head(arguments: argparse.Namespace) -> None:
    """Run the verb `head`: the first rows in an order, as CSV."""
    pa = arrow("pyarrow")
    input_format = format_of(arguments.input, arguments.format)
    table = read(arguments.input, input_format)
    shown = read_text(arguments.input) if input_format == "csv" else table
    if arguments.by is None:
        rows = shown.slice(0, arguments.rows)
    else:
        order = argsort_table(table, parse_by(arguments.by), preset=arguments.preset, threads=arguments.threads)
        rows = pa.table(take_table(shown, order[: arguments.rows]))
    write_csv(rows, sys.stdout.buffer)


def _count(text: str) -> int:
    number = int(text)
    if not 0 <= number < 1 << 31:
        raise argparse.ArgumentTypeError(f"{text}: a number from 0 to 2^31 - 1 is expected")
    return number


def _size(text: str) -> int:
    try:
        return size_bytes(text, "--memory")
    except ValueError as reason:
        raise argparse.ArgumentTypeError(str(reason)) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("spansort-table", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="{sort,check,head}")

    def verb(
        name: str, run: Callable[[argparse.Namespace], None], text: str, by_is_needed: bool
    ) -> argparse.ArgumentParser:
        made = verbs.add_parser(name, help=text, description=text)
        made.set_defaults(run=run)
        made.add_argument("input", help="a .parquet, .arrow, .feather or .csv file")
        made.add_argument(
            "--by", required=by_is_needed, help=f"columns, such as country,price:desc; words: {', '.join(_ORDERS)}"
        )
        made.add_argument("--preset", choices=PRESETS, default="numpy", help="whose order nulls and NaN have")
        made.add_argument("--format", choices=["parquet", "ipc", "csv"], help="of the input, whatever its name")
        made.add_argument("--threads", type=_count, default=0, metavar="N", help="at most so many; 0: all")
        return made

    sorting = verb("sort", sort, "Writes the rows in the order of columns, whole or not at all.", True)
    sorting.add_argument("-o", "--output", required=True, help="may be the input; its name says its format")
    sorting.add_argument(
        "-S", "--memory", type=_size, default=0, metavar="SIZE", help="sort in so much memory, such as 2G, part by part"
    )
    sorting.add_argument(
        "-T", "--tmp", action="append", default=[], metavar="DIR", help="for what does not fit; may come several times"
    )
    verb("check", check, "Says whether the rows are in order; exit status 1 where they are not.", True)
    verb("head", head, "Prints the first rows as CSV.", False).add_argument("-n", "--rows", type=_count, default=10)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status.

    0, 1 (not in order), 2 usage, 3 bad input, 4 I/O, 6 memory, 8 anything else.
    """
    given = _parser().parse_args(arguments)
    if arguments is None:
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # what was begun is cleared away
    status = 0
    try:
        given.run(given)
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # nobody reads the rest
    except Unsorted as reason:
        print(reason)
        status = 1
    except KeyboardInterrupt:
        status = 130
    except Exception as reason:
        status = _status_of(reason)
        print(f"spansort-table: {reason}", file=sys.stderr)
    return status


def _status_of(reason: Exception) -> int:
    if isinstance(reason, MemoryError):
        return 6
    if isinstance(reason, OSError):
        return 4
    if isinstance(reason, (UsageError, TypeError)):
        return 2
    # pyarrow's errors of files are ValueErrors, and those of types that a format does not have the other ones.
    if isinstance(reason, (Error, ValueError, NotImplementedError)):
        return 3
    return 8


if __name__ == "__main__":
    sys.exit(main())
