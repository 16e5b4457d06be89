// SPDX-License-Identifier: Apache-2.0
// Equal shares: `total` things dealt out to `num_shares`, of which the first ones get one more where it does not
// divide.
#pragma once

#include <cstdint>

namespace spansort::base {

/// Returns how many things come before share `index`; of `num_shares` that is all of them.
[[nodiscard]] constexpr std::uint64_t share_begin(std::uint64_t total, std::uint64_t num_shares,
                                                  std::uint64_t index) noexcept {
  const std::uint64_t longer = total % num_shares;
  return total / num_shares * index + (index < longer ? index : longer);
}

/// Returns how many things are in share `index`.
[[nodiscard]] constexpr std::uint64_t share_size(std::uint64_t total, std::uint64_t num_shares,
                                                 std::uint64_t index) noexcept {
  return total / num_shares + (index < total % num_shares ? 1 : 0);
}

}  // namespace spansort::base
