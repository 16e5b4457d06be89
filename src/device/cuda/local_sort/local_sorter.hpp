// SPDX-License-Identifier: Apache-2.0
// Local sorts of whole requests: segments take turns on side streams, so that the kernels of one fill the
// multiprocessors that another's last blocks leave idle.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "device/cuda/handles.hpp"
#include "device/cuda/local_sort/local_sort.hpp"

namespace spansort::device::cuda {

class local_sorter {
 public:
  /// Makes its streams on the current device. `preferred` names an algorithm; "" leaves the choice to the table.
  explicit local_sorter(std::string preferred);

  [[nodiscard]] const local_sort_algorithm& choose(const launch_site& site, const local_sort_request& request) const;

  struct enqueued {
    std::uint64_t bytes_moved = 0;
    unsigned num_passes = 0;      ///< of the segment that takes most
    bool has_order_seen = false;  ///< site.memory.order will tell what was seen of the only segment
  };
  /// Puts the sort behind what is on `site.stream` now, and what follows there behind the sort. `scratch` is all of the
  /// queue's: the workspace, and behind it what the algorithm needs.
  [[nodiscard]] enqueued enqueue(const launch_site& site, const local_sort_request& request, void* scratch);

  /// Blocks until the side streams are idle. After a failure they may be at work although `site.stream` is done.
  void wait() noexcept;

 private:
  struct lane {
    stream_handle stream;
    event_handle done;
  };

  [[nodiscard]] launch_site site_of_lane(const launch_site& site, std::size_t number, void* scratch) const;
  /// The lanes start after what is now on the stream, and it goes on after them.
  void fork(cudaStream_t stream);
  void join(cudaStream_t stream) const;

  std::string preferred_;
  event_handle forked_;
  std::array<lane, num_lanes> lanes_;
  bool is_forked_ = false;  ///< since the last wait
};

}  // namespace spansort::device::cuda
