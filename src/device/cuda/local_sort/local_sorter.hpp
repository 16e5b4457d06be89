// SPDX-License-Identifier: Apache-2.0
// Local sorts of whole requests: segments take turns on side streams, so that the kernels of one fill the
// multiprocessors that another's last blocks leave idle. Requests that follow one another do so, too: the side streams
// are joined only when something is to come behind them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

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
  /// Puts the sort behind what is on `site.stream` now, and behind earlier sorts of the same records. What else follows
  /// there must join() first. `scratch` is all of the queue's: the workspace, and behind it what the algorithm needs.
  /// Throws std::bad_alloc only for algorithms that are asked for by name, and then before anything else.
  [[nodiscard]] enqueued enqueue(const launch_site& site, const local_sort_request& request, void* scratch);

  /// Puts what follows on `stream`, the sites' one, behind all sorts.
  void join(cudaStream_t stream);
  /// Returns a stream that is behind all sorts and what is on `stream` now, and that no sort has to wait for.
  [[nodiscard]] cudaStream_t end_of_work(cudaStream_t stream);

  /// Blocks until the side streams are idle. After a failure they may be at work although `site.stream` is done.
  void wait() noexcept;

 private:
  struct lane {
    stream_handle stream;
    event_handle done;
  };

  /// A stretch of memory that holds the keys of a request.
  struct place {
    const char* begin = nullptr;
    const char* end = nullptr;
  };
  /// These are the places of a request's source and alternate, which may be empty.
  using places = std::array<place, 2>;
  [[nodiscard]] static places places_of(const local_sort_request& request);
  [[nodiscard]] bool touch_open(const places& some) const;
  /// Returns whether there is memory to remember a request's places.
  [[nodiscard]] bool have_room();

  [[nodiscard]] launch_site site_of_lane(const launch_site& site, std::size_t number, void* scratch) const;
  /// Returns a site on the stream of looks, without memory.
  [[nodiscard]] launch_site site_of_looks(const launch_site& site) const;
  /// The lanes and the looks go on after what is now on the stream.
  void fork(cudaStream_t stream);
  void put_behind_lanes(cudaStream_t stream) const;

  std::string preferred_;
  pass_lists lists_;
  event_handle forked_;
  stream_handle looks_;  ///< at the keys of segments; it is never behind sorts of the lanes
  std::array<lane, num_lanes> lanes_;
  std::size_t next_lane_ = 0;
  lane end_;                        ///< end_of_work(), where that is not the sites' stream
  bool is_open_ = false;            ///< the sites' stream is not behind the lanes
  std::vector<place> open_places_;  ///< of the requests that it is not behind; has room for those of one at any time
  bool is_forked_ = false;          ///< since the last wait
};

}  // namespace spansort::device::cuda
