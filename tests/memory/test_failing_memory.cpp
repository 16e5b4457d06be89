// SPDX-License-Identifier: Apache-2.0
// Every allocation of a call fails, in turns: alone, and with all that follow. Arrays are then as they were or as they
// should be, as the headers promise, and nothing is held back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/fail_every_allocation.hpp"
#include "spansort/segmented.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"
#include "support/sort_job.hpp"

namespace spansort::test {
namespace {

/// Two segments, sorted one by one by the oracle, with values that do not travel with their keys.
class segments_case {
 public:
  explicit segments_case(std::uint64_t num_keys) : num_keys_(num_keys) {}

  void prepare() {
    keys_ = input_;
    values_ = input_values(num_keys_, value_bytes);
  }
  void run() {
    const std::vector<std::uint64_t> offsets = {0, num_keys_ / 3, num_keys_};
    sort_pairs_segments(key_span{key_type::u32, keys_.data(), num_keys_}, values_.data(), value_bytes,
                        const_key_span(key_type::u64, offsets.data(), offsets.size()));
  }
  /// Each segment is sorted with its values, or as it was where the call threw.
  std::string check(bool has_thrown) {
    const std::string first = check_segment(0, num_keys_ / 3, has_thrown);
    return first.empty() ? check_segment(num_keys_ / 3, num_keys_, has_thrown) : first;
  }

 private:
  static constexpr std::uint64_t value_bytes = 21;

  [[nodiscard]] std::string compare(std::uint64_t begin, std::span<const std::byte> keys,
                                    const std::vector<std::uint64_t>& order) const {
    std::vector<std::uint64_t> indices = order;
    for (std::uint64_t& index : indices) index += begin;
    const std::span<const std::byte> found_keys = std::span(keys_).subspan(begin * 4, keys.size());
    const std::span<const std::byte> found_values =
        std::span(values_).subspan(begin * value_bytes, order.size() * value_bytes);
    return diagnose_bytes("key", keys, found_keys, 4) +
           diagnose_bytes("value", values_in_order(indices, value_bytes), found_values, value_bytes);
  }

  [[nodiscard]] std::string check_segment(std::uint64_t begin, std::uint64_t end, bool has_thrown) const {
    const oracle expected(const_key_span(key_type::u32, input_.data() + begin * 4, end - begin), false);
    const std::string not_sorted = compare(begin, expected.keys_of_pairs(), expected.order());
    std::vector<std::uint64_t> unmoved(end - begin);
    for (std::uint64_t i = 0; i < unmoved.size(); ++i) unmoved[i] = i;
    if (has_thrown && compare(begin, expected.input(), unmoved).empty()) return "";
    return not_sorted;
  }

  std::uint64_t num_keys_;
  std::vector<std::byte> input_ = make_keys(key_type::u32, num_keys_, {}, seed_for(1));
  std::vector<std::byte> keys_;
  std::vector<std::byte> values_;
};

TEST(FailingMemory, SegmentsAreSortedOrAsTheyWereWithTheirValues) {
  for (const std::uint64_t num_keys : {1000, 40'000, 100'000}) {  // one thread, tasks, large segments
    SCOPED_TRACE(num_keys);
    segments_case c(num_keys);
    fail_every_allocation([&] { c.prepare(); }, [&] { c.run(); }, [&](bool has_thrown) { return c.check(has_thrown); });
  }
}

const operation array_operations[] = {{operation::kind::keys, 0},
                                      {operation::kind::pairs, 3},
                                      {operation::kind::pairs, 4},
                                      {operation::kind::pairs, 24},
                                      {operation::kind::argsort, 8}};

TEST(FailingMemory, ArraysAreSortedOrAsTheyWere) {
  for (const bool wants_report : {false, true}) {
    for (const operation& op : array_operations) {
      SCOPED_TRACE(describe(op) + (wants_report ? " with a report" : ""));
      sort_job arrays(op, make_oracle(key_type::u64, 30'000, {}, seed_for(2), false));
      fail_every_allocation([&] { arrays.reset(); },
                            [&] {
                              sort_report report;
                              arrays.run(sort_options{.devices = "cpu", .report = wants_report ? &report : nullptr});
                            },
                            [&](bool has_thrown) {
                              const std::string not_done = arrays.diagnose_done();
                              return has_thrown && !not_done.empty() ? arrays.diagnose_untouched() : not_done;
                            });
    }
  }
}

/// Queues for copies begin threads in the midst of these sorts.
TEST(FailingMemory, WhereNoThreadCanStartTheErrorIsOneOfTheLibrarys) {
  const hooked_options options = [] {
    engine parts{"host:2", "out_of_core", {.host_separate_memory = true, .device_chunk_keys = 1000}};
    return parts.options();
  }();
  sort_job arrays({operation::kind::keys, 0}, make_oracle(key_type::u32, 3000, {}, seed_for(3), false));
  fail_every_allocation([&] { arrays.reset(); },
                        [&] {
                          sorter s = make_sorter(options);
                          arrays.run(s);
                        },
                        [&](bool has_thrown) { return has_thrown ? "" : arrays.diagnose_done(); });
}

}  // namespace
}  // namespace spansort::test
