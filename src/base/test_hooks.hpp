// SPDX-License-Identifier: Apache-2.0
// Test hooks are what the library's own tests change about a call: sizes that shrink the world, so that a thousand keys
// reach every branch, and faults that are injected. This header is not installed. A test holds a test_hooks_scope;
// every sorter, session and free function takes a copy of the thread's hooks when it begins, so that they are its own
// from then on.
#pragma once

#include <cstdint>

namespace spansort::base {

/// This says which local sorts on a GPU go by buckets, of 8-byte keys, or count the low bits of 4-byte keys: those that
/// are large and have even keys, those of any size that have, all, or none; or arrays of 8-byte keys all go by buckets
/// that a sample is spread over, of which there are 2^16 or 2^18, where the host may wait for a look at the sample.
enum class gpu_buckets : std::uint8_t { by_size, where_even, always, never, by_spread, by_wide_spread };

/// This says how a GPU sorts records that are few enough for it, or keys that are narrow enough: by the way that pays
/// for their number, in one block, by blocks that meet, by counting them, or as if they were many.
enum class gpu_small_sort : std::uint8_t { by_size, block, grid, count, none };

/// This says whether sorted keys that leave a device's own memory are packed: where that pays, never, or always.
enum class key_packing : std::uint8_t { where_it_pays, never, always };

/// This says what becomes of buckets that span ranks where these keep their sizes: small ones are copied to each of
/// their ranks and others refined, or all are refined, or all copied.
enum class spanning_buckets : std::uint8_t { by_size, refined, copied };

/// 0 stands for the default everywhere.
struct test_hooks {
  std::uint64_t host_inline_keys = 0;  ///< inputs of up to this size are sorted on the calling thread
  /// The size of the buckets that a host device sorts in cache, an eighth of the largest one.
  std::uint64_t host_bucket_bytes = 0;
  unsigned host_radix_bits = 0;         ///< digit width of a host device's own partition, 1 to 12
  std::uint64_t host_tile_keys = 0;     ///< keys that one host task counts or partitions at a time
  bool host_separate_memory = false;    ///< host devices pretend to have memory of their own: data is copied in and out
  std::uint64_t copy_piece_bytes = 0;   ///< bytes copied at a time to and from devices with memory of their own
  std::uint64_t device_chunk_keys = 0;  ///< records that a device sorts at a time in `out_of_core`
  std::uint64_t round_keys = 0;         ///< keys that a rank gets in a round of the exchange, on devices of any kind
  std::uint64_t several_devices_keys = 0;  ///< from this many keys on `auto` uses all devices of the list
  bool cub_local_sort = false;             ///< CUB does GPUs' local sorts of the key and value widths that it can sort
  bool exchange_through_host = false;      ///< the exchange acts as if no device reached another's memory
  std::uint64_t file_chunk_elements = 0;   ///< elements that one run or range of an external sort holds
  std::uint64_t file_block_elements = 0;   ///< elements that are spilled, checked and read at a time
  unsigned file_fan_in = 0;                ///< runs merged at a time, at least 2
  std::uint64_t file_flow_bytes = 0;       ///< from this size on a file that fits is read, sorted, written side by side
  bool corrupt_result = false;             ///< sorts of files flip a bit of the result before they verify it
  bool corrupt_peer_probes = false;        ///< the probes of GPUs' links find a wrong bit, a GPU's own memory included
  std::uint64_t fail_allocation_at = 0;    ///< 1: a sorter's first workspace allocation fails, 2: the second ...
  /// 1: the first call of a sort to its GPUs' runtime fails without being made, 2: the second ...
  std::uint64_t fail_device_call_at = 0;
  int fail_device_call_with = 0;         ///< that failure's number at the runtime; 0: its unknown error
  std::uint64_t long_row_keys = 0;       ///< rows of so many keys are sorted one after the other by calls on a stream
  std::uint64_t segments_call_keys = 0;  ///< keys of the rows that one sort of segments on a stream takes
  bool blocks_cannot_meet = false;       ///< GPUs act as those do that launch no kernels whose blocks all run at once
  gpu_buckets buckets = {};
  gpu_small_sort small_sort = {};
  key_packing packing = {};
  spanning_buckets spanning = {};

  friend bool operator==(const test_hooks&, const test_hooks&) = default;
};

/// Returns the hooks of the calling thread's innermost scope, or the defaults.
[[nodiscard]] const test_hooks& current_test_hooks() noexcept;

/// Returns whether these hooks change anything: calls are then to take the ways that heed hooks.
[[nodiscard]] bool has_test_hooks() noexcept;

/// Calls that the thread makes while the scope lives take these hooks. Scopes of one thread end in reverse order.
class test_hooks_scope {
 public:
  explicit test_hooks_scope(const test_hooks& hooks) noexcept;
  ~test_hooks_scope();
  test_hooks_scope(const test_hooks_scope&) = delete;
  test_hooks_scope& operator=(const test_hooks_scope&) = delete;

 private:
  test_hooks hooks_;
  const test_hooks* outer_;
  bool outer_changes_;
};

}  // namespace spansort::base
