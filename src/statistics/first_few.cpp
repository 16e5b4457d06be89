// SPDX-License-Identifier: Apache-2.0
#include "statistics/first_few.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/for_blocks.hpp"
#include "base/math.hpp"
#include "keys/dispatch.hpp"
#include "spansort/sort.hpp"

namespace spansort::statistics {
namespace {

/// Fewer keys are sorted, all of them: a sample would take as long.
constexpr std::uint64_t least_sampled_keys = std::uint64_t{1} << 10;
/// All keys are sorted where the bound does not help and they are no more than these.
constexpr std::uint64_t most_sorted_keys = std::uint64_t{1} << 17;
/// One key in so many is sampled, between these numbers of keys.
constexpr std::uint64_t keys_of_a_sampled_one = 32;
constexpr std::uint64_t least_sample = 64;
constexpr std::uint64_t most_sample = 1024;
/// More than this part of the keys is not collected, or where others tie with the last of them, more than that one.
constexpr std::uint64_t collected_part = 4;
constexpr std::uint64_t most_collected_part = 3;
/// Fewer keys are read in less time than it takes to wake threads.
constexpr std::uint64_t keys_of_read_block = std::uint64_t{1} << 16;

std::uint64_t num_sampled_of(std::uint64_t num_keys) {
  return std::clamp(num_keys / keys_of_a_sampled_one, least_sample, most_sample);
}

/// Returns the place in a sorted sample behind which the first `count` keys do not reach but by bad luck: three
/// deviations more than where they are expected to end.
std::uint64_t place_of_bound(std::uint64_t count, std::uint64_t num_sampled, std::uint64_t num_keys) {
  const double expected = static_cast<double>(count) * static_cast<double>(num_sampled) / static_cast<double>(num_keys);
  return static_cast<std::uint64_t>(expected + 3 * std::sqrt(expected)) + 3;
}

sort_options options_of(unsigned threads) {
  sort_options options;
  options.devices = device_list::cpu();
  options.threads = threads;
  return options;
}

template <class K>
class first_search {
 public:
  first_search(const const_key_span& keys, const keys::key_codec& codec)
      : keys_(static_cast<const K*>(keys.data)), num_keys_(keys.num_keys), codec_(codec), encoder_(codec.of<K>()) {}

  /// Returns the positions, ascending, of all keys up to a bound that is not before the `count`-th in order, with its
  /// ties; nothing where a sample cannot tell it, or is wrong.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> collect(std::uint64_t count) const {
    if (num_keys_ < least_sampled_keys) return std::nullopt;
    const std::uint64_t num_sampled = num_sampled_of(num_keys_);
    const std::uint64_t place = place_of_bound(count, num_sampled, num_keys_);
    if (place >= num_sampled / collected_part) return std::nullopt;
    const std::optional<K> bound = bound_in_sample(place, num_sampled);
    if (!bound) return std::nullopt;
    const K high = *bound;
    std::vector<std::vector<std::uint64_t>> shares(base::ceil_div(num_keys_, keys_of_read_block));
    std::atomic<std::uint64_t> num_collected{0};
    base::for_blocks(
        num_keys_,
        [&](std::uint64_t begin, std::uint64_t end) {
          collect_block(begin, end, high, shares[begin / keys_of_read_block], num_collected);
        },
        keys_of_read_block);
    if (num_collected > most_collected()) return std::nullopt;
    std::vector<std::uint64_t> positions = std::move(shares.front());
    positions.reserve(num_collected);
    for (std::size_t b = 1; b < shares.size(); ++b) {
      positions.insert(positions.end(), shares[b].begin(), shares[b].end());
    }
    if (positions.size() < count) return std::nullopt;
    return positions;
  }

  [[nodiscard]] std::vector<std::byte> keys_at(const std::vector<std::uint64_t>& positions) const {
    std::vector<std::byte> found(positions.size() * sizeof(K));
    for (std::size_t i = 0; i < positions.size(); ++i) {
      std::memcpy(found.data() + i * sizeof(K), &keys_[positions[i]], sizeof(K));
    }
    return found;
  }

 private:
  /// The sample is wrong where more would be collected.
  [[nodiscard]] std::uint64_t most_collected() const { return num_keys_ / 2; }

  /// Returns the last tie of a key of the sorted sample; nothing where so much of the sample is before it or ties with
  /// it that it would not be worth collecting.
  [[nodiscard]] std::optional<K> bound_in_sample(std::uint64_t place, std::uint64_t num_sampled) const {
    // One key of each of equal parts, not always at the same place in it: data may have a period.
    const std::uint64_t part = num_keys_ / num_sampled;
    constexpr std::uint64_t multiplier = 2'654'435'761;
    std::vector<K> sample(num_sampled);
    for (std::uint64_t i = 0; i < num_sampled; ++i) {
      sample[i] = encoder_.encode_bits(keys_[i * part + (i * multiplier >> 7) % part]);
    }
    const auto at = sample.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(sample.begin(), at, sample.end());
    const K high = last_tie(*at);
    const auto num_before =
        static_cast<std::uint64_t>(std::ranges::count_if(sample, [&](K key) { return key <= high; }));
    if (num_before > num_sampled / most_collected_part) return std::nullopt;
    return high;
  }

  /// Returns the last encoding that compares equal to one.
  [[nodiscard]] K last_tie(K encoded) const {
    if (!keys::is_float(codec_.type)) return encoded;
    const K sign = static_cast<K>(encoder_.magnitude_mask + 1);
    const K last_number = encoder_.encode_bits(codec_.descending ? encoder_.infinity | sign : encoder_.infinity);
    if (encoded > last_number) return std::numeric_limits<K>::max();
    const K zero = encoder_.encode_bits(0);
    const K negative_zero = encoder_.encode_bits(sign);
    return encoded == std::min(zero, negative_zero) ? std::max(zero, negative_zero) : encoded;
  }

  /// Gives up where all blocks together have collected too much.
  void collect_block(std::uint64_t begin, std::uint64_t end, K high, std::vector<std::uint64_t>& positions,
                     std::atomic<std::uint64_t>& num_collected) const {
    std::array<std::uint64_t, 1024> some;
    while (begin < end && num_collected.load(std::memory_order_relaxed) <= most_collected()) {
      const std::uint64_t until = std::min(end, begin + some.size());
      std::size_t num = 0;
      for (; begin < until; ++begin) {
        // A branch would be foretold wrong at most keys that are collected.
        some[num] = begin;
        num += encoder_.encode_bits(keys_[begin]) <= high ? 1 : 0;
      }
      positions.insert(positions.end(), some.data(), some.data() + num);
      num_collected.fetch_add(num, std::memory_order_relaxed);
    }
  }

  const K* keys_;
  std::uint64_t num_keys_;
  const keys::key_codec& codec_;
  keys::codec_of<K> encoder_;
};

/// Returns the stable order of few keys.
std::vector<std::uint32_t> order_of(const const_key_span& keys, const keys::key_codec& codec, unsigned threads) {
  std::vector<std::uint32_t> order(keys.num_keys);
  argsort(keys, order.data(), sizeof(order[0]), keys::direction_of(codec.descending), options_of(threads));
  return order;
}

}  // namespace

std::uint64_t count_numbers(const const_key_span& keys) {
  if (!keys::is_float(keys.type)) return keys.num_keys;
  const keys::key_codec codec{keys.type, false, keys::tie_rule::by_bits};
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    const keys::codec_of<K> bits = codec.of<K>();
    const K* const first = static_cast<const K*>(keys.data);
    std::atomic<std::uint64_t> num_numbers{0};
    base::for_blocks(
        keys.num_keys,
        [&](std::uint64_t begin, std::uint64_t end) {
          const auto is_number = [&](K key) { return static_cast<K>(key & bits.magnitude_mask) <= bits.infinity; };
          num_numbers += static_cast<std::uint64_t>(std::count_if(first + begin, first + end, is_number));
        },
        keys_of_read_block);
    return num_numbers.load();
  });
}

bool may_find_first(std::uint64_t num_keys, std::uint64_t count) {
  if (num_keys <= most_sorted_keys) return true;
  const std::uint64_t num_sampled = num_sampled_of(num_keys);
  return place_of_bound(std::min(count, num_keys), num_sampled, num_keys) < num_sampled / collected_part;
}

std::optional<std::vector<std::byte>> find_first_keys(const const_key_span& keys, const keys::key_codec& codec,
                                                      std::uint64_t count, unsigned threads) {
  if (count == 0) return std::vector<std::byte>();
  return keys::with_width(codec.width_bytes(), [&]<class K>() -> std::optional<std::vector<std::byte>> {
    const first_search<K> search(keys, codec);
    std::vector<std::byte> found;
    if (const auto positions = search.collect(count)) {
      found = search.keys_at(*positions);
    } else if (keys.num_keys <= most_sorted_keys) {
      const auto* const first = static_cast<const std::byte*>(keys.data);
      found.assign(first, first + keys.num_keys * sizeof(K));
    } else {
      return std::nullopt;
    }
    sort(key_span{keys.type, found.data(), found.size() / sizeof(K)}, keys::direction_of(codec.descending),
         options_of(threads));
    // A vector of the answer's size: this one may have room for many more keys.
    return std::vector<std::byte>(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count * sizeof(K)));
  });
}

std::optional<std::vector<std::uint64_t>> find_first_indices(const const_key_span& keys, const keys::key_codec& codec,
                                                             std::uint64_t count, unsigned threads) {
  if (count == 0) return std::vector<std::uint64_t>();
  return keys::with_width(codec.width_bytes(), [&]<class K>() -> std::optional<std::vector<std::uint64_t>> {
    const first_search<K> search(keys, codec);
    // Positions ascend, so a stable order of the keys there has the earlier of equals first.
    if (std::optional<std::vector<std::uint64_t>> positions = search.collect(count)) {
      const std::vector<std::byte> found = search.keys_at(*positions);
      const std::vector<std::uint32_t> order = order_of({keys.type, found.data(), positions->size()}, codec, threads);
      std::vector<std::uint64_t> first(count);
      for (std::uint64_t i = 0; i < count; ++i) first[i] = (*positions)[order[i]];
      return first;
    }
    if (keys.num_keys > most_sorted_keys) return std::nullopt;
    const std::vector<std::uint32_t> order = order_of(keys, codec, threads);
    return std::vector<std::uint64_t>(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
  });
}

}  // namespace spansort::statistics
