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
#include <type_traits>

#include "bench/cpu/pair_record.hpp"
#include "bench/suites/candidate.hpp"

namespace bench {
namespace {

using range = tbb::blocked_range<std::uint64_t>;
using u32_pair = pair_record<std::uint32_t, std::uint32_t>;

constexpr std::uint64_t grain = std::uint64_t{1} << 16;

struct by_std_sort {
  static constexpr const char* name = "std_sort";
  template <class T>
  static void sort(T* begin, std::uint64_t count) {
    std::sort(begin, begin + count);
  }
};

struct by_std_par {
  static constexpr const char* name = "std_par";
  template <class T>
  static void sort(T* begin, std::uint64_t count) {
    std::sort(std::execution::par, begin, begin + count);
  }
};

struct by_tbb {
  static constexpr const char* name = "tbb";
  template <class T>
  static void sort(T* begin, std::uint64_t count) {
    tbb::parallel_sort(begin, begin + count);
  }
};

struct by_gnu_parallel {
  static constexpr const char* name = "gnu_parallel";
  template <class T>
  static void sort(T* begin, std::uint64_t count) {
    __gnu_parallel::sort(begin, begin + count);
  }
};

/// One thread. Its pairs have the value first.
struct by_vqsort {
  static constexpr const char* name = "vqsort";
  template <class T>
  static void sort(T* begin, std::uint64_t count) {
    hwy::Sorter()(begin, count, hwy::SortAscending());
  }
};

template <class Sort, class K>
contender key_contender(input& data) {
  return {.prepare = [&data] { data.restore(); },
          .run = [&data] { return seconds_of([&] { Sort::sort(static_cast<K*>(data.work()), data.num_keys()); }); },
          .fetch = [] {}};
}

template <class Sort>
contender pair_contender(input& data) {
  using record = std::conditional_t<std::is_same_v<Sort, by_vqsort>, hwy::K32V32, u32_pair>;
  const auto records = std::make_shared<std::vector<record>>(data.num_keys());
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
    for_all([](record& to, std::uint32_t key, std::uint32_t value) {
      to.key = key;
      to.value = value;
    });
  };
  made.run = [records] { return seconds_of([&] { Sort::sort(records->data(), records->size()); }); };
  made.fetch = [for_all] {
    for_all([](const record& from, std::uint32_t& key, std::uint32_t& value) {
      key = from.key;
      value = from.value;
    });
  };
  return made;
}

template <class Sort>
contender contender_of(input& data) {
  using spansort::key_type;
  if (data.value_bytes() == 0 && data.type() == key_type::u32) return key_contender<Sort, std::uint32_t>(data);
  if (data.value_bytes() == 0 && data.type() == key_type::u64) return key_contender<Sort, std::uint64_t>(data);
  if (data.value_bytes() == 0 && data.type() == key_type::f32) return key_contender<Sort, float>(data);
  if (data.value_bytes() == 4 && data.type() == key_type::u32) return pair_contender<Sort>(data);
  throw spansort::invalid_argument("the baselines are compiled for u32, u64, f32 and u32(u32)");
}

template <class... Sorts>
std::vector<candidate> candidates_of() {
  return {{Sorts::name, "cpu", "host", contender_of<Sorts>}...};
}

}  // namespace

std::vector<candidate> cpu_baselines() {
  return candidates_of<by_gnu_parallel, by_tbb, by_std_par, by_std_sort, by_vqsort>();
}

}  // namespace bench
