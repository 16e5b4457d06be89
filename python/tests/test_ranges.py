# SPDX-License-Identifier: Apache-2.0
"""Tables cut into ranges of one order, without the cluster that does it: every range, every tie, every size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from conftest import SEED  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import spansort  # noqa: E402
from spansort import Column, _ranges  # noqa: E402


def sorted_ranges(blocks: list[Any], num_ranges: int, order: _ranges.Order, samples: int = 64) -> list[Any]:
    """Return the ranges that the blocks have together, as the tasks of a cluster make them."""
    sampled = [_ranges.sample(b.select(order.names), samples, i) for i, b in enumerate(blocks)]
    for i, count in _ranges.uneven(sampled, samples * len(blocks)).items():
        sampled[i] = _ranges.sample(blocks[i].select(order.names), count, i)
    splitters = _ranges.find_splitters(sampled, num_ranges, order)
    if splitters is None:
        return []
    pieces = [_ranges.sort_and_cut(b, i, splitters, order, 1) for i, b in enumerate(blocks)]
    assert all(len(of_block) == num_ranges for of_block in pieces)
    return [_ranges.merge(of_range, order, 1) for of_range in zip(*pieces)]


def blocks_of(sizes: list[int], num_values: int, rng: Any) -> list[Any]:
    """Return blocks whose rows are numbered through, so that a stable order has one result."""
    ends = np.cumsum(sizes)
    return [
        pa.table({
            "a": rng.integers(0, num_values, size),
            "b": pa.array([[None, "x", "y"][i] for i in rng.integers(0, 3, size)], pa.string()),
            "row": np.arange(end - size, end),
        })
        for size, end in zip(sizes, ends)
    ]  # fmt: skip


@given(
    sizes=st.lists(st.integers(0, 200), min_size=1, max_size=6),
    num_values=st.sampled_from([1, 2, 10, 1 << 40]),
    num_ranges=st.integers(1, 9),
    descending=st.booleans(),
    seed=st.integers(0, 1 << 30),
)
def test_ranges_are_the_stable_order_of_all(sizes, num_values, num_ranges, descending, seed) -> None:
    blocks = blocks_of(sizes, num_values, np.random.default_rng(seed))
    order = _ranges.Order([Column("a", descending), Column("b", nulls="first")])
    ranges = sorted_ranges(blocks, num_ranges, order)
    whole = pa.concat_tables(blocks)
    if whole.num_rows == 0:
        assert ranges == []
        return
    assert len(ranges) == num_ranges
    assert pa.concat_tables(ranges).equals(pa.table(spansort.sort_table(whole, list(order.by))))


@pytest.mark.parametrize("num_values", [1, 3, 1 << 40])
@pytest.mark.parametrize("sizes", [[20_000] * 4, [70_000, 10, 0, 9_990]])
def test_ranges_are_of_about_one_size_however_often_a_key_is_there(num_values, sizes) -> None:
    blocks = blocks_of(sizes, num_values, np.random.default_rng(SEED))
    ranges = sorted_ranges(blocks, 4, _ranges.Order([Column("a")]), _ranges.SAMPLES_A_RANGE)
    assert sum(r.num_rows for r in ranges) == sum(sizes)
    assert max(r.num_rows for r in ranges) < 1.25 * sum(sizes) / 4


def test_one_large_block_among_small_ones() -> None:
    sizes = [200_000, *[10] * 199]
    blocks = blocks_of(sizes, 1 << 40, np.random.default_rng(SEED))
    ranges = sorted_ranges(blocks, 200, _ranges.Order([Column("a")]), _ranges.SAMPLES_A_RANGE)
    assert max(r.num_rows for r in ranges) < 1.25 * sum(sizes) / 200


def test_dictionaries_of_chunks_may_differ() -> None:
    chunks = [pa.array(words).dictionary_encode() for words in (["b", "a"], ["c", "a"])]
    ranges = sorted_ranges([pa.table({"a": pa.chunked_array(chunks)})], 2, _ranges.Order([Column("a")]))
    assert pa.concat_tables(r.cast(pa.schema({"a": pa.string()})) for r in ranges)["a"].to_pylist() == list("aabc")


def test_ordered_dictionaries_must_be_one() -> None:
    def block(values: list[str]) -> Any:
        codes = pa.array([0, 1], "int32")
        return pa.table({"a": pa.DictionaryArray.from_arrays(codes, pa.array(values), ordered=True)})

    order = _ranges.Order([Column("a")])
    with pytest.raises(ValueError, match="column 'a': its blocks have different ordered dictionaries"):
        sorted_ranges([block(["low", "high"]), block(["high", "low"])], 2, order)
    assert sum(r.num_rows for r in sorted_ranges([block(["low", "high"])] * 2, 2, order)) == 4


def test_dictionaries_of_blocks_may_differ() -> None:
    blocks = [pa.table({"a": pa.array(words).dictionary_encode()}) for words in (["b", "a"], ["c", "a", "b"])]
    ranges = sorted_ranges(blocks, 2, _ranges.Order([Column("a")]))
    assert pa.concat_tables(r.cast(pa.schema({"a": pa.string()})) for r in ranges)["a"].to_pylist() == list("aabbc")


@given(
    runs=st.lists(st.lists(st.integers(-5, 5), max_size=40), min_size=1, max_size=5),
    num_samples=st.integers(1, 9),
)
def test_every_rank_lies_in_its_bracket(runs, num_samples) -> None:
    arrays = [np.sort(np.array(run, "int64")) for run in runs]
    samples = _ranges.RunSamples([_ranges.run_sample(run, 0, num_samples) for run in arrays])
    whole = np.sort(np.concatenate(arrays))
    assert samples.num_keys == len(whole)
    for rank in range(len(whole)):
        bracket = samples.bracket(rank)
        found = [_ranges.between(run, bracket) for run in arrays]
        assert _ranges.key_of_rank(rank, bracket, found) == whole[rank]


def test_few_keys_lie_in_a_bracket() -> None:
    rng = np.random.default_rng(SEED)
    arrays = [np.sort(rng.integers(0, 1 << 60, 1 << 16)) for _ in range(4)]
    samples = _ranges.RunSamples([_ranges.run_sample(run, 0, 1 << 10) for run in arrays])
    for rank in (0, 1 << 17, (1 << 18) - 1):
        bracket = samples.bracket(rank)
        assert sum(len(_ranges.between(run, bracket).keys) for run in arrays) <= 3 * 4 * (1 << 16) // (1 << 10)
