// SPDX-License-Identifier: Apache-2.0
// Orders for tests: a 32-bit number, with or without a tag behind it that does not take part in the order and shows
// whether equal elements kept theirs. Sources and sinks in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "files/external/element_order.hpp"
#include "files/external/element_stream.hpp"

namespace spansort::test {

struct tagged_number {
  std::uint32_t number = 0;
  std::uint32_t tag = 0;
  friend bool operator==(const tagged_number&, const tagged_number&) = default;
};

/// Ascending by number, stable; equal are those of equal numbers.
class tagged_order : public external::element_order {
 public:
  [[nodiscard]] std::uint64_t element_bytes() const noexcept override { return sizeof(tagged_number); }
  [[nodiscard]] std::uint64_t key_bytes() const noexcept override { return sizeof(std::uint32_t); }

  void write_key(const std::byte* element, std::byte* key) const override {
    const std::uint32_t number = load(element).number;
    for (unsigned i = 0; i < 4; ++i) key[i] = static_cast<std::byte>(number >> (24 - 8 * i));
  }

  void sort(std::byte* elements, std::uint64_t count) override {
    std::vector<tagged_number> all = loaded(elements, count);
    std::ranges::stable_sort(all, {}, &tagged_number::number);
    store(elements, all);
    ++num_sorts;
    num_sorted += count;
  }
  [[nodiscard]] base::memory_formula sort_memory() const override { return {0, sizeof(tagged_number)}; }

  [[nodiscard]] multiset_checksum checksum(const std::byte* elements, std::uint64_t count) const override {
    multiset_checksum sum;
    for (const tagged_number& e : loaded(elements, count)) {
      sum.words[0] += e.number * std::uint64_t{0x9e3779b97f4a7c15} + 1;
      sum.words[1] += (std::uint64_t{e.number} << 32 | e.tag) * std::uint64_t{0xbf58476d1ce4e5b9} + 3;
    }
    return sum;
  }

  [[nodiscard]] std::optional<std::uint64_t> first_disorder(const std::byte* left, const std::byte* elements,
                                                            std::uint64_t count, bool unique) const override {
    for (std::uint64_t i = left == nullptr ? 1 : 0; i < count; ++i) {
      const std::uint32_t before = i == 0 ? load(left).number : load(elements + (i - 1) * element_bytes()).number;
      const std::uint32_t here = load(elements + i * element_bytes()).number;
      if (here < before || (unique && here == before)) return i;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::uint64_t num_duplicates(const std::byte* left, const std::byte* elements,
                                             std::uint64_t count) const override {
    std::uint64_t num = 0;
    for (std::uint64_t i = left == nullptr ? 1 : 0; i < count; ++i) {
      const std::uint32_t before = i == 0 ? load(left).number : load(elements + (i - 1) * element_bytes()).number;
      num += before == load(elements + i * element_bytes()).number;
    }
    return num;
  }

  [[nodiscard]] std::uint64_t remove_duplicates(const std::byte* left, std::byte* elements,
                                                std::uint64_t count) const override {
    std::vector<tagged_number> kept;
    for (const tagged_number& e : loaded(elements, count)) {
      if (kept.empty() && left != nullptr && load(left).number == e.number) continue;
      if (kept.empty() || kept.back().number != e.number) kept.push_back(e);
    }
    store(elements, kept);
    return kept.size();
  }

  std::uint64_t num_sorts = 0;
  std::uint64_t num_sorted = 0;

  static tagged_number load(const std::byte* element) {
    tagged_number e;
    std::memcpy(&e, element, sizeof(e));
    return e;
  }
  static std::vector<tagged_number> loaded(const std::byte* elements, std::uint64_t count) {
    std::vector<tagged_number> all(count);
    if (count != 0) std::memcpy(all.data(), elements, count * sizeof(tagged_number));
    return all;
  }
  static void store(std::byte* elements, const std::vector<tagged_number>& all) {
    if (!all.empty()) std::memcpy(elements, all.data(), all.size() * sizeof(tagged_number));
  }
};

class memory_source final : public external::element_source {
 public:
  explicit memory_source(std::vector<tagged_number> elements) : elements_(std::move(elements)) {}
  [[nodiscard]] std::optional<std::uint64_t> num_elements() const override { return std::nullopt; }
  [[nodiscard]] std::uint64_t read(std::byte* elements, std::uint64_t most) override {
    const std::uint64_t count = std::min<std::uint64_t>(most, elements_.size() - at_);
    if (count != 0) std::memcpy(elements, elements_.data() + at_, count * sizeof(tagged_number));
    at_ += count;
    return count;
  }

 private:
  std::vector<tagged_number> elements_;
  std::uint64_t at_ = 0;
};

class memory_sink final : public external::element_sink {
 public:
  void expect(std::uint64_t num_elements) override { num_expected = num_elements; }
  void write(std::byte* elements, std::uint64_t count) override {
    const std::vector<tagged_number> more = tagged_order::loaded(elements, count);
    written.insert(written.end(), more.begin(), more.end());
  }
  void finish() override { is_finished = true; }

  std::optional<std::uint64_t> num_expected;
  std::vector<tagged_number> written;
  bool is_finished = false;
};

}  // namespace spansort::test
