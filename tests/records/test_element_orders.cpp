// SPDX-License-Identifier: Apache-2.0
// These tests are of what files larger than memory ask of records, keys and indexed keys: normalised keys, sorts,
// checks, checksums, and a bound on memory that holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "device/host/scratch.hpp"
#include "files/key_element_orders.hpp"
#include "files/record_order.hpp"
#include "keys/codec.hpp"
#include "record_case.hpp"
#include "records/record_sorter.hpp"
#include "sort/sorter_memory.hpp"
#include "support/engines.hpp"
#include "support/oracle.hpp"

namespace spansort::test {
namespace {

using external::element_order;

/// This many cases are tried at every scale: they are small, and fewer would not meet every type with special floats.
constexpr std::uint64_t num_random_cases = 300;

/// An order, elements for it, and whether one comes before another or equals it in value, said another way.
struct order_case {
  std::unique_ptr<element_order> order;
  bytes elements;
  std::function<bool(const std::byte*, const std::byte*)> precedes;
  std::function<bool(const std::byte*, const std::byte*)> precedes_in_value;
  std::string text;

  [[nodiscard]] std::uint64_t width() const { return order->element_bytes(); }
  [[nodiscard]] std::uint64_t count() const { return elements.size() / width(); }
  [[nodiscard]] bool are_equal(const std::byte* a, const std::byte* b) const {
    return !precedes_in_value(a, b) && !precedes_in_value(b, a);
  }
};

bytes with_indices(const bytes& keys, std::uint64_t key_bytes) {
  const std::uint64_t count = keys.size() / key_bytes;
  bytes elements(count * (key_bytes + 8));
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(&elements[i * (key_bytes + 8)], &keys[i * key_bytes], key_bytes);
    std::memcpy(&elements[i * (key_bytes + 8) + key_bytes], &i, 8);
  }
  return elements;
}

order_case key_case(std::uint64_t number, random_words& random, std::uint64_t count, bool with_index) {
  const key_type type = all_key_types()[number % 12];
  const bool descending = random.below(2) == 1;
  const sort_options options{.devices = "cpu"};
  const direction wanted = keys::direction_of(descending);
  const distribution d{number % 2 == 0 ? distribution_kind::special_floats : distribution_kind::entropy, 4};
  const bytes keys = make_keys(type, count, d, random());
  order_case c;
  c.order =
      with_index ? files::make_indexed_key_order(type, wanted, options) : files::make_key_order(type, wanted, options);
  c.elements = with_index ? with_indices(keys, size_bytes(type)) : keys;
  c.precedes_in_value = [=](const std::byte* a, const std::byte* b) {
    std::uint64_t x = 0;
    std::uint64_t y = 0;
    std::memcpy(&x, a, size_bytes(type));
    std::memcpy(&y, b, size_bytes(type));
    return precedes_in_value(type, descending, &x, &y);
  };
  c.precedes = c.precedes_in_value;
  if (!with_index) {
    c.precedes = [=](const std::byte* a, const std::byte* b) { return precedes_in_bits(type, descending, a, b); };
  }
  c.text = std::string(name(type)) + (with_index ? " with index" : "") + (descending ? " descending" : "");
  return c;
}

order_case record_case_of(std::uint64_t number, random_words& random, std::uint64_t count) {
  const record_format format = random_format(random);
  const bool descending = random.below(2) == 1;
  order_case c;
  c.order = files::make_record_order(format, keys::direction_of(descending), {.devices = "cpu"});
  c.elements = make_records(format, count, all_contents[number % std::size(all_contents)], random);
  c.precedes = [=](const std::byte* a, const std::byte* b) { return record_precedes(format, descending, a, b); };
  c.precedes_in_value = c.precedes;
  c.text = describe(format) + (descending ? " descending" : "");
  return c;
}

order_case make_case(std::uint64_t number, std::uint64_t most) {
  random_words random(seed_for(number));
  const std::uint64_t count = number % 8 < 3 ? number % 8 : random.below(most);
  order_case c = number % 3 == 0 ? record_case_of(number / 3, random, count)
                                 : key_case(number / 3, random, count, number % 3 == 1);
  c.text += ", " + std::to_string(count) + " elements, seed " + std::to_string(seed_for(number));
  return c;
}

bytes sorted(const order_case& c) {
  std::vector<std::uint64_t> places(c.count());
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  std::stable_sort(places.begin(), places.end(), [&](std::uint64_t a, std::uint64_t b) {
    return c.precedes(&c.elements[a * c.width()], &c.elements[b * c.width()]);
  });
  bytes result;
  for (const std::uint64_t place : places) {
    const auto begin = c.elements.begin() + static_cast<std::ptrdiff_t>(place * c.width());
    result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(c.width()));
  }
  return result;
}

TEST(ElementOrder, SortsAndSaysThatItIsSorted) {
  for (std::uint64_t i = 0; i < num_random_cases; ++i) {
    order_case c = make_case(i, 2000);
    const bytes expected = sorted(c);
    const multiset_checksum before = c.order->checksum(c.elements.data(), c.count());
    c.order->sort(c.elements.data(), c.count());
    ASSERT_EQ(diagnose_bytes("elements", expected, c.elements, c.width()), "") << c.text;
    EXPECT_EQ(c.order->checksum(c.elements.data(), c.count()), before) << c.text;
    EXPECT_EQ(c.order->first_disorder(nullptr, c.elements.data(), c.count(), false), std::nullopt) << c.text;
  }
}

TEST(ElementOrder, NormalisedKeysAreInTheOrderOfTheElements) {
  for (std::uint64_t i = 0; i < num_random_cases; ++i) {
    order_case c = make_case(i, 200);
    bytes left(c.order->key_bytes());
    bytes right(c.order->key_bytes());
    for (std::uint64_t j = 1; j < c.count(); ++j) {
      const std::byte* const a = &c.elements[(j - 1) * c.width()];
      const std::byte* const b = a + c.width();
      c.order->write_key(a, left.data());
      c.order->write_key(b, right.data());
      const int order = std::memcmp(left.data(), right.data(), left.size());
      ASSERT_EQ(order < 0, c.precedes(a, b)) << c.text;
      ASSERT_EQ(order > 0, c.precedes(b, a)) << c.text;
    }
  }
}

/// Swaps a pair of neighbours among sorted elements, which may be equal in value.
void swap_neighbours(order_case& c, random_words& random) {
  const auto at = [&](std::uint64_t i) { return c.elements.begin() + static_cast<std::ptrdiff_t>(i * c.width()); };
  const std::uint64_t i = random.below(c.count() - 1);
  std::swap_ranges(at(i), at(i + 1), at(i + 1));
}

/// Disorder and duplicates in elements as they come, in two parts that are neighbours.
TEST(ElementOrder, FindsDisorderAndDuplicatesAcrossParts) {
  for (std::uint64_t i = 0; i < num_random_cases; ++i) {
    order_case c = make_case(i, 300);
    if (c.count() < 2) continue;
    const bool has_index = c.text.find("with index") != std::string::npos;
    random_words random(seed_for(i));
    if (i % 2 == 0) c.order->sort(c.elements.data(), c.count());
    if (i % 4 == 0) swap_neighbours(c, random);
    const std::uint64_t begin = 1 + random.below(c.count() - 1);
    std::optional<std::uint64_t> disorder;
    std::optional<std::uint64_t> repeated;
    std::uint64_t num_duplicates = 0;
    for (std::uint64_t j = c.count(); j-- > begin;) {
      const std::byte* const a = &c.elements[(j - 1) * c.width()];
      const std::byte* const b = a + c.width();
      std::uint64_t indices[2] = {0, 1};
      if (has_index) std::memcpy(&indices[0], a + c.width() - 8, 8);
      if (has_index) std::memcpy(&indices[1], b + c.width() - 8, 8);
      const bool are_equal = c.are_equal(a, b);
      num_duplicates += are_equal;
      if (c.precedes_in_value(b, a) || (are_equal && indices[1] < indices[0])) disorder = j - begin;
      if (c.precedes_in_value(b, a) || are_equal) repeated = j - begin;
    }
    const std::byte* const part = &c.elements[begin * c.width()];
    const std::uint64_t count = c.count() - begin;
    EXPECT_EQ(c.order->first_disorder(part - c.width(), part, count, false), disorder) << c.text;
    EXPECT_EQ(c.order->first_disorder(part - c.width(), part, count, true), repeated) << c.text;
    EXPECT_EQ(c.order->num_duplicates(part - c.width(), part, count), num_duplicates) << c.text;
  }
}

TEST(ElementOrder, KeepsTheFirstOfEqualElementsAcrossParts) {
  for (std::uint64_t i = 0; i < num_random_cases; ++i) {
    order_case c = make_case(i, 1000);
    c.order->sort(c.elements.data(), c.count());
    bytes expected;
    for (std::uint64_t j = 0; j < c.count(); ++j) {
      const auto here = c.elements.begin() + static_cast<std::ptrdiff_t>(j * c.width());
      const auto width = static_cast<std::ptrdiff_t>(c.width());
      if (j == 0 || !c.are_equal(&*here - width, &*here)) expected.insert(expected.end(), here, here + width);
    }
    bytes rest = c.elements;
    const std::uint64_t first = c.count() / 3;
    const bytes left(c.elements.begin() + static_cast<std::ptrdiff_t>(first == 0 ? 0 : (first - 1) * c.width()),
                     c.elements.end());
    const std::uint64_t kept = c.order->remove_duplicates(nullptr, rest.data(), first);
    const std::uint64_t kept_later = c.order->remove_duplicates(first == 0 ? nullptr : left.data(),
                                                                rest.data() + first * c.width(), c.count() - first);
    if (kept_later != 0) {
      std::memmove(rest.data() + kept * c.width(), rest.data() + first * c.width(), kept_later * c.width());
    }
    rest.resize((kept + kept_later) * c.width());
    ASSERT_EQ(rest, expected) << c.text;
  }
}

TEST(ElementOrder, ChecksumsAreThoseOfKeysAndOfPairs) {
  for (const key_type type : all_key_types()) {
    const bytes keys = make_keys(type, 1000, {distribution_kind::uniform}, seed_for(1));
    std::vector<std::uint64_t> indices(1000);
    std::iota(indices.begin(), indices.end(), std::uint64_t{0});
    const const_key_span span{type, keys.data(), 1000};
    const bytes indexed = with_indices(keys, size_bytes(type));
    EXPECT_EQ(files::make_key_order(type, direction::ascending, {})->checksum(keys.data(), 1000), checksum(span));
    EXPECT_EQ(files::make_indexed_key_order(type, direction::ascending, {})->checksum(indexed.data(), 1000),
              checksum_pairs(span, indices.data(), 8));
  }
}

TEST(ElementOrder, ChecksumOfRecordsCoversEveryByteAndNoOrder) {
  random_words random(seed_for(2));
  const record_format format = parse_record_format(21, "3:5");
  const auto order = files::make_record_order(format, direction::ascending, {});
  bytes records = make_records(format, 50, record_contents::random, random);
  const multiset_checksum before = order->checksum(records.data(), 50);
  EXPECT_EQ(order->checksum(records.data(), 20) + order->checksum(&records[20 * 21], 30), before);
  for (std::uint64_t i = 0; i < 21; ++i) {
    records[7 * 21 + i] ^= std::byte{1};
    EXPECT_NE(order->checksum(records.data(), 50), before) << i;
    records[7 * 21 + i] ^= std::byte{1};
  }
  std::rotate(records.begin(), records.begin() + 9 * 21, records.end());
  EXPECT_EQ(order->checksum(records.data(), 50), before);
}

TEST(ElementOrder, SorterMemoryIsABound) {
  const std::uint64_t count = is_small_scale() ? 60'000 : 400'000;
  for (const char* devices : {"cpu", "host:3", "host:9", "auto"}) {
    for (const unsigned key_bytes : {1u, 4u, 8u}) {
      for (const unsigned value_bytes : {0u, 4u, 8u}) {
        const sort_options options{.devices = devices};
        sorter s(options);
        const key_type type = key_bytes == 1 ? key_type::u8 : key_bytes == 4 ? key_type::u32 : key_type::u64;
        bytes values(count * std::max(value_bytes, 1u));
        for (const std::uint64_t n : {std::uint64_t{20'000}, count}) {
          bytes keys = make_keys(type, n, {}, seed_for(3));
          const key_span span{type, keys.data(), n};
          value_bytes == 0 ? s.sort(span) : s.sort_pairs(span, values.data(), value_bytes);
        }
        const base::memory_formula bound = sorting::sorter_memory(options, key_bytes, value_bytes);
        EXPECT_LE(s.workspace_bytes(), bound.fixed_bytes + count * bound.element_bytes)
            << devices << " " << key_bytes << " " << value_bytes;
      }
    }
  }
}

TEST(ElementOrder, ThreadsBelowACeilingLeaveHalfOfIt) {
  constexpr std::uint64_t ceiling_bytes = std::uint64_t{33} << 20;
  const unsigned num_threads = sorting::threads_below(ceiling_bytes, 16);
  EXPECT_GE(num_threads, 2U);
  EXPECT_LE(num_threads * device::host::worker_scratch::size_bytes, ceiling_bytes / 2);
  EXPECT_GT((num_threads + 1) * device::host::worker_scratch::size_bytes, ceiling_bytes / 2);
  EXPECT_EQ(sorting::threads_below(ceiling_bytes, 1), 1U);
  EXPECT_EQ(sorting::threads_below(1, 16), 1U);
  EXPECT_EQ(sorting::threads_below(std::uint64_t{1} << 40, 16), 16U);
}

TEST(ElementOrder, SorterMemoryIsABoundForEveryAlgorithm) {
  constexpr std::uint64_t count = 400'000;
  for (const algorithm which : list_algorithms()) {
    if (!is_offered(which)) continue;
    for (const char* devices : {"host:1", "host:4"}) {
      const sort_options options{.devices = devices, .algorithm = which};
      bytes keys = make_keys(key_type::u32, count, {}, seed_for(3));
      bytes values(count * 8);
      sorter s(options);
      s.sort_pairs({key_type::u32, keys.data(), count}, values.data(), 8);
      const base::memory_formula bound = sorting::sorter_memory(options, 4, 8);
      EXPECT_LE(s.workspace_bytes(), bound.fixed_bytes + count * bound.element_bytes) << name(which) << " " << devices;
      // One device may sort so few pairs in memory that the process keeps, which is nobody's workspace.
      if (devices == std::string_view("host:1")) continue;
      EXPECT_GE(s.workspace_bytes(), count * 12) << name(which) << " " << devices;
    }
  }
}

TEST(ElementOrder, SorterMemoryCountsSlack) {
  constexpr std::uint64_t count = 400'000;
  const sort_options options{.devices = "host:3", .algorithm = algorithm::rmg, .tuning = {.epsilon = 1}};
  bytes keys = make_keys(key_type::u64, count, {}, seed_for(3));
  bytes values(count * 8);
  sorter s(options);
  s.sort_pairs({key_type::u64, keys.data(), count}, values.data(), 8);
  const base::memory_formula bound = sorting::sorter_memory(options, 8, 8);
  EXPECT_LE(s.workspace_bytes(), bound.fixed_bytes + count * bound.element_bytes);
  EXPECT_GT(s.workspace_bytes(), bound.fixed_bytes + count * 16);
}

TEST(ElementOrder, RecordSorterHoldsNoMoreThanItSays) {
  random_words random(seed_for(4));
  for (const std::uint32_t record_bytes : {1u, 8u, 16u, 100u, 300u}) {
    for (const char* devices : {"cpu", "host:3"}) {
      const record_format format{record_bytes, {{0, std::min(record_bytes, 10u)}}};
      const std::uint64_t count = (is_small_scale() ? 1'000'000u : 6'000'000u) / (record_bytes + 20);
      records::record_sorter sorter(format, direction::ascending, {.devices = devices});
      bytes records = make_records(format, count, record_contents::few_values, random);
      sorter.sort(records.data(), count);
      const base::memory_formula bound = sorter.memory();
      EXPECT_LE(sorter.held_bytes(), bound.fixed_bytes + count * bound.element_bytes) << record_bytes;
      // One device may sort so few words in memory that the process keeps, which the sorter does not hold.
      if (devices == std::string_view("cpu")) continue;
      // A bound of twice as much would serve nobody. Indices have 4 bytes here, where the bound has 8.
      EXPECT_GE(2 * sorter.held_bytes(), count * bound.element_bytes) << record_bytes;
    }
  }
}

}  // namespace
}  // namespace spansort::test
