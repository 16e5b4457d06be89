// SPDX-License-Identifier: Apache-2.0
// quantiles(): the room statistics/ between the arguments and the answer.
#include <algorithm>
#include <cmath>
#include <limits>

#include "api/arguments.hpp"
#include "api/device_list.hpp"
#include "keys/codec.hpp"
#include "spansort/errors.hpp"
#include "spansort/statistics.hpp"
#include "statistics/key_value.hpp"
#include "statistics/quantile_position.hpp"
#include "statistics/select.hpp"

namespace spansort {
namespace {

using statistics::quantile_position;

/// Below, waking threads takes longer than the reading.
constexpr std::uint64_t keys_worth_threads = std::uint64_t{1} << 15;

/// Keys of the caller, in chunks of equal size over host devices.
class chunked_keys {
 public:
  chunked_keys(const_key_span keys, const quantile_options& options)
      : keys_(keys), codec_{keys.type, false, keys::tie_rule::by_bits} {
    const api::device_list devices = api::parse_device_list(options.devices);
    if (!devices.gpus.empty()) {
      throw invalid_argument("quantiles: '" + options.devices + "': keys in host memory are read by CPUs");
    }
    if (devices.count == 0 && keys.num_keys < keys_worth_threads) {
      ranks_.push_back(algorithms::make_rank(api::open_calling_thread({}, {})));
    } else {
      ranks_ = api::open_ranks(devices, {.across_nodes = true});
    }
    const std::uint64_t count = ranks_.size();
    for (std::uint64_t r = 0; r < count; ++r) {
      const std::uint64_t each = keys.num_keys / count;
      const std::uint64_t more = keys.num_keys % count;
      const std::uint64_t begin = r * each + std::min(r, more);
      const void* const first = static_cast<const char*>(keys.data) + begin * codec_.width_bytes();
      chunks_.push_back({ranks_[r].device.get(), ranks_[r].queue.get(), first, each + (r < more ? 1 : 0)});
    }
  }

  /// The keys at `ranks` as numbers.
  [[nodiscard]] std::vector<double> at(const std::vector<std::uint64_t>& ranks) const {
    std::vector<double> values;
    for (const std::uint64_t bits : statistics::select_keys(codec_, chunks_, ranks)) {
      values.push_back(statistics::key_value(keys_.type, bits));
    }
    return values;
  }

  /// Every NaN is behind +inf.
  [[nodiscard]] std::uint64_t num_nans() const {
    const keys::float_format format = keys::format_of(keys_.type);
    const std::uint64_t infinity = base::low_mask(format.exponent_bits) << format.mantissa_bits;
    const std::uint64_t first_nan = keys::encode_at(codec_, &infinity, 0) + 1;
    std::vector<std::array<std::uint64_t, 2>> counts(chunks_.size());
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      chunks_[c].device->prepare();
      chunks_[c].queue->count_intervals({.codec = codec_,
                                         .keys = chunks_[c].keys,
                                         .num_keys = chunks_[c].num_keys,
                                         .splitters = {first_nan},
                                         .counts = counts[c].data()});
    }
    std::uint64_t num_nans = 0;
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      chunks_[c].queue->synchronize();
      num_nans += counts[c][1];
    }
    return num_nans;
  }

 private:
  const_key_span keys_;
  keys::key_codec codec_;
  std::vector<algorithms::rank> ranks_;
  std::vector<statistics::key_chunk> chunks_;
};

std::vector<quantile_position> positions_of(std::uint64_t num_keys, std::span<const double> q, quantile_method method) {
  std::vector<quantile_position> positions;
  for (const double each : q) positions.push_back(statistics::position_of(num_keys, each, method));
  return positions;
}

/// Two ranks a position, then the last of all.
std::vector<std::uint64_t> ranks_of(const std::vector<quantile_position>& positions, std::uint64_t num_keys) {
  std::vector<std::uint64_t> ranks;
  for (const quantile_position& p : positions) {
    ranks.push_back(p.lower_rank);
    ranks.push_back(p.upper_rank);
  }
  ranks.push_back(num_keys - 1);
  return ranks;
}

std::vector<double> values_at(const std::vector<quantile_position>& positions, const std::vector<double>& keys,
                              quantile_method method) {
  std::vector<double> values;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    values.push_back(statistics::quantile_value(method, positions[i], keys[2 * i], keys[2 * i + 1]));
  }
  return values;
}

}  // namespace

std::vector<double> detail::quantiles(const_key_span keys, std::span<const double> q, const quantile_options& options) {
  api::check_keys(keys);
  std::vector<quantile_position> positions = positions_of(keys.num_keys, q, options.method);
  if (keys.num_keys == 0) throw bad_input("quantiles of no keys");
  const chunked_keys chunks(keys, options);
  std::vector<double> found = chunks.at(ranks_of(positions, keys.num_keys));
  if (!std::isnan(found.back())) return values_at(positions, found, options.method);
  // NaN keys come last: there are some if the last is one.
  const std::uint64_t num_nans = options.nans == nan_policy::propagate ? 0 : chunks.num_nans();
  if (options.nans == nan_policy::error) {
    throw bad_input("quantiles: " + std::to_string(num_nans) + " of " + std::to_string(keys.num_keys) +
                    " keys are NaN");
  }
  const std::uint64_t num_numbers = keys.num_keys - num_nans;
  if (options.nans == nan_policy::propagate || num_numbers == 0) {
    return std::vector<double>(q.size(), std::numeric_limits<double>::quiet_NaN());
  }
  positions = positions_of(num_numbers, q, options.method);
  found = chunks.at(ranks_of(positions, num_numbers));
  return values_at(positions, found, options.method);
}

}  // namespace spansort
