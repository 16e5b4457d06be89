// SPDX-License-Identifier: Apache-2.0
// This header says what a device offers: memory, in-order queues, events, copies, and the primitives of the pipeline.
//
// The contract is that of a GPU, so that nothing above this room changes when the next backend comes:
//   - Everything on a queue is asynchronous and in order; the caller waits only where it says so (queue::synchronize).
//     Nothing synchronises behind the caller's back.
//   - Pointers in requests are device memory of the queue's device, or memory that it can reach (device::reaches).
//   - Results that the host reads (counts, outcomes) are written into host memory given by the caller and are valid
//     once an event recorded behind the request has completed. Requests are copied when queued; the memory they point
//     at must live until then.
//   - A failure inside queued work surfaces as an exception from the next synchronize(); work queued behind it is
//     skipped, and events behind it complete as failed.
//   - Keys in memory are always the caller's bits. A codec says what order they are in; primitives encode on the fly.
//   - Counts and offsets are 64-bit.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/record_flow.hpp"
#include "device/block_sums.hpp"
#include "keys/codec.hpp"
#include "keys/digit.hpp"

namespace spansort::device {

class device;

/// The arrays in which `n` keys and their values lie. `values` is null when no values travel.
struct records {
  void* keys = nullptr;
  void* values = nullptr;
};

/// What a record is: the key's encoding and the bytes of the value that travels with it: 0, 4, 8 or 16.
struct record_shape {
  keys::key_codec codec;
  unsigned value_bytes = 0;

  [[nodiscard]] unsigned bytes() const noexcept { return codec.width_bytes() + value_bytes; }
};

/// `r` moved up by `count` records.
[[nodiscard]] inline records advance(const record_shape& shape, records r, std::uint64_t count) noexcept {
  return {static_cast<char*>(r.keys) + count * shape.codec.width_bytes(),
          r.values == nullptr ? nullptr : static_cast<char*>(r.values) + count * shape.value_bytes};
}

/// Owned device memory; freed on the device it came from. Aligned to 4096 bytes, contents undefined.
class buffer {
 public:
  buffer() = default;
  buffer(device& owner, void* data, std::uint64_t size_bytes) : owner_(&owner), data_(data), size_bytes_(size_bytes) {}
  buffer(buffer&& other) noexcept { swap(other); }
  buffer& operator=(buffer&& other) noexcept {
    buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~buffer();

  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  void swap(buffer& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
  }

 private:
  device* owner_ = nullptr;
  void* data_ = nullptr;
  std::uint64_t size_bytes_ = 0;
};

/// A point in a queue's order, on which other queues and the host can wait. May be recorded again once complete.
class event {
 public:
  virtual ~event() = default;
  [[nodiscard]] virtual bool is_complete() const = 0;
};

/// Whether an input is already in an order that saves the work. Precedence: constant, sorted, reversed.
enum class input_shape : std::uint8_t {
  general,
  sorted,    ///< every key >= its left neighbour
  reversed,  ///< keys alone: every key <= its left neighbour; with values: strictly less, so that reversing is stable
  constant   ///< all keys encode alike
};
[[nodiscard]] std::string_view name(input_shape shape) noexcept;

/// Counts digits of keys in one read, and notices the input's shape in the same read.
struct histogram_request {
  record_shape shape;
  const void* keys = nullptr;
  std::uint64_t num_keys = 0;
  std::vector<keys::digit_position> digits;  ///< any number of places, counted together
  std::uint64_t* counts = nullptr;     ///< host memory: num_buckets() of each digit, one after the other; overwritten
  input_shape* found_shape = nullptr;  ///< host memory, or null: do not look
};

/// Stable partition: every record goes to its bucket's destination, in input order.
struct partition_request {
  record_shape shape;
  records source;
  std::uint64_t num_keys = 0;
  keys::digit_position digit;
  /// These num_buckets() entries say where each of the digit's buckets starts; they are copied when queued. They may
  /// lie in any memory that the device reaches, another device's too, and must not overlap the source.
  const records* destinations = nullptr;
};

/// Exchanges record i of `left` with record num_records - 1 - i of `right`; the two ranges do not overlap. What is left
/// to do on an input that is in the opposite order.
struct swap_mirrored_request {
  record_shape shape;
  records left;
  records right;
  std::uint64_t num_records = 0;
};

/// Writes first, first + 1, ... as integers of 4 or 8 bytes: the values that an argsort begins with.
struct positions_request {
  void* positions = nullptr;
  unsigned index_bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t first = 0;
};

/// Splitters that one interval_request takes at most.
inline constexpr unsigned max_splitters = 63;

/// Counts the keys between splitters, and copies those of marked intervals, in one read. Interval i holds the keys
/// whose encoding is at least splitters[i - 1] and less than splitters[i]; the first and the last are open to their
/// side. So v and v + 1 as splitters hold one value alone.
struct interval_request {
  keys::key_codec codec;  ///< bijective
  const void* keys = nullptr;
  std::uint64_t num_keys = 0;
  std::vector<std::uint64_t> splitters;  ///< encoded keys, strictly ascending, at most max_splitters
  std::uint64_t marked = 0;              ///< bit i: interval i's keys are wanted
  std::uint64_t* counts = nullptr;       ///< host memory: splitters.size() + 1 entries; overwritten
  /// The keys of marked intervals go here, in any order, as they are. The counts say how many there are; of more than
  /// fit, some are missing. Nothing is written past `capacity` keys.
  void* collected = nullptr;
  std::uint64_t capacity = 0;
};

/// Adds up keys as numbers, block after block: what a mean is made of. The same bits on every device.
struct sum_request {
  key_type type = key_type::u64;
  const void* keys = nullptr;
  std::uint64_t num_keys = 0;
  block_sum* sums =
      nullptr;  ///< host memory: one for every sum_block_keys keys, the last block may be short; overwritten
};

struct local_sort_outcome {
  input_shape shape = input_shape::general;  ///< of the only segment; anything but general: little or nothing was moved
  unsigned num_passes = 0;                   ///< most times that records were moved through main memory
  std::uint64_t bytes_moved = 0;
};

/// Neighbouring records that are sorted for themselves, on a bit range of their encoded keys; above the range all of
/// them must agree. An empty range: they are in order, and only have to be where the result goes.
struct sort_segment {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
  keys::bit_range bits;
};

/// Stable sorts of segments, all in one request: thousands of small ones cost no thousands of launches.
/// Adaptive: notices an ordered or constant segment in the read that counts, and then moves little or nothing.
/// Source and alternate do not overlap; in the segments both are clobbered, and the result lands where it is asked for.
/// Outside the segments nothing is touched.
struct local_sort_request {
  record_shape shape;
  records source;
  records alternate;
  bool result_in_alternate = false;
  std::vector<sort_segment> segments;     ///< none overlaps another
  local_sort_outcome* outcome = nullptr;  ///< host memory, or null
  bool looks_for_order = true;  ///< may save the work; a bucket that a partition has just made is never ordered
  /// Names a local sort that the device offers (device::offer_local_sort()), by a text that lasts as long as the
  /// program; "" leaves the choice to the device. Local sorts that are named look for no order.
  std::string_view algorithm = {};
  void* scratch = nullptr;  ///< device memory, as much as the offer asks for; the device's own choice makes do without
  unsigned digit_bits = 0;  ///< widest digit of a pass, up to what the offer allows; 0: the algorithm's own
  /// Told of records of the only segment that are where the result is wanted, while others are being sorted; null, and
  /// devices that say nothing before the end, tell nobody. Records count from the first of the source.
  base::record_flow* flow = nullptr;
};

/// What a device says of a local sort that is asked for by name, or of its own choice (""), whose scratch is a wish.
struct local_sort_offer {
  std::string why_not = {};         ///< why it is not to be had here; "" where it is
  bool needs_alternate = true;      ///< else the request's alternate may be null
  std::uint64_t scratch_bytes = 0;  ///< device memory beside source and alternate
  unsigned most_digit_bits = 0;     ///< the widest digit that may be asked for; 0: the algorithm's own alone
};

/// Merges two runs, each in the order of its keys, into one. Stable: of equal keys those of the left run come first.
/// The destination has room for all records and overlaps neither run.
struct merge_request {
  record_shape shape;
  records left;
  std::uint64_t num_left = 0;
  records right;
  std::uint64_t num_right = 0;
  records destination;
};

/// How finely a driver should partition before this device's local sort.
struct partition_advice {
  std::uint64_t segment_keys =
      0;                    ///< segments of up to this many keys are sorted in one trip through memory; 0: none are
  unsigned radix_bits = 8;  ///< widest digit that one partition splits by at full speed
  unsigned most_radix_bits = 8;            ///< widest digit that one partition takes
  std::uint64_t several_devices_keys = 0;  ///< from so many keys on several such devices beat one
};

/// Shared between the host thread that runs a sort and the queues that work for it.
struct monitor {
  std::atomic<std::uint64_t> work_done{0};  ///< record moves and counts finished, in keys
  std::atomic<bool> stop_requested{false};  ///< polled by long work that has not yet overwritten its source
  /// Polled by all work, where nobody wants the arrays any more: their contents are then undefined.
  std::atomic<bool> abandon_requested{false};
  // Set before queues are told of the monitor.
  bool wants_progress = true;    ///< queues count in work_done
  bool wants_intervals = false;  ///< queues take the time of their work
};

/// One finished piece of queued work.
struct work_interval {
  std::string_view name;
  std::int64_t begin_ns = 0;  ///< as device::now_ns()
  std::int64_t end_ns = 0;
  std::uint64_t bytes_moved = 0;
  std::uint64_t num_keys = 0;
};

/// Bytes to copy, as part of a longer list.
struct copy_piece {
  void* to = nullptr;
  const void* from = nullptr;
  std::uint64_t size_bytes = 0;
};

/// In-order asynchronous work of one device: a CUDA stream, or a worker thread.
class queue {
 public:
  virtual ~queue() = default;

  /// Copies between any two places that the device reaches.
  virtual void copy(void* destination, const void* source, std::uint64_t size_bytes, std::string_view label) = 0;
  /// Many copies at once, in any order: from this device's memory into any that it reaches. Addresses and sizes are
  /// multiples of `alignment_bytes`, which is 1, 2, 4, 8 or 16. No two pieces overlap.
  virtual void copy_pieces(std::vector<copy_piece> pieces, unsigned alignment_bytes, std::string_view label) = 0;
  virtual void histogram(const histogram_request& request) = 0;
  virtual void count_intervals(const interval_request& request) = 0;
  virtual void sum_blocks(const sum_request& request) = 0;
  virtual void partition(const partition_request& request) = 0;
  /// Sorts segments. A local sort that is named has been offered.
  virtual void local_sort(const local_sort_request& request) = 0;
  virtual void swap_mirrored(const swap_mirrored_request& request) = 0;
  virtual void write_positions(const positions_request& request) = 0;
  virtual void merge(const merge_request& request) = 0;

  /// Later work starts after what is on `stream` now: a stream of the device's runtime that is not this library's.
  /// Nothing on devices that have none.
  virtual void wait_for_stream(void* stream) = 0;
  /// Later work is not begun before `wait` has returned; work queued earlier may still be running. `wait` may block,
  /// and what it throws fails the queue. Skipped after a failure.
  virtual void wait_for_host(std::function<void()> wait) = 0;
  /// Calls `tell` on some thread when all work queued so far has completed. `tell` is short and does not throw, and
  /// makes no call to a device. Skipped after a failure.
  virtual void tell_host(std::function<void()> tell) = 0;
  virtual void record(event& e) = 0;
  /// Later work of this queue starts after `e` has completed; `e` must have been recorded. The host does not wait.
  virtual void wait(event& e) = 0;
  /// Blocks the host until the queue is empty; rethrows the first failure, after which the queue is usable again.
  virtual void synchronize() = 0;

  /// `m` may be null; it must outlive the work queued while it is set.
  virtual void set_monitor(monitor* m) = 0;
  /// Intervals of all work finished since the last call, of which the monitor wanted any. Call after synchronize().
  [[nodiscard]] virtual std::vector<work_interval> take_intervals() = 0;
};

/// A description for people. It costs more than a small sort to gather.
struct device_info {
  std::string model;
  std::uint64_t memory_bytes = 0;
  int numa_node = -1;
  std::string vector_target;
};

/// The memory_id of the memory in which the caller's arrays lie.
inline constexpr int host_memory = -1;

class device {
 public:
  virtual ~device() = default;

  [[nodiscard]] virtual const std::string& name() const noexcept = 0;  ///< "host:0"
  [[nodiscard]] virtual unsigned num_threads() const noexcept = 0;     ///< of the host that work for it
  [[nodiscard]] virtual device_info info() const = 0;
  /// Returns how much could be allocated now. This asks the system, so it is not for every small sort.
  [[nodiscard]] virtual std::uint64_t available_bytes() const = 0;
  /// Throws out_of_memory with needed and available bytes. 0 bytes give an empty buffer.
  [[nodiscard]] buffer allocate(std::uint64_t size_bytes) { return allocate_on(nullptr, size_bytes); }
  /// Allocates memory that is first used on `stream`, which is the caller's own and of the device's kind; null: on any.
  [[nodiscard]] virtual buffer allocate_on(void* stream, std::uint64_t size_bytes) = 0;
  [[nodiscard]] virtual std::unique_ptr<queue> make_queue() = 0;
  [[nodiscard]] virtual std::unique_ptr<event> make_event() = 0;
  /// Returns whether kernels and copies of this device can use pointers of `other` directly.
  [[nodiscard]] virtual bool reaches(const device& other) const = 0;
  /// Returns why reaches() is false, for people; "" where it is true.
  [[nodiscard]] virtual std::string why_unreachable(const device& other) const = 0;
  /// Returns whether `memory` is this device's.
  [[nodiscard]] virtual bool owns(const void* memory) const = 0;
  /// The caller's host memory is device memory: chunks need no copies in and out.
  [[nodiscard]] virtual bool shares_host_memory() const noexcept = 0;
  /// Devices with the same number allocate from the same memory.
  [[nodiscard]] virtual int memory_id() const noexcept = 0;
  [[nodiscard]] virtual partition_advice advise(const record_shape& shape) const = 0;
  /// Returns whether a local sort over `bits` costs less with its result in the alternate.
  [[nodiscard]] virtual bool prefers_alternate(const record_shape& shape, keys::bit_range bits) const = 0;
  /// Returns whether the device has the local sort called `name` for `num_keys` such records, and what that needs.
  [[nodiscard]] virtual local_sort_offer offer_local_sort(std::string_view name, const record_shape& shape,
                                                          std::uint64_t num_keys) const = 0;
  /// Host memory that copies between it and this device take at full speed. Not counted as the device's memory. Throws
  /// out_of_memory.
  [[nodiscard]] virtual buffer allocate_staging(std::uint64_t size_bytes) = 0;
  /// Allocates much memory as allocate_staging() does, but where no more of that can be had it is ordinary host memory,
  /// which copies take more slowly.
  [[nodiscard]] virtual buffer allocate_host(std::uint64_t size_bytes) = 0;
  /// Memory that work on this device's queues needs besides, whatever the input: a fixed number of bytes of the memory
  /// that memory_id() names.
  [[nodiscard]] virtual std::uint64_t scratch_bytes() const = 0;
  /// Takes that memory; nothing happens when it is held. Before work is queued.
  virtual void prepare() = 0;
  /// Gives it back. The queues are empty.
  virtual void release() = 0;

 private:
  friend class buffer;
  virtual void deallocate(void* data, std::uint64_t size_bytes) noexcept = 0;
};

inline buffer::~buffer() {
  if (data_ != nullptr) owner_->deallocate(data_, size_bytes_);
}

}  // namespace spansort::device
