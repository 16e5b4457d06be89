// SPDX-License-Identifier: Apache-2.0
// Sorts of arrays that lie on the devices already, with each allocation failing: shards are sorted or as they were.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/test_hooks.hpp"
#include "memory/fail_every_allocation.hpp"
#include "spansort/devices.hpp"
#include "spansort/enqueue.hpp"
#include "spansort/errors.hpp"
#include "spansort/report.hpp"
#include "spansort/resident.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"
#include "support/shard_memory.hpp"

namespace spansort::test {
namespace {

constexpr std::uint64_t index_bytes = 8;

/// Shards of one sort in the memory of their devices, with room for twice what they hold. Their values count the
/// records.
class shards_case {
 public:
  shards_case(const std::string& list, bool has_values) : has_values_(has_values) {
    const std::vector<std::string> devices = devices_of_list(list);
    share_ = num_keys_ / devices.size();
    EXPECT_EQ(share_ * devices.size(), num_keys_);
    for (const std::string& device : devices) {
      keys_.emplace_back(device, 2 * share_ * key_bytes);
      values_.emplace_back(device, 2 * share_ * index_bytes);
    }
  }

  void prepare() {
    shards_.clear();
    is_said_to_be_lost_ = false;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      keys_[i].write(expected_.input().subspan(i * share_ * key_bytes, share_ * key_bytes));
      values_[i].write(std::span(input_values_).subspan(i * share_ * index_bytes, share_ * index_bytes));
      shards_.push_back({.keys = keys_[i].data(),
                         .values = has_values_ ? values_[i].data() : nullptr,
                         .num_keys = share_,
                         .capacity = 2 * share_});
    }
  }
  void run(resident_sorter& s, shard_sizes sizes) {
    try {
      if (has_values_) {
        s.sort_pairs({key_type::u32, shards_}, index_bytes, direction::ascending, sizes);
      } else {
        s.sort({key_type::u32, shards_}, direction::ascending, sizes);
      }
    } catch (const device_error& failure) {
      is_said_to_be_lost_ = std::string_view(failure.what()).find("neither input nor result") != std::string_view::npos;
      throw;
    }
  }
  [[nodiscard]] std::uint64_t enqueued_bytes() const {
    return has_values_ ? enqueue_sort_pairs_bytes(key_type::u32, num_keys_, index_bytes)
                       : enqueue_sort_bytes(key_type::u32, num_keys_);
  }
  /// Puts the sort of the only shard on the default stream.
  void enqueue(const gpu_workspace& workspace) {
    const key_span keys{key_type::u32, keys_[0].data(), num_keys_};
    if (has_values_) {
      enqueue_sort_pairs(keys, values_[0].data(), index_bytes, workspace, nullptr);
    } else {
      enqueue_sort(keys, workspace, nullptr);
    }
  }
  [[nodiscard]] std::string check(bool has_thrown) const {
    if (is_said_to_be_lost_) return "said to be lost";
    const std::string not_done =
        compare(has_values_ ? expected_.keys_of_pairs() : expected_.keys_alone(), expected_.order());
    return has_thrown && !not_done.empty() ? compare(expected_.input(), places_) : not_done;
  }

 private:
  static constexpr std::uint64_t key_bytes = 4;

  [[nodiscard]] std::string compare(std::span<const std::byte> keys, const std::vector<std::uint64_t>& values) const {
    std::string wrong = diagnose_bytes("key", keys, gather(keys_, key_bytes), key_bytes);
    if (has_values_) {
      wrong +=
          diagnose_bytes(" value", values_in_order(values, index_bytes), gather(values_, index_bytes), index_bytes);
    }
    return wrong;
  }
  [[nodiscard]] std::vector<std::byte> gather(const std::vector<shard_memory>& arrays, std::uint64_t bytes) const {
    std::vector<std::byte> all;
    for (std::size_t i = 0; i < shards_.size(); ++i) {
      const std::vector<std::byte> part = arrays[i].read(shards_[i].num_keys * bytes);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
  [[nodiscard]] static std::vector<std::uint64_t> make_places(std::uint64_t count) {
    std::vector<std::uint64_t> places(count);
    for (std::uint64_t i = 0; i < count; ++i) places[i] = i;
    return places;
  }

  bool has_values_;
  // Finished without memory, these take an even and an odd number of merges. Many of the pairs' keys are equal.
  std::uint64_t num_keys_ = has_values_ ? 2100 : 6300;
  distribution distribution_ = has_values_ ? distribution{distribution_kind::zipf, 1.0} : distribution{};
  oracle expected_ = make_oracle(key_type::u32, num_keys_, distribution_, seed_for(9), false);
  std::uint64_t share_ = 0;
  std::vector<std::uint64_t> places_ = make_places(num_keys_);
  std::vector<std::byte> input_values_ = values_in_order(places_, index_bytes);
  std::vector<shard_memory> keys_;
  std::vector<shard_memory> values_;
  std::vector<shard> shards_;
  bool is_said_to_be_lost_ = false;
};

struct way {
  const char* devices;
  shard_sizes sizes = shard_sizes::as_given;
  test_tuning tuning = {};
};

/// One partition cuts shards that are to be balanced with so much slack.
constexpr test_tuning one_pass{.radix_bits = 8, .epsilon = 0.5};
constexpr test_tuning one_pass_through_host{.radix_bits = 8, .epsilon = 0.5, .exchange_through_host = true};
constexpr test_tuning in_rounds{
    .radix_bits = 8, .epsilon = 0.5, .fuse_threshold = 0, .host_separate_memory = true, .round_keys = 300};
/// The input is no more once the first partition has been partitioned again.
constexpr test_tuning several_passes{.radix_bits = 2, .epsilon = 0, .fuse_threshold = 0};
/// Buckets across the bounds of shards are copied to both.
constexpr test_tuning copied_buckets{.radix_bits = 8, .spanning = base::spanning_buckets::copied};
constexpr test_tuning copied_buckets_in_rounds{.radix_bits = 8,
                                               .fuse_threshold = 0,
                                               .host_separate_memory = true,
                                               .round_keys = 300,
                                               .spanning = base::spanning_buckets::copied};
const way ways[] = {{"host:1"},
                    {"host:1", shard_sizes::as_given, {.host_inline_keys = 1, .host_bucket_bytes = 1024}},
                    {"host:3", shard_sizes::balanced, one_pass},
                    {"host:3", shard_sizes::balanced, one_pass_through_host},
                    {"host:3", shard_sizes::balanced, in_rounds},
                    {"host:3", shard_sizes::as_given, several_passes},
                    {"host:3", shard_sizes::as_given, copied_buckets},
                    {"host:3", shard_sizes::as_given, copied_buckets_in_rounds},
                    {"host:7", shard_sizes::balanced, several_passes}};

void fail_all(const std::string& list, const way& how) {
  for (const bool has_values : {false, true}) {
    for (const bool wants_report : {false, true}) {
      SCOPED_TRACE(list + (has_values ? ", pairs" : ", keys") + (wants_report ? ", with a report" : ""));
      const base::test_hooks_scope hooks(how.tuning.hooks());
      sort_report report;
      sort_options options;
      options.devices = list;
      options.tuning = how.tuning.options();
      options.report = wants_report ? &report : nullptr;
      resident_sorter s(options);
      shards_case shards(list, has_values);
      fail_every_allocation([&] { shards.prepare(); }, [&] { shards.run(s, how.sizes); },
                            [&](bool has_thrown) { return shards.check(has_thrown); }, failing_on(list));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

class FailingMemoryOfShards : public testing::TestWithParam<std::size_t> {
 protected:
  way how = ways[GetParam()];
};

TEST_P(FailingMemoryOfShards, ShardsAreSortedOrAsTheyWere) { fail_all(devices_under_test(how.devices), how); }

TEST_P(FailingMemoryOfShards, ShardsOnAGpuAreSortedOrAsTheyWere) {
  if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  std::string list = "gpu:0";
  for (std::size_t i = 1; i < devices_of_list(how.devices).size(); ++i) list += ",0";
  fail_all(list, how);
}

INSTANTIATE_TEST_SUITE_P(All, FailingMemoryOfShards, testing::Range<std::size_t>(0, std::size(ways)));

TEST(FailingMemoryOfEnqueuedCalls, ArraysAreSortedOrAsTheyWere) {
  if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  for (const bool has_values : {false, true}) {
    SCOPED_TRACE(has_values ? "pairs" : "keys");
    shards_case shards("gpu:0", has_values);
    const std::uint64_t size_bytes = shards.enqueued_bytes();
    const shard_memory workspace("gpu:0", size_bytes);
    fail_every_allocation([&] { shards.prepare(); },
                          [&] {
                            shards.enqueue({workspace.data(), size_bytes});
                          },
                          [&](bool has_thrown) { return shards.check(has_thrown); }, failing_allocations::of_new);
  }
}

}  // namespace
}  // namespace spansort::test
