// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/input.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <spansort/errors.hpp>
#include <spansort/generate.hpp>
#include <string>

#include "bench/suites/gpu/gpu.hpp"

namespace bench {
namespace {

using range = tbb::blocked_range<std::uint64_t>;

constexpr std::uint64_t grain = std::uint64_t{1} << 16;
constexpr std::uint64_t alignment = 4096;

host_memory allocate(std::uint64_t size_bytes, bool pinned) {
  if (pinned) return allocate_pinned(size_bytes);
  void* const memory = std::aligned_alloc(alignment, size_bytes);
  if (memory == nullptr) throw spansort::out_of_memory("an array of the benchmark", size_bytes, 0);
  return {memory, std::free};
}

template <class W>
void keep_low_bits(void* words, std::uint64_t count, unsigned bits) {
  const W mask = bits >= 8 * sizeof(W) ? ~W{0} : static_cast<W>((W{1} << bits) - 1);
  tbb::parallel_for(range(0, count, grain), [=](const range& part) {
    for (std::uint64_t i = part.begin(); i != part.end(); ++i) static_cast<W*>(words)[i] &= mask;
  });
}

void fill_keys(spansort::key_span keys, const std::string& distribution, std::uint64_t seed) {
  constexpr std::string_view bits_prefix = "bits:";
  if (!distribution.starts_with(bits_prefix)) {
    return spansort::generate(keys, spansort::parse_distribution(distribution), seed);
  }
  unsigned bits = 0;
  const std::string_view number = std::string_view(distribution).substr(bits_prefix.size());
  std::from_chars(number.data(), number.data() + number.size(), bits);
  spansort::generate(keys, spansort::parse_distribution("uniform"), seed);
  if (spansort::size_bytes(keys.type) == 4) keep_low_bits<std::uint32_t>(keys.data, keys.num_keys, bits);
  if (spansort::size_bytes(keys.type) == 8) keep_low_bits<std::uint64_t>(keys.data, keys.num_keys, bits);
}

template <class V>
void fill_places(void* values, std::uint64_t count) {
  tbb::parallel_for(range(0, count, grain), [=](const range& part) {
    for (std::uint64_t i = part.begin(); i != part.end(); ++i) static_cast<V*>(values)[i] = static_cast<V>(i);
  });
}

}  // namespace

std::uint64_t value_bytes_of(const std::string& type) {
  const std::size_t open = type.find('(');
  if (open == std::string::npos) return 0;
  return spansort::size_bytes(spansort::parse_key_type(type.substr(open + 1, type.size() - open - 2)));
}

std::uint64_t record_bytes_of(const std::string& type) {
  return spansort::size_bytes(spansort::parse_key_type(type.substr(0, type.find('(')))) + value_bytes_of(type);
}

void input::array::grow(std::uint64_t wanted_bytes, bool pinned) {
  const std::uint64_t padded = std::max<std::uint64_t>((wanted_bytes + alignment - 1) / alignment, 1) * alignment;
  if (size_bytes >= padded && is_pinned == pinned) return;
  *this = {};  // gives the old memory back first
  memory = allocate(padded, pinned);
  size_bytes = padded;
  is_pinned = pinned;
}

void input::load(const case_spec& spec, std::uint64_t seed, bool pinned) {
  on_gpus_.clear();
  type_ = spansort::parse_key_type(spec.type.substr(0, spec.type.find('(')));
  num_keys_ = spec.num_keys;
  value_bytes_ = value_bytes_of(spec.type);
  original_.grow(size_bytes(), false);
  work_.grow(size_bytes(), pinned);
  fill_keys({type_, original_.get(), num_keys_}, spec.distribution, seed);
  void* const values = values_in(original_.get());
  if (value_bytes_ == 4) fill_places<std::uint32_t>(values, num_keys_);
  if (value_bytes_ == 8) fill_places<std::uint64_t>(values, num_keys_);
  checksum_ = checksum_of(original_.get());
}

void* input::values_in(void* of) const {
  return value_bytes_ == 0 ? nullptr : static_cast<char*>(of) + num_keys_ * key_bytes();
}

void input::restore() {
  constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 22;
  const char* const from = static_cast<const char*>(original_.get());
  char* const to = static_cast<char*>(work_.get());
  tbb::parallel_for(range(0, size_bytes(), piece_bytes),
                    [=](const range& part) { std::memcpy(to + part.begin(), from + part.begin(), part.size()); });
}

bool input::holds_result() const {
  const spansort::check_result found = spansort::check({type_, work_.get(), num_keys_});
  if (found.first_disorder) return false;
  return (value_bytes_ == 0 ? found.checksum : checksum_of(work_.get())) == checksum_;
}

spansort::multiset_checksum input::checksum_of(const void* of) const {
  const spansort::const_key_span keys(type_, of, num_keys_);
  if (value_bytes_ == 0) return spansort::checksum(keys);
  return spansort::checksum_pairs(keys, static_cast<const char*>(of) + num_keys_ * key_bytes(), value_bytes_);
}

}  // namespace bench
