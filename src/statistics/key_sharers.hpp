// SPDX-License-Identifier: Apache-2.0
// Other processes that hold more of the same keys: what an order statistic over all of them needs to know of the others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace spansort::statistics {

/// Every process calls the same functions in the same order; they block until the others have come as far, and throw what
/// the connection to them throws.
class key_sharers {
 public:
  virtual ~key_sharers() = default;

  /// This process among all.
  [[nodiscard]] virtual unsigned process() const noexcept = 0;
  /// The numbers of all processes, those of the first one first; each may give any number of them.
  [[nodiscard]] virtual std::vector<std::uint64_t> gather(std::span<const std::uint64_t> mine) = 0;
  /// Number by number, over all processes.
  [[nodiscard]] virtual std::vector<std::uint64_t> sum(std::span<const std::uint64_t> mine) = 0;
};

/// Where this process's keys stand among those of all.
struct key_extent {
  std::uint64_t first = 0;
  std::uint64_t num_total = 0;
};

/// `others` may be null: there are none.
[[nodiscard]] inline key_extent extent_of(std::uint64_t num_keys, key_sharers* others) {
  if (others == nullptr) return {0, num_keys};
  const std::vector<std::uint64_t> all = others->gather({&num_keys, 1});
  key_extent extent;
  for (std::size_t p = 0; p < all.size(); ++p) {
    if (p < others->process()) extent.first += all[p];
    extent.num_total += all[p];
  }
  return extent;
}

}  // namespace spansort::statistics
