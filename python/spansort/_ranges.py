# SPDX-License-Identifier: Apache-2.0
"""Cuts tables into ranges of one order: rows are sampled, splitters found, and sorted tables cut at them.

A row is its key, its block and its position in it, so that no two rows are equal: where all keys are the same one,
ranges are of one size still, and the whole is stable. Tables are pyarrow's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ._arrays import Array
from ._tables import Column, argsort_table, take_table

#: How many sampled rows there are for each range. The size of a range deviates by 1 / sqrt(this), some 3 %.
SAMPLES_A_RANGE = 1024


class Order(NamedTuple):
    """By what rows are ordered: see :func:`spansort.sort_table`."""

    by: Sequence[Column]
    preset: str = "numpy"

    @property
    def names(self) -> list[str]:
        """Names of the columns, each once."""
        return list(dict.fromkeys(column.name for column in self.by))

    def argsort(self, table: Any, threads: int = 1) -> Array:
        """Return the stable order of a table's rows."""
        return argsort_table(table, list(self.by), preset=self.preset, threads=threads)


class Sample(NamedTuple):
    """Rows of a block that stand for all of it."""

    keys: Any
    positions: Array
    num_rows: int


class Splitters(NamedTuple):
    """The first rows of all ranges but the first one."""

    keys: Any
    blocks: Array
    positions: Array


def sample(keys: Any, num_samples: int, seed: int) -> Sample:
    """Return some rows of a block by chance, the same for the same seed. `keys` are the columns that are ordered by."""
    num_rows = keys.num_rows
    if num_rows == 0:
        return Sample(None, np.empty(0, "int64"), 0)
    positions = np.unique(np.random.default_rng(seed).integers(0, num_rows, num_samples))
    return Sample(keys.take(pa.array(positions)), positions, num_rows)


def concatenated(tables: Sequence[Any]) -> Any:
    """
    Return one table of the rows of all; a dictionary's values are the same in all its chunks.

    The places of an ordered dictionary's values are their order, so those of all chunks must be one: else a ValueError.
    """
    whole = pa.concat_tables(tables, promote_options="default")
    dictionaries = [field for field in whole.schema if pa.types.is_dictionary(field.type)]
    for field in dictionaries:
        chunks = whole.column(field.name).chunks
        if field.type.ordered and any(not chunk.dictionary.equals(chunks[0].dictionary) for chunk in chunks[1:]):
            raise ValueError(f"column '{field.name}': its blocks have different ordered dictionaries")
    return whole.unify_dictionaries() if dictionaries else whole


def uneven(samples: Sequence[Sample], num_samples: int) -> dict[int, int]:
    """Return the blocks that have too few of all samples for their rows, and how many they should have."""
    num_rows = sum(found.num_rows for found in samples)
    wanted = {number: -(-num_samples * found.num_rows // max(1, num_rows)) for number, found in enumerate(samples)}
    return {
        number: count
        for number, count in wanted.items()
        if min(count, samples[number].num_rows) > 2 * len(samples[number].positions)
    }


def taken(table: Any, rows: Array, threads: int) -> Any:
    """Return the rows of a table that `rows` names, in that order."""
    return pa.table(take_table(table, rows, threads=threads))


def find_splitters(samples: Sequence[Sample], num_ranges: int, order: Order) -> Splitters | None:
    """Return the rows that part `num_ranges` ranges of about one size, or None where there are no rows at all."""
    filled = [number for number, found in enumerate(samples) if found.num_rows > 0]
    if not filled:
        return None
    keys = concatenated([samples[number].keys for number in filled])
    counts = [len(samples[number].positions) for number in filled]
    weights = np.repeat([samples[number].num_rows / count for number, count in zip(filled, counts)], counts)
    blocks = np.repeat(filled, counts)
    positions = np.concatenate([samples[number].positions for number in filled])
    rows = order.argsort(keys)
    ranks = np.cumsum(weights[rows])
    wanted = ranks[-1] * np.arange(1, num_ranges) / num_ranges
    chosen = rows[np.minimum(np.searchsorted(ranks, wanted), len(rows) - 1)]
    return Splitters(keys.take(pa.array(chosen)), blocks[chosen], positions[chosen])


def _are_before(rows: Any, others: Any, ties: Array, order: Order) -> Array:
    """Return whether each row comes before the other one of its number; `ties` says it of rows with equal keys."""
    later, sooner = np.flatnonzero(ties), np.flatnonzero(~ties)
    # The order is stable: a row that stands first here comes first where keys are equal.
    together = concatenated([others.take(pa.array(sooner)), rows, others.take(pa.array(later))])
    places = np.empty(together.num_rows, "int64")
    places[order.argsort(together)] = np.arange(together.num_rows)
    places_of_others = np.empty(len(ties), "int64")
    places_of_others[sooner] = places[: len(sooner)]
    places_of_others[later] = places[len(places) - len(later) :]
    return places[len(sooner) : len(sooner) + len(ties)] < places_of_others


def _counts_before(keys: Any, splitters: Splitters, ties: Array, order: Order) -> Array:
    """Return how many of the sorted rows come before each splitter, by binary searches side by side."""
    low = np.zeros(len(ties), "int64")
    high = np.full(len(ties), keys.num_rows, "int64")
    while (is_open := low < high).any():
        middle = np.minimum((low + high) // 2, keys.num_rows - 1)
        before = _are_before(keys.take(pa.array(middle)), splitters.keys, ties, order)
        low = np.where(is_open & before, middle + 1, low)
        high = np.where(is_open & ~before, middle, high)
    return low


def cuts(keys: Any, positions: Array, number: int, splitters: Splitters, order: Order) -> Array:
    """
    Return where the ranges of a sorted block begin, all but the first one.

    `keys` are the block's sorted keys, `positions` where each row was before, and `number` is the block's.
    """
    found = _counts_before(keys, splitters, number < splitters.blocks, order)
    own = np.flatnonzero(splitters.blocks == number)
    if len(own) != 0:
        end = _counts_before(keys, splitters, np.ones(len(splitters.blocks), "bool"), order)
        for i in own:  # equal keys are in the order of their positions
            equal = positions[found[i] : end[i]]
            found[i] += np.searchsorted(equal, splitters.positions[i])
    return found


def sort_and_cut(block: Any, number: int, splitters: Splitters, order: Order, threads: int) -> list[Any]:
    """Return a block's rows in order, range by range."""
    num_ranges = len(splitters.blocks) + 1
    if block.num_rows == 0:
        return [block] * num_ranges
    block = concatenated([block])
    positions = order.argsort(block, threads)
    done = taken(block, positions, threads)
    begins = [0, *cuts(done.select(order.names), positions, number, splitters, order).tolist(), block.num_rows]
    return [done.slice(begin, end - begin) for begin, end in zip(begins, begins[1:])]


class Bracket(NamedTuple):
    """Two keys between which the key of a rank lies, or at which."""

    low: Any
    high: Any


class Between(NamedTuple):
    """What a run has at a bracket: how many keys are below it, at its ends, and those between."""

    num_less: int
    num_low: int
    keys: Array


class RunSample(NamedTuple):
    """Every so many-th key of a sorted run, from its first one on, and its last one."""

    keys: Array
    step: int
    last: Any
    num_keys: int
    num_nans: int


def run_sample(run: Array, num_nans: int, num_samples: int) -> RunSample:
    """Return a sample of a sorted run without NaN."""
    step = max(1, -(-len(run) // num_samples))
    return RunSample(run[::step].copy(), step, run[-1] if len(run) else None, len(run), num_nans)


class RunSamples:
    """Samples of all runs, which bracket every rank."""

    def __init__(self, samples: Sequence[RunSample]) -> None:
        filled = [found for found in samples if found.num_keys > 0]
        self.num_nans = sum(found.num_nans for found in samples)
        self.num_keys = sum(found.num_keys for found in filled)
        if not filled:
            return
        keys = np.concatenate([found.keys for found in filled])
        steps = np.repeat([found.step for found in filled], [len(found.keys) for found in filled])
        rows = np.argsort(keys, kind="stable")
        self._keys = keys[rows]
        # A key stands for itself and for those behind it that were not taken, so that the sum of the steps before a key
        # is no less than the number of keys less than it, and exceeds that by less than a step for each run.
        self._sums = np.cumsum(steps[rows])
        self._slack = sum(found.step - 1 for found in filled)
        self._last = max(found.last for found in filled)

    def bracket(self, rank: int) -> Bracket:
        """Return keys between which, or at which, the key with `rank` less or equal ones before it lies."""
        distinct = np.flatnonzero(np.append(True, self._keys[1:] != self._keys[:-1]))
        most_less = np.append(0, self._sums)[distinct]  # of each distinct key: no more keys are less
        least_up_to = np.append(self._sums[distinct[1:] - 1], self._sums[-1]) - self._slack
        low = np.flatnonzero(most_less <= rank)[-1]
        high = np.flatnonzero(least_up_to > rank)
        return Bracket(self._keys[distinct[low]], self._keys[distinct[high[0]]] if len(high) else self._last)


def between(run: Array, bracket: Bracket) -> Between:
    """Return what a sorted run has at a bracket."""
    begin, end = (int(np.searchsorted(run, bracket.low, side)) for side in ("left", "right"))
    last = int(np.searchsorted(run, bracket.high, "left"))
    return Between(begin, end - begin, run[end : max(end, last)].copy())


def key_of_rank(rank: int, bracket: Bracket, found: Sequence[Between]) -> Any:
    """Return the key that `rank` keys stand before."""
    left = rank - sum(of_run.num_less for of_run in found)
    num_low = sum(of_run.num_low for of_run in found)
    if left < num_low:
        return bracket.low
    inside = [of_run.keys for of_run in found if len(of_run.keys) > 0]
    keys = np.sort(np.concatenate(inside)) if inside else np.empty(0)
    return keys[left - num_low] if left - num_low < len(keys) else bracket.high


def merge(pieces: Sequence[Any], order: Order, threads: int) -> Any:
    """Return the rows of one range of all blocks in order. To sort the pieces again is faster than to merge them."""
    table = concatenated([piece for piece in pieces if piece.num_rows > 0] or pieces[:1])
    return taken(table, order.argsort(table, threads), threads) if table.num_rows > 1 else table
