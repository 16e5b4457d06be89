// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/contenders.hpp"

#include <hwy/contrib/sort/vqsort.h>
#include <oneapi/tbb/parallel_sort.h>
#include <parallel/algorithm>
#include <spansort/spansort.hpp>

#include <algorithm>
#include <boost/sort/sort.hpp>
#include <execution>
#include <memory>
#include <span>

namespace bench {
namespace {

template <class T>
bool is_in_order(const std::vector<T>& data) {
  return std::is_sorted(data.begin(), data.end());
}

/// One array of keys, or of packed pairs, that a contender sorts in place.
template <class T>
struct work_array {
  std::shared_ptr<const std::vector<T>> original;
  std::shared_ptr<std::vector<T>> work;
  std::function<spansort::multiset_checksum(const std::vector<T>&)> checksum;

  [[nodiscard]] contender make(std::string name, bool is_stable, std::function<void(std::vector<T>&)> sort) const {
    contender c;
    c.name = std::move(name);
    c.is_stable = is_stable;
    c.prepare = [self = *this] { std::copy(self.original->begin(), self.original->end(), self.work->begin()); };
    c.run = [self = *this, sort = std::move(sort)] { sort(*self.work); };
    c.verify = [self = *this] {
      return is_in_order(*self.work) && self.checksum(*self.work) == self.checksum(*self.original);
    };
    return c;
  }
};

template <class T>
void add_comparison_sorts(std::vector<contender>& to, const work_array<T>& data) {
  to.push_back(data.make("std::sort", false, [](auto& v) { std::sort(v.begin(), v.end()); }));
  to.push_back(data.make("std::sort(par)", false, [](auto& v) { std::sort(std::execution::par, v.begin(), v.end()); }));
  to.push_back(data.make("tbb::parallel_sort", false, [](auto& v) { tbb::parallel_sort(v.begin(), v.end()); }));
  to.push_back(data.make("__gnu_parallel::sort", false, [](auto& v) { __gnu_parallel::sort(v.begin(), v.end()); }));
  to.push_back(data.make("boost block_indirect_sort", false,
                         [](auto& v) { boost::sort::block_indirect_sort(v.begin(), v.end()); }));
  to.push_back(data.make("boost parallel_stable_sort", true,
                         [](auto& v) { boost::sort::parallel_stable_sort(v.begin(), v.end()); }));
}

template <class K>
std::vector<K> generated(const case_input& input) {
  std::vector<K> keys(input.num_keys);
  spansort::generate(spansort::as_key_span(std::span(keys)), spansort::parse_distribution(input.distribution),
                     input.seed);
  return keys;
}

struct spansort_variant {
  const char* name;
  const char* devices;
  const char* algorithm;
  bool keeps_buffers;
};
constexpr spansort_variant variants[] = {{"spansort, reused sorter", "cpu", "auto", true},
                                         {"spansort, one call", "cpu", "auto", false},
                                         {"spansort rmg host:2", "host:2", "rmg", true}};

/// A function that calls `sort(sorter)`, with a sorter of its own each time or one kept.
std::function<void()> calling(const spansort_variant& variant, std::function<void(spansort::sorter&)> sort) {
  const spansort::sort_options options{.devices = variant.devices,
                                       .algorithm = spansort::parse_algorithm(variant.algorithm)};
  if (!variant.keeps_buffers) {
    return [=] {
      spansort::sorter s(options);
      sort(s);
    };
  }
  return [s = std::make_shared<spansort::sorter>(options), sort = std::move(sort)] { sort(*s); };
}

template <class K>
std::vector<contender> key_contenders(const case_input& input, bool with_peers) {
  work_array<K> data;
  data.original = std::make_shared<const std::vector<K>>(generated<K>(input));
  data.work = std::make_shared<std::vector<K>>(input.num_keys);
  data.checksum = [](const std::vector<K>& v) { return spansort::checksum(spansort::as_const_key_span(std::span(v))); };
  std::vector<contender> contenders;
  for (const spansort_variant& variant : variants) {
    contender c = data.make(variant.name, true, {});
    c.run = calling(variant, [work = data.work](spansort::sorter& s) { s.sort(*work); });
    contenders.push_back(std::move(c));
  }
  if (!with_peers) return contenders;
  contenders.push_back(data.make("hwy vqsort (1 thread)", false, [sorter = std::make_shared<hwy::Sorter>()](auto& v) {
    (*sorter)(v.data(), v.size(), hwy::SortAscending());
  }));
  add_comparison_sorts(contenders, data);
  return contenders;
}

/// Spansort's side of a pair benchmark: two arrays.
template <class K>
struct pair_arrays {
  std::vector<K> keys;
  std::vector<K> values;
};

template <class K>
contender pair_contender(const spansort_variant& variant, const std::shared_ptr<const std::vector<K>>& keys,
                         const std::shared_ptr<pair_arrays<K>>& work) {
  const auto checksum = [](const std::vector<K>& k, const std::vector<K>& v) {
    return spansort::checksum_pairs(spansort::as_const_key_span(std::span(k)), v.data(), sizeof(K));
  };
  contender c;
  c.name = variant.name;
  c.is_stable = true;
  c.prepare = [=] {
    std::copy(keys->begin(), keys->end(), work->keys.begin());
    for (std::size_t i = 0; i < work->values.size(); ++i) work->values[i] = static_cast<K>(i);
  };
  c.run = calling(variant, [=](spansort::sorter& s) { s.sort_pairs(work->keys, work->values); });
  c.verify = [=] {
    std::vector<K> values(keys->size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<K>(i);
    return is_in_order(work->keys) && checksum(work->keys, work->values) == checksum(*keys, values);
  };
  return c;
}

template <class K>
std::vector<contender> pair_contenders(const case_input& input, bool with_peers) {
  using record = pair_record<K, K>;
  const auto keys = std::make_shared<const std::vector<K>>(generated<K>(input));
  const auto work = std::make_shared<pair_arrays<K>>();
  work->keys.resize(keys->size());
  work->values.resize(keys->size());
  std::vector<contender> contenders;
  for (const spansort_variant& variant : variants) contenders.push_back(pair_contender(variant, keys, work));
  if (!with_peers) return contenders;

  work_array<record> data;
  std::vector<record> records(keys->size());
  for (std::size_t i = 0; i < records.size(); ++i) records[i] = {(*keys)[i], static_cast<K>(i)};
  data.original = std::make_shared<const std::vector<record>>(std::move(records));
  data.work = std::make_shared<std::vector<record>>(keys->size());
  // As unsigned words with the value as key and the whole record beside it: any lost or mixed pair shows.
  data.checksum = [](const std::vector<record>& v) {
    std::vector<K> k(v.size());
    std::ranges::transform(v, k.begin(), &record::key);
    return spansort::checksum_pairs(spansort::as_const_key_span(std::span<const K>(k)), v.data(), sizeof(record));
  };
  add_comparison_sorts(contenders, data);
  return contenders;
}

}  // namespace

std::vector<contender> make_contenders(const case_input& input, bool with_peers) {
  if (input.type == "u32(u32)") return pair_contenders<std::uint32_t>(input, with_peers);
  if (input.type == "u64(u64)") return pair_contenders<std::uint64_t>(input, with_peers);
  if (input.type == "u32") return key_contenders<std::uint32_t>(input, with_peers);
  if (input.type == "u64") return key_contenders<std::uint64_t>(input, with_peers);
  if (input.type == "f32") return key_contenders<float>(input, with_peers);
  if (input.type == "f64") return key_contenders<double>(input, with_peers);
  throw spansort::invalid_argument("unknown benchmark type '" + input.type +
                                   "'; known: u32 u64 f32 f64 u32(u32) u64(u64)");
}

}  // namespace bench
