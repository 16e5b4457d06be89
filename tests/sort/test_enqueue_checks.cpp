// SPDX-License-Identifier: Apache-2.0
// Calls that enqueue on a GPU: arguments that cannot be are refused before any GPU is asked, so on every machine, and
// the others say what the machine lacks.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/test_hooks.hpp"
#include "sort/enqueue_checks.hpp"
#include "sort/gpu_devices.hpp"
#include "spansort/devices.hpp"
#include "spansort/enqueue.hpp"
#include "spansort/errors.hpp"

namespace spansort {
namespace {

/// Returns what invalid_argument says, and "no exception" or "device_error" where it is not thrown.
std::string argument_refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const invalid_argument& refused) {
    return refused.what();
  } catch (const device_error&) {
    return "device_error";
  }
  return "no exception";
}

class EnqueueChecks : public testing::Test {
 protected:
  [[nodiscard]] key_span keys() { return {key_type::u32, keys_.data(), keys_.size()}; }
  [[nodiscard]] key_span odd_keys() { return {key_type::u32, reinterpret_cast<char*>(keys_.data()) + 1, 3}; }
  [[nodiscard]] const_key_span offsets() { return {key_type::u32, offsets_.data(), offsets_.size()}; }
  [[nodiscard]] key_span few_keys() { return {key_type::u32, keys_.data(), 2}; }
  [[nodiscard]] void* odd_values() { return reinterpret_cast<char*>(values_.data()) + 1; }

  std::array<std::uint32_t, 6> keys_{6, 5, 4, 3, 2, 1};
  std::array<std::uint64_t, 6> values_{};
  std::array<std::uint32_t, 3> offsets_{0, 3, 6};
};

TEST_F(EnqueueChecks, Keys) {
  EXPECT_EQ(argument_refusal_of([&] {
              enqueue_sort({key_type::u32, nullptr, 3}, {}, nullptr);
            }),
            "keys: null pointer for 3 elements");
  EXPECT_EQ(argument_refusal_of([&] { enqueue_sort(odd_keys(), {}, nullptr); }),
            "keys of type u32 are not aligned to 4 bytes");
  EXPECT_EQ(argument_refusal_of([&] { enqueue_sort_rows(odd_keys(), 3, {}, nullptr); }),
            "keys of type u32 are not aligned to 4 bytes");
  const auto unknown = static_cast<key_type>(77);
  const std::string is_unknown = "key type 77 is none of those there are";
  EXPECT_EQ(argument_refusal_of([&] { static_cast<void>(enqueue_sort_bytes(unknown, 3)); }), is_unknown);
  EXPECT_EQ(argument_refusal_of([&] { static_cast<void>(enqueue_sort_segments_bytes(unknown, 3, 1)); }), is_unknown);
  EXPECT_EQ(argument_refusal_of([&] { static_cast<void>(enqueue_sort_rows_bytes(unknown, 3, 1)); }), is_unknown);
}

TEST_F(EnqueueChecks, ValuesAndIndices) {
  const std::string wrong_values = "values on GPUs have 4, 8 or 16 bytes each, not 3";
  const std::string wrong_indices = "indices have 4 or 8 bytes each, not 16";
  EXPECT_EQ(argument_refusal_of([&] { static_cast<void>(enqueue_sort_pairs_bytes(key_type::u32, 6, 3)); }),
            wrong_values);
  EXPECT_EQ(argument_refusal_of([&] { static_cast<void>(enqueue_argsort_bytes(key_type::u32, 6, 16)); }),
            wrong_indices);
  EXPECT_EQ(argument_refusal_of([&] { static_cast<void>(enqueue_sort_pairs_segments_bytes(key_type::u32, 6, 2, 3)); }),
            wrong_values);
  EXPECT_EQ(argument_refusal_of([&] { static_cast<void>(enqueue_argsort_segments_bytes(key_type::u32, 6, 2, 16)); }),
            wrong_indices);
  EXPECT_EQ(argument_refusal_of([&] { static_cast<void>(enqueue_sort_pairs_rows_bytes(key_type::u32, 6, 2, 3)); }),
            wrong_values);
  EXPECT_EQ(argument_refusal_of([&] { static_cast<void>(enqueue_argsort_rows_bytes(key_type::u32, 6, 2, 16)); }),
            wrong_indices);
  EXPECT_EQ(argument_refusal_of([&] { enqueue_sort_pairs(keys(), values_.data(), 3, {}, nullptr); }), wrong_values);
  EXPECT_EQ(argument_refusal_of([&] { enqueue_argsort(keys(), values_.data(), 16, {}, nullptr); }), wrong_indices);
  EXPECT_EQ(argument_refusal_of([&] { enqueue_sort_pairs_rows(keys(), values_.data(), 3, 3, {}, nullptr); }),
            wrong_values);
  EXPECT_EQ(argument_refusal_of([&] { enqueue_argsort_rows(keys(), values_.data(), 16, 3, {}, nullptr); }),
            wrong_indices);

  EXPECT_EQ(argument_refusal_of([&] { enqueue_sort_pairs(keys(), keys_.data() + 1, 4, {}, nullptr); }),
            "keys and values overlap");
  EXPECT_EQ(argument_refusal_of([&] { enqueue_argsort(keys(), keys_.data() + 1, 4, {}, nullptr); }),
            "keys and indices overlap");
  for (const std::uint64_t bytes : {4U, 8U}) {
    const std::string odd = " are not aligned to " + std::to_string(bytes) + " bytes";
    EXPECT_EQ(argument_refusal_of([&] { enqueue_sort_pairs(few_keys(), odd_values(), bytes, {}, nullptr); }),
              "values" + odd);
    EXPECT_EQ(argument_refusal_of([&] { enqueue_argsort(few_keys(), odd_values(), bytes, {}, nullptr); }),
              "indices" + odd);
    EXPECT_EQ(argument_refusal_of([&] { enqueue_sort_pairs_rows(few_keys(), odd_values(), bytes, 1, {}, nullptr); }),
              "values" + odd);
    EXPECT_EQ(argument_refusal_of([&] { enqueue_argsort_rows(few_keys(), odd_values(), bytes, 1, {}, nullptr); }),
              "indices" + odd);
  }
}

TEST_F(EnqueueChecks, SegmentsAndRows) {
  const auto sort = [&](const const_key_span& where) {
    return argument_refusal_of([&] { enqueue_sort_segments(keys(), where, {}, nullptr); });
  };
  EXPECT_EQ(sort({key_type::f32, offsets_.data(), 3}), "offsets of type u32, i32, u64 or i64 are expected");
  EXPECT_EQ(sort({key_type::u32, offsets_.data(), 0}), "offsets: one more than segments are expected, found none");
  EXPECT_EQ(sort({key_type::u32, nullptr, 3}), "keys: null pointer for 3 elements");
  EXPECT_EQ(argument_refusal_of([&] { enqueue_sort_rows(keys(), 4, {}, nullptr); }), "6 keys are not rows of 4");
  EXPECT_EQ(argument_refusal_of([&] { enqueue_argsort_rows(keys(), values_.data(), 4, 0, {}, nullptr); }),
            "6 keys are not rows of 0");
  EXPECT_EQ(argument_refusal_of([&] { static_cast<void>(enqueue_sort_rows_bytes(key_type::u32, 6, 4)); }),
            "6 keys are not rows of 4");
  EXPECT_EQ(argument_refusal_of(
                [&] { static_cast<void>(enqueue_sort_segments_bytes(key_type::u8, std::uint64_t{1} << 32, 2)); }),
            "segments on a GPU have at most 4294967295 keys together, not 4294967296");
}

TEST_F(EnqueueChecks, Workspace) {
  EXPECT_EQ(argument_refusal_of([&] {
              sorting::check_workspace({values_.data(), 99}, 100);
            }),
            "a workspace of 99 bytes: 100 are needed");
  EXPECT_EQ(argument_refusal_of([&] {
              sorting::check_workspace({nullptr, 100}, 100);
            }),
            "null pointer for the workspace");
  alignas(256) std::array<std::byte, 512> memory;
  EXPECT_EQ(argument_refusal_of([&] {
              sorting::check_workspace({memory.data() + 1, 100}, 100);
            }),
            "the bytes of the workspace are not aligned to 256 bytes");
  EXPECT_EQ(argument_refusal_of([] { sorting::check_workspace({nullptr, 0}, 0); }), "no exception");
  const std::string of_the_host = argument_refusal_of([&] { sorting::check_workspace({memory.data(), 100}, 100); });
  EXPECT_TRUE(of_the_host == "device_error" || of_the_host.find("memory of the current GPU") != std::string::npos)
      << of_the_host;
}

TEST_F(EnqueueChecks, WithoutAGpuEveryCallSaysSo) {
  if (why_no_gpu().empty()) GTEST_SKIP() << "this machine has a GPU";
  const std::function<void()> calls[] = {
      [] { static_cast<void>(enqueue_sort_bytes(key_type::u32, 6)); },
      [] { static_cast<void>(enqueue_sort_pairs_bytes(key_type::u32, 6, 8, workspace_size::fastest)); },
      [] { static_cast<void>(enqueue_argsort_bytes(key_type::u32, 6, 8)); },
      [] { static_cast<void>(enqueue_sort_segments_bytes(key_type::u32, 6, 2)); },
      [] { static_cast<void>(enqueue_sort_pairs_segments_bytes(key_type::u32, 6, 2, 8)); },
      [] { static_cast<void>(enqueue_argsort_segments_bytes(key_type::u32, 6, 2, 8)); },
      [] { static_cast<void>(enqueue_sort_rows_bytes(key_type::u32, 6, 2)); },
      [] { static_cast<void>(enqueue_sort_pairs_rows_bytes(key_type::u32, 6, 2, 8)); },
      [] { static_cast<void>(enqueue_argsort_rows_bytes(key_type::u32, 6, 2, 8)); },
      [&] { enqueue_sort(keys(), {}, nullptr); },
      [&] { enqueue_sort_pairs(keys(), values_.data(), 8, {}, nullptr); },
      [&] { enqueue_argsort(keys(), values_.data(), 8, {}, nullptr); },
      [&] { enqueue_sort_segments(keys(), offsets(), {}, nullptr); },
      [&] { enqueue_sort_pairs_segments(keys(), values_.data(), 8, offsets(), {}, nullptr); },
      [&] { enqueue_argsort_segments(keys(), values_.data(), 8, offsets(), {}, nullptr); },
      [&] { enqueue_sort_rows(keys(), 3, {}, nullptr, direction::descending); },
      [&] { enqueue_sort_pairs_rows(keys(), values_.data(), 8, 3, {}, nullptr); },
      [&] { enqueue_argsort_rows(keys(), values_.data(), 8, 3, {}, nullptr); },
      [&] {
        enqueue_sort_rows({key_type::u32, nullptr, 0}, 0, {}, nullptr);
      }};
  for (std::size_t i = 0; i < std::size(calls); ++i) {
    try {
      calls[i]();
      ADD_FAILURE() << "call " << i << " does not say that there is no GPU";
    } catch (const device_error& failure) {
      EXPECT_EQ(std::string(failure.what()), why_no_gpu()) << i;
    }
  }
  EXPECT_EQ(keys_, (std::array<std::uint32_t, 6>{6, 5, 4, 3, 2, 1}));
}

TEST(GpuDevices, HooksNameTheirSortWithinADevice) {
  using base::gpu_buckets;
  using base::gpu_small_sort;
  EXPECT_EQ(sorting::local_sort_of({}), "");
  EXPECT_EQ(sorting::local_sort_of({.cub_local_sort = true, .buckets = gpu_buckets::always}), "cub");
  EXPECT_EQ(sorting::local_sort_of({.small_sort = gpu_small_sort::block}), "block_sort");
  EXPECT_EQ(sorting::local_sort_of({.small_sort = gpu_small_sort::grid}), "grid_sort");
  EXPECT_EQ(sorting::local_sort_of({.small_sort = gpu_small_sort::count}), "counting_sort");
  EXPECT_EQ(sorting::local_sort_of({.small_sort = gpu_small_sort::none}), "onesweep");
  EXPECT_EQ(sorting::local_sort_of({.buckets = gpu_buckets::always}), "msd_hybrid");
  EXPECT_EQ(sorting::local_sort_of({.buckets = gpu_buckets::never}), "onesweep");
  EXPECT_EQ(sorting::local_sort_of({.buckets = gpu_buckets::where_even}), "msd_hybrid where even");
  EXPECT_EQ(sorting::local_sort_of({.buckets = gpu_buckets::by_spread}), "msd_hybrid by spread");
  EXPECT_EQ(sorting::local_sort_of({.buckets = gpu_buckets::by_wide_spread}), "msd_hybrid by wide spread");
}

}  // namespace
}  // namespace spansort
