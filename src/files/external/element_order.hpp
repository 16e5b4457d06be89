// SPDX-License-Identifier: Apache-2.0
// This header says what the elements of a file are and how they are ordered: keys, keys with their index, records. An
// element is a fixed number of bytes; nothing else in this room knows what is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/memory_formula.hpp"
#include "base/record_flow.hpp"
#include "spansort/check.hpp"

namespace spansort::external {

/// An element's place among others. `elements` are always `count` elements, one after the other, without alignment.
class element_order {
 public:
  virtual ~element_order() = default;

  [[nodiscard]] virtual std::uint64_t element_bytes() const noexcept = 0;
  /// Bytes of an element's normalised key.
  [[nodiscard]] virtual std::uint64_t key_bytes() const noexcept = 0;
  /// Writes the normalised key: bytes whose memcmp order is the order of the elements. Elements with the same one keep
  /// their input order.
  virtual void write_key(const std::byte* element, std::byte* key) const = 0;

  /// Sorts in place, stable. Throws what a sort throws; the elements may then be lost.
  virtual void sort(std::byte* elements, std::uint64_t count) = 0;
  /// Sorts elements that arrive meanwhile, and tells `flow` of those that are done. Throws what sort() and the flow
  /// throw.
  virtual void sort_flowing(std::byte* elements, std::uint64_t count, base::record_flow& flow) {
    flow.wait_for(count);
    sort(elements, count);
  }
  /// Returns what sort() takes beside the elements.
  [[nodiscard]] virtual base::memory_formula sort_memory() const = 0;

  /// Equal for any order and any split of the same multiset.
  [[nodiscard]] virtual multiset_checksum checksum(const std::byte* elements, std::uint64_t count) const = 0;
  /// The first element that comes before its left neighbour, or with `unique` is equal to it in value. `left`, which
  /// may be null, is the neighbour of the first.
  [[nodiscard]] virtual std::optional<std::uint64_t> first_disorder(const std::byte* left, const std::byte* elements,
                                                                    std::uint64_t count, bool unique) const = 0;
  /// The first element whose normalised key is less than its left neighbour's: an order may tell elements apart that
  /// are equal in value.
  [[nodiscard]] virtual std::optional<std::uint64_t> first_key_disorder(const std::byte* left,
                                                                        const std::byte* elements,
                                                                        std::uint64_t count) const {
    return first_disorder(left, elements, count, false);
  }
  /// Elements equal in value to their left neighbour.
  [[nodiscard]] virtual std::uint64_t num_duplicates(const std::byte* left, const std::byte* elements,
                                                     std::uint64_t count) const = 0;
  /// Keeps the first of equal elements and moves them together; returns how many are left. The elements are in order.
  [[nodiscard]] virtual std::uint64_t remove_duplicates(const std::byte* left, std::byte* elements,
                                                        std::uint64_t count) const = 0;
};

}  // namespace spansort::external
