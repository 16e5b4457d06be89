// SPDX-License-Identifier: Apache-2.0
#include "device/host/host_queue.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <optional>

#include "base/said_of_done.hpp"
#include "base/tasks_or_alone.hpp"
#include "device/host/level_digit.hpp"
#include "device/host/local_sort/local_sort.hpp"
#include "device/host/parallel_sort.hpp"
#include "device/packed_keys.hpp"
#include "device/steady_clock.hpp"
#include "keys/dispatch.hpp"
#include "spansort/errors.hpp"

namespace spansort::device::host {
namespace {

/// The bytes that one task copies.
constexpr std::uint64_t copy_piece_bytes = std::uint64_t{1} << 20;

/// Partitions without memory. The destinations move on with the records.
template <class K>
void partition_alone(const partition_request& request, records* destinations) noexcept {
  const keys::codec_of<K> codec = request.shape.codec.of<K>();
  const bit_digit<K> digit(request.digit);
  const auto* const keys = static_cast<const K*>(request.source.keys);
  const auto* const values = static_cast<const char*>(request.source.values);
  const std::uint64_t value_bytes = request.shape.value_bytes;
  for (std::uint64_t i = 0; i < request.num_keys; ++i) {
    records& to = destinations[digit.of(codec.encode(keys[i]))];
    std::memcpy(to.keys, keys + i, sizeof(K));
    if (value_bytes != 0) std::memcpy(to.values, values + i * value_bytes, value_bytes);
    to = advance(request.shape, to, 1);
  }
}

template <class Index>
void write_positions_on(const execution& with, const positions_request& request) {
  constexpr std::uint64_t piece = copy_piece_bytes / sizeof(Index);
  auto* const positions = static_cast<Index*>(request.positions);
  with.team.for_each(base::ceil_div(request.count, piece), [&](std::uint64_t i) {
    const std::uint64_t begin = i * piece;
    const std::uint64_t end = std::min(request.count, begin + piece);
    std::iota(positions + begin, positions + end, static_cast<Index>(request.first + begin));
  });
}

/// Returns what a stopped sort throws, or std::bad_alloc where no memory is left for that.
std::exception_ptr make_cancelled() noexcept {
  try {
    return std::make_exception_ptr(cancelled("cancelled by the progress callback; the input is untouched"));
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

bool host_event::is_complete() const {
  const std::lock_guard lock(mutex_);
  return complete_;
}

void host_event::begin() {
  const std::lock_guard lock(mutex_);
  complete_ = false;
  failure_ = nullptr;
}

void host_event::complete(std::exception_ptr failure) {
  // Notified under the lock: a waiter may destroy the event as soon as it sees it complete.
  const std::lock_guard lock(mutex_);
  complete_ = true;
  failure_ = std::move(failure);
  changed_.notify_all();
}

std::exception_ptr host_event::wait_for_failure() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return complete_; });
  return failure_;
}

host_queue::host_queue(workers& team, const sort_limits& limits, bool on_calling_thread)
    : team_(team), limits_(limits), worker_(on_calling_thread) {}

void host_queue::push(std::function<void()> work) {
  worker_.push([this, work = std::move(work)]() noexcept {
    try {
      work();
    } catch (const stop_requested&) {
      failure_ = make_cancelled();
    } catch (...) {
      failure_ = std::current_exception();
    }
  });
}

void host_queue::push_unless_failed(std::function<void()> work) {
  push([this, work = std::move(work)] {
    if (failure_ == nullptr) work();
  });
}

template <class Body>
void host_queue::run_timed(std::string_view label, std::uint64_t num_keys, monitor* watch, const Body& body) {
  const std::int64_t begin_ns = now_ns();
  const std::uint64_t bytes_moved = body(execution{team_, limits_, watch});
  if (watch == nullptr || !watch->wants_intervals) return;
  base::say_of_done([&] { intervals_.push_back({label, begin_ns, now_ns(), bytes_moved, num_keys}); });
}

void host_queue::push_timed(std::string_view label, std::uint64_t num_keys,
                            std::function<std::uint64_t(const execution&)> body) {
  push_unless_failed(
      [this, label, num_keys, watch = watch_, body = std::move(body)] { run_timed(label, num_keys, watch, body); });
}

void host_queue::copy(void* destination, const void* source, std::uint64_t size_bytes, std::string_view label) {
  if (size_bytes == 0 || destination == source) return;
  push_timed(label, 0, [=](const execution& with) {
    const std::uint64_t num_pieces = base::ceil_div(size_bytes, copy_piece_bytes);
    with.team.for_each(num_pieces, [&](std::uint64_t i) {
      const std::uint64_t begin = i * copy_piece_bytes;
      std::memcpy(static_cast<char*>(destination) + begin, static_cast<const char*>(source) + begin,
                  std::min(copy_piece_bytes, size_bytes - begin));
    });
    return 2 * size_bytes;
  });
}

void host_queue::carry_next(outbox& from, const keys::key_codec& codec, copy_form form) {
  push_unless_failed([this, &from, codec, form, threads = unpacking_threads_, watch = watch_] {
    const std::optional<outgoing_keys> next = from.take();
    if (!next) return;
    failure_ = static_cast<host_event&>(*next->sorted).wait_for_failure();
    if (failure_ != nullptr) return;
    const std::uint64_t size_bytes = next->num_keys * codec.width_bytes();
    const bool is_packed = form == copy_form::packed;
    run_timed(is_packed ? "copy out packed" : "copy out", 0, watch, [&](const execution&) {
      if (!is_packed) {
        std::memcpy(next->destination, next->keys, size_bytes);
        return 2 * size_bytes;
      }
      struct alignas(packed_memory::alignment_bytes) line {
        std::byte bytes[packed_memory::alignment_bytes];
      };
      // Copies overwrite the caller's array, so that a lack of memory must not stop them.
      const std::uint64_t packed_bytes = packed_memory::size_bytes(codec.width_bytes(), next->num_keys);
      const std::unique_ptr<line[]> memory(new (std::nothrow) line[base::ceil_div(packed_bytes, sizeof(line))]);
      if (memory == nullptr) {
        std::memcpy(next->destination, next->keys, size_bytes);
        return 2 * size_bytes;
      }
      const packed_memory packed = packed_memory::in(memory.get(), next->num_keys);
      pack_keys(codec, next->keys, next->num_keys, packed);
      unpack_keys(codec, packed, next->num_keys, next->destination, threads);
      return 2 * size_bytes;
    });
  });
}

void host_queue::copy_pieces(std::vector<copy_piece> pieces, unsigned, std::string_view label) {
  std::vector<copy_piece> parts;  // of one task each
  std::uint64_t size_bytes = 0;
  for (const copy_piece& p : pieces) {
    if (p.to == p.from) continue;
    size_bytes += p.size_bytes;
    for (std::uint64_t begin = 0; begin < p.size_bytes; begin += copy_piece_bytes) {
      parts.push_back({static_cast<char*>(p.to) + begin, static_cast<const char*>(p.from) + begin,
                       std::min(copy_piece_bytes, p.size_bytes - begin)});
    }
  }
  if (parts.empty()) return;
  push_timed(label, 0, [parts = std::move(parts), size_bytes](const execution& with) {
    with.team.for_each(parts.size(),
                       [&](std::uint64_t i) { std::memcpy(parts[i].to, parts[i].from, parts[i].size_bytes); });
    return 2 * size_bytes;
  });
}

void host_queue::histogram(const histogram_request& request) {
  push_timed("histogram", request.num_keys, [request](const execution& with) {
    const unsigned width = request.shape.codec.width_bytes();
    keys::with_width(width, [&]<class K>() { run_histogram<K>(with, request); });
    return request.num_keys * width;
  });
}

void host_queue::count_intervals(const interval_request& request) {
  push_timed("count intervals", request.num_keys, [request](const execution& with) {
    const unsigned width = request.codec.width_bytes();
    keys::with_width(width, [&]<class K>() { run_count_intervals<K>(with, request); });
    return request.num_keys * width;
  });
}

void host_queue::sum_blocks(const sum_request& request) {
  push_timed("sum", request.num_keys, [request](const execution& with) {
    keys::with_type(request.type, [&]<class T>() {
      const T* const keys = static_cast<const T*>(request.keys);
      with.team.for_each(base::ceil_div(request.num_keys, sum_block_keys), [&](std::uint64_t b) {
        const std::uint64_t begin = b * sum_block_keys;
        request.sums[b] = sum_of_block(keys + begin, std::min(sum_block_keys, request.num_keys - begin));
      });
    });
    return request.num_keys * size_bytes(request.type);
  });
}

void host_queue::partition(const partition_request& request) {
  std::vector<records> destinations(request.destinations, request.destinations + request.digit.num_buckets());
  push_timed("partition", request.num_keys,
             [request, destinations = std::move(destinations)](const execution& with) mutable {
               keys::with_width(request.shape.codec.width_bytes(), [&]<class K>() {
                 base::in_tasks_or_alone([&] { run_partition<K>(with, request, destinations.data()); },
                                         [&] { partition_alone<K>(request, destinations.data()); });
               });
               return 2 * request.num_keys * request.shape.bytes();
             });
}

void host_queue::local_sort(const local_sort_request& request) {
  if (request.segments.empty()) return;
  std::uint64_t num_keys = 0;
  for (const sort_segment& s : request.segments) num_keys += s.count;
  const local_sort_algorithm& algorithm = find_local_sort(request.algorithm);
  push_timed(algorithm.label, num_keys, [request, run = algorithm.run](const execution& with) {
    const local_sort_outcome outcome = run(with, request);
    if (request.outcome != nullptr) *request.outcome = outcome;
    return outcome.bytes_moved;
  });
}

void host_queue::swap_mirrored(const swap_mirrored_request& request) {
  push_timed("reverse", 2 * request.num_records, [request](const execution& with) {
    keys::with_width(request.shape.codec.width_bytes(), [&]<class K>() { run_swap_mirrored<K>(with, request); });
    return 4 * request.num_records * request.shape.bytes();
  });
}

void host_queue::write_positions(const positions_request& request) {
  if (request.count == 0) return;
  push_timed("positions", 0, [request](const execution& with) {
    if (request.index_bytes == sizeof(std::uint32_t)) {
      write_positions_on<std::uint32_t>(with, request);
    } else {
      write_positions_on<std::uint64_t>(with, request);
    }
    return request.count * request.index_bytes;
  });
}

void host_queue::merge(const merge_request& request) {
  const std::uint64_t num_records = request.num_left + request.num_right;
  if (num_records == 0) return;
  push_timed("merge", num_records, [request, num_records](const execution& with) {
    keys::with_width(request.shape.codec.width_bytes(), [&]<class K>() { run_merge<K>(with, request); });
    return 2 * num_records * request.shape.bytes();
  });
}

void host_queue::record(event& e) {
  auto& recorded = static_cast<host_event&>(e);
  recorded.begin();
  push([this, &recorded] { recorded.complete(failure_); });
}

void host_queue::wait(event& e) {
  push([this, &awaited = static_cast<host_event&>(e)] {
    const std::exception_ptr failure = awaited.wait_for_failure();
    if (failure_ == nullptr) failure_ = failure;
  });
}

void host_queue::synchronize() {
  worker_.drain();
  if (const std::exception_ptr failure = std::exchange(failure_, nullptr)) std::rethrow_exception(failure);
}

std::vector<work_interval> host_queue::take_intervals() { return std::exchange(intervals_, {}); }

}  // namespace spansort::device::host
