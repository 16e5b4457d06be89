// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/split_by_value.hpp"

#include "bench/gpu/timing.hpp"
#include "device/host/host_device.hpp"
#include "device/host/topology.hpp"

namespace bench {
namespace {

namespace device = spansort::device;

device::records records_at(const host_input& input, void* memory) {
  char* const keys = static_cast<char*>(memory);
  const std::uint64_t keys_bytes = input.num_keys * spansort::size_bytes(input.key_type());
  return {keys, input.value_bytes() == 0 ? nullptr : keys + keys_bytes};
}

}  // namespace

std::vector<double> time_split_by_value(const host_input& input, void* from, void* to, unsigned repeats) {
  const auto host = device::host::make_host_device({.num_threads = device::host::num_processors()});
  host->prepare();
  const auto queue = host->make_queue();
  const device::record_shape shape{{input.key_type(), false, spansort::keys::tie_rule::by_bits},
                                   static_cast<unsigned>(input.value_bytes())};
  const unsigned bits = host->advise(shape).radix_bits;
  const spansort::keys::digit_position digit{shape.codec.key_bits() - bits, bits};
  std::vector<std::uint64_t> counts(digit.num_buckets());
  std::vector<device::records> destinations(digit.num_buckets());
  const auto split = [&] {
    queue->histogram(
        {.shape = shape, .keys = from, .num_keys = input.num_keys, .digits = {digit}, .counts = counts.data()});
    queue->synchronize();
    std::uint64_t begin = 0;
    for (std::size_t bucket = 0; bucket < counts.size(); begin += counts[bucket++]) {
      destinations[bucket] = advance(shape, records_at(input, to), begin);
    }
    queue->partition({.shape = shape,
                      .source = records_at(input, from),
                      .num_keys = input.num_keys,
                      .digit = digit,
                      .destinations = destinations.data()});
    queue->synchronize();
  };
  return wall_runs_ms(
      repeats, [] {}, split);
}

}  // namespace bench
