// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_queue.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "base/said_of_done.hpp"
#include "device/cuda/injected_faults.hpp"
#include "device/cuda/kernels/block_sums.hpp"
#include "device/cuda/kernels/few_intervals.hpp"
#include "device/cuda/kernels/merge.hpp"
#include "device/cuda/kernels/positions.hpp"
#include "device/cuda/kernels/sample.hpp"
#include "device/steady_clock.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::cuda {
namespace {

input_shape shape_of(std::uint32_t seen, bool has_values) {
  if ((seen & seen_descent) == 0) return (seen & seen_ascent) == 0 ? input_shape::constant : input_shape::sorted;
  const bool is_reversed = (seen & seen_ascent) == 0 && (!has_values || (seen & seen_equal) == 0);
  return is_reversed ? input_shape::reversed : input_shape::general;
}

}  // namespace

cuda_queue::cuda_queue(int ordinal, const buffer& scratch, std::string local_sort, queue_use use)
    : cuda_queue(device_guard(ordinal), ordinal, scratch, std::move(local_sort), use) {}

cuda_queue::cuda_queue(const device_guard&, int ordinal, const buffer& scratch, std::string local_sort, queue_use use)
    : ordinal_(ordinal),
      use_(use),
      stream_(use == queue_use::exchange ? make_urgent_stream() : make_stream()),
      second_stream_(use == queue_use::exchange ? make_urgent_stream() : nullptr),
      forked_(use == queue_use::exchange ? make_cuda_event(cudaEventDisableTiming) : nullptr),
      callers_work_(make_cuda_event(cudaEventDisableTiming)),
      scratch_(scratch),
      site_(make_launch_site(stream_.get())),
      sorter_(std::move(local_sort)),
      worker_(false) {}

cuda_queue::~cuda_queue() {
  worker_.drain();
  // The side streams may not have been joined after a failure.
  sorter_.wait();
  if (second_stream_ != nullptr) forget_failure(cudaStreamSynchronize(second_stream_.get()));
  forget_failure(cudaStreamSynchronize(stream_.get()));
}

void cuda_queue::push_always(std::function<void()> body) {
  worker_.push([faults = current_faults(), body = std::move(body)] {
    const fault_scope scope(faults);
    body();
  });
}

void cuda_queue::push(std::function<void()> body) {
  push_always([this, body = std::move(body)] {
    if (failure_ != nullptr) return;
    try {
      const device_guard guard(ordinal_);
      body();
    } catch (...) {
      failure_ = std::current_exception();
    }
  });
}

void cuda_queue::push_timed(std::string_view label, std::uint64_t num_keys, std::function<std::uint64_t()> body) {
  push([this, label, num_keys, watch = watch_, body = std::move(body)] {
    sorter_.join(stream_.get());
    run_timed(label, num_keys, watch, body);
  });
}

void cuda_queue::run_timed(std::string_view label, std::uint64_t num_keys, monitor* watch,
                           const std::function<std::uint64_t()>& body) {
  const bool is_timed = watch != nullptr && watch->wants_intervals;
  timed_work work{.label = label, .num_keys = num_keys};
  if (is_timed) {
    work.begin = take_event();
    work.end = take_event();
    SPANSORT_CUDA(cudaEventRecord(work.begin.get(), stream_.get()));
  }
  site_.memory = kernel_workspace::in(scratch_.data());
  work.bytes_moved = body();
  if (is_timed) SPANSORT_CUDA(cudaEventRecord(work.end.get(), end_of_work()));
  base::say_of_done([&] {
    if (watch != nullptr && watch->wants_progress && num_keys != 0) {
      deliver([watch, num_keys] { watch->work_done.fetch_add(num_keys, std::memory_order_relaxed); });
    }
    if (is_timed) timed_.push_back(std::move(work));
  });
}

event_handle cuda_queue::take_event() {
  if (spare_events_.empty()) return make_cuda_event(cudaEventDefault);
  event_handle taken = std::move(spare_events_.back());
  spare_events_.pop_back();
  return taken;
}

void* cuda_queue::take_staging(std::uint64_t size_bytes) {
  for (staging& l : stagings_) {
    if (l.is_used || l.size_bytes < size_bytes) continue;
    l.is_used = true;
    return l.memory();
  }
  size_bytes = std::max(size_bytes, least_staging_bytes);
  staging made{.pinned = try_allocate_pinned_memory(size_bytes), .size_bytes = size_bytes, .is_used = true};
  if (made.pinned == nullptr) made.ordinary = std::make_unique_for_overwrite<std::byte[]>(size_bytes);
  return stagings_.emplace_back(std::move(made)).memory();
}

void CUDART_CB cuda_queue::run_delivery(void* one) {
  const auto& due = *static_cast<const delivery*>(one);
  for (const std::function<void()>& receive : due.received) receive();
  due.tell();
}

void cuda_queue::deliver(std::function<void()> tell) {
  delivery& due = deliveries_.emplace_back();
  due.received.swap(received_);
  due.tell = std::move(tell);
  SPANSORT_CUDA(cudaLaunchHostFunc(end_of_work(), run_delivery, &due));
}

void cuda_queue::copy_to_host(const void* source, std::uint64_t size_bytes, std::function<void(const void*)> receive) {
  void* const staged = take_staging(size_bytes);
  SPANSORT_CUDA(cudaMemcpyAsync(staged, source, size_bytes, cudaMemcpyDeviceToHost, stream_.get()));
  received_.emplace_back([staged, receive = std::move(receive)] { receive(staged); });
}

void cuda_queue::histogram(const histogram_request& request) {
  push_timed("histogram", request.num_keys, [this, request] {
    const unsigned width = request.shape.codec.width_bytes();
    std::uint64_t num_counts = 0;
    for (const keys::digit_position digit : request.digits) num_counts += digit.num_buckets();
    SPANSORT_ASSERT(num_counts <= kernel_workspace::counts_capacity);
    keys::with_width(width, [&]<class K>() {
      const keys::codec_of<K> codec = request.shape.codec.template of<K>();
      if (num_counts != 0) {
        SPANSORT_CUDA(cudaMemsetAsync(site_.memory.counts, 0, num_counts * 8, stream_.get()));
        launch_histogram<K>(site_, codec, request.keys, request.num_keys, request.digits.data(),
                            static_cast<unsigned>(request.digits.size()), site_.memory.counts);
        copy_to_host(site_.memory.counts, num_counts * 8, [to = request.counts, num_counts](const void* counts) {
          std::memcpy(to, counts, num_counts * 8);
        });
      }
      if (request.found_shape == nullptr) return;
      launch_fingerprint<K>(site_, codec, request.keys, request.num_keys);
      copy_to_host(site_.memory.order, sizeof(std::uint32_t),
                   [to = request.found_shape, has_values = request.shape.value_bytes != 0](const void* seen) {
                     *to = shape_of(*static_cast<const std::uint32_t*>(seen), has_values);
                   });
    });
    return request.num_keys * width;
  });
}

void cuda_queue::count_intervals(const interval_request& request) {
  SPANSORT_ASSERT(request.codec.is_bijective() && request.splitters.size() <= max_splitters);
  push_timed("count intervals", request.num_keys, [this, request] {
    const unsigned width = request.codec.width_bytes();
    const std::uint64_t num_counts = request.splitters.size() + 1;
    SPANSORT_CUDA(cudaMemsetAsync(site_.memory.counts, 0, (num_counts + 1) * 8, stream_.get()));
    keys::with_width(width, [&]<class K>() {
      const keys::codec_of<K> codec = request.codec.template of<K>();
      if constexpr (sizeof(K) >= 4) {
        if (has_few_intervals(request)) {
          return launch_count_few_intervals<K>(site_, codec, request, site_.memory.counts);
        }
      }
      launch_count_intervals<K>(site_, codec, request, site_.memory.counts);
    });
    copy_to_host(site_.memory.counts, num_counts * 8,
                 [to = request.counts, num_counts](const void* counts) { std::memcpy(to, counts, num_counts * 8); });
    return request.num_keys * width;
  });
}

template <class K>
void cuda_queue::bracket_now(const bracket_request& request) {
  // The sample lies where the tile states of large sorts do. Its own sort needs few of them and keeps the first half.
  launch_site site = site_;
  site.memory.tile_capacity /= 2;
  static_assert(sample_memory<K>::size_bytes <= workspace_tiles / 2 * kernel_workspace::tile_state_bytes);
  const auto sample = sample_memory<K>::in(site.memory.tile_states + site.memory.tile_capacity * max_partition_buckets);
  launch_gather_sample<K>(site, request.codec.template of<K>(), request, sample);
  const std::uint64_t num_sampled = request.num_runs * (sample_run_bytes / sizeof(K));
  // The sample was encoded when it was taken.
  const segment_sort sort{.shape = {keys::key_codec::of_encoded(sizeof(K)), 0},
                          .source = {sample.sorted, nullptr},
                          .alternate = {sample.spare, nullptr},
                          .count = num_sampled,
                          .bits = {0, request.codec.key_bits()}};
  const local_sort_algorithm& best = choose_local_sort("", sort.shape, sort.count, site.code);
  // The queue's scratch is that of the local sort that its device prefers.
  const local_sort_algorithm& algorithm = best.scratch_bytes == 0 ? best : onesweep_sort;
  enqueue_segment(algorithm, site, sort, nullptr, order_check::skipped);
  launch_pick_brackets<K>(site, request, sample);
  const std::uint64_t num_bytes = request.places.size() * sizeof(rank_bracket);
  copy_to_host(sample.brackets, num_bytes,
               [to = request.brackets, num_bytes](const void* from) { std::memcpy(to, from, num_bytes); });
}

void cuda_queue::bracket_ranks(const bracket_request& request) {
  SPANSORT_ASSERT(request.codec.is_bijective() && request.num_runs != 0 && !request.places.empty());
  push_timed("sample", 0, [this, request] {
    keys::with_width(request.codec.width_bytes(), [&]<class K>() { bracket_now<K>(request); });
    return request.num_runs * sample_run_bytes;
  });
}

void cuda_queue::sum_blocks(const sum_request& request) {
  push_timed("sum", request.num_keys, [this, request] {
    constexpr std::uint64_t most_blocks = kernel_workspace::counts_bytes / sizeof(block_sum);
    auto* const sums = reinterpret_cast<block_sum*>(site_.memory.counts);
    const std::uint64_t num_blocks = base::ceil_div(request.num_keys, sum_block_keys);
    for (std::uint64_t first = 0; first < num_blocks; first += most_blocks) {
      const std::uint64_t count = std::min(most_blocks, num_blocks - first);
      const std::uint64_t begin = first * sum_block_keys;
      const std::uint64_t num_keys = std::min(count * sum_block_keys, request.num_keys - begin);
      launch_block_sums(site_, request.type, static_cast<const char*>(request.keys) + begin * size_bytes(request.type),
                        num_keys, sums);
      copy_to_host(sums, count * sizeof(block_sum), [to = request.sums + first, count](const void* staged) {
        std::memcpy(to, staged, count * sizeof(block_sum));
      });
    }
    return request.num_keys * size_bytes(request.type);
  });
}

void cuda_queue::partition(const partition_request& request) {
  std::vector<records> destinations(request.destinations, request.destinations + request.digit.num_buckets());
  push_timed("partition", request.num_keys,
             [this, request = partition_request(request), destinations = std::move(destinations)]() mutable {
               request.destinations = destinations.data();
               keys::with_width(request.shape.codec.width_bytes(), [&]<class K>() {
                 launch_partition<K>(site_, request.shape.codec.template of<K>(), request);
               });
               return 2 * request.num_keys * request.shape.bytes();
             });
}

template <class K>
bool cuda_queue::partition_in_any_order_now(const keys::codec_of<K>& codec, const partition_request& request) {
  const std::uint64_t num_buckets = request.digit.num_buckets();
  bucket_target* targets = nullptr;
  try {
    targets = static_cast<bucket_target*>(take_staging(num_buckets * sizeof(bucket_target)));
  } catch (const std::bad_alloc&) {
    return false;
  }
  for (std::uint64_t b = 0; b < num_buckets; ++b) targets[b] = {request.destinations[b].keys, nullptr};
  SPANSORT_CUDA(cudaMemcpyAsync(site_.memory.targets, targets, num_buckets * sizeof(bucket_target),
                                cudaMemcpyHostToDevice, stream_.get()));
  const partition_step step{.source = request.source,
                            .num_keys = request.num_keys,
                            .digit = request.digit,
                            .targets = site_.memory.targets,
                            .any_order = true};
  launch_partition_step<K>(site_, codec, 0, step);
  return true;
}

void cuda_queue::partition_in_any_order(const partition_request& request) {
  SPANSORT_ASSERT(request.shape.value_bytes == 0);
  const bool is_bijective = keys::with_width(request.shape.codec.width_bytes(), [&]<class K>() {
    return has_unordered_partition(request.shape.codec.template of<K>(), 0);
  });
  if (!is_bijective || request.num_keys == 0) return partition(request);
  std::vector<records> destinations(request.destinations, request.destinations + request.digit.num_buckets());
  push_timed("partition", request.num_keys,
             [this, request = partition_request(request), destinations = std::move(destinations)]() mutable {
               request.destinations = destinations.data();
               keys::with_width(request.shape.codec.width_bytes(), [&]<class K>() {
                 const keys::codec_of<K> codec = request.shape.codec.template of<K>();
                 if (!partition_in_any_order_now<K>(codec, request)) launch_partition<K>(site_, codec, request);
               });
               return 2 * request.num_keys * request.shape.codec.width_bytes();
             });
}

void cuda_queue::local_sort(const local_sort_request& request) {
  std::uint64_t num_keys = 0;
  for (const sort_segment& s : request.segments) num_keys += s.count;
  if (num_keys == 0) return;
  // The sort is not put behind those before it that are going on.
  push([this, request, num_keys, watch = watch_] {
    const auto sort = [&] { return local_sort_now(request); };
    run_timed(sorter_.choose(site_, request).label, num_keys, watch, std::cref(sort));
  });
}

std::uint64_t cuda_queue::local_sort_now(const local_sort_request& request) {
  const local_sorter::enqueued sorted = sorter_.enqueue(site_, request, scratch_.data());
  if (request.outcome == nullptr || !request.looks_for_order) return sorted.bytes_moved;
  *request.outcome = {input_shape::general, sorted.num_passes, sorted.bytes_moved};
  if (!sorted.has_order_seen) return sorted.bytes_moved;
  base::say_of_done([&] {
    copy_to_host(site_.memory.order, sizeof(std::uint32_t),
                 [to = request.outcome, has_values = request.shape.value_bytes != 0](const void* seen) {
                   to->shape = shape_of(*static_cast<const std::uint32_t*>(seen), has_values);
                   if (to->shape != input_shape::general) to->num_passes = 0;
                 });
  });
  return sorted.bytes_moved;
}

void cuda_queue::swap_mirrored(const swap_mirrored_request& request) {
  if (request.num_records == 0) return;
  push_timed("reverse", 2 * request.num_records, [this, request] {
    keys::with_width(request.shape.codec.width_bytes(), [&]<class K>() { launch_swap_mirrored<K>(site_, request); });
    return 4 * request.num_records * request.shape.bytes();
  });
}

void cuda_queue::write_positions(const positions_request& request) {
  if (request.count == 0) return;
  push_timed("positions", 0, [this, request] {
    launch_write_positions(site_, request.positions, request.index_bytes, request.count, request.first);
    return request.count * request.index_bytes;
  });
}

void cuda_queue::merge(const merge_request& request) {
  const std::uint64_t num_records = request.num_left + request.num_right;
  if (num_records == 0) return;
  push_timed("merge", num_records, [this, request, num_records] {
    keys::with_width(request.shape.codec.width_bytes(),
                     [&]<class K>() { launch_merge<K>(site_, request.shape.codec.template of<K>(), request); });
    return 2 * num_records * request.shape.bytes();
  });
}

void cuda_queue::wait_for_stream(void* stream) {
  // The event is recorded now, not when the queue's thread gets there: the caller may go on to put other work on the
  // stream.
  const device_guard guard(ordinal_);
  SPANSORT_CUDA(cudaEventRecord(callers_work_.get(), static_cast<cudaStream_t>(stream)));
  SPANSORT_CUDA(cudaStreamWaitEvent(stream_.get(), callers_work_.get(), 0));
}

// The thread that feeds the stream waits; the stream goes on with what it has.
void cuda_queue::wait_for_host(std::function<void()> wait) { push(std::move(wait)); }

void cuda_queue::tell_host(std::function<void()> tell) {
  push([this, tell = std::move(tell)]() mutable { deliver(std::move(tell)); });
}

void cuda_queue::record(event& e) {
  auto& recorded = static_cast<cuda_event&>(e);
  recorded.begin();
  push_always([this, &recorded] {
    try {
      const device_guard guard(ordinal_);
      if (failure_ == nullptr) SPANSORT_CUDA(cudaEventRecord(recorded.handle(), end_of_work()));
    } catch (...) {
      failure_ = std::current_exception();
    }
    recorded.recorded(failure_);
  });
}

void cuda_queue::wait(event& e) {
  push_always([this, &awaited = static_cast<cuda_event&>(e)] {
    const std::exception_ptr failure = awaited.wait_until_recorded();
    if (failure_ == nullptr) failure_ = failure;
    if (failure_ != nullptr) return;
    try {
      const device_guard guard(ordinal_);
      SPANSORT_CUDA(cudaStreamWaitEvent(stream_.get(), awaited.handle(), 0));
    } catch (...) {
      failure_ = std::current_exception();
    }
  });
}

void cuda_queue::wait_now(cuda_event& e) {
  if (const std::exception_ptr failure = e.wait_until_recorded()) std::rethrow_exception(failure);
  SPANSORT_CUDA(cudaStreamWaitEvent(stream_.get(), e.handle(), 0));
}

void cuda_queue::synchronize() {
  worker_.drain();
  // This comes first and whatever fails: until then the streams write into memory that callers are about to give up.
  sorter_.wait();
  if (second_stream_ != nullptr) static_cast<void>(cudaStreamSynchronize(second_stream_.get()));
  const cudaError_t status = cudaStreamSynchronize(stream_.get());
  const std::vector<std::function<void()>> received = std::exchange(received_, {});
  if (status == cudaSuccess && failure_ == nullptr) {
    for (const std::function<void()>& receive : received) receive();
  }
  deliveries_.clear();
  packed_ring_.forget();
  for (staging& l : stagings_) l.is_used = false;
  if (const std::exception_ptr failure = std::exchange(failure_, nullptr)) {
    timed_.clear();
    std::rethrow_exception(failure);
  }
  check_done(status, "cudaStreamSynchronize");
}

void cuda_queue::set_monitor(monitor* m) {
  watch_ = m;
  ring_.ask_again();
  packed_ring_.ask_again();
}

std::vector<work_interval> cuda_queue::take_intervals() {
  if (timed_.empty()) return {};
  const device_guard guard(ordinal_);
  // The work is taken away first, so that what cannot be read is not asked for again.
  std::vector<timed_work> finished = std::exchange(timed_, {});
  event_handle now = take_event();
  SPANSORT_CUDA(cudaEventRecord(now.get(), stream_.get()));
  SPANSORT_CUDA(cudaEventSynchronize(now.get()));
  const std::int64_t recorded_ns = now_ns();
  // Times between events are floats: the longer, the coarser. So they are taken from the end of what is reported, not
  // from a beginning that may be hours ago.
  const auto time_of = [&](const event_handle& e) {
    float elapsed_ms = 0;
    SPANSORT_CUDA(cudaEventElapsedTime(&elapsed_ms, e.get(), now.get()));
    return recorded_ns - static_cast<std::int64_t>(static_cast<double>(elapsed_ms) * 1e6);
  };
  std::vector<work_interval> intervals;
  for (timed_work& w : finished) {
    intervals.push_back({w.label, time_of(w.begin), time_of(w.end), w.bytes_moved, w.num_keys});
    spare_events_.push_back(std::move(w.begin));
    spare_events_.push_back(std::move(w.end));
  }
  spare_events_.push_back(std::move(now));
  return intervals;
}

}  // namespace spansort::device::cuda
