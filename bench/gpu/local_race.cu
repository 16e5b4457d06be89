// SPDX-License-Identifier: Apache-2.0
// Both sides get memory, streams and workspace before the clock starts, and a fresh copy of the input before each run.
#include "bench/gpu/local_race.hpp"

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <type_traits>

#include "bench/gpu/timing.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/handles.hpp"
#include "spansort/enqueue.hpp"
#include "spansort/errors.hpp"
#include "spansort/resident.hpp"

namespace bench {
namespace {

namespace cuda = spansort::device::cuda;

/// Keys and values on the device; `values` is empty where none travel.
struct record_array {
  cuda::device_memory keys;
  cuda::device_memory values;
};

template <class Prepare, class Run>
std::vector<double> event_runs_ms(cudaStream_t stream, unsigned repeats, const Prepare& prepare, const Run& run) {
  const cuda::event_handle begin = cuda::make_cuda_event(cudaEventDefault);
  const cuda::event_handle end = cuda::make_cuda_event(cudaEventDefault);
  std::vector<double> runs_ms;
  for (unsigned i = 0; i < repeats + 1; ++i) {
    prepare();
    cuda::check(cudaEventRecord(begin.get(), stream), "cudaEventRecord");
    run();
    cuda::check(cudaEventRecord(end.get(), stream), "cudaEventRecord");
    cuda::check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
    float elapsed_ms = 0;
    cuda::check(cudaEventElapsedTime(&elapsed_ms, begin.get(), end.get()), "cudaEventElapsedTime");
    if (i != 0) runs_ms.push_back(elapsed_ms);  // the first one warms up
  }
  return runs_ms;
}

/// Both ends at rest: what a caller who waits sees.
template <class Prepare, class Run>
std::vector<double> waiting_runs_ms(cudaStream_t stream, unsigned repeats, const Prepare& prepare, const Run& run) {
  const auto wait = [&] { cuda::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); };
  const auto prepare_and_wait = [&] {
    prepare();
    wait();
  };
  return wall_runs_ms(repeats, prepare_and_wait, [&] {
    run();
    wait();
  });
}

/// Input of a race and the steps that both sides share. V: void where no values travel.
template <class K, class V>
class race_track {
 public:
  static constexpr bool has_values = !std::is_void_v<V>;
  using value = std::conditional_t<has_values, V, std::uint32_t>;

  explicit race_track(const race_request& request) : request_(request), original_(make_array()) {
    constexpr unsigned word_bytes = std::max<unsigned>(sizeof(K), sizeof(std::uint32_t));
    fill_device(stream(), original_.keys.get(), word_bytes, keys_bytes() / word_bytes, request.input);
    if constexpr (has_values) fill_places(stream(), original_.values.get(), sizeof(V), num_keys());
  }

  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  [[nodiscard]] std::uint64_t num_keys() const { return request_.num_keys; }
  [[nodiscard]] race_door door() const { return request_.door; }
  [[nodiscard]] const void* input() const { return original_.keys.get(); }
  [[nodiscard]] std::uint64_t keys_bytes() const { return num_keys() * sizeof(K); }
  [[nodiscard]] std::uint64_t values_bytes() const { return has_values ? num_keys() * sizeof(value) : 0; }

  [[nodiscard]] record_array make_array() const {
    record_array made;
    made.keys = cuda::allocate_device_memory(keys_bytes());
    if constexpr (has_values) made.values = cuda::allocate_device_memory(values_bytes());
    return made;
  }
  void restore(const record_array& to) const {
    copy(to.keys.get(), original_.keys.get(), keys_bytes());
    if constexpr (has_values) copy(to.values.get(), original_.values.get(), values_bytes());
  }
  void copy(void* to, const void* from, std::uint64_t size_bytes) const {
    cuda::check(cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyDeviceToDevice, stream()), "cudaMemcpyAsync");
  }
  template <class Run>
  [[nodiscard]] std::vector<double> time(const record_array& work, const Run& run) const {
    return time_from([&] { restore(work); }, run);
  }
  /// Times a run that reads the input itself, and leaves values alone in `work`, where there are none before.
  template <class Run>
  [[nodiscard]] std::vector<double> time_to_values(const record_array& work, const Run& run) const {
    const auto prepare = [&] {
      cuda::check(cudaMemsetAsync(work.values.get(), 0xff, values_bytes(), stream()), "cudaMemsetAsync");
    };
    return time_from(prepare, run);
  }

 private:
  template <class Prepare, class Run>
  [[nodiscard]] std::vector<double> time_from(const Prepare& prepare, const Run& run) const {
    return request_.door == race_door::enqueued ? event_runs_ms(stream(), request_.repeats, prepare, run)
                                                : waiting_runs_ms(stream(), request_.repeats, prepare, run);
  }

  const race_request& request_;
  cuda::stream_handle stream_ = cuda::make_stream();
  record_array original_;
};

struct workspace {
  explicit workspace(std::uint64_t size_bytes)
      : memory(cuda::allocate_device_memory(std::max<std::uint64_t>(size_bytes, 1))), given{memory.get(), size_bytes} {}
  cuda::device_memory memory;
  spansort::gpu_workspace given;
};

/// Leaves the result in `work`.
template <class K, class V>
std::vector<double> run_enqueued(const race_track<K, V>& track, spansort::key_type type, const record_array& work) {
  const spansort::key_span keys{type, work.keys.get(), track.num_keys()};
  if constexpr (race_track<K, V>::has_values) {
    constexpr std::uint64_t value_bytes = sizeof(V);
    const workspace taken(
        spansort::enqueue_sort_pairs_bytes(type, track.num_keys(), value_bytes, spansort::workspace_size::fastest));
    return track.time(
        work, [&] { spansort::enqueue_sort_pairs(keys, work.values.get(), value_bytes, taken.given, track.stream()); });
  } else {
    const workspace taken(spansort::enqueue_sort_bytes(type, track.num_keys(), spansort::workspace_size::fastest));
    return track.time(work, [&] { spansort::enqueue_sort(keys, taken.given, track.stream()); });
  }
}

spansort::resident_sorter sorter_of_current_device() {
  int ordinal = 0;
  cuda::check(cudaGetDevice(&ordinal), "cudaGetDevice");
  return spansort::resident_sorter({.devices = spansort::device_list::gpus({ordinal})});
}

template <class K, class V>
std::vector<double> run_called(const race_track<K, V>& track, spansort::key_type type, const record_array& work) {
  spansort::resident_sorter sorter = sorter_of_current_device();
  return track.time(work, [&] {
    spansort::shard shard{
        .keys = work.keys.get(), .values = work.values.get(), .num_keys = track.num_keys(), .stream = track.stream()};
    if constexpr (race_track<K, V>::has_values) {
      sorter.sort_pairs({type, std::span(&shard, 1)}, sizeof(V));
    } else {
      sorter.sort({type, std::span(&shard, 1)});
    }
  });
}

template <class K, class V>
std::vector<double> run_ours(const race_track<K, V>& track, spansort::key_type type, const record_array& work) {
  return track.door() == race_door::enqueued ? run_enqueued(track, type, work) : run_called(track, type, work);
}

template <class K>
std::vector<double> run_enqueued_argsort(const race_track<K, std::uint32_t>& track, spansort::key_type type,
                                         const record_array& work) {
  constexpr std::uint64_t index_bytes = sizeof(std::uint32_t);
  const workspace taken(
      spansort::enqueue_argsort_bytes(type, track.num_keys(), index_bytes, spansort::workspace_size::fastest));
  const spansort::const_key_span keys{type, track.input(), track.num_keys()};
  return track.time_to_values(
      work, [&] { spansort::enqueue_argsort(keys, work.values.get(), index_bytes, taken.given, track.stream()); });
}

template <class K>
std::vector<double> run_called_argsort(const race_track<K, std::uint32_t>& track, spansort::key_type type,
                                       const record_array& work) {
  spansort::resident_sorter sorter = sorter_of_current_device();
  // A shard has one pointer for keys that are written and for keys that are only read, as here.
  const spansort::shard shard{
      .keys = const_cast<void*>(track.input()), .num_keys = track.num_keys(), .stream = track.stream()};
  void* const indices = work.values.get();
  return track.time_to_values(work, [&] {
    sorter.argsort({type, std::span(&shard, 1)}, {&indices, 1}, sizeof(std::uint32_t));
  });
}

/// Leaves the indices in `work`.
template <class K>
std::vector<double> run_our_argsort(const race_track<K, std::uint32_t>& track, spansort::key_type type,
                                    const record_array& work) {
  return track.door() == race_door::enqueued ? run_enqueued_argsort(track, type, work)
                                             : run_called_argsort(track, type, work);
}

/// CUB has no argsort: its users write the positions and sort pairs, from and to arrays of their own. Leaves the
/// indices in `work`.
template <class T, class K>
std::vector<double> run_cub_argsort(const race_track<K, std::uint32_t>& track, const record_array& work) {
  const record_array sorted = track.make_array();
  const auto positions = cuda::allocate_device_memory(track.num_keys() * sizeof(std::uint32_t));
  const auto sort = [&](void* temporary, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(
        temporary, bytes, static_cast<const T*>(track.input()), static_cast<T*>(sorted.keys.get()),
        static_cast<const std::uint32_t*>(positions.get()), static_cast<std::uint32_t*>(work.values.get()),
        track.num_keys(), 0, static_cast<int>(sizeof(T)) * 8, track.stream());
  };
  std::size_t temporary_bytes = 0;
  cuda::check(sort(nullptr, temporary_bytes), "cub");
  const auto temporary = cuda::allocate_device_memory(temporary_bytes);
  return track.time_to_values(work, [&] {
    fill_places(track.stream(), positions.get(), sizeof(std::uint32_t), track.num_keys());
    cuda::check(sort(temporary.get(), temporary_bytes), "cub");
  });
}

/// T: K, or the float of its width. The result is copied into `work` where CUB leaves it in the other buffer.
template <class T, class K, class V>
std::vector<double> run_cub(const race_track<K, V>& track, const record_array& work) {
  using value = typename race_track<K, V>::value;
  const record_array alternate = track.make_array();
  cub::DoubleBuffer<T> keys_of(static_cast<T*>(work.keys.get()), static_cast<T*>(alternate.keys.get()));
  cub::DoubleBuffer<value> values_of(static_cast<value*>(work.values.get()),
                                     static_cast<value*>(alternate.values.get()));
  const int end_bit = sizeof(T) * 8;
  const auto sort = [&](void* temporary, std::size_t& bytes) {
    keys_of.selector = values_of.selector = 0;
    if constexpr (race_track<K, V>::has_values) {
      return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys_of, values_of, track.num_keys(), 0, end_bit,
                                             track.stream());
    } else {
      return cub::DeviceRadixSort::SortKeys(temporary, bytes, keys_of, track.num_keys(), 0, end_bit, track.stream());
    }
  };
  std::size_t temporary_bytes = 0;
  cuda::check(sort(nullptr, temporary_bytes), "cub");
  const auto temporary = cuda::allocate_device_memory(temporary_bytes);
  std::vector<double> runs_ms = track.time(work, [&] { cuda::check(sort(temporary.get(), temporary_bytes), "cub"); });
  if (keys_of.selector != 0) {
    track.copy(work.keys.get(), alternate.keys.get(), track.keys_bytes());
    if (work.values != nullptr) track.copy(work.values.get(), alternate.values.get(), track.values_bytes());
    cuda::check(cudaStreamSynchronize(track.stream()), "cudaStreamSynchronize");
  }
  return runs_ms;
}

/// Calls f with a T as CUB is to see the keys.
template <class K, class F>
decltype(auto) with_type_of_cub(spansort::key_type type, F&& f) {
  if constexpr (sizeof(K) == 4 || sizeof(K) == 8) {
    using real = std::conditional_t<sizeof(K) == 4, float, double>;
    if (type == spansort::key_type::f32 || type == spansort::key_type::f64) return f.template operator()<real>();
  }
  return f.template operator()<K>();
}

template <class K>
race_result argsort_race_of(const race_request& request, spansort::key_type type) {
  const race_track<K, std::uint32_t> track(request);
  const record_array ours = track.make_array();
  const record_array theirs = track.make_array();
  race_result result;
  result.ours_ms = run_our_argsort(track, type, ours);
  result.cub_ms = with_type_of_cub<K>(type, [&]<class T>() { return run_cub_argsort<T>(track, theirs); });
  result.num_differing_words =
      count_differences(track.stream(), ours.values.get(), theirs.values.get(), track.values_bytes());
  return result;
}

template <class K, class V>
race_result race_of(const race_request& request, spansort::key_type type) {
  const race_track<K, V> track(request);
  const record_array ours = track.make_array();
  const record_array theirs = track.make_array();
  race_result result;
  result.ours_ms = run_ours(track, type, ours);
  result.cub_ms = with_type_of_cub<K>(type, [&]<class T>() { return run_cub<T>(track, theirs); });
  result.num_differing_words =
      count_differences(track.stream(), ours.keys.get(), theirs.keys.get(), track.keys_bytes());
  if constexpr (race_track<K, V>::has_values) {
    result.num_differing_words +=
        count_differences(track.stream(), ours.values.get(), theirs.values.get(), track.values_bytes());
  }
  result.copy_ms = event_runs_ms(
      track.stream(), request.repeats, [] {},
      [&] { track.copy(theirs.keys.get(), ours.keys.get(), track.keys_bytes()); });
  return result;
}

}  // namespace

race_result race(const race_request& request) {
  using spansort::key_type;
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  if (request.type == "u32") return race_of<u32, void>(request, key_type::u32);
  if (request.type == "f32") return race_of<u32, void>(request, key_type::f32);
  if (request.type == "u64") return race_of<u64, void>(request, key_type::u64);
  if (request.type == "f64") return race_of<u64, void>(request, key_type::f64);
  if (request.type == "u32(u32)") return race_of<u32, u32>(request, key_type::u32);
  if (request.type == "u32(u64)") return race_of<u32, u64>(request, key_type::u32);
  if (request.type == "u64(u32)") return race_of<u64, u32>(request, key_type::u64);
  if (request.type == "u64(u64)") return race_of<u64, u64>(request, key_type::u64);
  if (request.type == "f32(u32)") return race_of<u32, u32>(request, key_type::f32);
  if (request.type == "f64(u32)") return race_of<u64, u32>(request, key_type::f64);
  if (request.type == "f64(u64)") return race_of<u64, u64>(request, key_type::f64);
  if (request.type == "u8") return race_of<std::uint8_t, void>(request, key_type::u8);
  if (request.type == "u16") return race_of<std::uint16_t, void>(request, key_type::u16);
  if (request.type == "argsort(f32)") return argsort_race_of<u32>(request, key_type::f32);
  if (request.type == "argsort(u32)") return argsort_race_of<u32>(request, key_type::u32);
  if (request.type == "argsort(f64)") return argsort_race_of<u64>(request, key_type::f64);
  if (request.type == "argsort(u64)") return argsort_race_of<u64>(request, key_type::u64);
  throw spansort::invalid_argument("no race of " + request.type);
}

int cub_version() { return CUB_VERSION; }

}  // namespace bench
