// SPDX-License-Identifier: Apache-2.0
#include "statistics/count_between.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/for_blocks.hpp"
#include "keys/dispatch.hpp"
#include "keys/number.hpp"

namespace spansort::statistics {
namespace {

/// Fewer keys are counted in less time than it takes to wake threads.
constexpr std::uint64_t keys_worth_threads = std::uint64_t{1} << 15;

/// Returns bins per unit, or 0 where that is no number to reckon with: ends are equal, infinite or all too far apart.
double density_of(std::span<const double> edges) noexcept {
  const double width = edges.back() - edges.front();
  const double density = static_cast<double>(edges.size() - 1) / width;
  return std::isfinite(width) && std::isfinite(density) ? density : 0;
}

/// The bin of a number that is not before the first edge, and before the last one.
class bin_finder {
 public:
  bin_finder(std::span<const double> edges, bool edges_are_even)
      : edges_(edges.data()), num_bins_(edges.size() - 1), density_(edges_are_even ? density_of(edges) : 0) {}

  [[nodiscard]] std::size_t operator()(double number) const noexcept {
    if (density_ == 0) return look_up(number);
    // Rounding may lead to a neighbour, so the edges have the last word.
    std::size_t bin = guess(number);
    bin = bin + (number >= edges_[bin + 1] ? 1 : 0) - (number < edges_[bin] ? 1 : 0);
    return edges_[bin] <= number && number < edges_[bin + 1] ? bin : look_up(number);
  }

 private:
  [[nodiscard]] std::size_t guess(double number) const noexcept {
    return std::min(static_cast<std::size_t>(static_cast<std::int64_t>((number - edges_[0]) * density_)),
                    num_bins_ - 1);
  }

  /// Finds the last bin that begins at the number or before it.
  [[nodiscard]] std::size_t look_up(double number) const noexcept {
    const double* at = edges_;
    for (std::size_t more = num_bins_; more > 1;) {
      const std::size_t half = more / 2;
      at = at[half] <= number ? at + half : at;
      more -= half;
    }
    return static_cast<std::size_t>(at - edges_);
  }

  const double* edges_;
  std::size_t num_bins_;
  double density_;
};

template <class T>
void count_keys(const T* keys, std::uint64_t num_keys, std::span<const double> edges, const bin_finder& find,
                std::uint64_t* counts) {
  const double low = edges.front();
  const double high = edges.back();
  std::uint64_t num_high = 0;
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    const double number = keys::number_of(keys[i]);
    if (number >= low && number < high) ++counts[find(number)];
    num_high += number == high ? 1 : 0;
  }
  counts[edges.size() - 2] += num_high;  // the last edge belongs to the last bin
}

}  // namespace

bool are_even(std::span<const double> edges) noexcept {
  const double density = density_of(edges);
  if (density == 0) return false;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (std::abs((edges[i] - edges[0]) * density - static_cast<double>(i)) > 0.5) return false;
  }
  return true;
}

std::vector<std::uint64_t> count_between(const const_key_span& keys, std::span<const double> edges,
                                         bool edges_are_even) {
  std::vector<std::uint64_t> counts(edges.size() - 1);
  const bin_finder find(edges, edges_are_even);
  keys::with_type(keys.type, [&]<class T>() {
    const T* const first = static_cast<const T*>(keys.data);
    if (keys.num_keys <= keys_worth_threads) return count_keys(first, keys.num_keys, edges, find, counts.data());
    tbb::enumerable_thread_specific<std::vector<std::uint64_t>> shares(
        [&] { return std::vector<std::uint64_t>(counts.size()); });
    base::for_blocks(keys.num_keys, [&](std::uint64_t begin, std::uint64_t end) {
      count_keys(first + begin, end - begin, edges, find, shares.local().data());
    });
    for (const std::vector<std::uint64_t>& share : shares) {
      for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += share[i];
    }
  });
  return counts;
}

}  // namespace spansort::statistics
