// SPDX-License-Identifier: Apache-2.0
// Sorting what is larger than the memory of all node ranks: each sorts runs of its share and spills them to folders of
// its own; then, range by range, all send each other what belongs together, and each sorts its ranges in memory. Every
// element is read twice and written twice, and sent once, however many there are (Rahn, Sanders, Singler, Scalable
// Distributed-Memory External Sorting, arXiv 0910.2582).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "files/external/element_order.hpp"
#include "files/external/element_stream.hpp"
#include "files/external/pipeline.hpp"
#include "files/external/runs.hpp"
#include "files/external/spill_plan.hpp"
#include "mpi/external/range_exchange.hpp"
#include "mpi/external/run_cutter.hpp"
#include "mpi/transport/node_group.hpp"

namespace spansort::mpi {

/// The head of a sort whose whole result is wanted.
inline constexpr std::uint64_t no_head = std::numeric_limits<std::uint64_t>::max();

struct parts_options {
  external::spill_plan plan;         ///< may differ from node rank to node rank, as may the next two
  std::vector<std::string> folders;  ///< for temporary files
  unsigned threads = 0;              ///< that sort and verify
  bool sums_elements = false;        ///< the checksum of the input is wanted
  bool drops_duplicates = false;     ///< of elements that are equal in a run, the first alone is spilled
  /// Only so many of the sorted whole are wanted, from its begin on. Of a run, no more are spilled, and no more are
  /// merged, unless duplicates are still to be dropped then.
  std::uint64_t head = no_head;
  transport::exchange_limits limits;
};

/// The place of elements in a file: the i-th of a node rank's part `i * element_bytes` behind the first.
struct file_place {
  std::uint64_t first_byte = 0;
  std::uint64_t element_bytes = 0;
};

/// The work that one node rank has done.
struct parts_result {
  std::uint64_t num_read = 0;
  std::uint64_t num_runs = 0;
  std::uint64_t spilled_bytes = 0;
  std::uint64_t sent_bytes = 0;
  multiset_checksum checksum;  ///< of what has been read
};

class cluster_sort_in_parts {
 public:
  /// Its arguments but the options outlive it. Throws out_of_memory.
  cluster_sort_in_parts(transport::node_group& group, together_call together, external::element_order& order,
                        parts_options options);
  /// Memory that MPI may still write to after a failure stays where it is.
  ~cluster_sort_in_parts();
  cluster_sort_in_parts(const cluster_sort_in_parts&) = delete;
  cluster_sort_in_parts& operator=(const cluster_sort_in_parts&) = delete;

  /// Collective. Reads `source`, the share of this node rank, and spills its runs. Throws what reading and spilling
  /// throw, cluster_failure on the others.
  void make_runs(external::element_source& source);

  /// Elements that will be merged: those that have been spilled by all, or the head of them.
  [[nodiscard]] std::uint64_t num_elements() const noexcept { return num_elements_; }
  /// Returns which of them, in sorted order, this node rank gets: parts are equal.
  [[nodiscard]] std::uint64_t first_of_part() const noexcept { return part_begins_[group_.node_rank()]; }
  [[nodiscard]] std::uint64_t size_of_part() const noexcept {
    return part_begins_[group_.node_rank() + 1] - first_of_part();
  }

  /// Collective. Sorts this node rank's part, range by range, and gives each to `take`, on one thread at a time, which
  /// may overwrite it. Elements lie in pages of memory as they do in those of the file at `place`, so that they need
  /// not be copied to be written past the page cache. Throws what `take` throws, and what reading throws,
  /// cluster_failure on the others.
  void merge(const std::function<void(std::byte* elements, std::uint64_t count)>& take, const file_place& place = {});

  [[nodiscard]] const parts_result& result() const noexcept { return result_; }

 private:
  void learn_sizes();
  [[nodiscard]] std::vector<run_cut> cuts_at_begin(run_cutter& cutter) const;
  /// Places in all runs, one for each node rank, and how many elements come before each.
  struct places {
    std::vector<run_cut> cuts;
    std::vector<std::uint64_t> ranks;
  };
  [[nodiscard]] places ends_of_ranges(std::uint64_t round, const places& begins, const places& ends,
                                      run_cutter& cutter) const;
  [[nodiscard]] run_cut everything() const;

  transport::node_group& group_;
  together_call together_;
  external::element_order& order_;
  parts_options options_;
  std::vector<external::element_chunk> chunks_;
  external::run_list runs_;
  std::uint64_t num_elements_ = 0;
  bool merges_all_ = true;  ///< that have been spilled
  std::uint64_t num_rounds_ = 0;
  std::vector<std::uint64_t> part_begins_;  ///< by node rank, and the end
  std::vector<std::uint64_t> slacks_;       ///< by node rank: elements by which a range may be longer at either end
  parts_result result_;
  bool may_be_written_to_ = false;  ///< by MPI, for an exchange has failed
};

}  // namespace spansort::mpi
