// SPDX-License-Identifier: Apache-2.0
// Calls that put a sort of segments on a stream: against std::stable_sort of each segment, for all types and for
// lengths around those at which another way is taken; rows; within a graph; senseless offsets; wrong arguments.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "gpu/gpu_test.hpp"
#include "spansort/enqueue.hpp"
#include "spansort/errors.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"
#include "support/shard_memory.hpp"

namespace spansort::test {
namespace {

constexpr key_type all_types[] = {key_type::u8,  key_type::i8,   key_type::u16, key_type::i16,
                                  key_type::u32, key_type::i32,  key_type::u64, key_type::i64,
                                  key_type::f16, key_type::bf16, key_type::f32, key_type::f64};

using lengths_of_segments = std::vector<std::uint64_t>;

/// Segments of keys that begin behind `first_offset` others and end before `num_behind` more.
struct segment_layout {
  std::vector<std::uint64_t> offsets;
  std::uint64_t num_keys = 0;
  key_type offset_type = key_type::i64;

  segment_layout(const lengths_of_segments& lengths, std::uint64_t first_offset, std::uint64_t num_behind)
      : offsets{first_offset} {
    for (const std::uint64_t length : lengths) offsets.push_back(offsets.back() + length);
    num_keys = offsets.back() + num_behind;
  }

  [[nodiscard]] std::vector<std::byte> offset_bytes() const {
    const std::uint64_t width = size_bytes(offset_type);
    std::vector<std::byte> bytes(offsets.size() * width);
    for (std::size_t i = 0; i < offsets.size(); ++i) std::memcpy(bytes.data() + i * width, &offsets[i], width);
    return bytes;
  }
};

/// Returns the order of all keys with each segment sorted and all others where they are.
std::vector<std::uint64_t> order_by_segments(key_type type, std::span<const std::byte> keys,
                                             const segment_layout& layout, bool descending, bool by_bits) {
  std::vector<std::uint64_t> order(layout.num_keys);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  const std::uint64_t width = size_bytes(type);
  const auto precedes = [&](std::uint64_t a, std::uint64_t b) {
    const std::byte* const left = keys.data() + a * width;
    const std::byte* const right = keys.data() + b * width;
    return by_bits ? precedes_in_bits(type, descending, left, right) : precedes_in_value(type, descending, left, right);
  };
  for (std::size_t i = 0; i + 1 < layout.offsets.size(); ++i) {
    std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(layout.offsets[i]),
                     order.begin() + static_cast<std::ptrdiff_t>(layout.offsets[i + 1]), precedes);
  }
  return order;
}

std::vector<std::byte> gather(std::span<const std::byte> from, const std::vector<std::uint64_t>& order,
                              std::uint64_t width) {
  std::vector<std::byte> to(order.size() * width);
  for (std::size_t i = 0; i < order.size(); ++i)
    std::memcpy(to.data() + i * width, from.data() + order[i] * width, width);
  return to;
}

/// Lengths around those at which another way is taken, each several times, in any order.
lengths_of_segments all_lengths(std::uint64_t longest) {
  lengths_of_segments lengths;
  for (const std::uint64_t length :
       {0, 1, 2, 3, 4, 5, 8, 9, 12, 16, 17, 24, 31, 32, 33, 63, 64, 65, 100, 128, 129, 256, 257, 511, 512}) {
    lengths.insert(lengths.end(), 5, length);
  }
  for (const std::uint64_t length :
       {513, 1'000, 2'048, 2'049, 4'096, 4'097, 8'192, 8'193, 12'288, 12'289, 16'385, 20'000, 20'480, 20'481}) {
    lengths.push_back(length);
  }
  lengths.push_back(longest);
  std::ranges::shuffle(lengths, std::mt19937_64(1));
  return lengths;
}

lengths_of_segments zipf_lengths(std::uint64_t num_keys, std::uint64_t num_segments) {
  lengths_of_segments lengths;
  for (std::uint64_t i = 1; i <= num_segments; ++i) lengths.push_back(num_keys / 8 / i);
  std::ranges::shuffle(lengths, std::mt19937_64(2));
  return lengths;
}

class enqueue_segments_test : public gpu_test {
 protected:
  struct stream_deleter {
    void operator()(CUstream_st* stream) const noexcept { static_cast<void>(cudaStreamDestroy(stream)); }
  };

  void SetUp() override {
    gpu_test::SetUp();
    if (IsSkipped()) return;
    cudaStream_t made = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), cudaSuccess);
    stream.reset(made);
  }

  static std::vector<std::byte> keys_of(key_type type, std::uint64_t num_keys, const distribution& d) {
    std::vector<std::byte> keys(num_keys * size_bytes(type));
    generate({type, keys.data(), num_keys}, d, seed_for(num_keys));
    return keys;
  }

  void wait() const { ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess); }

  static std::uint64_t workspace_of_sort(key_type type, const segment_layout& layout, std::uint64_t value_bytes,
                                         std::uint64_t row_length) {
    const std::uint64_t n = layout.num_keys;
    const std::uint64_t num_segments = layout.offsets.size() - 1;
    if (value_bytes == 0) {
      return row_length == 0 ? enqueue_sort_segments_bytes(type, n, num_segments)
                             : enqueue_sort_rows_bytes(type, n, row_length);
    }
    return row_length == 0 ? enqueue_sort_pairs_segments_bytes(type, n, num_segments, value_bytes)
                           : enqueue_sort_pairs_rows_bytes(type, n, row_length, value_bytes);
  }

  /// `row_length` is not 0 where the segments are rows.
  void expect_sorted(key_type type, const segment_layout& layout, const distribution& d, bool descending,
                     std::uint64_t value_bytes, std::uint64_t row_length = 0) {
    const std::vector<std::byte> input = keys_of(type, layout.num_keys, d);
    const direction dir = descending ? direction::descending : direction::ascending;
    const std::uint64_t size = workspace_of_sort(type, layout, value_bytes, row_length);
    shard_memory keys("gpu:0", input.size());
    shard_memory values("gpu:0", layout.num_keys * value_bytes);
    shard_memory offsets("gpu:0", layout.offsets.size() * 8);
    shard_memory space("gpu:0", size);
    keys.write(input);
    offsets.write(layout.offset_bytes());
    if (value_bytes != 0) values.write(input_values(layout.num_keys, value_bytes));
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const key_span span{type, keys.data(), layout.num_keys};
    const const_key_span bounds{layout.offset_type, offsets.data(), layout.offsets.size()};
    const gpu_workspace workspace{space.data(), size};
    if (row_length != 0 && value_bytes == 0) {
      enqueue_sort_rows(span, row_length, workspace, stream.get(), dir);
    } else if (row_length != 0) {
      enqueue_sort_pairs_rows(span, values.data(), value_bytes, row_length, workspace, stream.get(), dir);
    } else if (value_bytes == 0) {
      enqueue_sort_segments(span, bounds, workspace, stream.get(), dir);
    } else {
      enqueue_sort_pairs_segments(span, values.data(), value_bytes, bounds, workspace, stream.get(), dir);
    }
    wait();
    const std::vector<std::uint64_t> order = order_by_segments(type, input, layout, descending, value_bytes == 0);
    const std::string what = std::string(name(type)) + ", values of " + std::to_string(value_bytes) + " bytes, " +
                             (descending ? "descending" : "ascending");
    ASSERT_EQ(diagnose_bytes("keys", gather(input, order, size_bytes(type)), keys.read(input.size()), size_bytes(type)),
              "")
        << what;
    if (value_bytes == 0) return;
    const std::vector<std::byte> expected = values_in_order(order, value_bytes);
    ASSERT_EQ(diagnose_bytes("values", expected, values.read(expected.size()), value_bytes), "") << what;
  }

  void expect_order(key_type type, const segment_layout& layout, const distribution& d, bool descending,
                    std::uint64_t index_bytes, std::uint64_t row_length = 0) {
    const std::vector<std::byte> input = keys_of(type, layout.num_keys, d);
    const direction dir = descending ? direction::descending : direction::ascending;
    const std::uint64_t size =
        row_length == 0 ? enqueue_argsort_segments_bytes(type, layout.num_keys, layout.offsets.size() - 1, index_bytes)
                        : enqueue_argsort_rows_bytes(type, layout.num_keys, row_length, index_bytes);
    shard_memory keys("gpu:0", input.size());
    shard_memory indices("gpu:0", layout.num_keys * index_bytes);
    shard_memory offsets("gpu:0", layout.offsets.size() * 8);
    shard_memory space("gpu:0", size);
    const std::vector<std::byte> untouched(layout.num_keys * index_bytes, std::byte{0xA5});
    keys.write(input);
    indices.write(untouched);
    offsets.write(layout.offset_bytes());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const const_key_span span{type, keys.data(), layout.num_keys};
    if (row_length != 0) {
      enqueue_argsort_rows(span, indices.data(), index_bytes, row_length, {space.data(), size}, stream.get(), dir);
    } else {
      enqueue_argsort_segments(span, indices.data(), index_bytes,
                               {layout.offset_type, offsets.data(), layout.offsets.size()}, {space.data(), size},
                               stream.get(), dir);
    }
    wait();
    const std::vector<std::uint64_t> order = order_by_segments(type, input, layout, descending, false);
    std::vector<std::byte> expected = untouched;
    for (std::size_t s = 0; s + 1 < layout.offsets.size(); ++s) {
      for (std::uint64_t i = layout.offsets[s]; i < layout.offsets[s + 1]; ++i) {
        const std::uint64_t index = order[i] - layout.offsets[s];
        std::memcpy(expected.data() + i * index_bytes, &index, index_bytes);
      }
    }
    ASSERT_EQ(diagnose_bytes("indices", expected, indices.read(expected.size()), index_bytes), "") << name(type);
    ASSERT_TRUE(std::ranges::equal(keys.read(input.size()), input)) << "keys have changed: " << name(type);
  }

  void expect_rows_sorted(std::uint64_t num_rows, std::uint64_t length) {
    const segment_layout layout(lengths_of_segments(num_rows, length), 0, 0);
    expect_sorted(key_type::i32, layout, {distribution_kind::uniform}, true, 0, length);
    expect_sorted(key_type::u8, layout, {distribution_kind::uniform}, false, 0, length);
    expect_sorted(key_type::u64, layout, {distribution_kind::uniform}, false, 16, length);
    expect_order(key_type::f32, layout, {distribution_kind::special_floats}, false, 4, length);
    expect_order(key_type::u64, layout, {distribution_kind::uniform}, true, 8, length);
  }

  std::unique_ptr<CUstream_st, stream_deleter> stream;
};

TEST_F(enqueue_segments_test, EveryTypeAndLength) {
  const segment_layout layout(all_lengths(70'000), 7, 9);
  std::uint64_t number = 0;
  for (const key_type type : all_types) {
    for (const unsigned value_bytes : {0U, 4U, 8U, 16U}) {
      const distribution d = ++number % 3 == 0 ? distribution{distribution_kind::special_floats}
                             : number % 3 == 1 ? distribution{distribution_kind::uniform}
                                               : distribution{distribution_kind::zipf, 1};
      expect_sorted(type, layout, d, number % 2 == 0, value_bytes);
      if (HasFatalFailure()) return;
    }
    for (const unsigned index_bytes : {4U, 8U}) {
      expect_order(type, layout, {distribution_kind::special_floats}, index_bytes == 4, index_bytes);
      if (HasFatalFailure()) return;
    }
  }
}

/// Partitions of so few keys are one launch, but where blocks cannot meet.
class enqueue_long_segments_test : public enqueue_segments_test, public testing::WithParamInterface<bool> {
 protected:
  base::test_hooks_scope hooks_{{.blocks_cannot_meet = GetParam()}};
};

TEST_P(enqueue_long_segments_test, EveryOrderOfKeys) {
  const segment_layout layout(all_lengths(is_small_scale() ? 100'000 : 1U << 20), 0, 0);
  for (const key_type type : {key_type::u8, key_type::u32, key_type::f32, key_type::u64}) {
    for (const distribution_kind kind :
         {distribution_kind::uniform, distribution_kind::zero, distribution_kind::nearly_sorted}) {
      expect_sorted(type, layout, {kind}, false, 0);
      expect_sorted(type, layout, {kind}, true, 4);
      if (HasFatalFailure()) return;
    }
    expect_order(type, layout, {distribution_kind::entropy, 4}, false, 4);
    expect_order(type, layout, {distribution_kind::entropy, 4}, true, 8);
    if (HasFatalFailure()) return;
  }
}

TEST_P(enqueue_long_segments_test, LengthsOfZipf) {
  const segment_layout layout(zipf_lengths(is_small_scale() ? 100'000 : 1'000'000, 5'000), 3, 0);
  expect_sorted(key_type::u32, layout, {distribution_kind::uniform}, false, 0);
  expect_sorted(key_type::f32, layout, {distribution_kind::special_floats}, true, 8);
  expect_sorted(key_type::u64, layout, {distribution_kind::zipf, 1}, false, 8);
  expect_order(key_type::i16, layout, {distribution_kind::uniform}, false, 4);
}

TEST_F(enqueue_segments_test, OneSegmentAndEmptyOnes) {
  expect_sorted(key_type::u32, {{300'000}, 0, 0}, {distribution_kind::uniform}, false, 0);
  expect_sorted(key_type::u64, {{300'000}, 0, 0}, {distribution_kind::uniform}, false, 4);
  expect_sorted(key_type::u32, {lengths_of_segments(1'000'000), 0, 100}, {distribution_kind::uniform}, false, 0);
  lengths_of_segments few(1'000'000);
  for (std::size_t i = 0; i < few.size(); i += 9'999) few[i] = i % 40;
  expect_sorted(key_type::f64, {few, 0, 0}, {distribution_kind::special_floats}, false, 4);
  expect_order(key_type::f64, {few, 0, 0}, {distribution_kind::special_floats}, false, 8);
  expect_sorted(key_type::u32, {{}, 0, 100}, {distribution_kind::uniform}, false, 0);
}

TEST_P(enqueue_long_segments_test, Rows) {
  for (const std::uint64_t length :
       {1U, 5U, 32U, 33U, 500U, 513U, 5'000U, 9'000U, 12'289U, 20'480U, 20'481U, 70'000U}) {
    expect_rows_sorted(200'000 / length, length);
    if (HasFatalFailure()) return;
  }
}

TEST_F(enqueue_segments_test, RowsOneAfterTheOther) {
  const base::test_hooks_scope hooks({.long_row_keys = 30});
  for (const std::uint64_t length : {29U, 30U, 33U, 513U, 9'001U, 70'000U}) {
    expect_rows_sorted(length < 1'000 ? 20 : 3, length);
    if (HasFatalFailure()) return;
  }
}

TEST_F(enqueue_segments_test, RowsInSeveralCalls) {
  const base::test_hooks_scope hooks({.segments_call_keys = 1'000});
  for (const std::uint64_t length : {1U, 7U, 333U, 500U, 501U, 1'000U, 1'001U}) {
    expect_rows_sorted(5'003 / length, length);
    if (HasFatalFailure()) return;
  }
}

/// Rows from the length on from which each is sorted by itself, and rows below it.
TEST_F(enqueue_segments_test, LongRows) {
  if (is_small_scale()) GTEST_SKIP() << "long rows are left out at small scale";
  for (const std::uint64_t length : {(1U << 22U) - 1, (1U << 22U) + 1}) {
    expect_rows_sorted(2, length);
    if (HasFatalFailure()) return;
  }
}

TEST_F(enqueue_segments_test, WorkspaceOfLongRowsIsThatOfOne) {
  const std::uint64_t length = std::uint64_t{1} << 26;
  for (const std::uint64_t num_rows : {std::uint64_t{2}, std::uint64_t{1'000}}) {
    EXPECT_EQ(enqueue_sort_rows_bytes(key_type::u64, num_rows * length, length),
              enqueue_sort_bytes(key_type::u64, length, workspace_size::fastest));
    EXPECT_EQ(enqueue_sort_pairs_rows_bytes(key_type::u32, num_rows * length, length, 8),
              enqueue_sort_pairs_bytes(key_type::u32, length, 8, workspace_size::fastest));
    EXPECT_EQ(enqueue_argsort_rows_bytes(key_type::f32, num_rows * length, length, 4),
              enqueue_argsort_bytes(key_type::f32, length, 4, workspace_size::fastest));
  }
  // Of rows of 1,000 keys a call takes 4,294,967.
  EXPECT_EQ(enqueue_sort_rows_bytes(key_type::u8, std::uint64_t{5'000'000} * 1'000, 1'000),
            enqueue_sort_segments_bytes(key_type::u8, std::uint64_t{4'294'967} * 1'000, 4'294'967));
  EXPECT_EQ(enqueue_sort_rows_bytes(key_type::u32, 0, 5), 0U);
}

std::string name_of(const testing::TestParamInfo<bool>& blocks_cannot_meet) {
  return blocks_cannot_meet.param ? "level_by_level" : "all_levels_at_once";
}
INSTANTIATE_TEST_SUITE_P(All, enqueue_long_segments_test, testing::Bool(), name_of);

TEST_F(enqueue_segments_test, EveryTypeOfOffsets) {
  segment_layout layout(all_lengths(9'000), 5, 1);
  for (const key_type type : {key_type::u32, key_type::i32, key_type::u64, key_type::i64}) {
    layout.offset_type = type;
    expect_sorted(key_type::u16, layout, {distribution_kind::uniform}, false, 4);
    if (HasFatalFailure()) return;
  }
}

TEST_F(enqueue_segments_test, GoesIntoAGraphThatIsLaunchedAgain) {
  const segment_layout layout(all_lengths(100'000), 0, 0);
  const std::uint64_t n = layout.num_keys;
  const std::uint64_t size = enqueue_sort_segments_bytes(key_type::u32, n, layout.offsets.size() - 1);
  shard_memory keys("gpu:0", n * 4);
  shard_memory offsets("gpu:0", layout.offsets.size() * 8);
  shard_memory space("gpu:0", size);
  offsets.write(layout.offset_bytes());
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal), cudaSuccess);
  enqueue_sort_segments({key_type::u32, keys.data(), n}, {layout.offset_type, offsets.data(), layout.offsets.size()},
                        {space.data(), size}, stream.get());
  ASSERT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
  for (const distribution_kind kind : {distribution_kind::uniform, distribution_kind::zipf}) {
    const std::vector<std::byte> input = keys_of(key_type::u32, n, {kind, 1});
    keys.write(input);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(ready, stream.get()), cudaSuccess);
    wait();
    const std::vector<std::uint64_t> order = order_by_segments(key_type::u32, input, layout, false, true);
    EXPECT_EQ(diagnose_bytes("keys", gather(input, order, 4), keys.read(input.size()), 4), "");
  }
  EXPECT_EQ(cudaGraphExecDestroy(ready), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

/// Returns offsets that make no sense: any, those of short segments in any order, and long segments that overlap.
std::vector<std::vector<std::uint64_t>> senseless_offsets(std::uint64_t n) {
  std::mt19937_64 random(3);
  std::vector<std::uint64_t> any(20'001);
  for (std::uint64_t& offset : any) offset = random() % 4 == 0 ? random() : random() % (n + 1);
  std::vector<std::uint64_t> of_short(20'000);
  for (std::size_t i = 0; i < of_short.size(); i += 2) {
    of_short[i] = random() % (n - 30);
    of_short[i + 1] = of_short[i] + random() % 30;
  }
  return {any, of_short, {100, 110, 5, 15}, {6 * n / 10, n, 5 * n / 10, 9 * n / 10}};
}

/// What is sorted by offsets that decrease or lie beyond the keys is undefined, but nothing else is touched.
TEST_F(enqueue_segments_test, SenselessOffsetsTouchNothingElse) {
  constexpr std::uint64_t n = 100'000;
  constexpr std::uint64_t fence = 10'000;
  for (const std::vector<std::uint64_t>& offsets : senseless_offsets(n)) {
    const std::uint64_t size = enqueue_sort_segments_bytes(key_type::u32, n, offsets.size() - 1);
    const std::vector<std::byte> input = keys_of(key_type::u32, n + 2 * fence, {distribution_kind::uniform});
    const std::vector<std::byte> filling(fence, std::byte{0x5A});
    shard_memory keys("gpu:0", input.size());
    shard_memory offset_memory("gpu:0", offsets.size() * 8);
    shard_memory space("gpu:0", size + fence);
    std::vector<std::byte> of_space(size + fence, std::byte{0x5A});
    keys.write(input);
    offset_memory.write(std::as_bytes(std::span(offsets)));
    space.write(of_space);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    enqueue_sort_segments({key_type::u32, static_cast<std::uint32_t*>(keys.data()) + fence, n},
                          {key_type::u64, offset_memory.data(), offsets.size()}, {space.data(), size}, stream.get());
    wait();
    const std::vector<std::byte> found = keys.read(input.size());
    EXPECT_TRUE(std::equal(found.begin(), found.begin() + fence * 4, input.begin()));
    EXPECT_TRUE(std::equal(found.end() - fence * 4, found.end(), input.end() - fence * 4));
    of_space = space.read(size + fence);
    EXPECT_TRUE(std::equal(of_space.end() - fence, of_space.end(), filling.begin()));
  }
}

TEST_F(enqueue_segments_test, FaultsAreReported) {
  const segment_layout layout(all_lengths(20'000), 0, 0);
  const std::uint64_t n = layout.num_keys;
  const std::uint64_t size = enqueue_sort_segments_bytes(key_type::u32, n, layout.offsets.size() - 1);
  const std::vector<std::byte> input = keys_of(key_type::u32, n, {distribution_kind::uniform});
  shard_memory keys("gpu:0", n * 4);
  shard_memory offsets("gpu:0", layout.offsets.size() * 8);
  shard_memory space("gpu:0", size);
  offsets.write(layout.offset_bytes());
  bool has_failed = true;
  for (std::uint64_t fail_at = 1; has_failed; ++fail_at) {
    keys.write(input);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    has_failed = false;
    try {
      const base::test_hooks_scope hooks({.fail_device_call_at = fail_at});
      enqueue_sort_segments({key_type::u32, keys.data(), n},
                            {layout.offset_type, offsets.data(), layout.offsets.size()}, {space.data(), size},
                            stream.get());
    } catch (const device_error&) {
      has_failed = true;
    }
    wait();
    ASSERT_LT(fail_at, 100u);
  }
  const std::vector<std::uint64_t> order = order_by_segments(key_type::u32, input, layout, false, true);
  EXPECT_EQ(diagnose_bytes("keys", gather(input, order, 4), keys.read(input.size()), 4), "");
}

TEST_F(enqueue_segments_test, WrongArgumentsAreRefused) {
  constexpr std::uint64_t n = 1'000;
  const gpu_memory keys = take_gpu_memory(n * 8);
  const gpu_memory values = take_gpu_memory(n * 8);
  const gpu_memory positions = take_gpu_memory(88);
  const std::uint64_t size = enqueue_sort_pairs_segments_bytes(key_type::u32, n, 10, 8);
  const gpu_memory space = take_gpu_memory(size);
  const gpu_workspace whole{space.get(), size};
  const key_span good{key_type::u32, keys.get(), n};
  const const_key_span offsets{key_type::i64, positions.get(), 11};
  std::vector<std::uint64_t> on_the_host(n);
  const const_key_span host_offsets{key_type::i64, on_the_host.data(), 11};
  const const_key_span none{key_type::i64, positions.get(), 0};
  const const_key_span of_floats{key_type::f32, positions.get(), 11};
  cudaStream_t const s = stream.get();
  EXPECT_THROW(enqueue_sort_segments(good, host_offsets, whole, s), invalid_argument);
  EXPECT_THROW(enqueue_sort_segments(good, none, whole, s), invalid_argument);
  EXPECT_THROW(enqueue_sort_segments(good, of_floats, whole, s), invalid_argument);
  EXPECT_THROW(enqueue_sort_segments({key_type::u32, on_the_host.data(), n}, offsets, whole, s), invalid_argument);
  EXPECT_THROW(enqueue_sort_segments(good, offsets, {space.get(), 10}, s), invalid_argument);
  EXPECT_THROW(enqueue_sort_segments(good, offsets, {on_the_host.data(), size}, s), invalid_argument);
  EXPECT_THROW(enqueue_sort_pairs_segments(good, values.get(), 5, offsets, whole, s), invalid_argument);
  EXPECT_THROW(enqueue_sort_pairs_segments(good, keys.get(), 4, offsets, whole, s), invalid_argument);
  EXPECT_THROW(enqueue_sort_pairs_segments(good, on_the_host.data(), 4, offsets, whole, s), invalid_argument);
  EXPECT_THROW(enqueue_argsort_segments(good, values.get(), 2, offsets, whole, s), invalid_argument);
  EXPECT_THROW(enqueue_sort_rows(good, 7, whole, s), invalid_argument);
  EXPECT_THROW(enqueue_sort_rows(good, 0, whole, s), invalid_argument);
  EXPECT_THROW(static_cast<void>(enqueue_sort_segments_bytes(key_type::u32, std::uint64_t{1} << 32, 1)),
               invalid_argument);
  EXPECT_THROW(static_cast<void>(enqueue_sort_pairs_segments_bytes(key_type::u32, n, 1, 3)), invalid_argument);
  enqueue_sort_rows({key_type::u32, nullptr, 0}, 7, {}, s);
  wait();
}

/// The workspace is what the header states.
TEST_F(enqueue_segments_test, WorkspaceIsSizedByTheInput) {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  for (const key_type type : {key_type::u8, key_type::u32, key_type::u64}) {
    for (const unsigned value_bytes : {0U, 4U, 8U, 16U}) {
      for (unsigned log2_size = 4; log2_size <= 31; log2_size += 3) {
        const std::uint64_t n = std::uint64_t{1} << log2_size;
        for (const std::uint64_t segments : {std::uint64_t{1}, n / 100, n}) {
          const std::uint64_t needed = value_bytes == 0
                                           ? enqueue_sort_segments_bytes(type, n, segments)
                                           : enqueue_sort_pairs_segments_bytes(type, n, segments, value_bytes);
          EXPECT_LE(needed, n * (size_bytes(type) + value_bytes) + n * 22 / 10 + mib)
              << name(type) << ", " << value_bytes << ", 2^" << log2_size << ", " << segments;
        }
      }
    }
  }
}

TEST(enqueue_segments_without_gpu_test, IsRefusedWithAReason) {
  if (why_no_gpu().empty()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_THROW(static_cast<void>(enqueue_sort_segments_bytes(key_type::u32, 100, 3)), device_error);
  std::vector<float> keys(6);
  EXPECT_THROW(enqueue_sort_rows(as_key_span(std::span(keys)), 3, {}, nullptr), device_error);
}

}  // namespace
}  // namespace spansort::test
