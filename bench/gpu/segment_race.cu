// SPDX-License-Identifier: Apache-2.0
// All sides get memory and workspace before the clock starts, and a fresh copy of the input before each run.
#include "bench/gpu/segment_race.hpp"

#include <algorithm>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>
#include <functional>
#include <memory>
#include <type_traits>

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/handles.hpp"
#include "spansort/enqueue.hpp"
#include "spansort/errors.hpp"

namespace bench {
namespace {

namespace cuda = spansort::device::cuda;

/// A run that takes longer is not repeated.
constexpr double longest_repeated_ms = 100;

template <class K, class V>
class segment_race {
 public:
  static constexpr bool has_values = !std::is_void_v<V>;
  using value = std::conditional_t<has_values, V, std::uint32_t>;

  explicit segment_race(const segment_race_request& request)
      : request_(request),
        original_(make_array()),
        offsets_(cuda::allocate_device_memory(request.offsets.size() * sizeof(std::uint32_t))) {
    cuda::check(cudaMemcpy(offsets_.get(), request.offsets.data(), request.offsets.size() * sizeof(std::uint32_t),
                           cudaMemcpyHostToDevice),
                "cudaMemcpy");
    cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    fill_device(stream(), original_.keys.get(), sizeof(K), num_keys(), request.input);
    if constexpr (has_values) fill_places(stream(), original_.values.get(), sizeof(V), num_keys());
  }

  segment_race_result run() {
    segment_race_result result;
    const std::unique_ptr<contender> ours = make_ours(result.workspace_bytes);
    const std::unique_ptr<contender> sort = make_cub<false>();
    const std::unique_ptr<contender> radix_sort = make_cub<true>();
    for (unsigned i = 0; i < request_.repeats + 1; ++i) {
      for (contender* c : {ours.get(), sort.get(), radix_sort.get()}) time(*c);
    }
    for (const contender* c : {sort.get(), radix_sort.get()}) {
      const record_array& theirs = c->is_in_alternate ? c->alternate : c->work;
      result.num_differing_words += differences(ours->work.keys, theirs.keys, num_keys() * sizeof(K));
      if constexpr (has_values) {
        result.num_differing_words += differences(ours->work.values, theirs.values, num_keys() * sizeof(V));
      }
    }
    result.ours_ms = ours->timed_runs_ms();
    result.cub_sort_ms = sort->timed_runs_ms();
    result.cub_radix_sort_ms = radix_sort->timed_runs_ms();
    return result;
  }

 private:
  struct record_array {
    cuda::device_memory keys;
    cuda::device_memory values;
  };
  struct contender {
    record_array work;
    record_array alternate;  ///< CUB's
    cuda::device_memory workspace;
    std::function<void()> sort;
    bool is_in_alternate = false;  ///< the result
    std::vector<double> runs_ms;

    /// The first run warms up, and counts where it is the only one.
    [[nodiscard]] std::vector<double> timed_runs_ms() const {
      return runs_ms.size() == 1 ? runs_ms : std::vector<double>(runs_ms.begin() + 1, runs_ms.end());
    }
  };

  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  [[nodiscard]] std::uint64_t num_keys() const { return request_.offsets.back(); }
  [[nodiscard]] std::uint64_t num_segments() const { return request_.offsets.size() - 1; }

  [[nodiscard]] record_array make_array() const {
    record_array made;
    made.keys = cuda::allocate_device_memory(num_keys() * sizeof(K));
    if constexpr (has_values) made.values = cuda::allocate_device_memory(num_keys() * sizeof(value));
    return made;
  }
  void copy(void* to, const void* from, std::uint64_t size_bytes) const {
    cuda::check(cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyDeviceToDevice, stream()), "cudaMemcpyAsync");
  }
  [[nodiscard]] std::uint64_t differences(const cuda::device_memory& a, const cuda::device_memory& b,
                                          std::uint64_t size_bytes) const {
    return count_differences(stream(), a.get(), b.get(), size_bytes);
  }

  void time(contender& c) const {
    if (c.runs_ms.size() == 1 && c.runs_ms.front() > longest_repeated_ms) return;
    const cuda::event_handle begin = cuda::make_cuda_event(cudaEventDefault);
    const cuda::event_handle end = cuda::make_cuda_event(cudaEventDefault);
    copy(c.work.keys.get(), original_.keys.get(), num_keys() * sizeof(K));
    if constexpr (has_values) copy(c.work.values.get(), original_.values.get(), num_keys() * sizeof(V));
    cuda::check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    cuda::check(cudaEventRecord(begin.get(), stream()), "cudaEventRecord");
    c.sort();
    cuda::check(cudaEventRecord(end.get(), stream()), "cudaEventRecord");
    cuda::check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
    float elapsed_ms = 0;
    cuda::check(cudaEventElapsedTime(&elapsed_ms, begin.get(), end.get()), "cudaEventElapsedTime");
    c.runs_ms.push_back(elapsed_ms);
  }

  [[nodiscard]] std::unique_ptr<contender> make_ours(std::uint64_t& workspace_bytes) const {
    auto made = std::make_unique<contender>();
    contender& c = *made;
    c.work = make_array();
    const spansort::key_type type = spansort::key_traits<K>::type;
    if constexpr (has_values) {
      workspace_bytes = spansort::enqueue_sort_pairs_segments_bytes(type, num_keys(), num_segments(), sizeof(V));
    } else {
      workspace_bytes = spansort::enqueue_sort_segments_bytes(type, num_keys(), num_segments());
    }
    c.workspace = cuda::allocate_device_memory(workspace_bytes);
    c.sort = [this, &c, type, size_bytes = workspace_bytes] {
      const spansort::gpu_workspace workspace{c.workspace.get(), size_bytes};
      const spansort::key_span keys{type, c.work.keys.get(), num_keys()};
      const spansort::const_key_span offsets{spansort::key_type::u32, offsets_.get(), request_.offsets.size()};
      const std::uint64_t row_length = request_.offsets[1];
      if constexpr (has_values) {
        void* const values = c.work.values.get();
        if (request_.are_rows) {
          spansort::enqueue_sort_pairs_rows(keys, values, sizeof(V), row_length, workspace, stream());
        } else {
          spansort::enqueue_sort_pairs_segments(keys, values, sizeof(V), offsets, workspace, stream());
        }
      } else if (request_.are_rows) {
        spansort::enqueue_sort_rows(keys, row_length, workspace, stream());
      } else {
        spansort::enqueue_sort_segments(keys, offsets, workspace, stream());
      }
    };
    return made;
  }

  template <bool IsRadixSort>
  [[nodiscard]] std::unique_ptr<contender> make_cub() const {
    auto made = std::make_unique<contender>();
    contender& c = *made;
    c.work = make_array();
    c.alternate = make_array();
    std::size_t temporary_bytes = 0;
    cuda::check(run_cub<IsRadixSort>(c, nullptr, temporary_bytes), "cub");
    c.workspace = cuda::allocate_device_memory(temporary_bytes);
    c.sort = [this, &c, temporary_bytes] {
      std::size_t bytes = temporary_bytes;
      cuda::check(run_cub<IsRadixSort>(c, c.workspace.get(), bytes), "cub");
    };
    return made;
  }

  template <bool IsRadixSort>
  cudaError_t run_cub(contender& c, void* temporary, std::size_t& bytes) const {
    cub::DoubleBuffer<K> keys(static_cast<K*>(c.work.keys.get()), static_cast<K*>(c.alternate.keys.get()));
    const auto* const begins = static_cast<const std::uint32_t*>(offsets_.get());
    const auto count = static_cast<std::int64_t>(num_keys());
    const auto segments = static_cast<std::int64_t>(num_segments());
    constexpr int end_bit = sizeof(K) * 8;
    cudaError_t error = cudaSuccess;
    if constexpr (has_values) {
      cub::DoubleBuffer<V> values(static_cast<V*>(c.work.values.get()), static_cast<V*>(c.alternate.values.get()));
      if constexpr (IsRadixSort) {
        error = cub::DeviceSegmentedRadixSort::SortPairs(temporary, bytes, keys, values, count, segments, begins,
                                                         begins + 1, 0, end_bit, stream());
      } else {
        error = cub::DeviceSegmentedSort::StableSortPairs(temporary, bytes, keys, values, count, segments, begins,
                                                          begins + 1, stream());
      }
    } else if constexpr (IsRadixSort) {
      error = cub::DeviceSegmentedRadixSort::SortKeys(temporary, bytes, keys, count, segments, begins, begins + 1, 0,
                                                      end_bit, stream());
    } else {
      error = cub::DeviceSegmentedSort::SortKeys(temporary, bytes, keys, count, segments, begins, begins + 1, stream());
    }
    c.is_in_alternate = keys.selector != 0;
    return error;
  }

  const segment_race_request& request_;
  cuda::stream_handle stream_ = cuda::make_stream();
  record_array original_;
  cuda::device_memory offsets_;
};

}  // namespace

segment_race_result race_segments(const segment_race_request& request) {
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  if (request.type == "u32") return segment_race<u32, void>(request).run();
  if (request.type == "u64") return segment_race<u64, void>(request).run();
  if (request.type == "f32") return segment_race<float, void>(request).run();
  if (request.type == "u32(u32)") return segment_race<u32, u32>(request).run();
  if (request.type == "u64(u64)") return segment_race<u64, u64>(request).run();
  throw spansort::invalid_argument("no race of segments is compiled for " + request.type);
}

}  // namespace bench
