// SPDX-License-Identifier: Apache-2.0
// Calls that put sorts on a stream: which sorts they put there, with how much workspace, and what they refuse. The GPU
// is made up; tests/gpu has the results of real ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "made_up_gpus/made_up_gpus.hpp"
#include "spansort/enqueue.hpp"
#include "spansort/errors.hpp"

namespace spansort::test {
namespace {

using words = std::vector<std::uint32_t>;
using indices = std::vector<std::uint64_t>;

/// Returns what invalid_argument says, or "" where the call goes through.
std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const invalid_argument& refused) {
    return refused.what();
  }
  return "";
}

class EnqueueOnAMadeUpGpu : public testing::Test {
 protected:
  [[nodiscard]] key_span keys() const { return {key_type::u32, keys_.data(), keys_.size()}; }
  [[nodiscard]] gpu_workspace workspace(std::uint64_t size_bytes) const { return {workspace_.data(), size_bytes}; }
  [[nodiscard]] gpu_workspace enough() const { return workspace(workspace_.size_bytes()); }
  /// A stream that calls are to hand on as it is.
  [[nodiscard]] void* stream() { return &stream_; }

  machine_scope scope_{made_up_machine{}};
  const words input_{4, 9, 4, 1, 7, 0, 3, 3};
  gpu_array<std::uint32_t> keys_{input_};
  gpu_array<std::uint64_t> values_{indices{0, 1, 2, 3, 4, 5, 6, 7}};
  gpu_array<std::uint32_t> offsets_{words{0, 3, 3, 8}};
  gpu_bytes workspace_{4096};
  std::array<std::uint64_t, 8> host_{};
  int stream_ = 0;
};

TEST_F(EnqueueOnAMadeUpGpu, ASortTakesAsMuchOfTheWorkspaceAsItCanUse) {
  const std::uint64_t least = enqueue_sort_bytes(key_type::u32, 8);
  const std::uint64_t fastest = enqueue_sort_bytes(key_type::u32, 8, workspace_size::fastest);
  ASSERT_LT(least, fastest);
  enqueue_sort(keys(), workspace(least), stream());
  EXPECT_EQ(keys_.read(), (words{0, 1, 3, 3, 4, 4, 7, 9}));
  enqueue_sort(keys(), workspace(fastest - 1), stream());
  enqueue_sort(keys(), workspace(fastest), stream(), direction::descending);
  EXPECT_EQ(keys_.read(), (words{9, 7, 4, 4, 3, 3, 1, 0}));
  ASSERT_EQ(machine().calls.size(), 3u);
  EXPECT_EQ(machine().calls[0].workspace, workspace_size::least);
  EXPECT_EQ(machine().calls[1].workspace, workspace_size::least);
  EXPECT_EQ(machine().calls[2].workspace, workspace_size::fastest);
  for (const stream_call& call : machine().calls) EXPECT_EQ(call.stream, stream());
}

TEST_F(EnqueueOnAMadeUpGpu, TooSmallAWorkspaceIsRefused) {
  const std::uint64_t least = enqueue_sort_bytes(key_type::u32, 8);
  EXPECT_EQ(refusal_of([&] { enqueue_sort(keys(), workspace(least - 1), stream()); }),
            "a workspace of 31 bytes: 32 are needed");
  EXPECT_EQ(refusal_of([&] {
              enqueue_sort_segments(keys(), {key_type::u32, offsets_.data(), 4}, {}, stream());
            }),
            "a workspace of 0 bytes: 32 are needed");
  EXPECT_EQ(refusal_of([&] { enqueue_argsort(keys(), values_.data(), 8, workspace(95), stream()); }),
            "a workspace of 95 bytes: 96 are needed");
  EXPECT_EQ(keys_.read(), input_);
  EXPECT_TRUE(machine().calls.empty());
}

TEST_F(EnqueueOnAMadeUpGpu, PairsAndArgsortsAreStable) {
  enqueue_argsort(keys(), values_.data(), 8, enough(), stream());
  EXPECT_EQ(values_.read(), (indices{5, 3, 6, 7, 0, 2, 4, 1}));
  EXPECT_EQ(keys_.read(), input_) << "an argsort reads the keys";
  const gpu_array<std::uint64_t> values(indices{0, 1, 2, 3, 4, 5, 6, 7});
  enqueue_sort_pairs(keys(), values.data(), 8, enough(), stream(), direction::descending);
  EXPECT_EQ(keys_.read(), (words{9, 7, 4, 4, 3, 3, 1, 0}));
  EXPECT_EQ(values.read(), (indices{1, 4, 0, 2, 6, 7, 3, 5}));
}

TEST_F(EnqueueOnAMadeUpGpu, MemoryOfTheHostIsRefusedByItsName) {
  const std::string elsewhere = " do not lie in the memory of the current GPU";
  void* const host = host_.data();
  const key_span host_keys{key_type::u32, host, 8};
  const gpu_workspace host_workspace{reinterpret_cast<void*>(256), 4096};
  const const_key_span offsets{key_type::u32, offsets_.data(), 4};
  const const_key_span host_offsets{key_type::u32, host, 4};
  const auto refusals = {
      refusal_of([&] { enqueue_sort(host_keys, enough(), nullptr); }),
      refusal_of([&] { enqueue_sort_pairs(host_keys, values_.data(), 8, enough(), nullptr); }),
      refusal_of([&] { enqueue_argsort(host_keys, values_.data(), 8, enough(), nullptr); }),
      refusal_of([&] { enqueue_sort_segments(host_keys, offsets, enough(), nullptr); }),
      refusal_of([&] { enqueue_sort_pairs_segments(host_keys, values_.data(), 8, offsets, enough(), nullptr); }),
      refusal_of([&] { enqueue_argsort_segments(host_keys, values_.data(), 8, offsets, enough(), nullptr); })};
  for (const std::string& refusal : refusals) EXPECT_EQ(refusal, "keys" + elsewhere);
  EXPECT_EQ(refusal_of([&] { enqueue_sort_pairs(keys(), host, 8, enough(), nullptr); }), "values" + elsewhere);
  EXPECT_EQ(refusal_of([&] { enqueue_sort_pairs_segments(keys(), host, 8, offsets, enough(), nullptr); }),
            "values" + elsewhere);
  EXPECT_EQ(refusal_of([&] { enqueue_argsort(keys(), host, 8, enough(), nullptr); }), "indices" + elsewhere);
  EXPECT_EQ(refusal_of([&] { enqueue_argsort_segments(keys(), host, 8, offsets, enough(), nullptr); }),
            "indices" + elsewhere);
  EXPECT_EQ(refusal_of([&] { enqueue_sort_segments(keys(), host_offsets, enough(), nullptr); }), "offsets" + elsewhere);
  EXPECT_EQ(refusal_of([&] { enqueue_sort(keys(), host_workspace, nullptr); }),
            "the bytes of the workspace" + elsewhere);
  EXPECT_EQ(keys_.read(), input_);
  EXPECT_TRUE(machine().calls.empty());
}

TEST_F(EnqueueOnAMadeUpGpu, IndicesAreRefusedByTheirOwnName) {
  const const_key_span offsets{key_type::u32, offsets_.data(), 4};
  const std::string missing = "indices: null pointer for 8 elements";
  EXPECT_EQ(refusal_of([&] { enqueue_argsort(keys(), nullptr, 8, enough(), nullptr); }), missing);
  EXPECT_EQ(refusal_of([&] { enqueue_argsort_segments(keys(), nullptr, 8, offsets, enough(), nullptr); }), missing);
  EXPECT_EQ(refusal_of([&] { enqueue_argsort_rows(keys(), nullptr, 8, 4, enough(), nullptr); }), missing);
  const std::string overlap = "keys and indices overlap";
  EXPECT_EQ(refusal_of([&] { enqueue_argsort(keys(), keys_.data(), 4, enough(), nullptr); }), overlap);
  EXPECT_EQ(refusal_of([&] { enqueue_argsort_segments(keys(), keys_.data(), 4, offsets, enough(), nullptr); }),
            overlap);
  EXPECT_EQ(refusal_of([&] { enqueue_argsort_rows(keys(), keys_.data(), 4, 4, enough(), nullptr); }), overlap);
  EXPECT_TRUE(machine().calls.empty());
}

TEST_F(EnqueueOnAMadeUpGpu, NothingIsPutOnTheStreamForNoKeys) {
  const key_span none{key_type::u32, nullptr, 0};
  const gpu_array<std::uint32_t> bounds(words{0, 0});
  const const_key_span offsets{key_type::u32, bounds.data(), 2};
  enqueue_sort(none, {}, nullptr);
  enqueue_sort_pairs(none, nullptr, 8, {}, nullptr);
  enqueue_argsort(none, nullptr, 8, {}, nullptr);
  enqueue_sort_segments(none, offsets, {}, nullptr);
  enqueue_sort_pairs_segments(none, nullptr, 8, offsets, {}, nullptr);
  enqueue_argsort_segments(none, nullptr, 8, offsets, {}, nullptr);
  enqueue_sort_rows(none, 4, {}, nullptr);
  enqueue_sort_pairs_rows(none, nullptr, 8, 4, {}, nullptr);
  enqueue_argsort_rows(none, nullptr, 8, 4, {}, nullptr);
  EXPECT_TRUE(machine().calls.empty());
}

TEST_F(EnqueueOnAMadeUpGpu, SegmentsAreSortedEachByItself) {
  const const_key_span offsets{key_type::u32, offsets_.data(), 4};
  const gpu_array<std::uint64_t> wide_offsets(indices{0, 3, 3, 8});
  enqueue_argsort_segments(keys(), values_.data(), 8, offsets, enough(), stream());
  EXPECT_EQ(values_.read(), (indices{0, 2, 1, 2, 0, 3, 4, 1}));
  EXPECT_EQ(keys_.read(), input_);
  const gpu_array<std::uint64_t> values(indices{0, 1, 2, 3, 4, 5, 6, 7});
  enqueue_sort_pairs_segments(keys(), values.data(), 8, {key_type::u64, wide_offsets.data(), 4}, enough(), stream());
  EXPECT_EQ(keys_.read(), (words{4, 4, 9, 0, 1, 3, 3, 7}));
  EXPECT_EQ(values.read(), (indices{0, 2, 1, 5, 3, 6, 7, 4}));
  enqueue_sort_segments(keys(), offsets, enough(), stream(), direction::descending);
  EXPECT_EQ(keys_.read(), (words{9, 4, 4, 7, 3, 3, 1, 0}));
  for (const stream_call& call : machine().calls) EXPECT_EQ(call.num_segments, 3u);
}

TEST_F(EnqueueOnAMadeUpGpu, ShortRowsAreSegments) {
  enqueue_sort_rows(keys(), 4, enough(), stream());
  EXPECT_EQ(keys_.read(), (words{1, 4, 4, 9, 0, 3, 3, 7}));
  ASSERT_EQ(machine().calls.size(), 1u);
  EXPECT_EQ(machine().calls[0].name, "segments");
  EXPECT_EQ(machine().calls[0].num_segments, 2u);
  enqueue_argsort_rows(keys(), values_.data(), 8, 2, enough(), stream(), direction::descending);
  EXPECT_EQ(values_.read(), (indices{1, 0, 1, 0, 1, 0, 1, 0}));
  ASSERT_EQ(machine().calls.size(), 2u);
  EXPECT_EQ(machine().calls[1].num_segments, 4u);
}

TEST_F(EnqueueOnAMadeUpGpu, OneRowIsSortedAsAnArray) {
  enqueue_sort_rows(keys(), 8, enough(), stream());
  enqueue_argsort_rows(keys(), values_.data(), 8, 8, enough(), stream(), direction::descending);
  enqueue_sort_pairs_rows(keys(), values_.data(), 8, 8, enough(), stream());
  ASSERT_EQ(machine().calls.size(), 3u);
  EXPECT_EQ(machine().calls[0].name, "sort");
  EXPECT_EQ(machine().calls[1].name, "argsort");
  EXPECT_EQ(machine().calls[2].name, "sort");
  EXPECT_EQ(keys_.read(), (words{0, 1, 3, 3, 4, 4, 7, 9}));
  EXPECT_EQ(values_.read(), (indices{7, 6, 4, 5, 2, 3, 1, 0}));
}

TEST_F(EnqueueOnAMadeUpGpu, LongRowsAreSortedOneAfterTheOther) {
  const base::test_hooks_scope hooks({.long_row_keys = 2});
  enqueue_sort_pairs_rows(keys(), values_.data(), 8, 2, enough(), stream());
  EXPECT_EQ(keys_.read(), (words{4, 9, 1, 4, 0, 7, 3, 3}));
  EXPECT_EQ(values_.read(), (indices{0, 1, 3, 2, 5, 4, 6, 7}));
  enqueue_sort_rows(keys(), 2, enough(), stream(), direction::descending);
  EXPECT_EQ(keys_.read(), (words{9, 4, 4, 1, 7, 0, 3, 3}));
  enqueue_argsort_rows(keys(), values_.data(), 8, 2, enough(), stream());
  EXPECT_EQ(values_.read(), (indices{1, 0, 1, 0, 1, 0, 0, 1}));
  ASSERT_EQ(machine().calls.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(machine().calls[i].keys, keys_.data() + i % 4 * 2);
    EXPECT_EQ(machine().calls[i].num_keys, 2u);
    EXPECT_EQ(machine().calls[i].num_segments, 0u);
  }
}

TEST_F(EnqueueOnAMadeUpGpu, ManyRowsAreSortedInSeveralCalls) {
  // Three of the four rows would have six keys, and the last call gets what is left.
  const base::test_hooks_scope hooks({.segments_call_keys = 7});
  enqueue_sort_pairs_rows(keys(), values_.data(), 8, 2, enough(), stream());
  EXPECT_EQ(keys_.read(), (words{4, 9, 1, 4, 0, 7, 3, 3}));
  EXPECT_EQ(values_.read(), (indices{0, 1, 3, 2, 5, 4, 6, 7}));
  enqueue_argsort_rows(keys(), values_.data(), 8, 2, enough(), stream(), direction::descending);
  EXPECT_EQ(values_.read(), (indices{1, 0, 1, 0, 1, 0, 0, 1}));
  ASSERT_EQ(machine().calls.size(), 4u);
  for (const std::size_t i : {0, 2}) {
    EXPECT_EQ(machine().calls[i].num_segments, 3u);
    EXPECT_EQ(machine().calls[i].keys, keys_.data());
    EXPECT_EQ(machine().calls[i + 1].num_segments, 1u);
    EXPECT_EQ(machine().calls[i + 1].keys, keys_.data() + 6);
  }
  // A row that is longer than a call may be is sorted as an array.
  const base::test_hooks_scope fewer({.segments_call_keys = 3});
  enqueue_sort_rows(keys(), 4, enough(), stream());
  EXPECT_EQ(machine().calls.back().name, "sort");
  EXPECT_EQ(machine().calls.back().num_keys, 4u);
  EXPECT_EQ(keys_.read(), (words{1, 4, 4, 9, 0, 3, 3, 7}));
}

TEST_F(EnqueueOnAMadeUpGpu, TheWorkspaceOfRowsIsThatOfOneCall) {
  const struct {
    key_type type;
    std::uint64_t long_row_keys;
  } bounds[] = {{key_type::u8, std::uint64_t{1} << 20},
                {key_type::f16, std::uint64_t{1} << 20},
                {key_type::i32, std::uint64_t{1} << 22},
                {key_type::f64, std::uint64_t{1} << 26}};
  for (const auto& [type, length] : bounds) {
    const std::uint64_t shorter = length - 1;
    EXPECT_EQ(enqueue_sort_rows_bytes(type, 4 * length, length),
              enqueue_sort_bytes(type, length, workspace_size::fastest));
    EXPECT_EQ(enqueue_sort_rows_bytes(type, 4 * shorter, shorter), enqueue_sort_segments_bytes(type, 4 * shorter, 4));
    EXPECT_EQ(enqueue_sort_pairs_rows_bytes(type, 4 * length, length, 4),
              enqueue_sort_pairs_bytes(type, length, 4, workspace_size::fastest));
    EXPECT_EQ(enqueue_sort_pairs_rows_bytes(type, 4 * shorter, shorter, 4),
              enqueue_sort_pairs_segments_bytes(type, 4 * shorter, 4, 4));
    EXPECT_EQ(enqueue_argsort_rows_bytes(type, 4 * length, length, 8),
              enqueue_argsort_bytes(type, length, 8, workspace_size::fastest));
    EXPECT_EQ(enqueue_argsort_rows_bytes(type, 4 * shorter, shorter, 8),
              enqueue_argsort_segments_bytes(type, 4 * shorter, 4, 8));
    EXPECT_EQ(enqueue_sort_rows_bytes(type, 0, length), 0u);
  }
  // More rows than one call takes: 2^23 of 1,000 keys are sorted in calls of 4,294,967 rows.
  EXPECT_EQ(enqueue_sort_rows_bytes(key_type::u32, 1000 * (std::uint64_t{1} << 23), 1000),
            enqueue_sort_segments_bytes(key_type::u32, 4'294'967'000, 4'294'967));
}

TEST_F(EnqueueOnAMadeUpGpu, ARefusedLaunchComesThrough) {
  machine().fails_on_stream = true;
  EXPECT_THROW(enqueue_sort(keys(), enough(), stream()), device_error);
  EXPECT_THROW(enqueue_sort_rows(keys(), 4, enough(), stream()), device_error);
}

}  // namespace
}  // namespace spansort::test
