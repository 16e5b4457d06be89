// SPDX-License-Identifier: Apache-2.0
#include "support/merge_check.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <span>
#include <sstream>
#include <vector>

#include "support/engines.hpp"
#include "support/oracle.hpp"

namespace spansort::test {
namespace {

constexpr std::uint64_t red_zone_bytes = 256;
constexpr std::byte red{0xa5};

/// Device memory between red zones, filled and looked at through the device's queue.
class device_array {
 public:
  device_array(device::device& device, device::queue& queue, std::span<const std::byte> contents,
               std::uint64_t offset_bytes)
      : queue_(queue), begin_(red_zone_bytes + offset_bytes), size_bytes_(contents.size()) {
    image_.assign(begin_ + size_bytes_ + red_zone_bytes, red);
    std::ranges::copy(contents, image_.begin() + static_cast<std::ptrdiff_t>(begin_));
    memory_ = device.allocate(image_.size());
    queue_.copy(memory_.data(), image_.data(), image_.size(), "test");
    queue_.synchronize();
  }
  [[nodiscard]] void* data() const { return static_cast<char*>(memory_.data()) + begin_; }

  /// Compares all of the memory with `expected` between the red zones.
  [[nodiscard]] std::string diagnose(std::string_view what, std::span<const std::byte> expected,
                                     std::uint64_t element_bytes) {
    std::vector<std::byte> found(image_.size());
    queue_.copy(found.data(), memory_.data(), found.size(), "test");
    queue_.synchronize();
    const auto at = [&](std::uint64_t i) { return found.begin() + static_cast<std::ptrdiff_t>(i); };
    const bool is_whole = std::all_of(at(0), at(begin_), [](std::byte b) { return b == red; }) &&
                          std::all_of(at(begin_ + size_bytes_), found.end(), [](std::byte b) { return b == red; });
    if (!is_whole) return std::string(what) + ": written outside";
    return diagnose_bytes(what, expected, std::span(found).subspan(begin_, size_bytes_), element_bytes);
  }

 private:
  device::queue& queue_;
  std::uint64_t begin_;
  std::uint64_t size_bytes_;
  std::vector<std::byte> image_;
  device::buffer memory_;
};

/// Keys and values of a run, or of the merge.
struct run_bytes {
  std::vector<std::byte> keys;
  std::vector<std::byte> values;
};

run_bytes make_run(const merge_case& c, std::uint64_t count, std::uint64_t first_index) {
  const oracle sorted = make_oracle(c.type, count, c.keys, c.seed + first_index, c.descending);
  const auto keys = c.value_bytes == 0 ? sorted.keys_alone() : sorted.keys_of_pairs();
  std::vector<std::uint64_t> indices(count);
  std::iota(indices.begin(), indices.end(), first_index);
  return {{keys.begin(), keys.end()}, values_in_order(indices, c.value_bytes)};
}

run_bytes merge_by_definition(const merge_case& c, const run_bytes& left, const run_bytes& right) {
  const std::size_t key_bytes = size_bytes(c.type);
  std::vector<std::byte> keys = left.keys;
  keys.insert(keys.end(), right.keys.begin(), right.keys.end());
  std::vector<std::uint64_t> runs(c.num_left + c.num_right);
  std::iota(runs.begin(), runs.end(), std::uint64_t{0});
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(c.num_left);
  std::vector<std::uint64_t> order(runs.size());
  std::merge(runs.begin(), middle, middle, runs.end(), order.begin(), [&](std::uint64_t a, std::uint64_t b) {
    const auto* const key_a = keys.data() + a * key_bytes;
    const auto* const key_b = keys.data() + b * key_bytes;
    return c.value_bytes == 0 ? precedes_in_bits(c.type, c.descending, key_a, key_b)
                              : precedes_in_value(c.type, c.descending, key_a, key_b);
  });
  run_bytes merged{{}, values_in_order(order, c.value_bytes)};
  for (const std::uint64_t i : order) {
    const auto key = keys.begin() + static_cast<std::ptrdiff_t>(i * key_bytes);
    merged.keys.insert(merged.keys.end(), key, key + static_cast<std::ptrdiff_t>(key_bytes));
  }
  return merged;
}

std::string run_merge(device::device& device, const merge_case& c) {
  const std::size_t key_bytes = size_bytes(c.type);
  const run_bytes left = make_run(c, c.num_left, 0);
  const run_bytes right = make_run(c, c.num_right, c.num_left);
  const run_bytes expected = merge_by_definition(c, left, right);
  device.prepare();
  const auto queue = device.make_queue();
  const auto keys_of = [&](const run_bytes& r) {
    return device_array(device, *queue, r.keys, c.first_record * key_bytes);
  };
  const auto values_of = [&](const run_bytes& r) {
    return device_array(device, *queue, r.values, c.first_record * c.value_bytes + c.value_misalignment_bytes);
  };
  device_array arrays[] = {keys_of(left),
                           values_of(left),
                           keys_of(right),
                           values_of(right),
                           keys_of({std::vector<std::byte>(expected.keys.size()), {}}),
                           values_of({{}, std::vector<std::byte>(expected.values.size())})};
  const auto records_at = [&](unsigned i) {
    return device::records{arrays[i].data(), c.value_bytes == 0 ? nullptr : arrays[i + 1].data()};
  };
  const keys::tie_rule ties = c.value_bytes == 0 ? keys::tie_rule::by_bits : keys::tie_rule::by_input_order;
  queue->merge({.shape = {{c.type, c.descending, ties}, c.value_bytes},
                .left = records_at(0),
                .num_left = c.num_left,
                .right = records_at(2),
                .num_right = c.num_right,
                .destination = records_at(4)});
  queue->synchronize();
  return arrays[4].diagnose("key", expected.keys, key_bytes) +
         arrays[5].diagnose("value", expected.values, c.value_bytes) +
         arrays[0].diagnose("left key", left.keys, key_bytes) +
         arrays[1].diagnose("left value", left.values, c.value_bytes) +
         arrays[2].diagnose("right key", right.keys, key_bytes) +
         arrays[3].diagnose("right value", right.values, c.value_bytes);
}

}  // namespace

std::string merge_case::describe() const {
  std::ostringstream text;
  text << num_left << " and " << num_right << " " << name(type) << " keys, " << to_string(keys) << " of seed " << seed
       << ", values of " << value_bytes << " bytes, " << (descending ? "descending" : "ascending") << ", from record "
       << first_record;
  return text.str();
}

std::string diagnose_merge(device::device& device, const merge_case& c) {
  try {
    return run_merge(device, c);
  } catch (const std::exception& e) {
    return std::string("exception: ") + e.what();
  }
}

}  // namespace spansort::test
