// SPDX-License-Identifier: Apache-2.0
#include "api/chunked_keys.hpp"

#include <algorithm>
#include <cmath>

#include "api/device_list.hpp"
#include "base/assert.hpp"
#include "base/math.hpp"
#include "keys/dispatch.hpp"
#include "spansort/errors.hpp"
#include "statistics/key_value.hpp"

namespace spansort::api {
namespace {

/// Below, waking threads takes longer than the reading.
constexpr std::uint64_t keys_worth_threads = std::uint64_t{1} << 15;

}  // namespace

chunked_keys::chunked_keys(const_key_span keys, const std::string& devices)
    : keys_(keys), codec_{keys.type, false, keys::tie_rule::by_bits} {
  const device_list list = parse_device_list(devices);
  if (!list.gpus.empty()) {
    throw invalid_argument("order statistics on '" + devices + "': keys in host memory are read by CPUs");
  }
  if (list.count == 0 && keys.num_keys < keys_worth_threads) {
    ranks_.push_back(algorithms::make_rank(open_calling_thread({}, {})));
  } else {
    ranks_ = open_ranks(list, {.across_nodes = true});
  }
  const std::uint64_t count = ranks_.size();
  const std::uint64_t each = keys.num_keys / count;
  const std::uint64_t longer = keys.num_keys % count;
  for (std::uint64_t r = 0; r < count; ++r) {
    const std::uint64_t begin = r * each + std::min(r, longer);
    const void* const first = static_cast<const char*>(keys.data) + begin * codec_.width_bytes();
    chunks_.push_back({ranks_[r].device.get(), ranks_[r].queue.get(), first, each + (r < longer ? 1 : 0)});
    ranks_[r].device->prepare();
  }
}

double chunked_keys::value_of(std::uint64_t encoded) const {
  return keys::with_width(codec_.width_bytes(), [&]<class K>() {
    return statistics::key_value(keys_.type, codec_.of<K>().decode(static_cast<K>(encoded)));
  });
}

key_border chunked_keys::first_nan() const {
  if (!keys::is_float(keys_.type)) return {0, true};
  const keys::float_format format = keys::format_of(keys_.type);
  const std::uint64_t infinity = base::low_mask(format.exponent_bits) << format.mantissa_bits;
  return {keys::encode_at(codec_, &infinity, 0) + 1, false};
}

key_border chunked_keys::find(double number, bool or_equal) const {
  // Encodings ascend with the numbers that they stand for, so the border is found by halving.
  const key_border end = first_nan();
  std::uint64_t low = 0;
  std::uint64_t last = end.is_end ? base::low_mask(codec_.key_bits()) : end.encoded - 1;
  const auto is_behind = [&](std::uint64_t encoded) {
    const double value = value_of(encoded);
    return or_equal ? value >= number : value > number;
  };
  if (!is_behind(last)) return end;
  while (low < last) {
    const std::uint64_t middle = low + (last - low) / 2;
    if (is_behind(middle)) {
      last = middle;
    } else {
      low = middle + 1;
    }
  }
  return {low, false};
}

key_border chunked_keys::at_least(double number) const { return find(number, true); }
key_border chunked_keys::above(double number) const { return find(number, false); }

std::vector<double> chunked_keys::at(const std::vector<std::uint64_t>& ranks) const {
  std::vector<double> values;
  for (const std::uint64_t bits : statistics::select_keys(codec_, chunks_, ranks)) {
    values.push_back(statistics::key_value(keys_.type, bits));
  }
  return values;
}

std::vector<std::uint64_t> chunked_keys::count_before(const std::vector<key_border>& borders) const {
  std::vector<std::uint64_t> splitters;
  for (const key_border& b : borders) {
    if (!b.is_end && (splitters.empty() || splitters.back() != b.encoded)) splitters.push_back(b.encoded);
  }
  std::vector<std::vector<std::uint64_t>> counts(chunks_.size(), std::vector<std::uint64_t>(splitters.size() + 1));
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    chunks_[c].queue->count_intervals({.codec = codec_,
                                       .keys = chunks_[c].keys,
                                       .num_keys = chunks_[c].num_keys,
                                       .splitters = splitters,
                                       .counts = counts[c].data()});
  }
  for (const statistics::key_chunk& c : chunks_) c.queue->synchronize();
  std::vector<std::uint64_t> before;
  for (const key_border& b : borders) {
    std::uint64_t sum = 0;
    for (const std::vector<std::uint64_t>& of_chunk : counts) {
      for (std::size_t i = 0; i < of_chunk.size() && (b.is_end || i == 0 || splitters[i - 1] < b.encoded); ++i) {
        sum += of_chunk[i];
      }
    }
    before.push_back(sum);
  }
  return before;
}

std::vector<double> chunked_keys::between(key_border from, key_border to, std::uint64_t most) const {
  if (most == 0 || from.is_end || (!to.is_end && to.encoded <= from.encoded)) return {};
  std::vector<std::uint64_t> splitters{from.encoded};
  if (!to.is_end) splitters.push_back(to.encoded);
  const std::uint64_t marked = 2;  // the interval behind the first splitter
  const unsigned width = codec_.width_bytes();
  std::vector<double> values;
  // A chunk after the other: no more than `most` keys are held at a time.
  const device::buffer collected = ranks_.front().device->allocate(most * width);
  for (const statistics::key_chunk& c : chunks_) {
    std::vector<std::uint64_t> counts(splitters.size() + 1);
    c.queue->count_intervals({.codec = codec_,
                              .keys = c.keys,
                              .num_keys = c.num_keys,
                              .splitters = splitters,
                              .marked = marked,
                              .counts = counts.data(),
                              .collected = collected.data(),
                              .capacity = most});
    c.queue->synchronize();
    SPANSORT_ASSERT(values.size() + counts[1] <= most);
    for (std::uint64_t i = 0; i < counts[1]; ++i)
      values.push_back(value_of(keys::encode_at(codec_, collected.data(), i)));
  }
  return values;
}

}  // namespace spansort::api
