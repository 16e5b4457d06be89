// SPDX-License-Identifier: Apache-2.0
// The CPU sorts that distributions package. They sort pairs as records of key and value; bringing the two arrays of the
// input into that form, and back for the check, is not timed.
#include <hwy/contrib/sort/vqsort.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_sort.h>
#include <parallel/algorithm>

#include <algorithm>
#include <execution>
#include <spansort/errors.hpp>

#include "bench/cpu/pair_record.hpp"
#include "bench/suites/candidate.hpp"

namespace bench {
namespace {

using range = tbb::blocked_range<std::uint64_t>;
using u32_pair = pair_record<std::uint32_t, std::uint32_t>;

constexpr std::uint64_t grain = std::uint64_t{1} << 16;

template <class K, class Sort>
contender key_contender(const Sort& sort, input& data) {
  contender made;
  made.prepare = [&data] { data.restore(); };
  made.run = [sort, &data] {
    K* const keys = static_cast<K*>(data.work());
    return seconds_of([&] { sort(keys, keys + data.num_keys()); });
  };
  made.fetch = [] {};
  return made;
}

/// Record: a key and its value, as the sort wants them.
template <class Record, class Sort>
contender pair_contender(const Sort& sort, input& data) {
  const auto records = std::make_shared<std::vector<Record>>(data.num_keys());
  const auto for_all = [&data, records](const auto& body) {
    auto* const keys = static_cast<std::uint32_t*>(data.work());
    auto* const values = static_cast<std::uint32_t*>(data.values_in(data.work()));
    tbb::parallel_for(range(0, data.num_keys(), grain), [&](const range& part) {
      for (std::uint64_t i = part.begin(); i != part.end(); ++i) body((*records)[i], keys[i], values[i]);
    });
  };
  contender made;
  made.prepare = [&data, for_all] {
    data.restore();
    for_all([](Record& to, std::uint32_t key, std::uint32_t value) {
      to.key = key;
      to.value = value;
    });
  };
  made.run = [sort, records] { return seconds_of([&] { sort(records->data(), records->data() + records->size()); }); };
  made.fetch = [for_all] {
    for_all([](const Record& from, std::uint32_t& key, std::uint32_t& value) {
      key = from.key;
      value = from.value;
    });
  };
  return made;
}

/// sort(begin, end) sorts keys, and records of type Record.
template <class Record, class Sort>
candidate baseline(const char* name, const Sort& sort) {
  using spansort::key_type;
  const auto make = [sort](input& data) {
    if (data.value_bytes() == 0 && data.type() == key_type::u32) return key_contender<std::uint32_t>(sort, data);
    if (data.value_bytes() == 0 && data.type() == key_type::u64) return key_contender<std::uint64_t>(sort, data);
    if (data.value_bytes() == 0 && data.type() == key_type::f32) return key_contender<float>(sort, data);
    if (data.value_bytes() == 4 && data.type() == key_type::u32) return pair_contender<Record>(sort, data);
    throw spansort::invalid_argument("the baselines are compiled for u32, u64, f32 and u32(u32)");
  };
  return {name, "cpu", "host", make};
}

}  // namespace

std::vector<candidate> cpu_baselines() {
  return {
      baseline<u32_pair>("gnu_parallel", [](auto* begin, auto* end) { __gnu_parallel::sort(begin, end); }),
      baseline<u32_pair>("tbb", [](auto* begin, auto* end) { tbb::parallel_sort(begin, end); }),
      baseline<u32_pair>("std_par", [](auto* begin, auto* end) { std::sort(std::execution::par, begin, end); }),
      baseline<u32_pair>("std_sort", [](auto* begin, auto* end) { std::sort(begin, end); }),
      // One thread. Its pairs have the value first.
      baseline<hwy::K32V32>("vqsort",
                            [](auto* begin, auto* end) {
                              hwy::Sorter()(begin, static_cast<std::size_t>(end - begin), hwy::SortAscending());
                            }),
  };
}

}  // namespace bench
