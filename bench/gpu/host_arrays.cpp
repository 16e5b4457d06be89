// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/host_arrays.hpp"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <span>
#include <spansort/errors.hpp>
#include <spansort/generate.hpp>

#include "device/copy_parallel.hpp"

namespace bench {
namespace {

namespace cuda = spansort::device::cuda;
using range = tbb::blocked_range<std::uint64_t>;

constexpr std::uint64_t huge_page_bytes = std::uint64_t{1} << 21;

/// The address behind the keys where the values begin.
template <class Memory>
Memory* values_in(const host_input& input, Memory* work) {
  const std::uint64_t keys_bytes = input.num_keys * spansort::size_bytes(input.key_type());
  using byte = std::conditional_t<std::is_const_v<Memory>, const char, char>;
  return input.value_bytes() == 0 ? nullptr : static_cast<byte*>(work) + keys_bytes;
}

template <class V>
void write_places(void* values, std::uint64_t num_keys) {
  tbb::parallel_for(range(0, num_keys, std::uint64_t{1} << 16), [=](const range& part) {
    for (std::uint64_t i = part.begin(); i != part.end(); ++i) static_cast<V*>(values)[i] = static_cast<V>(i);
  });
}

template <class W>
power_sums sum_words(const void* data, std::uint64_t num_words) {
  const auto sum_part = [words = static_cast<const W*>(data)](const range& part, power_sums sums) {
    for (std::uint64_t i = part.begin(); i != part.end(); ++i) {
      const std::uint64_t word = words[i];
      sums.words += word;
      sums.squares += word * word;
    }
    return sums;
  };
  return tbb::parallel_reduce(range(0, num_words, std::uint64_t{1} << 16), power_sums{}, sum_part,
                              [](const power_sums& a, const power_sums& b) {
                                return power_sums{a.words + b.words, a.squares + b.squares};
                              });
}

/// Returns the power sums of words of 4 or 8 bytes, and zeros where there are none.
power_sums sum_words(const void* data, std::uint64_t num_words, std::uint64_t word_bytes) {
  if (data == nullptr) return {};
  return word_bytes == 4 ? sum_words<std::uint32_t>(data, num_words) : sum_words<std::uint64_t>(data, num_words);
}

/// Returns whether the positions of equal keys rise, as a stable sort leaves them.
template <class K, class V>
bool positions_rise_in_ties(const K* keys, const V* positions, std::uint64_t num_keys) {
  return tbb::parallel_reduce(
      range(1, std::max<std::uint64_t>(num_keys, 1), std::uint64_t{1} << 16), true,
      [=](const range& part, bool rise) {
        for (std::uint64_t i = part.begin(); i != part.end(); ++i) {
          rise = rise && (keys[i - 1] != keys[i] || positions[i - 1] < positions[i]);
        }
        return rise;
      },
      [](bool a, bool b) { return a && b; });
}

template <class K>
std::span<const K> as_span(spansort::const_key_span keys) {
  return {static_cast<const K*>(keys.data), keys.num_keys};
}

bool is_in_order(spansort::const_key_span keys) {
  switch (keys.type) {
    case spansort::key_type::u32: return spansort::is_sorted(as_span<std::uint32_t>(keys));
    case spansort::key_type::u64: return spansort::is_sorted(as_span<std::uint64_t>(keys));
    case spansort::key_type::f64: return spansort::is_sorted(as_span<double>(keys));
    default: return !spansort::check(keys).first_disorder;
  }
}

bool is_stable(const host_input& input, const void* keys, const void* positions) {
  const bool wide = spansort::size_bytes(input.key_type()) == 8;
  if (wide != (input.value_bytes() == 8)) throw spansort::invalid_argument(input.type + ": no check of its ties here");
  // Bits tell ties but for zeros of both signs and NaNs, and keys with values are integers here.
  if (wide) {
    return positions_rise_in_ties(static_cast<const std::uint64_t*>(keys), static_cast<const std::uint64_t*>(positions),
                                  input.num_keys);
  }
  return positions_rise_in_ties(static_cast<const std::uint32_t*>(keys), static_cast<const std::uint32_t*>(positions),
                                input.num_keys);
}

}  // namespace

void free_deleter::operator()(void* memory) const noexcept { std::free(memory); }

spansort::key_type host_input::key_type() const { return spansort::parse_key_type(type.substr(0, type.find('('))); }

std::uint64_t host_input::value_bytes() const {
  const std::size_t open = type.find('(');
  if (open == std::string::npos) return 0;
  return spansort::size_bytes(spansort::parse_key_type(type.substr(open + 1, type.size() - open - 2)));
}

std::uint64_t host_input::record_bytes() const { return spansort::size_bytes(key_type()) + value_bytes(); }

void sort_records(spansort::sorter& sorter, const host_input& input, void* work) {
  const spansort::key_span keys{input.key_type(), work, input.num_keys};
  if (input.value_bytes() == 0) {
    sorter.sort(keys);
  } else {
    sorter.sort_pairs(keys, values_in(input, work), input.value_bytes());
  }
}

host_arrays::pageable_memory host_arrays::allocate_pageable() const {
  const std::uint64_t size_bytes = (capacity_bytes_ + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
  pageable_memory memory(std::aligned_alloc(huge_page_bytes, size_bytes));
  if (memory == nullptr) throw spansort::out_of_memory("an array of the benchmark", size_bytes, 0);
  // Advice alone: without it the first touch of 8 GB takes seconds.
  static_cast<void>(madvise(memory.get(), size_bytes, MADV_HUGEPAGE));
  return memory;
}

void* host_arrays::pinned() {
  if (pinned_ == nullptr) pinned_ = cuda::allocate_pinned_memory(capacity_bytes_);
  return pinned_.get();
}

void* host_arrays::pageable() {
  if (pageable_ == nullptr) pageable_ = allocate_pageable();
  return pageable_.get();
}

void host_arrays::set_input(const host_input& input) {
  if (input_ == input) return;
  if (input.size_bytes() > capacity_bytes_) {
    throw spansort::out_of_memory("the arrays of the benchmark are too small", input.size_bytes(), capacity_bytes_);
  }
  if (original_ == nullptr) original_ = allocate_pageable();
  input_.reset();
  const spansort::key_span keys{input.key_type(), original_.get(), input.num_keys};
  spansort::generate(keys, spansort::parse_distribution(input.distribution), input.seed);
  void* const values = values_in(input, original_.get());
  if (input.value_bytes() == 4) write_places<std::uint32_t>(values, input.num_keys);
  if (input.value_bytes() == 8) write_places<std::uint64_t>(values, input.num_keys);
  checksum_ = spansort::checksum_pairs(keys, values, input.value_bytes());
  key_sums_ = sum_words(keys.data, input.num_keys, spansort::size_bytes(keys.type));
  value_sums_ = sum_words(values, input.num_keys, input.value_bytes());
  input_ = input;
}

void host_arrays::restore(void* work) { spansort::device::copy_parallel(work, original_.get(), input_->size_bytes()); }

bool host_arrays::looks_right(const void* work) const {
  const spansort::const_key_span keys(input_->key_type(), work, input_->num_keys);
  const std::uint64_t key_bytes = spansort::size_bytes(keys.type);
  return is_in_order(keys) && sum_words(work, keys.num_keys, key_bytes) == key_sums_ &&
         sum_words(values_in(*input_, work), keys.num_keys, input_->value_bytes()) == value_sums_;
}

bool host_arrays::holds_result(const void* work) const {
  const spansort::const_key_span keys(input_->key_type(), work, input_->num_keys);
  const spansort::check_result found = spansort::check(keys);
  if (found.first_disorder) return false;
  const void* const values = values_in(*input_, work);
  if (values == nullptr) return found.checksum == checksum_;
  return spansort::checksum_pairs(keys, values, input_->value_bytes()) == checksum_ && is_stable(*input_, work, values);
}

}  // namespace bench
