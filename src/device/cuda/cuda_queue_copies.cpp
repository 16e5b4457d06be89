// SPDX-License-Identifier: Apache-2.0
// The copies of a GPU's queue: through the ring of pinned buffers where memory is ordinary, of many pieces at once, and
// of sorted keys that several queues carry to the host.
#include "device/cuda/cuda_queue.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <new>
#include <optional>
#include <utility>

#include "device/cuda/kernels/copy_pieces.hpp"
#include "device/cuda/tuning/copy_policies.hpp"

namespace spansort::device::cuda {

/// Copies for one stream, in any order.
class copy_batch {
 public:
  void add(const copy_piece& piece) {
    to_.push_back(piece.to);
    from_.push_back(piece.from);
    sizes_.push_back(piece.size_bytes);
  }

  [[nodiscard]] bool is_empty() const noexcept { return sizes_.empty(); }
  /// Takes no memory of this library's.
  void enqueue(cudaStream_t stream) const {
    if (sizes_.empty()) return;
#if CUDART_VERSION >= 13000
    // In a batch a copy need not wait until the one before it has arrived (docs/design/0005-gpu.md).
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    std::size_t first_with_them = 0;
    SPANSORT_CUDA(cudaMemcpyBatchAsync(to_.data(), from_.data(), sizes_.data(), sizes_.size(), &attributes,
                                       &first_with_them, 1, stream));
#else
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      SPANSORT_CUDA(cudaMemcpyAsync(to_[i], from_[i], sizes_[i], cudaMemcpyDefault, stream));
    }
#endif
  }

 private:
  std::vector<void*> to_;
  std::vector<const void*> from_;
  std::vector<std::size_t> sizes_;
};

namespace {

/// Takes large pieces out of a list, one after the other for either stream.
std::array<copy_batch, 2> take_large(std::vector<copy_piece>& pieces, std::uint64_t least_bytes) {
  std::array<copy_batch, 2> batches;
  std::size_t next = 0;
  std::erase_if(pieces, [&](const copy_piece& p) {
    if (p.size_bytes < least_bytes) return false;
    batches[next].add(p);
    next = 1 - next;
    return true;
  });
  return batches;
}

std::uint64_t bytes_moved_by(const std::vector<copy_piece>& pieces) {
  std::uint64_t bytes = 0;
  for (const copy_piece& p : pieces) bytes += 2 * p.size_bytes;
  return bytes;
}

}  // namespace

void cuda_queue::copy_now(void* destination, const void* source, std::uint64_t size_bytes) {
  constexpr std::uint64_t worth_the_ring = pinned_ring_tuning.sizes.least_copy_bytes;
  if (size_bytes >= worth_the_ring && is_pageable(source)) {
    ring_.copy_in(stream_.get(), destination, source, size_bytes);
  } else if (size_bytes >= worth_the_ring && is_pageable(destination)) {
    ring_.copy_out(stream_.get(), destination, source, size_bytes);
  } else if (size_bytes > most_received_bytes || !is_pageable(destination) ||
             !try_copy_by_staging(destination, source, size_bytes)) {
    SPANSORT_CUDA(cudaMemcpyAsync(destination, source, size_bytes, cudaMemcpyDefault, stream_.get()));
  }
}

// The driver would hold this thread up until the copy is there.
bool cuda_queue::try_copy_by_staging(void* destination, const void* source, std::uint64_t size_bytes) {
  try {
    copy_to_host(source, size_bytes,
                 [destination, size_bytes](const void* staged) { std::memcpy(destination, staged, size_bytes); });
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void cuda_queue::copy(void* destination, const void* source, std::uint64_t size_bytes, std::string_view label) {
  if (size_bytes == 0 || destination == source) return;
  push_timed(label, 0, [=, this] {
    copy_now(destination, source, size_bytes);
    return 2 * size_bytes;
  });
}

void cuda_queue::enqueue_side_by_side(const std::array<copy_batch, 2>& batches) {
  if (batches[0].is_empty()) return;  // the first piece went there
  SPANSORT_CUDA(cudaEventRecord(forked_.get(), stream_.get()));
  SPANSORT_CUDA(cudaStreamWaitEvent(second_stream_.get(), forked_.get(), 0));
  batches[0].enqueue(stream_.get());
  batches[1].enqueue(second_stream_.get());
  SPANSORT_CUDA(cudaEventRecord(forked_.get(), second_stream_.get()));
  SPANSORT_CUDA(cudaStreamWaitEvent(stream_.get(), forked_.get(), 0));
}

void cuda_queue::copy_by_kernel(const std::vector<copy_piece>& pieces, unsigned alignment_bytes) {
  const copy_pieces_policy policy = copy_pieces_policy_of(site_.family()).sizes;
  const unsigned most_blocks =
      use_ == queue_use::exchange ? policy.blocks_beside : site_.num_multiprocessors * policy.blocks_each;
  piece_table table;
  for (const copy_piece& p : pieces) {
    if (table.num_pieces == piece_table::most_pieces) {
      launch_copy_pieces(site_, table, most_blocks, alignment_bytes);
      table.num_pieces = 0;
      table.num_tiles = 0;
    }
    table.pieces[table.num_pieces++] = {static_cast<char*>(p.to), static_cast<const char*>(p.from), p.size_bytes,
                                        table.num_tiles};
    table.num_tiles += num_piece_tiles(policy, p.to, p.size_bytes);
  }
  launch_copy_pieces(site_, table, most_blocks, alignment_bytes);
}

// The batches are made by the caller: the thread that feeds the GPU does each step whole, and takes no memory for it.
void cuda_queue::copy_pieces(std::vector<copy_piece> pieces, unsigned alignment_bytes, std::string_view label) {
  std::erase_if(pieces, [](const copy_piece& p) { return p.size_bytes == 0 || p.to == p.from; });
  if (pieces.empty()) return;
  const std::uint64_t bytes_moved = bytes_moved_by(pieces);
  std::array<copy_batch, 2> batches;
  if (use_ == queue_use::exchange) {
    batches = take_large(pieces, copy_pieces_policy_of(site_.family()).sizes.least_engine_bytes);
  }
  push_timed(label, 0, [=, this, batches = std::move(batches), pieces = std::move(pieces)] {
    if (use_ == queue_use::exchange) enqueue_side_by_side(batches);
    if (!pieces.empty()) copy_by_kernel(pieces, alignment_bytes);
    return bytes_moved;
  });
}

void cuda_queue::prepare_to_pack(unsigned threads) {
  push([this, threads] { packed_ring_.prepare(threads); });
}

void cuda_queue::carry_next(outbox& from, const keys::key_codec& codec, copy_form form) {
  push([this, &from, codec, form, watch = watch_] {
    sorter_.join(stream_.get());
    if (form == copy_form::packed && packed_ring_.is_ready()) {
      carry_packed(from, codec, watch);
    } else {
      carry_as_it_is(from, codec, watch);
    }
  });
}

void cuda_queue::carry_as_it_is(outbox& from, const keys::key_codec& codec, monitor* watch) {
  if (carried_[0] == nullptr) {
    for (event_handle& e : carried_) e = make_cuda_event(cudaEventDisableTiming);
  }
  SPANSORT_CUDA(cudaEventSynchronize(carried_[0].get()));
  const std::optional<outgoing_keys> next = from.take();
  if (!next) return;
  wait_now(static_cast<cuda_event&>(*next->sorted));
  const auto copy_keys = [&] {
    const std::uint64_t size_bytes = next->num_keys * codec.width_bytes();
    copy_now(next->destination, next->keys, size_bytes);
    return 2 * size_bytes;
  };
  run_timed("copy out", 0, watch, std::cref(copy_keys));
  SPANSORT_CUDA(cudaEventRecord(carried_[0].get(), stream_.get()));
  std::swap(carried_[0], carried_[1]);
}

void cuda_queue::carry_packed(outbox& from, const keys::key_codec& codec, monitor* watch) {
  if (const std::optional<outgoing_keys> next = from.take()) {
    wait_now(static_cast<cuda_event&>(*next->sorted));
    const auto copy_packed = [&] {
      packed_ring_.copy_out(site_, codec, next->destination, next->keys, next->num_keys);
      return 2 * next->num_keys * codec.width_bytes();
    };
    run_timed("copy out packed", 0, watch, std::cref(copy_packed));
  }
  if (from.is_empty()) packed_ring_.finish();
}

}  // namespace spansort::device::cuda
