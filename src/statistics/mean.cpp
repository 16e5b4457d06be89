// SPDX-License-Identifier: Apache-2.0
#include "statistics/mean.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/math.hpp"
#include "device/block_sums.hpp"
#include "keys/dispatch.hpp"
#include "statistics/take_sample.hpp"

namespace spansort::statistics {
namespace {

using device::block_sum;
using device::sum_block_keys;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
__extension__ using wide = __int128;

/// Neumaier's compensated sum.
void add(double number, number_total& to) {
  const double next = to.of_floats + number;
  to.lost +=
      std::abs(to.of_floats) >= std::abs(number) ? (to.of_floats - next) + number : (number - next) + to.of_floats;
  to.of_floats = next;
}

wide integer_of(const number_total& total) { return (wide{total.high} << 64) + total.low; }

number_total total_of_blocks(std::span<const block_sum> sums) {
  number_total total;
  for (const block_sum& s : sums) add_to(total, s);
  return total;
}

double mean_of_integers(wide sum, std::uint64_t count) {
  // Whole part and rest apart: the quotient is rounded once.
  const auto divisor = static_cast<wide>(count);
  const auto whole = static_cast<long double>(sum / divisor);
  const auto rest = static_cast<long double>(sum % divisor) / static_cast<long double>(count);
  return static_cast<double>(whole + rest);
}

/// Keys of a chunk whose block goes on in another, or begins there.
struct remnant {
  const key_chunk* chunk = nullptr;
  std::uint64_t begin = 0;  ///< among all keys
  std::uint64_t count = 0;
  const void* keys = nullptr;
};

/// Keys of all chunks by blocks: those that are whole in a chunk are its device's to sum, the others are remnants.
class block_division {
 public:
  block_division(key_type type, std::span<const key_chunk> chunks)
      : type_(type), chunks_(chunks), sums_(base::ceil_div(num_keys_of(chunks), sum_block_keys)) {}

  [[nodiscard]] std::span<const block_sum> run() {
    const std::uint64_t num_keys = num_keys_of(chunks_);
    queued_work work(chunks_);
    std::uint64_t begin = 0;
    for (const key_chunk& c : chunks_) {
      const std::uint64_t end = begin + c.num_keys;
      const std::uint64_t first = std::min(end, base::round_up(begin, sum_block_keys));
      // The last block of all may be short.
      const std::uint64_t last = std::max(first, end == num_keys ? end : end / sum_block_keys * sum_block_keys);
      add_remnant(c, begin, begin, first);
      if (first != last) queue_sums(c, first - begin, last - first, first / sum_block_keys);
      add_remnant(c, begin, last, end);
      begin = end;
    }
    bring_remnants();
    work.finish();
    sum_remnants();
    return sums_;
  }

 private:
  [[nodiscard]] const void* key_at(const key_chunk& chunk, std::uint64_t index) const {
    return static_cast<const char*>(chunk.keys) + index * size_bytes(type_);
  }

  void queue_sums(const key_chunk& chunk, std::uint64_t index, std::uint64_t count, std::uint64_t block) {
    chunk.queue->sum_blocks(
        {.type = type_, .keys = key_at(chunk, index), .num_keys = count, .sums = sums_.data() + block});
  }

  void add_remnant(const key_chunk& chunk, std::uint64_t chunk_begin, std::uint64_t begin, std::uint64_t end) {
    if (begin == end) return;
    remnants_.push_back({&chunk, begin, end - begin, key_at(chunk, begin - chunk_begin)});
    num_remaining_ += end - begin;
  }

  void bring_remnants() {
    remaining_.resize(num_remaining_ * size_bytes(type_));
    char* to = remaining_.data();
    for (const remnant& r : remnants_) {
      r.chunk->queue->copy(to, r.keys, r.count * size_bytes(type_), "remnant");
      to += r.count * size_bytes(type_);
    }
  }

  /// A block's remnants lie next to each other, and are all of it.
  void sum_remnants() {
    const char* from = remaining_.data();
    for (std::size_t i = 0; i < remnants_.size();) {
      const std::uint64_t block = remnants_[i].begin / sum_block_keys;
      std::uint64_t count = 0;
      for (; i < remnants_.size() && remnants_[i].begin / sum_block_keys == block; ++i) count += remnants_[i].count;
      sums_[block] = keys::with_type(
          type_, [&]<class T>() { return device::sum_of_block(reinterpret_cast<const T*>(from), count); });
      from += count * size_bytes(type_);
    }
  }

  key_type type_;
  std::span<const key_chunk> chunks_;
  std::vector<block_sum> sums_;
  std::vector<remnant> remnants_;
  std::uint64_t num_remaining_ = 0;
  std::vector<char> remaining_;
};

}  // namespace

void add_to(number_total& total, const block_sum& block) {
  const wide integers = integer_of(total) + (wide{block.high} << 32) + block.low;
  total.high = static_cast<std::int64_t>(integers >> 64);
  total.low = static_cast<std::uint64_t>(integers);
  add(block.of_floats, total);
  total.num_numbers += block.num_numbers;
}

double mean(const const_key_span& keys) {
  std::vector<block_sum> sums(base::ceil_div(keys.num_keys, sum_block_keys));
  keys::with_type(keys.type, [&]<class T>() {
    tbb::task_group_context own(tbb::task_group_context::isolated);
    tbb::parallel_for(
        std::size_t{0}, sums.size(),
        [&](std::size_t b) {
          const std::uint64_t begin = b * sum_block_keys;
          sums[b] = device::sum_of_block(static_cast<const T*>(keys.data) + begin,
                                         std::min(sum_block_keys, keys.num_keys - begin));
        },
        own);
  });
  const number_total total = total_of_blocks(sums);
  return mean_of(keys.type, {&total, 1});
}

double mean(key_type type, std::span<const key_chunk> chunks) {
  const number_total total = total_of(type, chunks);
  return mean_of(type, {&total, 1});
}

number_total total_of(key_type type, std::span<const key_chunk> chunks) {
  return total_of_blocks(block_division(type, chunks).run());
}

double mean_of(key_type type, std::span<const number_total> totals) {
  wide integers = 0;
  number_total all;
  for (const number_total& t : totals) {
    integers += integer_of(t);
    add(t.of_floats, all);
    all.lost += t.lost;
    all.num_numbers += t.num_numbers;
  }
  if (all.num_numbers == 0) return nan;
  if (!keys::is_float(type)) return mean_of_integers(integers, all.num_numbers);
  // Of infinities the loss is NaN.
  const double sum = std::isfinite(all.of_floats) ? all.of_floats + all.lost : all.of_floats;
  return sum / static_cast<double>(all.num_numbers);
}

}  // namespace spansort::statistics
