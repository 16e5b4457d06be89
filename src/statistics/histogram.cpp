// SPDX-License-Identifier: Apache-2.0
// histogram(): keys between edges. Few keys, and wide ones among many even edges, are counted as the numbers that they
// are. Else few edges are counted as keys before bounds, 63 bounds a read; among many edges each key is looked up, in
// one read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "base/available_memory.hpp"
#include "base/threads.hpp"
#include "sort/arguments.hpp"
#include "spansort/errors.hpp"
#include "spansort/statistics.hpp"
#include "statistics/count_between.hpp"
#include "statistics/count_blocks.hpp"
#include "statistics/interval_index.hpp"
#include "statistics/key_blocks.hpp"
#include "statistics/open_keys.hpp"
#include "statistics/sorted_copy.hpp"
#include "statistics/statistics_of.hpp"

namespace spansort {
namespace {

using statistics::key_bound;

/// Splitters that count_before() has room for.
constexpr std::ptrdiff_t bounds_per_read = 63;
/// Keys are compared with all edges where these, in their type, have no more bytes; else each is looked up. Of 2^24
/// keys two threads compare f64 with 50 and 100 edges in 40 and 103 ms and u32 in 18 and 35; they look f64 up among
/// 1,000 in 79 and u32 in 51.
constexpr std::size_t most_compared_bytes = 640;

/// No more edges than these are compared with keys in one read, which takes less time than a sort of more keys than
/// these.
constexpr std::size_t few_edges = 16;
constexpr std::uint64_t keys_worth_a_read = std::uint64_t{1} << 14;

/// Returns the bounds between which keys are in a bin: the last edge belongs to the last one.
std::vector<key_bound> bounds_of(const statistics::ordered_keys& keys, std::span<const double> edges) {
  std::vector<key_bound> bounds;
  for (const double edge : edges.first(edges.size() - 1)) bounds.push_back(keys.at_least(edge));
  bounds.push_back(keys.above(edges.back()));
  return bounds;
}

std::vector<std::uint64_t> differences(const std::vector<std::uint64_t>& ascending) {
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 1; i < ascending.size(); ++i) counts.push_back(ascending[i] - ascending[i - 1]);
  return counts;
}

}  // namespace

void statistics::require_edges(std::span<const double> edges) {
  if (edges.size() < 2)
    throw invalid_argument(fmt::format("histogram: 2 edges or more expected, found {}", edges.size()));
  for (std::size_t i = 0; i < edges.size(); ++i) {
    // Written so that NaN is refused too.
    if (i == 0 ? edges[i] == edges[i] : edges[i - 1] <= edges[i]) continue;
    throw invalid_argument(
        fmt::format("histogram: edges must ascend, found {} at {} after {}", edges[i], i, i == 0 ? 0 : edges[i - 1]));
  }
}

std::vector<double> equal_width_edges(double low, double high, std::uint64_t num_bins) {
  if (num_bins == 0 || !std::isfinite(low) || !std::isfinite(high) || low > high) {
    throw invalid_argument(fmt::format(
        "equal_width_edges: 1 bin or more between finite ends expected, found {} from {} to {}", num_bins, low, high));
  }
  if (num_bins >= std::vector<double>().max_size()) {
    throw invalid_argument(fmt::format("equal_width_edges: {} bins cannot lie in memory", num_bins));
  }
  // numpy.linspace's steps. Where the distance overflows, half of it twice.
  const auto bins = static_cast<double>(num_bins);
  const bool overflows = !std::isfinite(high - low);
  const double distance = overflows ? high / 2 - low / 2 : high - low;
  const double step = distance / bins;
  std::vector<double> edges;
  try {
    edges.resize(num_bins + 1);
  } catch (const std::bad_alloc&) {
    throw out_of_memory(fmt::format("equal_width_edges: no memory for {} bins", num_bins),
                        (num_bins + 1) * sizeof(double), base::available_memory_bytes());
  }
  for (std::uint64_t i = 0; i < num_bins; ++i) {
    const auto index = static_cast<double>(i);
    const double offset = step == 0 ? index / bins * distance : index * step;
    edges[i] = overflows ? low + offset + offset : low + offset;
  }
  edges.back() = high;
  return edges;
}

std::vector<std::uint64_t> statistics::histogram_of(const ordered_keys& keys, std::span<const double> edges) {
  const std::vector<key_bound> bounds = bounds_of(keys, edges);
  std::vector<std::uint64_t> before;
  for (auto begin = bounds.begin(); begin != bounds.end();) {
    const auto end = begin + std::min<std::ptrdiff_t>(bounds_per_read, bounds.end() - begin);
    for (const std::uint64_t count : keys.count_before({begin, end})) before.push_back(count);
    begin = end;
  }
  return differences(before);
}

namespace {

/// Keys in memory as blocks that are copied.
class memory_blocks final : public statistics::key_blocks {
 public:
  explicit memory_blocks(const const_key_span& keys) : keys_(keys) {}
  [[nodiscard]] key_type type() const noexcept override { return keys_.type; }
  [[nodiscard]] std::uint64_t num_keys() const noexcept override { return keys_.num_keys; }
  void read(std::uint64_t first, std::uint64_t count, void* to) override {
    const std::size_t width = size_bytes(keys_.type);
    std::memcpy(to, static_cast<const char*>(keys_.data) + first * width, count * width);
  }
  void require_unchanged() override {}

 private:
  const_key_span keys_;
};

/// Counts between any number of edges in one read, which looks each key up.
std::vector<std::uint64_t> count_in_one_read(const const_key_span& span, std::span<const double> edges,
                                             const statistics::ordered_keys& keys) {
  const std::vector<key_bound> bounds = bounds_of(keys, edges);
  statistics::index_read read{.starts = {0}, .is_collected = {}, .expected_keys = 0};
  for (const key_bound& b : bounds) {
    if (!b.is_end && b.encoded > read.starts.back()) read.starts.push_back(b.encoded);
  }
  read.is_collected.resize(read.starts.size());
  memory_blocks blocks(span);
  const statistics::block_counts found = statistics::count_blocks(blocks, keys.codec(), read, 0, false);
  std::vector<std::uint64_t> before_interval{0};
  for (const statistics::interval_count& each : found.counts) {
    before_interval.push_back(before_interval.back() + each.num_keys);
  }
  std::vector<std::uint64_t> before;
  for (const key_bound& b : bounds) {
    const auto at = std::ranges::lower_bound(read.starts, b.encoded) - read.starts.begin();
    before.push_back(b.is_end ? span.num_keys : before_interval[static_cast<std::size_t>(at)]);
  }
  return differences(before);
}

/// Returns whether keys are best counted as the numbers that they are, by count_between(). A sort of a copy is the
/// faster, the narrower the keys are, and comparing them with all edges in vectors, the fewer these are. Two threads
/// took so and in the other ways, us: 2^16 f64 between 100 even edges 104 and 230 (u32 158 and 118, u8 110 and 38).
/// Beside other programs they took: 2^18 f64 between 24 edges 776 and 1,624, 2^20 of them 5,449 and 2,232; between 101
/// edges 2^24 f64 30 and 49 ms, as many u32 37 and 34, and between 66 edges 52 and 24.
bool is_best_counted(const const_key_span& keys, std::size_t num_edges, bool edges_are_even) {
  constexpr std::uint64_t most_narrow_keys = std::uint64_t{1} << 8;
  constexpr std::size_t compared_edges = 64;
  constexpr std::uint64_t keys_worth_comparing = std::uint64_t{1} << 18;
  const std::size_t width = size_bytes(keys.type);
  if (width < 4) return keys.num_keys <= most_narrow_keys;
  if (keys.num_keys <= std::uint64_t{1} << (width == 8 ? 12 : 10)) return true;
  if (!edges_are_even) return false;
  if (num_edges <= few_edges) return width == 8 && keys.num_keys <= keys_worth_a_read;
  if (keys.num_keys <= std::uint64_t{1} << 12) return true;
  // Each thread has counts of its own, which are added up.
  if (num_edges > keys.num_keys / 4 && keys.num_keys > keys_worth_a_read) return false;
  return width == 8 && (num_edges > compared_edges || keys.num_keys <= keys_worth_comparing);
}

}  // namespace

std::vector<std::uint64_t> detail::histogram(const_key_span keys, std::span<const double> edges,
                                             const count_options& options) {
  statistics::require_edges(edges);
  sorting::check_keys(keys);
  if (options.order == key_order::unknown && statistics::is_cpu(options.devices)) {
    const bool edges_are_even = statistics::are_even(edges);
    if (is_best_counted(keys, edges.size(), edges_are_even)) {
      try {
        return base::with_threads(options.threads,
                                  [&] { return statistics::count_between(keys, edges, edges_are_even); });
      } catch (const std::bad_alloc&) {
        throw out_of_memory("histogram: no memory for the counts", edges.size() * sizeof(std::uint64_t),
                            base::available_memory_bytes());
      }
    }
  }
  // As few_edges says: 2^18 f64 take 1.8 ms for 10 bins so, and 2.1 sorted; 3.6 and 2.2 for 100.
  const bool is_worth_it = edges.size() > few_edges || keys.num_keys <= keys_worth_a_read;
  const bool are_sorted = is_worth_it && statistics::is_best_sorted(keys, options.order, options.devices);
  const auto opened = are_sorted ? statistics::open_sorted_copy(keys, options.threads)
                                 : statistics::open_keys(keys, {options.order, options.devices, options.threads});
  if (!are_sorted && edges.size() * size_bytes(keys.type) > most_compared_bytes &&
      options.order == key_order::unknown && statistics::is_cpu(options.devices)) {
    return base::with_threads(options.threads, [&] { return count_in_one_read(keys, edges, *opened); });
  }
  return statistics::histogram_of(*opened, edges);
}

}  // namespace spansort
