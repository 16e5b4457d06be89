// SPDX-License-Identifier: Apache-2.0
// sort_by() and argsort_by() against std::stable_sort with a comparator that looks at the keys one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "spansort/errors.hpp"
#include "spansort/report.hpp"
#include "spansort/sort_by.hpp"
#include "support/environment.hpp"
#include "support/raised_limit.hpp"

namespace spansort::test {
namespace {

enum class venue : std::int16_t { paris = -3, london = 0, tokyo = 7 };
using symbol = std::array<char, 8>;
using std::chrono::milliseconds;

/// A struct with members of most kinds of keys, and `padding` bytes to make it narrow or wide.
template <std::size_t padding>
struct trade {
  double price;
  std::uint32_t quantity;
  std::uint32_t number;  ///< of the input: which of equal elements it is
  std::int64_t account;
  milliseconds time;
  float16 rate;
  venue place;
  symbol name;
  char note[3];
  std::byte flags;
  std::int8_t level;
  bool is_open;
  std::array<char, padding> rest;
};

struct tick {
  float price;
  std::uint32_t number;
};

/// Few values of each key, so that later keys decide, and all that is special of floats.
double special_price(random_words& random) {
  const double prices[] = {0.0,
                           -0.0,
                           1.5,
                           -2.25,
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN(),
                           -std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::denorm_min()};
  return prices[random.below(std::size(prices))];
}

template <std::size_t padding>
std::vector<trade<padding>> make_trades(std::uint64_t count, std::uint64_t seed) {
  random_words random(seed);
  const venue venues[] = {venue::paris, venue::london, venue::tokyo};
  const std::uint16_t rates[] = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x7e00, 0xfe00, 0x7c00};
  const symbol symbols[] = {{"AAPL"}, {"AA"}, {"\xC3\xA4"}, {}};
  std::vector<trade<padding>> trades(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    trade<padding>& t = trades[i];
    t = {.price = special_price(random),
         .quantity = static_cast<std::uint32_t>(random() >> 8) % 5 * 0x3333'3333u,
         .number = static_cast<std::uint32_t>(i),
         .account = static_cast<std::int64_t>(random.below(7)) - 3,
         .time = milliseconds(static_cast<std::int64_t>(random.below(3)) - 1),
         .rate = {rates[random.below(std::size(rates))]},
         .place = venues[random.below(3)],
         .name = symbols[random.below(4)],
         .note = {static_cast<char>(random()), 'x', static_cast<char>(random.below(2))},
         .flags = static_cast<std::byte>(random()),
         .level = static_cast<std::int8_t>(random()),
         .is_open = random.below(2) == 1,
         .rest = {}};
    for (char& c : t.rest) c = static_cast<char>(random());
  }
  return trades;
}

// Returns what a reader of the documentation expects of two keys, with nothing of the library's encodings: -1, 0 or 1.

template <class K>
int order_of(const K& a, const K& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}
int order_of(bool a, bool b) { return int{a} - int{b}; }
int order_of(float16 a, float16 b) {
  const auto value = [](float16 h) {
    const int exponent = h.bits >> 10 & 31;
    const double mantissa = h.bits & 1023;
    const double sign = (h.bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
    return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
  };
  return order_of(value(a), value(b));
}
template <class B, std::size_t count>
int order_of(const std::array<B, count>& a, const std::array<B, count>& b) {
  return std::clamp(std::memcmp(a.data(), b.data(), count), -1, 1);
}

template <class K>
bool is_nan(const K& key) {
  if constexpr (std::is_floating_point_v<K>) return std::isnan(key);
  if constexpr (std::same_as<K, float16>) return (key.bits & 0x7fff) > 0x7c00;
  return false;
}

/// NaN is last, whatever the direction.
template <class K>
int order_of(const K& a, const K& b, bool is_descending) {
  if (is_nan(a) || is_nan(b)) return int{is_nan(a)} - int{is_nan(b)};
  return is_descending ? -order_of(a, b) : order_of(a, b);
}

/// The key of an element by a projection, which may be an array.
template <class T, class P>
auto key_of(const T& element, const P& projection) {
  using key = std::remove_cvref_t<std::invoke_result_t<const P&, const T&>>;
  if constexpr (std::is_array_v<key>) {
    return std::to_array(std::invoke(projection, element));
  } else {
    return std::invoke(projection, element);
  }
}

template <class P>
sort_key<P> with_direction(const P& projection) {
  return {projection, direction::ascending};
}
template <class P>
sort_key<P> with_direction(const sort_key<P>& key) {
  return key;
}

/// Returns whether `a` comes before `b`.
template <class T>
bool precedes(const T&, const T&) {
  return false;
}
template <class T, class First, class... Rest>
bool precedes(const T& a, const T& b, const First& first, const Rest&... rest) {
  const auto key = with_direction(first);
  const int order = order_of(key_of(a, key.projection), key_of(b, key.projection), key.order == direction::descending);
  return order != 0 ? order < 0 : precedes(a, b, rest...);
}

template <class T, class... P>
std::vector<std::uint32_t> expected_order(const std::vector<T>& elements, const P&... projections) {
  std::vector<std::uint32_t> order(elements.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return precedes(elements[a], elements[b], projections...);
  });
  return order;
}

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T, class... P>
void expect_sorted(const char* devices, const std::vector<T>& input, const P&... projections) {
  const std::vector<std::uint32_t> order = expected_order(input, projections...);
  std::vector<T> elements = input;
  spansort::sort_by({.devices = devices}, elements, projections...);
  for (std::size_t i = 0; i < order.size(); ++i) {
    ASSERT_EQ(std::memcmp(&elements[i], &input[order[i]], sizeof(T)), 0)
        << "element " << i << " of " << input.size() << " on " << devices << ": found number " << elements[i].number
        << ", expected " << input[order[i]].number;
  }
  std::vector<std::uint32_t> indices(input.size());
  spansort::argsort_by({.devices = devices}, input, indices, projections...);
  EXPECT_EQ(indices, order) << devices;
}

constexpr std::uint64_t counts[] = {0, 1, 2, 3, 17, 511, 512, 513, 1500, 20'011};
constexpr const char* device_lists[] = {"cpu", "host:3", "auto"};

std::uint64_t largest_count() { return is_small_scale() ? 1500 : counts[std::size(counts) - 1]; }

/// Calls check(devices, trades) for all counts and devices.
template <std::size_t padding, class Check>
void for_trades(const Check& check) {
  for (const std::uint64_t count : counts) {
    if (count > largest_count()) continue;
    const auto trades = make_trades<padding>(count, seed_for(count));
    for (const char* const devices : device_lists) check(devices, trades);
  }
}

TEST(SortBy, OneKeyOfEachKind) {
  for_trades<1>([](const char* devices, const auto& trades) {
    using t = typename std::remove_cvref_t<decltype(trades)>::value_type;
    expect_sorted(devices, trades, &t::price);
    expect_sorted(devices, trades, descending(&t::price));
    expect_sorted(devices, trades, &t::quantity);
    expect_sorted(devices, trades, descending(&t::account));
    expect_sorted(devices, trades, &t::time);
    expect_sorted(devices, trades, descending(&t::rate));
    expect_sorted(devices, trades, ascending(&t::rate));
    expect_sorted(devices, trades, &t::place);
    expect_sorted(devices, trades, descending(&t::name));
    expect_sorted(devices, trades, &t::note);
    expect_sorted(devices, trades, descending(&t::note));
    expect_sorted(devices, trades, &t::flags);
    expect_sorted(devices, trades, descending(&t::level));
    expect_sorted(devices, trades, &t::is_open);
  });
}

TEST(SortBy, SeveralKeysInOneWord) {
  for_trades<40>([](const char* devices, const auto& trades) {
    using t = typename std::remove_cvref_t<decltype(trades)>::value_type;
    expect_sorted(devices, trades, &t::place, descending(&t::quantity), &t::is_open);
    expect_sorted(devices, trades, descending(&t::rate), &t::level);
    expect_sorted(devices, trades, &t::is_open, descending(&t::note));
    expect_sorted(devices, trades, &t::quantity, descending(&t::number));
  });
}

TEST(SortBy, KeysWiderThanAWord) {
  for_trades<40>([](const char* devices, const auto& trades) {
    using t = typename std::remove_cvref_t<decltype(trades)>::value_type;
    expect_sorted(devices, trades, &t::name, descending(&t::quantity));
    expect_sorted(devices, trades, &t::place, descending(&t::price), &t::account);
    expect_sorted(devices, trades, descending(&t::price), descending(&t::name), &t::time, &t::rate, &t::note,
                  descending(&t::account), &t::place, &t::quantity, &t::level, &t::flags, &t::is_open);
  });
}

TEST(SortBy, FunctionsAndNestedMembers) {
  struct order {
    trade<1> inner;
    std::uint32_t number = 0;
    [[nodiscard]] int rounded() const { return static_cast<int>(inner.level) / 16; }
  };
  std::vector<order> orders;
  for (const trade<1>& t : make_trades<1>(2000, seed_for(1))) orders.push_back({t, t.number});
  for (const char* const devices : device_lists) {
    expect_sorted(devices, orders, &order::rounded);
    expect_sorted(
        devices, orders, [](const order& o) { return o.inner.account; }, descending(&order::rounded));
    expect_sorted(devices, orders, descending([](const auto& o) { return o.inner.quantity * 0.5; }),
                  [](order o) { return o.inner.place; });
  }
}

TEST(SortBy, NarrowElementsTravelWithTheirKeys) {
  random_words random(seed_for(2));
  std::vector<tick> ticks(10'007);
  for (std::uint32_t i = 0; i < ticks.size(); ++i) ticks[i] = {static_cast<float>(special_price(random)), i};
  for (const char* const devices : device_lists) {
    expect_sorted(devices, ticks, &tick::price);
    expect_sorted(devices, ticks, descending(&tick::price));
    expect_sorted(devices, ticks, &tick::price, descending(&tick::number));
  }
}

TEST(SortBy, ElementsThatAreKeysThemselves) {
  std::vector<int> numbers{3, -1, 2};
  spansort::sort_by(numbers, descending());
  EXPECT_EQ(numbers, (std::vector<int>{3, 2, -1}));
  spansort::sort_by(numbers, ascending());
  EXPECT_EQ(numbers, (std::vector<int>{-1, 2, 3}));
  spansort::sort_by(numbers, [](int n) { return static_cast<unsigned>(std::abs(n)); });
  EXPECT_EQ(numbers, (std::vector<int>{-1, 2, 3}));
}

TEST(SortBy, TakesSpansAndArrays) {
  std::array<tick, 3> ticks{{{3, 0}, {1, 1}, {2, 2}}};
  spansort::sort_by(std::span(ticks).subspan(1), descending(&tick::price));
  EXPECT_EQ(ticks[1].number, 2u);
  spansort::sort_by(ticks, &tick::price);
  EXPECT_EQ(ticks[0].number, 1u);
}

TEST(ArgsortBy, TakesAnyElementInAnyRandomAccessRange) {
  struct person {
    std::string name;
    int age;
  };
  const std::deque<person> people{{"Ada", 36}, {"Bo", 7}, {"Cy", 36}, {"Di", 50}};
  using order = std::vector<std::uint64_t>;
  EXPECT_EQ(spansort::argsort_by(people, &person::age), (order{1, 0, 2, 3}));
  EXPECT_EQ(spansort::argsort_by(people, descending(&person::age)), (order{3, 0, 2, 1}));
  EXPECT_EQ(spansort::argsort_by({.devices = "host:2"}, people,
                                 descending([](const person& p) { return p.name.size(); }), &person::age),
            (order{0, 1, 2, 3}));
  EXPECT_EQ(spansort::argsort_by(std::views::iota(0, 5), [](int i) { return (i - 2) * (i - 2); }),
            (order{2, 1, 3, 0, 4}));
  std::vector<std::int32_t> indices(4);
  spansort::argsort_by(people, indices, &person::age);
  EXPECT_EQ(indices, (std::vector<std::int32_t>{1, 0, 2, 3}));
  std::vector<std::int32_t> too_few(3);
  EXPECT_THROW(spansort::argsort_by(people, too_few, &person::age), invalid_argument);
  EXPECT_TRUE(spansort::argsort_by(std::vector<person>{}, &person::age).empty());
}

TEST(SortBy, FailureLeavesTheElementsUntouched) {
  const auto input = make_trades<40>(40'000, seed_for(3));
  using t = trade<40>;
  auto trades = input;
  const auto expect_untouched = [&](const auto& call) {
    call();
    EXPECT_TRUE(same_bytes(trades, input));
  };
  const auto throwing = [](const t& element) {
    if (element.number == 31'234) throw std::runtime_error("no key");
    return element.quantity;
  };
  expect_untouched([&] { EXPECT_THROW(spansort::sort_by(trades, throwing), std::runtime_error); });
  expect_untouched([&] { EXPECT_THROW(spansort::sort_by(trades, &t::name, throwing), std::runtime_error); });
  expect_untouched(
      [&] { EXPECT_THROW(spansort::sort_by({.devices = "nonsense"}, trades, &t::name), invalid_argument); });
  for (const std::uint64_t limit : {std::uint64_t{1}, std::uint64_t{40'000 * 20}, std::uint64_t{40'000 * 30}}) {
    const sort_options options{.memory_limit_bytes = limit};
    expect_untouched([&] { EXPECT_THROW(spansort::sort_by(options, trades, &t::quantity), out_of_memory); });
    expect_untouched([&] { EXPECT_THROW(spansort::sort_by(options, trades, &t::name, &t::price), out_of_memory); });
  }
  const sort_options cancelling{.on_progress = [](auto) { return false; }};
  expect_untouched([&] { EXPECT_THROW(spansort::sort_by(cancelling, trades, &t::name, &t::price), cancelled); });
}

/// The formula of sort_by.hpp, for a limit that it says to be enough.
TEST(SortBy, KeepsACeilingOnMemory) {
  using t = trade<40>;
  const auto input = make_trades<40>(40'000, seed_for(4));
  for (const bool is_wide : {false, true}) {
    const auto sort = [&](const sort_options& options) {
      auto trades = input;
      if (is_wide) spansort::sort_by(options, trades, &t::name, &t::price);
      if (!is_wide) spansort::sort_by(options, trades, &t::quantity);
      return trades;
    };
    sort_report report;
    const auto expected = sort({.report = &report});
    EXPECT_TRUE(same_bytes(sort({.memory_limit_bytes = report.workspace_bytes}), expected));
    EXPECT_THROW(sort({.memory_limit_bytes = 40'000 * 20}), out_of_memory);
    expect_enough_when_raised([&](std::uint64_t limit_bytes) {
      EXPECT_TRUE(same_bytes(sort({.memory_limit_bytes = limit_bytes}), expected));
    });
  }
  expect_enough_when_raised([&](std::uint64_t limit_bytes) {
    static_cast<void>(spansort::argsort_by({.memory_limit_bytes = limit_bytes}, input, &t::name, &t::price));
  });
}

TEST(SortBy, ReportsTheWhole) {
  auto trades = make_trades<40>(5000, seed_for(5));
  using t = trade<40>;
  sort_report report;
  spansort::sort_by({.report = &report}, trades, &t::name, &t::price);
  EXPECT_EQ(report.operation, "sort_by");
  EXPECT_EQ(report.key_type, "keys of 16 bytes");
  EXPECT_EQ(report.num_keys, 5000u);
  EXPECT_EQ(report.phases.back().name, "gather");
  EXPECT_GE(report.workspace_bytes, 5000u * (4 + 32));
  static_cast<void>(spansort::argsort_by({.report = &report}, trades, &t::is_open));
  EXPECT_EQ(report.operation, "argsort_by");
  EXPECT_EQ(report.key_type, "keys of 1 bytes");
  std::vector<tick> ticks(5000);
  spansort::sort_by({.report = &report}, ticks, &tick::price);
  EXPECT_EQ(report.operation, "sort_by");
}

TEST(SortBy, TakesAsManyThreadsAsItMay) {
  using t = trade<40>;
  auto trades = make_trades<40>(50'000, seed_for(6));
  const std::vector<std::uint64_t> order = spansort::argsort_by({.threads = 1}, trades, &t::name, &t::price);
  EXPECT_EQ(order, spansort::argsort_by({.threads = 2}, trades, &t::name, &t::price));
  const auto calling = std::this_thread::get_id();
  std::atomic<std::uint64_t> num_elsewhere = 0;
  const auto quantity = [&](const t& element) {
    if (std::this_thread::get_id() != calling) ++num_elsewhere;
    return element.quantity;
  };
  spansort::sort_by({.devices = "cpu", .threads = 1}, trades, quantity);
  EXPECT_EQ(num_elsewhere, 0u);
  EXPECT_THROW(spansort::sort_by({.threads = 1025}, trades, &t::quantity), invalid_argument);
}

}  // namespace
}  // namespace spansort::test
