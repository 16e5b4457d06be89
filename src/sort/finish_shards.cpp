// SPDX-License-Identifier: Apache-2.0
#include "sort/finish_shards.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/shares.hpp"
#include "device/exchange_work.hpp"
#include "device/host/merge_alone.hpp"
#include "device/host/record_dispatch.hpp"
#include "keys/dispatch.hpp"

namespace spansort::sorting {
namespace {

using device::host::split_records;
using device::host::value_bytes_of;

/// Two arrays of all records, and the parts as they were found, lie in pieces on the devices.
enum class area : std::uint8_t { as_found, shards, spares };

/// This says whether the records of an area lie on the devices by the sizes of the parts or of the result.
enum class division : std::uint8_t { of_parts, of_result };

class far_records {
 public:
  far_records(algorithms::run_context& run, const algorithms::problem& problem) : run_(run), problem_(problem) {}

  [[nodiscard]] std::uint64_t result_count(unsigned rank) const noexcept {
    const algorithms::resident_input& input = problem_.resident();
    return input.keeps_sizes ? input.parts[rank].num_keys : base::share_size(problem_.num_keys, run_.num_ranks(), rank);
  }
  [[nodiscard]] bool read(area from, std::uint64_t begin, std::uint64_t count, device::records to) const noexcept {
    return for_each_piece(from, division::of_parts, begin, count,
                          [&](auto& device, auto& place, std::uint64_t done, std::uint64_t n) {
                            return copy(device, advance(problem_.shape, to, done), place, n);
                          });
  }
  [[nodiscard]] bool write(area to, division counts, std::uint64_t begin, std::uint64_t count,
                           device::records from) const noexcept {
    return for_each_piece(to, counts, begin, count,
                          [&](auto& device, auto& place, std::uint64_t done, std::uint64_t n) {
                            return copy(device, place, advance(problem_.shape, from, done), n);
                          });
  }

 private:
  [[nodiscard]] device::records records_of(area which, unsigned rank) const noexcept {
    if (which == area::shards) return problem_.resident().parts[rank].data;
    return which == area::spares ? run_.parts()[rank].spare : run_.parts()[rank].data;
  }
  /// Calls f(device, place, number of records before, number of records) for the devices that hold a range, as long as
  /// it returns true.
  template <class F>
  [[nodiscard]] bool for_each_piece(area which, division counts, std::uint64_t begin, std::uint64_t count,
                                    const F& f) const noexcept {
    std::uint64_t done = 0;
    for (unsigned r = 0; r < run_.num_ranks() && done < count; ++r) {
      const std::uint64_t held = counts == division::of_parts ? run_.parts()[r].count : result_count(r);
      if (begin >= held) {
        begin -= held;
        continue;
      }
      const std::uint64_t n = std::min(held - begin, count - done);
      auto* const device = dynamic_cast<device::copying_device*>(run_.ranks()[r].device.get());
      const device::records place = advance(problem_.shape, records_of(which, r), begin);
      if (device == nullptr || !f(*device, place, done, n)) return false;
      done += n;
      begin = 0;
    }
    return true;
  }
  [[nodiscard]] bool copy(device::copying_device& device, const device::records& to, const device::records& from,
                          std::uint64_t count) const noexcept {
    return device.copy_at_once(to.keys, from.keys, count * problem_.shape.codec.width_bytes()) &&
           (problem_.shape.value_bytes == 0 ||
            device.copy_at_once(to.values, from.values, count * problem_.shape.value_bytes));
  }

  algorithms::run_context& run_;
  const algorithms::problem& problem_;
};

/// Merges runs through blocks of the stack.
template <class K, class V, class Order>
class far_sort {
 public:
  far_sort(const far_records& all, const Order& order, std::uint64_t num_records)
      : all_(all), order_(order), num_records_(num_records) {}

  [[nodiscard]] bool sort() noexcept {
    if (!sort_blocks()) return false;
    area from = area::shards;
    area to = area::spares;
    for (std::uint64_t run = block_records; run < num_records_; run *= 2) {
      for (std::uint64_t begin = 0; begin < num_records_; begin += 2 * run) {
        const std::uint64_t middle = std::min(num_records_, begin + run);
        if (!merge(from, to, begin, middle, std::min(num_records_, begin + 2 * run))) return false;
      }
      std::swap(from, to);
    }
    if (from == area::shards && !copy(area::shards, area::spares, division::of_parts)) return false;
    return copy(area::spares, area::shards, division::of_result);
  }

 private:
  static constexpr std::uint64_t block_records = 1024;
  struct block {
    K keys[block_records];
    V values[block_records];
    [[nodiscard]] split_records<K, V> split() noexcept { return {keys, values}; }
    [[nodiscard]] device::records records() noexcept { return {keys, value_bytes_of<V> == 0 ? nullptr : values}; }
  };
  /// A reader holds a part of a run, and knows where the rest is.
  struct reader {
    block held;
    area from = area::shards;
    std::uint64_t next = 0;
    std::uint64_t end = 0;
    std::uint64_t first = 0;  ///< of the records held that is wanted
    std::uint64_t count = 0;
  };

  [[nodiscard]] bool sort_blocks() noexcept {
    for (std::uint64_t begin = 0; begin < num_records_; begin += block_records) {
      const std::uint64_t count = std::min(block_records, num_records_ - begin);
      if (!all_.read(area::as_found, begin, count, left_.held.records())) return false;
      device::host::merge_sort_alone(order_, left_.held.split(), right_.held.split(), left_.held.split(), count, 0);
      if (!all_.write(area::shards, division::of_parts, begin, count, left_.held.records())) return false;
    }
    return true;
  }

  /// Returns false where the device cannot be read; a run that has ended holds nothing.
  [[nodiscard]] bool fill(reader& r) noexcept {
    if (r.first < r.count) return true;
    r.first = 0;
    r.count = std::min(block_records, r.end - r.next);
    const bool is_read = all_.read(r.from, r.next, r.count, r.held.records());
    r.next += r.count;
    return is_read;
  }
  static void begin_run(reader& r, area from, std::uint64_t begin, std::uint64_t end) noexcept {
    r.from = from;
    r.next = begin;
    r.end = end;
    r.first = r.count = 0;
  }

  [[nodiscard]] bool merge(area from, area to, std::uint64_t begin, std::uint64_t middle, std::uint64_t end) noexcept {
    begin_run(left_, from, begin, middle);
    begin_run(right_, from, middle, end);
    while (begin < end) {
      const std::uint64_t count = std::min(block_records, end - begin);
      for (std::uint64_t i = 0; i < count; ++i) {
        if (!fill(left_) || !fill(right_)) return false;
        const bool takes_right =
            right_.count != 0 && (left_.count == 0 || order_.encode(right_.held.keys[right_.first]) <
                                                          order_.encode(left_.held.keys[left_.first]));
        reader& taken = takes_right ? right_ : left_;
        merged_.split().put(i, taken.held.split().get(taken.first++));
      }
      if (!all_.write(to, division::of_parts, begin, count, merged_.records())) return false;
      begin += count;
    }
    return true;
  }

  [[nodiscard]] bool copy(area from, area to, division counts) noexcept {
    for (std::uint64_t begin = 0; begin < num_records_; begin += block_records) {
      const std::uint64_t count = std::min(block_records, num_records_ - begin);
      if (!all_.read(from, begin, count, merged_.records())) return false;
      if (!all_.write(to, counts, begin, count, merged_.records())) return false;
    }
    return true;
  }

  const far_records& all_;
  Order order_;
  std::uint64_t num_records_;
  reader left_;
  reader right_;
  block merged_;
};

}  // namespace

bool finish_shards(algorithms::run_context& run, const algorithms::problem& problem) noexcept {
  const far_records all(run, problem);
  const bool is_sorted = keys::with_width(problem.shape.codec.width_bytes(), [&]<class K>() {
    const keys::codec_of<K> codec = problem.shape.codec.of<K>();
    return device::host::with_value_and_order<K>(problem.shape, codec, [&]<class V, class Order>() {
      return far_sort<K, V, Order>(all, Order(codec), problem.num_keys).sort();
    });
  });
  if (!is_sorted) return false;
  for (unsigned r = 0; r < run.num_ranks(); ++r) run.report().ranks[r].num_keys_out = all.result_count(r);
  return true;
}

}  // namespace spansort::sorting
