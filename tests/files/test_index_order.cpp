// SPDX-License-Identifier: Apache-2.0
// Indices are ordered by the keys that they name: of every width, in both directions, ties in input order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/index_order.hpp"
#include "files/io/key_reader.hpp"
#include "spansort/sort.hpp"

namespace spansort::files {
namespace {

template <class K>
struct ordered {
  explicit ordered(const std::vector<K>& values, direction d = direction::ascending) {
    const auto keys = std::make_shared<loaded_keys>(
        loaded_keys{.layout = {file_format::raw, as_const_key_span(std::span<const K>(values)).type},
                    .num_keys = values.size(),
                    .bytes = base::byte_buffer(values.size() * sizeof(K))});
    std::memcpy(keys->bytes.data(), values.data(), values.size() * sizeof(K));
    order = make_index_order(keys, d, {.devices = "cpu"});
  }
  [[nodiscard]] static const std::byte* bytes(const std::vector<std::uint64_t>& indices) {
    return reinterpret_cast<const std::byte*>(indices.data());
  }
  [[nodiscard]] std::optional<std::uint64_t> first_disorder(const std::vector<std::uint64_t>& indices,
                                                            bool unique = false,
                                                            const std::vector<std::uint64_t>& left = {}) const {
    return order->first_disorder(left.empty() ? nullptr : bytes(left), bytes(indices), indices.size(), unique);
  }
  [[nodiscard]] std::string key_of(std::uint64_t index) const {
    std::string key(order->key_bytes(), ' ');
    order->write_key(reinterpret_cast<const std::byte*>(&index), reinterpret_cast<std::byte*>(key.data()));
    return key;
  }

  std::unique_ptr<external::element_order> order;
};

/// Keys 0 to 3 are in order, 1 and 2 of them equal, and 4 comes before all.
template <class K>
void check_order_of(const std::vector<K>& values) {
  const ordered<K> by(values);
  EXPECT_EQ(by.order->key_bytes(), sizeof(K));
  EXPECT_EQ(by.first_disorder({4, 0, 1, 2, 3}), std::nullopt);
  EXPECT_EQ(by.first_disorder({4, 0, 1, 2, 3}, true), 3u) << "keys 1 and 2 are equal";
  EXPECT_EQ(by.first_disorder({4, 0, 2, 1, 3}), 3u) << "equal keys are not in their order";
  EXPECT_EQ(by.first_disorder({0, 4, 1, 2, 3}), 1u);
  EXPECT_EQ(by.first_disorder({4, 0, 1, 5, 3}), 3u) << "there is no key 5";
  EXPECT_EQ(by.first_disorder({5, 0}), 1u);
  EXPECT_EQ(by.first_disorder({0, 1}, false, {3}), 0u) << "what lies before comes after";
  EXPECT_EQ(by.first_disorder({0, 1}, false, {4}), std::nullopt);

  std::vector<std::uint64_t> indices{4, 0, 1, 2, 3};
  EXPECT_EQ(by.order->num_duplicates(nullptr, by.bytes(indices), 5), 1u);
  auto* const elements = reinterpret_cast<std::byte*>(indices.data());
  EXPECT_EQ(by.order->remove_duplicates(nullptr, elements, 5), 4u);
  EXPECT_EQ(indices[2], 1u) << "the first of equal ones stays";
  EXPECT_EQ(indices[3], 3u);
  indices = {0, 1, 2, 3, 4};
  by.order->sort(elements, 5);
  EXPECT_EQ(indices, (std::vector<std::uint64_t>{4, 0, 1, 2, 3}));

  EXPECT_LT(by.key_of(4), by.key_of(0));
  EXPECT_LT(by.key_of(0), by.key_of(1));
  EXPECT_EQ(by.key_of(1), by.key_of(2));
  EXPECT_LT(by.key_of(2), by.key_of(3));
  const ordered<K> descending(values, direction::descending);
  EXPECT_EQ(descending.first_disorder({3, 1, 2, 0, 4}), std::nullopt);
  EXPECT_LT(descending.key_of(3), descending.key_of(0));
}

TEST(IndexOrder, ComparesTheKeysThatItsIndicesName) {
  check_order_of<std::uint8_t>({7, 9, 9, 200, 0});
  check_order_of<std::int16_t>({-3, 300, 300, 301, -30'000});
  check_order_of<float>({-1.5f, -0.0f, 0.0f, 2.0f, -1e30f});
  check_order_of<std::uint64_t>({7, 1ull << 40, 1ull << 40, ~0ull, 0});
}

TEST(IndexOrder, SortsTakeMemoryForACopyOfTheKeys) {
  const ordered<std::uint64_t> wide({1, 2});
  const ordered<std::uint8_t> narrow({1, 2});
  EXPECT_GE(wide.order->sort_memory().element_bytes, sizeof(std::uint64_t) * 2);
  EXPECT_GT(wide.order->sort_memory().element_bytes, narrow.order->sort_memory().element_bytes);
}

}  // namespace
}  // namespace spansort::files
