// SPDX-License-Identifier: Apache-2.0
// A sort of others becomes a candidate here. They sort pairs as records of key and value, and an argsort's indices by
// the keys that these name. Bringing the two arrays of the input into the form of records, and back for the check, is
// not timed; writing indices 0, 1, 2 ... is, as every argsort has to.
#pragma once

#include <oneapi/tbb/parallel_for.h>

#include <memory>
#include <numeric>
#include <spansort/errors.hpp>
#include <vector>

#include "bench/suites/baselines/pair_record.hpp"
#include "bench/suites/candidate.hpp"
#include "bench/suites/key_cases.hpp"

namespace bench {

/// sort(begin, end) sorts keys.
template <class K, class Sort>
contender key_contender(const Sort& sort, input& data) {
  contender made;
  made.prepare = [&data] { data.restore(); };
  made.run = [sort, &data] {
    return time_of([&] {
      for (std::uint64_t array = 0; array < data.num_arrays(); ++array) {
        K* const keys = static_cast<K*>(data.keys_at(array));
        sort(keys, keys + data.num_keys());
      }
    });
  };
  made.fetch = [] {};
  return made;
}

/// The input's two arrays as one of records, and back. W is a word as wide as keys and values.
template <class Record, class W>
class record_array {
 public:
  explicit record_array(input& data) : data_(data), records_(data.num_keys() * data.num_arrays()) {}

  [[nodiscard]] Record* at(std::uint64_t array) { return records_.data() + array * data_.num_keys(); }
  void gather() {
    data_.restore();
    for_all([](Record& record, W& key, W& value) {
      record.key = key;
      record.value = value;
    });
  }
  void scatter() {
    for_all([](Record& record, W& key, W& value) {
      key = record.key;
      value = record.value;
    });
  }

 private:
  template <class Body>
  void for_all(const Body& body) {
    W* const keys = static_cast<W*>(data_.keys_at(0));
    W* const values = static_cast<W*>(data_.values_at(0));
    using range = tbb::blocked_range<std::size_t>;
    tbb::parallel_for(range(0, records_.size(), std::size_t{1} << 16), [&](const range& part) {
      for (std::size_t i = part.begin(); i != part.end(); ++i) body(records_[i], keys[i], values[i]);
    });
  }

  input& data_;
  std::vector<Record> records_;
};

/// sort(begin, end) sorts records.
template <class Record, class W, class Sort>
contender pair_contender(const Sort& sort, input& data) {
  const auto records = std::make_shared<record_array<Record, W>>(data);
  contender made;
  made.prepare = [records] { records->gather(); };
  made.run = [sort, records, &data] {
    return time_of([&] {
      for (std::uint64_t array = 0; array < data.num_arrays(); ++array) {
        sort(records->at(array), records->at(array) + data.num_keys());
      }
    });
  };
  made.fetch = [records] { records->scatter(); };
  return made;
}

/// sort(begin, end, before) sorts indices, equal keys by their places: what a stable sort makes of them.
template <class K, class Sort>
contender index_contender(const Sort& sort, input& data) {
  contender made;
  made.prepare = [&data] { data.restore(); };
  made.run = [sort, &data] {
    return time_of([&] {
      for (std::uint64_t array = 0; array < data.num_arrays(); ++array) {
        const K* const keys = static_cast<const K*>(data.keys_at(array));
        auto* const indices = static_cast<std::uint64_t*>(data.values_at(array));
        std::iota(indices, indices + data.num_keys(), std::uint64_t{0});
        sort(indices, indices + data.num_keys(),
             [keys](std::uint64_t a, std::uint64_t b) { return keys[a] < keys[b] || (!(keys[b] < keys[a]) && a < b); });
      }
    });
  };
  made.fetch = [] {};
  return made;
}

/// `sort` takes pointers to any of these, with or without a comparison.
template <class Sort>
candidate comparison_sort(const char* name, const Sort& sort) {
  const auto make = [sort](input& data) {
    if (data.is_argsort()) {
      return with_key(data.type(), [&]<class K>() -> contender {
        if constexpr (sizeof(K) >= 4) return index_contender<K>(sort, data);
        throw spansort::invalid_argument("the baselines' argsort is compiled for keys of 32 and 64 bits");
      });
    }
    if (data.value_bytes() == 0) {
      return with_key(data.type(), [&]<class K>() { return key_contender<K>(sort, data); });
    }
    using spansort::key_type;
    using u32 = std::uint32_t;
    using u64 = std::uint64_t;
    if (data.type() == key_type::u32 && data.value_bytes() == 4) {
      return pair_contender<pair_record<u32, u32>, u32>(sort, data);
    }
    if (data.type() == key_type::u64 && data.value_bytes() == 8) {
      return pair_contender<pair_record<u64, u64>, u64>(sort, data);
    }
    throw spansort::invalid_argument("the baselines' pairs are compiled for u32(u32) and u64(u64)");
  };
  return {name, "cpu", "host", make};
}

/// Each file beside this one adds what it has, those of Boost and IPS4o nothing where these are not installed.
void add_gnu_parallel(std::vector<candidate>& to);
void add_standard_sorts(std::vector<candidate>& to);
void add_vqsort(std::vector<candidate>& to);
void add_boost(std::vector<candidate>& to);
void add_ips4o(std::vector<candidate>& to);

}  // namespace bench
