// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/duplex_copies.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "bench/gpu/timing.hpp"
#include "device/cuda/handles.hpp"

namespace bench {
namespace {

namespace cuda = spansort::device::cuda;

/// One GPU's buffers: one receives while another leaves, and a third keeps them from waiting for each other.
struct lane {
  static constexpr unsigned num_buffers = 3;
  struct buffer {
    cuda::device_memory memory;
    cuda::event_handle arrived;
    cuda::event_handle left;
  };

  lane(int gpu, std::uint64_t part_bytes) : ordinal(gpu) {
    const cuda::device_guard guard(ordinal);
    in = cuda::make_stream();
    out = cuda::make_stream();
    for (buffer& b : buffers) {
      b = {cuda::allocate_device_memory(part_bytes), cuda::make_cuda_event(cudaEventDisableTiming),
           cuda::make_cuda_event(cudaEventDisableTiming)};
    }
  }

  void pass(const char* from, char* to, std::uint64_t size_bytes) {
    const cuda::device_guard guard(ordinal);
    const buffer& b = buffers[next++ % num_buffers];
    cuda::check(cudaStreamWaitEvent(in.get(), b.left.get(), 0), "cudaStreamWaitEvent");
    cuda::check(cudaMemcpyAsync(b.memory.get(), from, size_bytes, cudaMemcpyHostToDevice, in.get()), "cudaMemcpyAsync");
    cuda::check(cudaEventRecord(b.arrived.get(), in.get()), "cudaEventRecord");
    cuda::check(cudaStreamWaitEvent(out.get(), b.arrived.get(), 0), "cudaStreamWaitEvent");
    cuda::check(cudaMemcpyAsync(to, b.memory.get(), size_bytes, cudaMemcpyDeviceToHost, out.get()), "cudaMemcpyAsync");
    cuda::check(cudaEventRecord(b.left.get(), out.get()), "cudaEventRecord");
  }

  int ordinal;
  cuda::stream_handle in;
  cuda::stream_handle out;
  std::array<buffer, num_buffers> buffers;
  unsigned next = 0;
};

void make_trip(std::vector<lane>& lanes, const void* from, void* to, std::uint64_t size_bytes,
               std::uint64_t part_bytes) {
  std::size_t turn = 0;
  for (std::uint64_t begin = 0; begin < size_bytes; begin += part_bytes) {
    lanes[turn++ % lanes.size()].pass(static_cast<const char*>(from) + begin, static_cast<char*>(to) + begin,
                                      std::min(part_bytes, size_bytes - begin));
  }
  for (const lane& l : lanes) cuda::check(cudaStreamSynchronize(l.out.get()), "cudaStreamSynchronize");
}

}  // namespace

nlohmann::ordered_json duplex_times::to_json() const {
  return {{"one_trip_median_ms", median(one_trip_ms)},
          {"two_trips_median_ms", median(two_trips_ms)},
          {"one_trip_ms", one_trip_ms},
          {"two_trips_ms", two_trips_ms}};
}

duplex_times time_duplex_copies(const std::vector<int>& devices, void* here, void* there, std::uint64_t size_bytes,
                                std::uint64_t part_bytes, unsigned repeats) {
  std::vector<lane> lanes;
  for (const int ordinal : devices) lanes.emplace_back(ordinal, part_bytes);
  duplex_times times;
  for (unsigned i = 0; i < repeats + 1; ++i) {
    const double there_ms = wall_ms([&] { make_trip(lanes, here, there, size_bytes, part_bytes); });
    const double back_ms = wall_ms([&] { make_trip(lanes, there, here, size_bytes, part_bytes); });
    if (i == 0) continue;  // the first one warms up
    times.one_trip_ms.push_back(there_ms);
    times.two_trips_ms.push_back(there_ms + back_ms);
  }
  return times;
}

}  // namespace bench
