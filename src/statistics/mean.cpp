// SPDX-License-Identifier: Apache-2.0
#include "statistics/mean.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/math.hpp"
#include "keys/dispatch.hpp"
#include "statistics/key_value.hpp"

namespace spansort::statistics {
namespace {

constexpr std::uint64_t block_keys = std::uint64_t{1} << 16;
__extension__ using wide = __int128;

template <class Sum>
struct part {
  Sum sum = 0;
  std::uint64_t count = 0;
};

/// One part a block, each by one thread.
template <class Sum, class Add>
std::vector<part<Sum>> sum_blocks(std::uint64_t num_keys, const Add& add) {
  std::vector<part<Sum>> parts(base::ceil_div(num_keys, block_keys));
  tbb::task_group_context own(tbb::task_group_context::isolated);
  tbb::parallel_for(
      std::size_t{0}, parts.size(),
      [&](std::size_t b) {
        const std::uint64_t begin = b * block_keys;
        parts[b] = add(begin, std::min(block_keys, num_keys - begin));
      },
      own);
  return parts;
}

template <class T>
double mean_of_integers(const T* keys, std::uint64_t num_keys) {
  const auto parts = sum_blocks<wide>(num_keys, [&](std::uint64_t begin, std::uint64_t count) {
    part<wide> p{0, count};
    if constexpr (sizeof(T) < 8) {
      std::int64_t sum = 0;  // of 2^16 keys of up to 32 bits
      for (std::uint64_t i = begin; i < begin + count; ++i) sum += static_cast<std::int64_t>(keys[i]);
      p.sum = sum;
    } else {
      for (std::uint64_t i = begin; i < begin + count; ++i) p.sum += keys[i];
    }
    return p;
  });
  wide sum = 0;
  for (const part<wide>& p : parts) sum += p.sum;
  // Whole part and rest apart: the quotient is rounded once.
  const auto divisor = static_cast<wide>(num_keys);
  const auto whole = static_cast<long double>(sum / divisor);
  const auto rest = static_cast<long double>(sum % divisor) / static_cast<long double>(num_keys);
  return static_cast<double>(whole + rest);
}

/// `number_at(i)` is key i; lanes keep the order of additions fixed and let the compiler use vectors.
template <class NumberAt>
double mean_of_numbers(std::uint64_t num_keys, const NumberAt& number_at) {
  constexpr unsigned lanes = 8;
  const auto parts = sum_blocks<double>(num_keys, [&](std::uint64_t begin, std::uint64_t count) {
    double sums[lanes] = {};
    std::uint64_t counts[lanes] = {};
    for (std::uint64_t i = 0; i < count; ++i) {
      const double number = number_at(begin + i);
      const bool is_number = number == number;
      sums[i % lanes] += is_number ? number : 0;
      counts[i % lanes] += is_number ? 1 : 0;
    }
    part<double> p;
    for (unsigned l = 0; l < lanes; ++l) {
      p.sum += sums[l];
      p.count += counts[l];
    }
    return p;
  });
  // Neumaier's compensated sum.
  double sum = 0;
  double lost = 0;
  std::uint64_t count = 0;
  for (const part<double>& p : parts) {
    const double next = sum + p.sum;
    lost += std::abs(sum) >= std::abs(p.sum) ? (sum - next) + p.sum : (p.sum - next) + sum;
    sum = next;
    count += p.count;
  }
  if (count == 0) return std::numeric_limits<double>::quiet_NaN();
  const double total = std::isfinite(sum) ? sum + lost : sum;  // of infinities the loss is NaN
  return total / static_cast<double>(count);
}

}  // namespace

double mean(const const_key_span& keys) {
  if (keys.num_keys == 0) return std::numeric_limits<double>::quiet_NaN();
  return keys::with_type(keys.type, [&]<class T>() {
    const T* const first = static_cast<const T*>(keys.data);
    if constexpr (std::is_integral_v<T>) {
      return mean_of_integers(first, keys.num_keys);
    } else if constexpr (std::is_floating_point_v<T>) {
      return mean_of_numbers(keys.num_keys, [=](std::uint64_t i) { return static_cast<double>(first[i]); });
    } else {
      return mean_of_numbers(keys.num_keys,
                             [first, type = keys.type](std::uint64_t i) { return key_value(type, first[i].bits); });
    }
  });
}

}  // namespace spansort::statistics
