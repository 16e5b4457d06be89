// SPDX-License-Identifier: Apache-2.0
// Ranges of the runs of all node ranks go to where they are merged: each node rank reads what it holds of the ranges of
// all others, a send buffer at a time, and gets its own range, by node rank, run and position. However the keys are
// spread, no node rank takes more memory than its two send buffers and its range.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "files/external/element_order.hpp"
#include "files/external/io_pool.hpp"
#include "files/external/runs.hpp"
#include "files/external/spill_plan.hpp"
#include "mpi/external/background_call.hpp"
#include "mpi/external/run_cutter.hpp"
#include "mpi/transport/exchange_bytes.hpp"
#include "mpi/transport/node_group.hpp"

namespace spansort::mpi {

/// The elements that one range takes of each run: `begins[i]` to `ends[i]` for node rank i.
struct range_cuts {
  std::vector<run_cut> begins;
  std::vector<run_cut> ends;
};

class range_exchange {
 public:
  /// The arguments outlive it. Both buffers together take `send_memory`; each has room for an element at least.
  range_exchange(transport::node_group& group, const together_call& together, const external::element_order& order,
                 const external::run_list& runs, const external::spill_plan& plan, std::span<std::byte> send_memory,
                 const transport::exchange_limits& limits);

  /// Says which range receive() brings after those that it has been told of, one at most: it is read as soon as a send
  /// buffer is free.
  void expect(range_cuts cuts);
  /// Collective. Brings this node rank's next range to `into`, in which it has room. Returns its elements. Throws what
  /// reading runs throws, cluster_failure on the others.
  std::uint64_t receive(std::byte* into);
  /// Returns whether a message has failed: MPI may still write to the range, or read the buffers.
  [[nodiscard]] bool is_under_way() const noexcept { return is_under_way_; }
  /// Returns the bytes that this node rank has sent to others.
  [[nodiscard]] std::uint64_t sent_bytes() const noexcept { return sent_bytes_; }

 private:
  struct send_buffer {
    std::byte* memory = nullptr;
    std::vector<std::uint64_t> counts;  ///< of elements in it, by the node rank that they are for
    std::vector<unsigned> order;        ///< of those node ranks, in which they lie
  };
  /// The next element to be read.
  struct cursor {
    unsigned step = 0;  ///< node ranks that have got all; the next one is this one's right neighbour by as many
    std::size_t run = 0;
    std::uint64_t taken = 0;  ///< of the run's
  };
  struct request {
    std::size_t run = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::byte* to = nullptr;
  };

  [[nodiscard]] std::uint64_t num_for(unsigned peer) const;
  void begin_range();
  void begin_filling();
  void send(const send_buffer& full, std::vector<std::byte*>& places);
  void fill(send_buffer& b);
  void read(const std::vector<request>& requests);

  transport::node_group& group_;
  const together_call& together_;
  const external::run_list& runs_;
  std::uint64_t width_;
  std::uint64_t block_elements_;
  std::uint64_t capacity_;  ///< elements of a send buffer
  transport::exchange_limits limits_;
  external::io_pool pool_;
  std::array<send_buffer, 2> buffers_;
  unsigned filled_ = 1;               ///< the buffer that was filled last, or is now
  range_cuts cuts_;                   ///< of the range that is read
  cursor next_;                       ///< in it
  std::optional<range_cuts> behind_;  ///< the range after it
  bool is_reading_ = false;           ///< for a step that has not been made yet
  std::uint64_t sent_bytes_ = 0;
  bool is_under_way_ = false;
  background_call reading_;  ///< ends before the buffers go
};

}  // namespace spansort::mpi
