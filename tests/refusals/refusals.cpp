// SPDX-License-Identifier: Apache-2.0
// Calls that must not compile, one a section, each with the words that the compiler has to show; section 0 must
// compile.
#include <array>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "spansort/sort.hpp"
#include "spansort/sort_by.hpp"

struct trade {
  int symbol;
  double price;
};
struct person {
  std::string name;
  int age;
};

template <class V>
concept sorts = requires(V&& v) {
  spansort::sort_by(std::forward<V>(v), &trade::symbol);
};

void calls(std::vector<trade>& trades, const std::vector<trade>& const_trades, std::deque<trade>& queue,
           std::vector<person>& people, std::vector<int>& keys, const std::vector<int>& const_keys,
           std::deque<int>& key_queue) {
#if SECTION == 0
  spansort::sort_by(trades, &trade::symbol);
  spansort::sort_by(std::span(trades), spansort::descending(&trade::price), &trade::symbol);
  spansort::sort_by({.memory_limit_bytes = 1 << 20}, trades, [](const trade& t) { return t.symbol; });
  static_cast<void>(spansort::argsort_by(const_trades, &trade::symbol));
  static_cast<void>(spansort::argsort_by(queue, &trade::symbol));
  static_cast<void>(spansort::argsort_by(people, &person::age));
  spansort::sort(keys);
  spansort::sort(std::span(keys));
  static_cast<void>(spansort::argsort(const_keys));
  static_cast<void>(spansort::is_sorted(const_keys));
  // A concept that asks for a call gets a true answer.
  static_assert(sorts<std::vector<trade>&> && sorts<std::span<trade>>);
  static_assert(!sorts<const std::vector<trade>&> && !sorts<std::vector<trade>> && !sorts<std::deque<trade>&>);
  spansort::sort(keys.begin(), keys.end());
  spansort::sort(keys, std::greater<>{});
  spansort::sort(trades.begin(), trades.end(), [](const trade& a, const trade& b) { return a.price < b.price; });
  spansort::sort(keys.data(), keys.data() + keys.size(), spansort::direction::descending);
  static_cast<void>(spansort::is_sorted(const_keys.begin(), const_keys.end()));
#elif SECTION == 1   // sort_by works in place, and these elements are const
  spansort::sort_by(const_trades, &trade::symbol);
#elif SECTION == 2   // sort_by works in place, and this container is a temporary
  spansort::sort_by(std::vector<trade>(3), &trade::symbol);
#elif SECTION == 3   // sort_by takes contiguous memory
  spansort::sort_by(queue, &trade::symbol);
#elif SECTION == 4   // sort_by takes trivially copyable elements
  spansort::sort_by(people, &person::age);
#elif SECTION == 5   // a projection takes one element and gives a key
  spansort::sort_by(trades, [](const trade& a, const trade& b) { return a.price < b.price; });
#elif SECTION == 6   // a projection takes one element and gives a key
  spansort::sort_by(trades, &trade::symbol, [](const trade&) { return std::string(); });
#elif SECTION == 7   // sort_by works in place, and these elements are const
  spansort::sort_by(spansort::sort_options{}, const_trades, &trade::symbol);
#elif SECTION == 8   // sort works in place, and these keys are const
  spansort::sort(const_keys);
#elif SECTION == 9   // sort works in place, and this container is a temporary
  spansort::sort(std::vector<int>{3, 1, 2}, spansort::direction::descending);
#elif SECTION == 10  // sort takes contiguous memory
  spansort::sort(key_queue);
#elif SECTION == 11  // sort takes keys, which these elements are not
  spansort::sort(trades);
#elif SECTION == 12  // sort calls a comparison from several threads
  spansort::sort(trades, [calls = 0](const trade& a, const trade& b) mutable { return ++calls, a.price < b.price; });
#elif SECTION == 13  // sort by a comparison moves elements as bytes
  spansort::sort(people, [](const person& a, const person& b) { return a.age < b.age; });
#elif SECTION == 14  // sort works in place, and these keys are const
  spansort::sort(const_trades, [](const trade& a, const trade& b) { return a.price < b.price; });
#elif SECTION == 15  // sort takes contiguous memory
  spansort::sort(key_queue.begin(), key_queue.end());
#elif SECTION == 16  // sort_pairs works in place, and these keys or values are const
  spansort::sort_pairs(keys, const_trades);
#elif SECTION == 17  // sort_pairs works in place, and a container is a temporary
  spansort::sort_pairs(keys, std::vector<int>(keys.size()));
#elif SECTION == 18  // argsort takes contiguous keys
  static_cast<void>(spansort::argsort(key_queue));
#endif
}
