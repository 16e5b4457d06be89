// SPDX-License-Identifier: Apache-2.0
// CUB and Thrust on data that is on a GPU already. Wall clock from the call to the end of its work, as for Spansort.
// CUB's scratch is there before, Thrust takes its own in every call, as its users see it.
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

#include <cub/device/device_radix_sort.cuh>
#include <memory>
#include <nlohmann/json.hpp>
#include <spansort/errors.hpp>

#include "bench/suites/gpu/gpu.hpp"
#include "bench/suites/gpu/resident_arrays.hpp"

namespace bench {
namespace {

namespace cuda = spansort::device::cuda;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// Two sets of arrays, between which CUB goes to and fro, and its scratch.
template <class K>
struct cub_state {
  cub_state(int ordinal, input& data) : shared(resident_arrays::of(ordinal, data)), alternate(shared->allocate()) {}

  std::shared_ptr<resident_arrays> shared;
  const resident_arrays& arrays = *shared;
  device_records alternate;
  cuda::device_memory scratch;
  std::size_t scratch_bytes = 0;
  cub::DoubleBuffer<K> keys;
  cub::DoubleBuffer<u32> values;

  void restore() {
    arrays.restore();
    keys = {static_cast<K*>(arrays.work().keys.get()), static_cast<K*>(alternate.keys.get())};
    values = {static_cast<u32*>(arrays.work().values.get()), static_cast<u32*>(alternate.values.get())};
  }
  /// Sorts, or asks for the size of the scratch where `memory` is null.
  void sort(const input& data, void* memory) {
    constexpr int end_bit = sizeof(K) * 8;
    cuda::check(data.value_bytes() == 0 ? cub::DeviceRadixSort::SortKeys(memory, scratch_bytes, keys, data.num_keys(),
                                                                         0, end_bit, arrays.stream())
                                        : cub::DeviceRadixSort::SortPairs(memory, scratch_bytes, keys, values,
                                                                          data.num_keys(), 0, end_bit, arrays.stream()),
                "cub::DeviceRadixSort");
  }
};

template <class K>
contender cub_contender(int ordinal, input& data) {
  const auto state = std::make_shared<cub_state<K>>(ordinal, data);
  const cuda::device_guard guard(ordinal);
  state->restore();
  state->sort(data, nullptr);
  state->scratch = cuda::allocate_device_memory(state->scratch_bytes);
  contender made;
  made.prepare = [state] { state->restore(); };
  made.run = [state, ordinal, &data] {
    const cuda::device_guard run_guard(ordinal);
    return seconds_of([&] {
      state->sort(data, state->scratch.get());
      state->arrays.wait();
    });
  };
  made.fetch = [state] { state->arrays.fetch(state->keys.Current(), state->values.Current()); };
  return made;
}

template <class K>
void sort_by_thrust(const resident_arrays& arrays, const input& data) {
  const auto policy = thrust::cuda::par.on(arrays.stream());
  const thrust::device_ptr<K> keys(static_cast<K*>(arrays.work().keys.get()));
  if (data.value_bytes() == 0) {
    thrust::sort(policy, keys, keys + static_cast<std::ptrdiff_t>(data.num_keys()));
  } else {
    thrust::stable_sort_by_key(policy, keys, keys + static_cast<std::ptrdiff_t>(data.num_keys()),
                               thrust::device_ptr<u32>(static_cast<u32*>(arrays.work().values.get())));
  }
  arrays.wait();
}

template <class K>
contender thrust_contender(int ordinal, input& data) {
  const auto arrays = resident_arrays::of(ordinal, data);
  contender made;
  made.prepare = [arrays] { arrays->restore(); };
  made.run = [arrays, ordinal, &data] {
    const cuda::device_guard guard(ordinal);
    return seconds_of([&] { sort_by_thrust<K>(*arrays, data); });
  };
  made.fetch = [arrays] { arrays->fetch(arrays->work().keys.get(), arrays->work().values.get()); };
  return made;
}

/// Calls `make` with a key of the input's type, and refuses what neither baseline is compiled for.
template <class Make>
contender with_key(const input& data, const Make& make) {
  using spansort::key_type;
  if (data.type() == key_type::u32 && (data.value_bytes() == 0 || data.value_bytes() == 4)) return make(u32{});
  if (data.type() == key_type::u64 && data.value_bytes() == 0) return make(u64{});
  if (data.type() == key_type::f32 && data.value_bytes() == 0) return make(float{});
  throw spansort::invalid_argument("the baselines are compiled for u32, u64, f32 and u32(u32)");
}

}  // namespace

std::vector<candidate> gpu_baselines(int ordinal) {
  const std::string devices = "gpu:" + std::to_string(ordinal);
  return {
      {"cub", devices, "resident",
       [ordinal](input& data) { return with_key(data, [&]<class K>(K) { return cub_contender<K>(ordinal, data); }); }},
      {"thrust", devices, "resident", [ordinal](input& data) {
         return with_key(data, [&]<class K>(K) { return thrust_contender<K>(ordinal, data); });
       }}};
}

nlohmann::ordered_json gpu_software() {
  int driver = 0;
  int runtime = 0;
  static_cast<void>(cudaDriverGetVersion(&driver));  // 0 where there is none
  static_cast<void>(cudaRuntimeGetVersion(&runtime));
  return {{"driver_cuda", driver}, {"runtime_cuda", runtime}, {"cub", CUB_VERSION}};
}

}  // namespace bench
