// SPDX-License-Identifier: Apache-2.0
#include "sort/gpu_enqueue.hpp"

#include <fmt/format.h>

#include "sort/gpu_devices.hpp"
#include "spansort/devices.hpp"
#include "spansort/errors.hpp"
#ifdef SPANSORT_HAS_CUDA
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/enqueue_segmented.hpp"
#include "device/cuda/enqueue_sort.hpp"
#endif

namespace spansort::sorting {

#ifdef SPANSORT_HAS_CUDA
namespace {

device::cuda::sort_memory memory_of(const gpu_sort& sort) {
  using device::cuda::sort_memory;
  if (!sort.has_wishes) return sort_memory::none_wished;
  return sort.workspace == workspace_size::fastest ? sort_memory::fastest : sort_memory::least;
}

device::cuda::sort_manner manner_of(const gpu_sort& sort) {
  using device::cuda::host_wait;
  return {.shape = sort.shape,
          .num_records = sort.num_records,
          .wait = sort.may_wait ? host_wait::where_it_pays : host_wait::never,
          .memory = memory_of(sort),
          .local_sort = local_sort_of(sort.hooks)};
}

/// Returns the manner of a sort that the current GPU can do.
device::cuda::segmented_manner manner_of(const gpu_segments_sort& sort) {
  if (!device::cuda::can_sort_segments()) {
    throw device_error("segments are sorted by GPUs of compute capability 8.0 and newer");
  }
  return {.shape = sort.shape,
          .num_records = sort.num_records,
          .bounds = {.offsets = sort.offsets,
                     .offset_bytes = sort.offset_bytes,
                     .row_length = sort.row_length,
                     .num_segments = sort.num_segments}};
}

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }

}  // namespace

static_assert(gpu_workspace_alignment == device::cuda::workspace_alignment_bytes);

std::uint64_t gpu_sort_bytes(const gpu_sort& sort) { return device::cuda::sort_workspace_bytes(manner_of(sort)); }

std::uint64_t gpu_argsort_bytes(const gpu_sort& sort) { return device::cuda::argsort_workspace_bytes(manner_of(sort)); }

void enqueue_gpu_sort(const gpu_sort& sort, const device::records& data, void* workspace, void* stream) {
  device::cuda::enqueue_sort(manner_of(sort), data, workspace, stream_of(stream));
}

void enqueue_gpu_argsort(const gpu_sort& sort, const void* keys, void* indices, void* workspace, void* stream) {
  device::cuda::enqueue_argsort(manner_of(sort), keys, indices, workspace, stream_of(stream));
}

std::uint64_t gpu_segments_sort_bytes(const gpu_segments_sort& sort) {
  return device::cuda::segmented_workspace_bytes(manner_of(sort));
}

std::uint64_t gpu_segments_argsort_bytes(const gpu_segments_sort& sort) {
  return device::cuda::segmented_argsort_workspace_bytes(manner_of(sort));
}

void enqueue_gpu_segments_sort(const gpu_segments_sort& sort, const device::records& data, void* workspace,
                               void* stream) {
  device::cuda::enqueue_segmented_sort(manner_of(sort), data, workspace, stream_of(stream));
}

void enqueue_gpu_segments_argsort(const gpu_segments_sort& sort, const void* keys, void* indices, void* workspace,
                                  void* stream) {
  device::cuda::enqueue_segmented_argsort(manner_of(sort), keys, indices, workspace, stream_of(stream));
}

void require_gpu_memory(const void* memory, const char* what) {
  if (device::cuda::is_own_memory(memory)) return;
  throw invalid_argument(fmt::format("{} do not lie in the memory of the current GPU", what));
}

void run_gpu_sort(int ordinal, const gpu_sort& sort, const device::records& data, void* workspace, void* stream) {
  const device::cuda::device_guard guard(ordinal);
  enqueue_gpu_sort(sort, data, workspace, stream);
  device::cuda::wait_for(stream_of(stream));
}

void run_gpu_argsort(int ordinal, const gpu_sort& sort, const void* keys, void* indices, void* workspace,
                     void* stream) {
  const device::cuda::device_guard guard(ordinal);
  enqueue_gpu_argsort(sort, keys, indices, workspace, stream);
  device::cuda::wait_for(stream_of(stream));
}

std::uint64_t gpu_sort_bytes_on(int ordinal, const gpu_sort& sort) {
  const device::cuda::device_guard guard(ordinal);
  return gpu_sort_bytes(sort);
}

std::uint64_t gpu_argsort_bytes_on(int ordinal, const gpu_sort& sort) {
  const device::cuda::device_guard guard(ordinal);
  return gpu_argsort_bytes(sort);
}
#else
std::uint64_t gpu_sort_bytes(const gpu_sort&) { throw device_error(why_no_gpu()); }
std::uint64_t gpu_argsort_bytes(const gpu_sort&) { throw device_error(why_no_gpu()); }
void enqueue_gpu_sort(const gpu_sort&, const device::records&, void*, void*) { throw device_error(why_no_gpu()); }
void enqueue_gpu_argsort(const gpu_sort&, const void*, void*, void*, void*) { throw device_error(why_no_gpu()); }
std::uint64_t gpu_segments_sort_bytes(const gpu_segments_sort&) { throw device_error(why_no_gpu()); }
std::uint64_t gpu_segments_argsort_bytes(const gpu_segments_sort&) { throw device_error(why_no_gpu()); }
void enqueue_gpu_segments_sort(const gpu_segments_sort&, const device::records&, void*, void*) {
  throw device_error(why_no_gpu());
}
void enqueue_gpu_segments_argsort(const gpu_segments_sort&, const void*, void*, void*, void*) {
  throw device_error(why_no_gpu());
}
void require_gpu_memory(const void*, const char*) { throw device_error(why_no_gpu()); }
void run_gpu_sort(int, const gpu_sort&, const device::records&, void*, void*) { throw device_error(why_no_gpu()); }
void run_gpu_argsort(int, const gpu_sort&, const void*, void*, void*, void*) { throw device_error(why_no_gpu()); }
std::uint64_t gpu_sort_bytes_on(int, const gpu_sort&) { throw device_error(why_no_gpu()); }
std::uint64_t gpu_argsort_bytes_on(int, const gpu_sort&) { throw device_error(why_no_gpu()); }
#endif

}  // namespace spansort::sorting
