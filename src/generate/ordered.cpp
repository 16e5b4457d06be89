// SPDX-License-Identifier: Apache-2.0
// Distributions in which a key depends on its place. Nothing is sorted: the range of encodings is cut into one cell a
// key, and each key is drawn inside its own cell, so the keys come out in order at the price of a few multiplications.
#include <algorithm>

#include "generate/distributions.hpp"

namespace spansort::generation {
namespace {

constexpr std::uint64_t num_pieces = 64;

/// Returns where piece `p` of `n` keys begins. Pieces are of like size, whatever n is.
std::uint64_t piece_begin(std::uint64_t n, std::uint64_t p) noexcept {
  return static_cast<std::uint64_t>(uint128{n} * p / num_pieces);
}

/// The piece that holds key `i`.
std::uint64_t piece_of(std::uint64_t n, std::uint64_t i) noexcept {
  // The largest p with n * p / 64 <= i, that is with n * p < 64 * (i + 1).
  return static_cast<std::uint64_t>((num_pieces * uint128{i + 1} - 1) / n);
}

/// Cuts `count` positions into `num_cells` cells of like size: fixed point with 64 bits behind the point.
class cell_map {
 public:
  cell_map(uint128 count, std::uint64_t num_cells) noexcept
      : whole_(count / num_cells), fraction_(static_cast<std::uint64_t>(((count % num_cells) << 64) / num_cells)) {}

  /// A position inside cell `i`, nowhere below one of cell i - 1.
  [[nodiscard]] std::uint64_t draw(std::uint64_t i, std::uint64_t word) const noexcept {
    const uint128 low = begin(i);
    return static_cast<std::uint64_t>(low) + to_range(word, begin(i + 1) - low);
  }

 private:
  [[nodiscard]] uint128 begin(std::uint64_t i) const noexcept { return whole_ * i + ((uint128{fraction_} * i) >> 64); }

  uint128 whole_;
  std::uint64_t fraction_;
};

template <std::unsigned_integral K>
void fill_nearly_sorted(const fill_request<K>& request) {
  const cell_map cells(request.space.count, request.num_keys);
  const random_stream place(request.seed, 0);
  const random_stream coin(request.seed, 1);
  const random_stream other(request.seed, 2);
  constexpr std::uint64_t one_percent = ~std::uint64_t{0} / 100;
  fill(request, [=, space = request.space](std::uint64_t i) {
    return coin(i) < one_percent ? space.any(other(i)) : space.at(cells.draw(i, place(i)));
  });
}

template <std::unsigned_integral K>
void fill_staggered(const fill_request<K>& request) {
  const cell_map cells(request.space.count, num_pieces);
  const random_stream place(request.seed, 0);
  fill(request, [=, space = request.space, n = request.num_keys](std::uint64_t i) {
    const std::uint64_t piece = piece_of(n, i);
    // Helman, Bader, JaJa 1998: the odd parts of the range in order, then the even ones.
    const std::uint64_t part = piece < num_pieces / 2 ? 2 * piece + 1 : 2 * piece - num_pieces;
    return space.at(cells.draw(part, place(i)));
  });
}

template <std::unsigned_integral K>
void fill_bucket_sorted(const fill_request<K>& request) {
  // Pieces differ in size by at most one key: two maps serve all of them.
  const std::uint64_t n = request.num_keys;
  const std::uint64_t small = std::max<std::uint64_t>(n / num_pieces, 1);
  const cell_map small_cells(request.space.count, small);
  const cell_map large_cells(request.space.count, small + 1);
  const random_stream place(request.seed, 0);
  fill(request, [=, space = request.space](std::uint64_t i) {
    const std::uint64_t piece = piece_of(n, i);
    const std::uint64_t begin = piece_begin(n, piece);
    const cell_map& cells = piece_begin(n, piece + 1) - begin == small ? small_cells : large_cells;
    return space.at(cells.draw(i - begin, place(i)));
  });
}

template <std::unsigned_integral K>
void fill_sorted(const fill_request<K>& request, bool reverse) {
  const cell_map cells(request.space.count, request.num_keys);
  const random_stream place(request.seed, 0);
  const auto key_at = [=, space = request.space](std::uint64_t i) { return space.at(cells.draw(i, place(i))); };
  if (reverse) {
    fill(request, [=, last = request.num_keys - 1](std::uint64_t i) { return key_at(last - i); });
  } else {
    fill(request, key_at);
  }
}

}  // namespace

template <std::unsigned_integral K>
void fill_ordered(const fill_request<K>& request, distribution_kind kind) {
  switch (kind) {
    case distribution_kind::nearly_sorted: return fill_nearly_sorted(request);
    case distribution_kind::staggered: return fill_staggered(request);
    case distribution_kind::bucket_sorted: return fill_bucket_sorted(request);
    default: return fill_sorted(request, kind == distribution_kind::reverse);
  }
}

template void fill_ordered(const fill_request<std::uint8_t>&, distribution_kind);
template void fill_ordered(const fill_request<std::uint16_t>&, distribution_kind);
template void fill_ordered(const fill_request<std::uint32_t>&, distribution_kind);
template void fill_ordered(const fill_request<std::uint64_t>&, distribution_kind);

}  // namespace spansort::generation
