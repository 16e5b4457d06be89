// SPDX-License-Identifier: Apache-2.0
// Elements of a file are not always what the sorts take: words of the other byte order are swapped, and times are
// lowered by one, which makes NaT, the least number, the greatest. What is done to elements that are read is undone
// before they are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spansort::files {

/// A change of neighbouring words of each element.
struct word_change {
  std::uint64_t offset = 0;      ///< of the first word in the element
  std::uint32_t word_bytes = 0;  ///< 2, 4 or 8
  std::uint64_t num_words = 1;
  bool swaps = false;   ///< the words are of the other byte order
  bool lowers = false;  ///< words of 8 bytes are taken for one less, modulo 2^64
};

/// Does all changes to elements of `element_bytes`, which lie one after the other; uses all threads.
void make_native(std::span<std::byte> elements, std::uint64_t element_bytes, std::span<const word_change> changes);
/// Undoes what make_native() did.
void make_foreign(std::span<std::byte> elements, std::uint64_t element_bytes, std::span<const word_change> changes);

/// Reverses the bytes of every element of 1, 2, 4 or 8 bytes.
void swap_bytes(std::span<std::byte> elements, std::size_t element_bytes);

}  // namespace spansort::files
