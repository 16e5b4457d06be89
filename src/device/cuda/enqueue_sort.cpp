// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/enqueue_sort.hpp"

#include <algorithm>
#include <cstddef>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/positions.hpp"
#include "device/cuda/local_sort/even_keys.hpp"
#include "device/cuda/local_sort/local_sort.hpp"
#include "device/cuda/tuning/counting_finish_policy.hpp"
#include "device/cuda/tuning/msd_hybrid_policy.hpp"
#include "device/cuda/workspace_layout.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::cuda {
namespace {

/// Returns what the kernels keep. The states of all passes lie side by side where these are few, for one clear serves
/// them then; else they are those of one pass, and of a part of it where records are narrow and states weigh more.
std::uint64_t kernel_memory_bytes(const launch_site& site, const sort_manner& manner) {
  const std::uint64_t num_tiles = keys::with_width(manner.shape.codec.width_bytes(), [&]<class K>() {
    return num_partition_tiles<K>(site, manner.shape.value_bytes, manner.num_records);
  });
  const unsigned num_passes = num_local_sort_passes({0, manner.shape.codec.key_bits()});
  const std::uint64_t records_bytes = manner.num_records * manner.shape.bytes();
  const std::uint64_t light_tiles = records_bytes / (state_weight * kernel_workspace::tile_state_bytes);
  const std::uint64_t most_tiles = std::min(std::max(most_tiles_of_all_passes, light_tiles), workspace_tiles);
  const std::uint64_t num_states = std::min(num_tiles * num_passes, most_tiles);
  return kernel_workspace::fixed_bytes + num_states * kernel_workspace::tile_state_bytes;
}

/// The parts of a sort's workspace.
struct sort_parts {
  records alternate;
  void* of_kernels = nullptr;
  std::uint64_t of_kernels_bytes = 0;
  void* of_algorithm = nullptr;
  void* of_buckets = nullptr;
};

/// Returns whether the sort may go by counts or buckets, where it is large enough.
bool takes_bucket_memory(const launch_site& site, const sort_manner& manner) {
  if (manner.memory == sort_memory::none_wished) return false;
  if (manner.shape.codec.width_bytes() == 4) return has_counting_finish(site.family());
  if (manner.wait == host_wait::where_it_pays) return has_msd_hybrid(site.family());
  return manner.memory == sort_memory::fastest && has_msd_hybrid(site.family()) &&
         !has_few_levels(manner.shape, manner.num_records);
}

/// Returns memory for counts or buckets. Keys are looked at before the passes clear their states, and counted behind
/// the last pass, so that counts share the memory of the states where that is large enough.
void* take_bucket_memory(const sort_manner& manner, const sort_parts& memory, workspace_layout& parts) {
  const std::uint64_t bytes = bucket_memory_bytes(manner.local_sort, manner.shape, manner.num_records);
  const bool is_for_counts = manner.shape.codec.width_bytes() == 4;
  const bool has_room = bytes <= memory.of_kernels_bytes - kernel_workspace::fixed_bytes;
  if (bytes == 0 || !is_for_counts || !has_room) return parts.take(bytes);
  if (memory.of_kernels == nullptr) return nullptr;  // sizes are being added up
  return static_cast<std::byte*>(memory.of_kernels) + kernel_workspace::fixed_bytes;
}

sort_parts lay_out(const launch_site& site, const sort_manner& manner, workspace_layout& parts) {
  const record_shape& shape = manner.shape;
  sort_parts memory;
  memory.alternate.keys = parts.take(manner.num_records * shape.codec.width_bytes());
  memory.alternate.values = parts.take(manner.num_records * shape.value_bytes);
  memory.of_kernels_bytes = kernel_memory_bytes(site, manner);
  memory.of_kernels = parts.take(memory.of_kernels_bytes);
  memory.of_algorithm =
      parts.take(choose_local_sort(manner.local_sort, shape, manner.num_records, site.code).scratch_bytes);
  if (takes_bucket_memory(site, manner)) memory.of_buckets = take_bucket_memory(manner, memory, parts);
  return memory;
}

/// `argsort_keys`: as in segment_sort. Throws std::bad_alloc before it puts anything on the stream.
void enqueue_in(const launch_site& site, const sort_manner& manner, const records& data, const sort_parts& memory,
                const void* argsort_keys = nullptr) {
  pass_lists lists;
  launch_site own_site = site;
  own_site.memory = kernel_workspace::in(memory.of_kernels, memory.of_kernels_bytes);
  const segment_sort segment{.shape = manner.shape,
                             .source = data,
                             .alternate = memory.alternate,
                             .count = manner.num_records,
                             .bits = {0, manner.shape.codec.key_bits()},
                             .lists = &lists,
                             .bucket_memory = memory.of_buckets,
                             .wished_way = manner.local_sort,
                             .host_may_wait = manner.wait == host_wait::where_it_pays,
                             .argsort_keys = argsort_keys};
  const local_sort_algorithm& algorithm =
      choose_local_sort(manner.local_sort, manner.shape, manner.num_records, site.code);
  const bool looks = manner.num_records >= least_order_check_keys || memory.of_buckets != nullptr;
  enqueue_segment(algorithm, own_site, segment, memory.of_algorithm, looks ? order_check::made : order_check::skipped);
}

}  // namespace

std::uint64_t sort_workspace_bytes(const sort_manner& manner) {
  if (manner.num_records < 2) return 0;
  workspace_layout parts(nullptr);
  static_cast<void>(lay_out(make_launch_site(nullptr), manner, parts));
  return parts.end();
}

std::uint64_t argsort_workspace_bytes(const sort_manner& manner) {
  if (manner.num_records < 2) return 0;
  return sort_workspace_bytes(manner) +
         base::round_up(manner.num_records * manner.shape.codec.width_bytes(), workspace_alignment_bytes);
}

void enqueue_sort(const sort_manner& manner, const records& data, void* workspace, cudaStream_t stream) {
  if (manner.num_records < 2) return;
  const launch_site site = make_launch_site(stream);
  workspace_layout parts(workspace);
  enqueue_in(site, manner, data, lay_out(site, manner, parts));
}

void enqueue_argsort(const sort_manner& manner, const void* keys, void* indices, void* workspace, cudaStream_t stream) {
  const launch_site site = make_launch_site(stream);
  if (manner.num_records < 2)
    return launch_write_positions(site, indices, manner.shape.value_bytes, manner.num_records);
  workspace_layout parts(workspace);
  void* const sorted_keys = parts.take(manner.num_records * manner.shape.codec.width_bytes());
  enqueue_in(site, manner, {sorted_keys, indices}, lay_out(site, manner, parts), keys);
}

bool is_own_memory(const void* memory) {
  int current = 0;
  SPANSORT_CUDA(cudaGetDevice(&current));
  cudaPointerAttributes attributes{};
  SPANSORT_CUDA(cudaPointerGetAttributes(&attributes, memory));
  if (attributes.type == cudaMemoryTypeManaged) return true;
  return attributes.type == cudaMemoryTypeDevice && attributes.device == current;
}

void wait_for(cudaStream_t stream) { check_done(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); }

}  // namespace spansort::device::cuda
