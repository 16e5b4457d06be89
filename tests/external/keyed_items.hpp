// SPDX-License-Identifier: Apache-2.0
// Elements for tests of sorts larger than memory: a 32-bit key and a serial number that shows whether ties kept their
// order; sorted by the standard library, read from and written to vectors.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "files/external/element_order.hpp"
#include "files/external/element_stream.hpp"

namespace spansort::test {

struct keyed_item {
  std::uint32_t key = 0;
  std::uint32_t serial = 0;
  friend bool operator==(const keyed_item&, const keyed_item&) = default;
};

inline bool by_key(const keyed_item& a, const keyed_item& b) { return a.key < b.key; }

class item_order final : public external::element_order {
 public:
  [[nodiscard]] std::uint64_t element_bytes() const noexcept override { return sizeof(keyed_item); }
  [[nodiscard]] std::uint64_t key_bytes() const noexcept override { return sizeof(std::uint32_t); }
  void write_key(const std::byte* element, std::byte* key) const override {
    const std::uint32_t big_endian = __builtin_bswap32(item_at(element).key);
    std::memcpy(key, &big_endian, sizeof big_endian);
  }
  void sort(std::byte* elements, std::uint64_t count) override {
    std::vector<keyed_item> items = items_at(elements, count);
    std::ranges::stable_sort(items, by_key);
    if (count != 0) std::memcpy(elements, items.data(), count * sizeof(keyed_item));
    most_sorted = std::max(most_sorted, count);
  }
  [[nodiscard]] base::memory_formula sort_memory() const override { return {0, sizeof(keyed_item)}; }
  [[nodiscard]] multiset_checksum checksum(const std::byte* elements, std::uint64_t count) const override {
    multiset_checksum sum;
    for (const keyed_item& item : items_at(elements, count)) {
      sum.words[0] += (item.key + 1) * 0x9e3779b97f4a7c15u ^ item.serial * 0xbf58476d1ce4e5b9u;
    }
    return sum;
  }
  [[nodiscard]] std::optional<std::uint64_t> first_disorder(const std::byte* left, const std::byte* elements,
                                                            std::uint64_t count, bool unique) const override {
    const std::vector<keyed_item> items = items_at(elements, count);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i == 0 && left == nullptr) continue;
      const std::uint32_t before = i == 0 ? item_at(left).key : items[i - 1].key;
      if (items[i].key < before || (unique && items[i].key == before)) return i;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t num_duplicates(const std::byte*, const std::byte*, std::uint64_t) const override {
    return 0;  // of no interest to sorts
  }
  [[nodiscard]] std::uint64_t remove_duplicates(const std::byte* left, std::byte* elements,
                                                std::uint64_t count) const override {
    std::vector<keyed_item> kept;
    for (const keyed_item& item : items_at(elements, count)) {
      if (kept.empty() ? left != nullptr && item_at(left).key == item.key : kept.back().key == item.key) continue;
      kept.push_back(item);
    }
    if (!kept.empty()) std::memcpy(elements, kept.data(), kept.size() * sizeof(keyed_item));
    return kept.size();
  }

  std::uint64_t most_sorted = 0;  ///< elements of the largest sort

 private:
  static keyed_item item_at(const std::byte* element) {
    keyed_item item;
    std::memcpy(&item, element, sizeof item);
    return item;
  }
  static std::vector<keyed_item> items_at(const std::byte* elements, std::uint64_t count) {
    std::vector<keyed_item> items(count);
    if (count != 0) std::memcpy(items.data(), elements, count * sizeof(keyed_item));
    return items;
  }
};

class vector_source final : public external::element_source {
 public:
  vector_source(std::vector<keyed_item> items, bool tells_count)
      : items_(std::move(items)), tells_count_(tells_count) {}
  [[nodiscard]] std::optional<std::uint64_t> num_elements() const override {
    return tells_count_ ? std::optional<std::uint64_t>(items_.size()) : std::nullopt;
  }
  [[nodiscard]] std::uint64_t read(std::byte* elements, std::uint64_t most) override {
    const std::uint64_t count = std::min<std::uint64_t>(most, items_.size() - at_);
    if (count != 0) std::memcpy(elements, items_.data() + at_, count * sizeof(keyed_item));
    at_ += count;
    return count;
  }

 private:
  std::vector<keyed_item> items_;
  bool tells_count_;
  std::uint64_t at_ = 0;
};

class vector_sink final : public external::element_sink {
 public:
  void expect(std::uint64_t num_elements) override { expected = num_elements; }
  void write(std::byte* elements, std::uint64_t count) override {
    const std::size_t before = items.size();
    items.resize(before + count);
    if (count != 0) std::memcpy(items.data() + before, elements, count * sizeof(keyed_item));
  }
  void finish() override { is_finished = true; }

  std::vector<keyed_item> items;
  std::optional<std::uint64_t> expected;
  bool is_finished = false;
};

}  // namespace spansort::test
