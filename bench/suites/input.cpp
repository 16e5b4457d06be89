// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/input.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <spansort/errors.hpp>
#include <string>

#include "bench/suites/fill_keys.hpp"
#include "bench/suites/gpu/gpu.hpp"
#include "bench/suites/verify.hpp"

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

/// Values are places within the array of `num_keys` that they are in.
template <class V>
void fill_places(void* values, std::uint64_t count, std::uint64_t num_keys) {
  tbb::parallel_for(range(0, count, grain), [=](const range& part) {
    for (std::uint64_t i = part.begin(); i != part.end(); ++i)
      static_cast<V*>(values)[i] = static_cast<V>(i % num_keys);
  });
}

}  // namespace

record_type parse_record_type(const std::string& type) {
  constexpr std::string_view argsort = "argsort(";
  const std::size_t open = type.find('(');
  if (open == std::string::npos) return {spansort::parse_key_type(type), 0, false};
  const std::string inner = type.substr(open + 1, type.size() - open - 2);
  if (type.starts_with(argsort)) return {spansort::parse_key_type(inner), sizeof(std::uint64_t), true};
  return {spansort::parse_key_type(type.substr(0, open)), spansort::size_bytes(spansort::parse_key_type(inner)), false};
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
  type_ = parse_record_type(spec.type);
  num_keys_ = spec.num_keys;
  num_arrays_ = spec.num_arrays;
  original_.grow(size_bytes(), false);
  work_.grow(size_bytes(), pinned);
  fill_keys({type_.key, original_.get(), num_keys_ * num_arrays_}, num_keys_, spec.distribution, seed);
  void* const values = values_in(original_.get());
  const std::uint64_t count = num_keys_ * num_arrays_;
  if (type_.value_bytes == 4) fill_places<std::uint32_t>(values, count, num_keys_);
  if (type_.value_bytes == 8) fill_places<std::uint64_t>(values, count, num_keys_);
  checksum_ = checksum_of(original_.get());
  sums_ = sums_of(original_.get());
}

void* input::values_in(void* of) const {
  return type_.value_bytes == 0 ? nullptr : static_cast<char*>(of) + num_keys_ * num_arrays_ * key_bytes();
}

void input::restore() {
  constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 22;
  const char* const from = static_cast<const char*>(original_.get());
  char* const to = static_cast<char*>(work_.get());
  const std::uint64_t wanted_bytes = is_argsort() ? num_keys_ * num_arrays_ * key_bytes() : size_bytes();
  if (wanted_bytes <= piece_bytes) {
    std::memcpy(to, from, wanted_bytes);
    return;
  }
  tbb::parallel_for(range(0, wanted_bytes, piece_bytes),
                    [=](const range& part) { std::memcpy(to + part.begin(), from + part.begin(), part.size()); });
}

bool input::holds_result(bool stable) {
  if (is_argsort() && !take_keys_by_indices()) return false;
  const sorted_arrays result{.type = type_.key,
                             .keys = work_.get(),
                             .values = values_in(work_.get()),
                             .value_bytes = type_.value_bytes,
                             .num_keys = num_keys_,
                             .num_arrays = num_arrays_};
  return are_in_order(result, stable && type_.value_bytes != 0) && checksum_of(work_.get()) == checksum_ &&
         sums_of(work_.get()) == sums_;
}

/// Writes to the work array the keys that an argsort's indices name. Returns false where one names none.
bool input::take_keys_by_indices() {
  const auto* const indices = static_cast<const std::uint64_t*>(values_in(work_.get()));
  return take_keys(original_.get(), indices, work_.get(), key_bytes(), num_keys_, num_arrays_);
}

/// Returns the checksum of all arrays together.
spansort::multiset_checksum input::checksum_of(const void* of) const {
  const spansort::const_key_span keys(type_.key, of, num_keys_ * num_arrays_);
  if (type_.value_bytes == 0) return spansort::checksum(keys);
  const char* const values = static_cast<const char*>(of) + num_keys_ * num_arrays_ * key_bytes();
  return spansort::checksum_pairs(keys, values, type_.value_bytes);
}

/// Returns what shows keys that have changed from one array to another; nothing where there is only one.
std::vector<std::uint64_t> input::sums_of(const void* of) const {
  if (num_arrays_ == 1) return {};
  return key_sums({.type = type_.key, .keys = of, .num_keys = num_keys_, .num_arrays = num_arrays_});
}

}  // namespace bench
