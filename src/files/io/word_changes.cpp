// SPDX-License-Identifier: Apache-2.0
#include "files/io/word_changes.hpp"

#include <concepts>
#include <cstring>

#include "base/for_blocks.hpp"

namespace spansort::files {
namespace {

template <std::unsigned_integral Word>
[[nodiscard]] Word reversed(Word word) noexcept {
  if constexpr (sizeof(Word) == 2) return __builtin_bswap16(word);
  if constexpr (sizeof(Word) == 4) return __builtin_bswap32(word);
  if constexpr (sizeof(Word) == 8) return __builtin_bswap64(word);
  return word;
}

/// Replaces the words of one element.
template <std::unsigned_integral Word, class Change>
void change_words(std::byte* element, const word_change& where, const Change& change) {
  for (std::uint64_t i = 0; i < where.num_words; ++i) {
    std::byte* const at = element + where.offset + i * sizeof(Word);
    Word word;
    std::memcpy(&word, at, sizeof(Word));
    word = change(word);
    std::memcpy(at, &word, sizeof(Word));
  }
}

/// Replaces the words of all elements by change(word).
template <class Change>
void change_elements(std::span<std::byte> elements, std::uint64_t element_bytes, const word_change& where,
                     const Change& change) {
  const auto with_word = [&]<class Word>(Word) {
    base::for_blocks(elements.size() / element_bytes, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        change_words<Word>(elements.data() + i * element_bytes, where, change);
      }
    });
  };
  switch (where.word_bytes) {
    case 2: return with_word(std::uint16_t{});
    case 4: return with_word(std::uint32_t{});
    case 8: return with_word(std::uint64_t{});
    default: return;
  }
}

}  // namespace

void make_native(std::span<std::byte> elements, std::uint64_t element_bytes, std::span<const word_change> changes) {
  for (const word_change& change : changes) {
    change_elements(elements, element_bytes, change, [&]<class Word>(Word word) {
      if (change.swaps) word = reversed(word);
      return change.lowers ? static_cast<Word>(word - 1) : word;
    });
  }
}

void make_foreign(std::span<std::byte> elements, std::uint64_t element_bytes, std::span<const word_change> changes) {
  for (const word_change& change : changes) {
    change_elements(elements, element_bytes, change, [&]<class Word>(Word word) {
      if (change.lowers) word = static_cast<Word>(word + 1);
      return change.swaps ? reversed(word) : word;
    });
  }
}

void swap_bytes(std::span<std::byte> elements, std::size_t element_bytes) {
  if (element_bytes < 2) return;
  const word_change swap{.word_bytes = static_cast<std::uint32_t>(element_bytes), .swaps = true};
  make_native(elements, element_bytes, {&swap, 1});
}

}  // namespace spansort::files
