// SPDX-License-Identifier: Apache-2.0
// The normalised keys of elements that are seen through projections: sort_by() knows nothing else of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "records/record_codec.hpp"
#include "sort/group_sort.hpp"
#include "spansort/sort_by.hpp"

namespace spansort::records {

class projected_keys final : public sorting::key_words {
 public:
  /// Throws invalid_argument as check_record_format().
  explicit projected_keys(std::span<const detail::projected_key> keys);

  /// Bytes of a key.
  [[nodiscard]] std::uint32_t key_bytes() const noexcept { return codec_.key_bytes(); }

  // A step is the offset of a word in the key.

  /// Throws what a projection throws.
  [[nodiscard]] std::uint64_t word(std::uint64_t index, std::uint64_t step) const override;
  [[nodiscard]] std::optional<std::uint64_t> next_step(std::uint64_t index, std::uint64_t step) const override;
  [[nodiscard]] bool is_last(std::uint64_t step) const noexcept override;
  using key_words::write_words;

  /// Returns whether one word holds a whole key.
  [[nodiscard]] bool fit_one_word() const noexcept { return key_bytes() <= sizeof(std::uint64_t); }
  /// The unsigned type of 1, 2, 4 or 8 bytes that words of write_words() have.
  [[nodiscard]] key_type word_type() const noexcept;
  /// Writes the keys of `num_elements` elements as numbers of word_type(), on all threads. Only where they fit one
  /// word. Throws what a projection throws.
  void write_words(std::uint64_t num_elements, void* words) const;

 private:
  void write_block(std::uint64_t begin, std::uint64_t end, void* words) const;
  void append_key(std::size_t key, std::uint64_t begin, std::span<std::uint64_t> words) const;

  record_format format_;  ///< of a record that holds the keys alone, one after the other
  record_codec codec_;
  std::vector<detail::projected_key> keys_;
};

}  // namespace spansort::records
