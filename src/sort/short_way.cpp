// SPDX-License-Identifier: Apache-2.0
#include "sort/short_way.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "base/available_memory.hpp"
#include "base/test_hooks.hpp"
#include "base/threads.hpp"
#include "device/host/shared_order.hpp"
#include "device/host/shared_pairs.hpp"
#include "device/host/shared_sort.hpp"
#include "device/host/small_pairs.hpp"
#include "device/host/small_sort.hpp"
#include "sort/arguments.hpp"
#include "sort/flowing_calls.hpp"
#include "sort/gpu_devices.hpp"
#include "sort/kept_ranks.hpp"
#include "spansort/errors.hpp"
#include "spansort/sort.hpp"

namespace spansort {
namespace sorting {
namespace {

bool is_one_cpu_or_open(const device_list& devices) {
  return devices.what() != device_list::kind::gpu && devices.count() <= 1;
}

bool is_default(const tuning_options& tuning) {
  constexpr tuning_options usual;
  return tuning.radix_bits == usual.radix_bits && tuning.epsilon == usual.epsilon &&
         tuning.fuse_threshold == usual.fuse_threshold;
}

/// Calls work(), which allocates scratch before it changes anything.
template <class Work>
void with_scratch(const Work& work, std::uint64_t needed_bytes = device::host::most_small_scratch_bytes) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    throw out_of_memory("no memory for the threads' scratch", needed_bytes, base::available_memory_bytes());
  }
}

/// More do not fit most_shared_pairs_bytes, whatever their type.
constexpr std::uint64_t most_short_pairs = device::host::most_shared_pairs_bytes / 5;

/// Returns how many threads may share pairs, 0 where there are no more pairs than one thread sorts in less time and in
/// its scratch. Nobody asks how many threads there are where all processors of the machine would not share them: that
/// took 0.3 us.
unsigned num_sharing_threads(std::uint64_t num_keys, unsigned threads) {
  using device::host::most_pairs_alone;
  if (num_keys <= device::host::fewest_shared_pairs) return 0;
  static const auto num_processors = static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF)));
  if (num_keys <= most_pairs_alone(threads == 0 ? num_processors : std::min(threads, num_processors))) return 0;
  const unsigned num_threads = base::resolve_threads(threads);
  return num_keys > most_pairs_alone(num_threads) ? num_threads : 0;
}

/// Calls sort(), which says whether it has sorted, unless there is too much.
template <class Sort>
bool share_pairs(std::uint64_t bytes, std::uint64_t needed_bytes, unsigned num_threads, const Sort& sort) {
  // GPUs that have been started may be faster from here on, which is for the devices' choice.
  constexpr std::uint64_t most_beside_gpus = std::uint64_t{1} << 24;
  if (bytes > device::host::most_shared_pairs_bytes) return false;
  if (bytes > most_beside_gpus && gpus_are_started()) return false;
  bool is_done = false;
  with_scratch([&] { is_done = sort(); }, device::host::shared_pairs_bytes(needed_bytes, num_threads));
  return is_done;
}

/// Sorts keys that one thread looks at, and that others help to sort where they are not settled by that.
void sort_small_on_threads(const keys::key_codec& codec, const key_span& keys, bool can_share, unsigned threads) {
  using namespace device::host;
  const std::uint64_t key_bytes = size_bytes(keys.type);
  const std::uint64_t bytes = keys.num_keys * key_bytes;
  const bool may_share = can_share && key_bytes > 1 && has_shared_sort(sizeof(std::uint32_t));
  if (!may_share || bytes <= most_alone_bytes) return sort_small(codec, keys.data, keys.num_keys);
  const std::uint64_t num_shares = bytes / bytes_of_small_share;
  const auto num_threads = static_cast<unsigned>(std::min<std::uint64_t>(base::resolve_threads(threads), num_shares));
  if (num_threads == 1) return sort_small(codec, keys.data, keys.num_keys);
  const left_to_others left{.repeated = bytes > most_counted_alone_bytes,
                            .runs = num_threads >= fewest_threads_not_to_merge && bytes >= most_counted_alone_bytes};
  if (settle_small(codec, keys.data, keys.num_keys, left)) return;
  if (sort_others_shared(codec, keys.data, keys.num_keys, num_threads, left.repeated)) return;
  sort_small(codec, keys.data, keys.num_keys);
}

keys::key_codec stable_codec(key_type type, direction d) {
  return {type, keys::is_descending(d), keys::tie_rule::by_input_order};
}

/// Writes the order of more keys than share memory, if they are nearly in order: they are not copied then.
bool argsort_presorted(const const_key_span& keys, void* indices, std::uint64_t index_bytes, direction d,
                       unsigned threads) {
  check_keys(keys);
  check_indices(keys, indices, index_bytes);
  const unsigned num_threads = base::resolve_threads(threads);
  try {
    return device::host::argsort_presorted_shared(stable_codec(keys.type, d), keys.data, indices, index_bytes,
                                                  keys.num_keys, num_threads);
  } catch (const std::bad_alloc&) {
    return false;  // nothing has been written
  }
}

}  // namespace

bool allow_short_way(const sort_options& options) {
  return is_one_cpu_or_open(options.devices) && options.threads <= base::most_threads &&
         (options.algorithm == algorithm::automatic || options.algorithm == algorithm::single) &&
         options.memory_limit_bytes == 0 && options.device_memory_bytes == 0 && !options.on_progress &&
         options.report == nullptr && is_default(options.tuning);
}

bool sort_short(const key_span& keys, direction d, unsigned threads) {
  using namespace device::host;
  constexpr std::uint64_t most_keys = std::max(most_small_bytes, most_settled_bytes);  // of any type
  if (keys.num_keys > most_keys) return false;
  check_keys(keys);
  const std::uint64_t bytes = keys.num_keys * size_bytes(keys.type);
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_bits};
  const bool can_share = has_shared_sort(size_bytes(keys.type));
  if (bytes <= most_small_bytes) {
    with_scratch([&] { sort_small_on_threads(codec, keys, can_share, threads); });
    return true;
  }
  if (!can_share || bytes > most_settled_bytes) return false;
  const unsigned num_threads = base::resolve_threads(threads);
  const bool is_middle = bytes <= most_shared_bytes(num_threads, size_bytes(keys.type));
  bool is_sorted = true;
  with_scratch(
      [&] {
        if (is_middle) {
          sort_shared(codec, keys.data, keys.num_keys, num_threads);
        } else {
          is_sorted = settle_shared(codec, keys.data, keys.num_keys, num_threads);
        }
      },
      shared_sort_bytes(num_threads));
  return is_sorted;
}

bool sort_repeats(const key_span& keys, direction d, unsigned threads, bool may_choose_gpus) {
  using namespace device::host;
  const std::uint64_t key_bytes = size_bytes(keys.type);
  if (key_bytes < 4 || !has_shared_sort(key_bytes)) return false;
  if (keys.num_keys <= most_settled_bytes / key_bytes || keys.num_keys > most_settled_repeats_bytes / key_bytes) {
    return false;
  }
  const unsigned num_threads = base::resolve_threads(threads);
  if (num_threads > most_threads_in_place || (may_choose_gpus && num_gpus() != 0)) return false;
  check_keys(keys);
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_bits};
  bool is_sorted = false;
  with_scratch([&] { is_sorted = settle_repeats_shared(codec, keys.data, keys.num_keys, num_threads); },
               shared_sort_bytes(num_threads));
  return is_sorted;
}

bool sort_middle(const key_span& keys, direction d, unsigned threads) {
  if (keys.num_keys > device::host::most_shared_pairs_bytes || size_bytes(keys.type) < 4) return false;
  check_keys(keys);
  const std::uint64_t bytes = keys.num_keys * size_bytes(keys.type);
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_bits};
  const unsigned num_threads = base::resolve_threads(threads);
  return share_pairs(bytes, bytes + bytes / 4, num_threads,
                     [&] { return device::host::sort_shared_keys(codec, keys.data, keys.num_keys, num_threads); });
}

bool sort_in_place(const key_span& keys, direction d, const sort_options& options) {
  using namespace device::host;
  const std::uint64_t key_bytes = size_bytes(keys.type);
  if (key_bytes < 4 || !has_shared_sort(key_bytes) || keys.num_keys > most_bytes_in_place / key_bytes) return false;
  const unsigned num_threads = base::resolve_threads(options.threads);
  if (num_threads > most_threads_in_place) return false;
  // So many keys are left to the choice among devices where there are GPUs.
  if (options.devices.what() == device_list::kind::automatic && num_gpus() != 0) return false;
  check_keys(keys);
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_bits};
  bool is_sorted = false;
  with_scratch([&] { is_sorted = sort_in_place_shared(codec, keys.data, keys.num_keys, num_threads); },
               shared_sort_bytes(num_threads));
  return is_sorted;
}

bool sort_pairs_short(const key_span& keys, void* values, std::uint64_t value_bytes, direction d, unsigned threads) {
  const bool travels = value_bytes == 4 || value_bytes == 8 || value_bytes == device::host::widest_small_value;
  if (!travels || keys.num_keys > most_short_pairs) return false;
  check_keys(keys);
  check_values(keys, values, value_bytes);
  if (const unsigned num_threads = num_sharing_threads(keys.num_keys, threads); num_threads != 0) {
    const std::uint64_t bytes = keys.num_keys * (size_bytes(keys.type) + value_bytes);
    const bool is_done = share_pairs(bytes, bytes, num_threads, [&] {
      return device::host::sort_shared_pairs(stable_codec(keys.type, d), keys.data, values, value_bytes, keys.num_keys,
                                             num_threads);
    });
    if (is_done || keys.num_keys > device::host::most_small_pairs) return is_done;
  }
  with_scratch([&] {
    device::host::sort_small_pairs(stable_codec(keys.type, d), keys.data, values, value_bytes, keys.num_keys);
  });
  return true;
}

bool argsort_short(const const_key_span& keys, void* indices, std::uint64_t index_bytes, direction d, unsigned threads,
                   bool may_choose_gpus) {
  const auto leave_to_gpus = [&] { return may_choose_gpus && num_gpus() != 0; };
  if (keys.num_keys > most_short_pairs) {
    return !leave_to_gpus() && argsort_presorted(keys, indices, index_bytes, d, threads);
  }
  check_keys(keys);
  check_indices(keys, indices, index_bytes);
  if (const unsigned num_threads = num_sharing_threads(keys.num_keys, threads); num_threads != 0) {
    const std::uint64_t key_bytes = size_bytes(keys.type);
    const std::uint64_t bytes = keys.num_keys * (key_bytes + index_bytes);
    const bool is_done = share_pairs(bytes, bytes + keys.num_keys * key_bytes, num_threads, [&] {
      return device::host::argsort_shared(stable_codec(keys.type, d), keys.data, indices, index_bytes, keys.num_keys,
                                          num_threads);
    });
    if (is_done) return true;
    if (keys.num_keys > device::host::most_small_pairs) {
      return !leave_to_gpus() && argsort_presorted(keys, indices, index_bytes, d, threads);
    }
  }
  with_scratch(
      [&] { device::host::argsort_small(stable_codec(keys.type, d), keys.data, indices, index_bytes, keys.num_keys); });
  return true;
}

namespace {

/// Returns the options of calls that name none.
const sort_options& usual_options() {
  static const sort_options usual;
  return usual;
}

/// Returns true once. The workspace of a call without a sorter is new memory the first time; later ones find what was
/// left (kept_ranks.hpp), and have more to gain from it than from a sort in place.
bool is_first_large_call() {
  static std::atomic<bool> is_first = true;
  return is_first.exchange(false);
}

/// Returns a sorter for one call.
sorter one_call(const sort_options& options) {
  sorter own(options);
  flowing_calls::share_ranks(own);
  return own;
}

// These sort what is not the smallest. Functions of their own keep their registers out of the way of that.

[[gnu::noinline]] void sort_larger(const key_span& keys, direction d, const sort_options& options, bool is_short) {
  const unsigned threads = options.threads;
  const bool may_choose_gpus = options.devices.what() == device_list::kind::automatic;
  if (is_short &&
      (sort_short(keys, d, threads) || sort_middle(keys, d, threads) ||
       sort_repeats(keys, d, threads, may_choose_gpus) || (is_first_large_call() && sort_in_place(keys, d, options)))) {
    return;
  }
  one_call(options).sort(keys, d);
}

[[gnu::noinline]] void sort_larger_pairs(const key_span& keys, void* values, std::uint64_t value_bytes, direction d,
                                         const sort_options& options, bool is_short) {
  if (is_short && sort_pairs_short(keys, values, value_bytes, d, options.threads)) return;
  one_call(options).sort_pairs(keys, values, value_bytes, d);
}

[[gnu::noinline]] void order_larger(const const_key_span& keys, void* indices, std::uint64_t index_bytes, direction d,
                                    const sort_options& options, bool is_short) {
  const bool may_choose_gpus = options.devices.what() == device_list::kind::automatic;
  if (is_short && argsort_short(keys, indices, index_bytes, d, options.threads, may_choose_gpus)) return;
  one_call(options).argsort(keys, indices, index_bytes, d);
}

}  // namespace
}  // namespace sorting

void release_kept_memory() noexcept {
  sorting::release_kept_ranks();
  device::host::release_shared_pairs();
  device::host::release_shared_sort();
}

void detail::sort_keys(key_type type, void* keys, std::uint64_t num_keys, direction d) {
  if (!base::has_test_hooks() && device::host::sort_smallest(type, keys, num_keys, d)) return;
  sorting::sort_larger({type, keys, num_keys}, d, sorting::usual_options(), !base::has_test_hooks());
}

void detail::sort_keys(key_type type, void* keys, std::uint64_t num_keys, direction d, const sort_options& options) {
  const bool is_short = !base::has_test_hooks() && sorting::allow_short_way(options);
  if (is_short && device::host::sort_smallest(type, keys, num_keys, d)) return;
  sorting::sort_larger({type, keys, num_keys}, d, options, is_short);
}

void detail::sort_records(key_type type, void* keys, void* values, std::uint64_t num_keys, std::uint64_t value_bytes,
                          direction d) {
  if (!base::has_test_hooks() && device::host::sort_smallest_pairs(type, keys, values, value_bytes, num_keys, d)) {
    return;
  }
  sorting::sort_larger_pairs({type, keys, num_keys}, values, value_bytes, d, sorting::usual_options(),
                             !base::has_test_hooks());
}

void detail::sort_records(key_type type, void* keys, void* values, std::uint64_t num_keys, std::uint64_t value_bytes,
                          direction d, const sort_options& options) {
  const bool is_short = !base::has_test_hooks() && sorting::allow_short_way(options);
  if (is_short && device::host::sort_smallest_pairs(type, keys, values, value_bytes, num_keys, d)) return;
  sorting::sort_larger_pairs({type, keys, num_keys}, values, value_bytes, d, options, is_short);
}

void detail::order_keys(key_type type, const void* keys, void* indices, std::uint64_t num_keys,
                        std::uint64_t index_bytes, direction d) {
  if (!base::has_test_hooks() && device::host::argsort_smallest(type, keys, indices, index_bytes, num_keys, d)) return;
  sorting::order_larger({type, keys, num_keys}, indices, index_bytes, d, sorting::usual_options(),
                        !base::has_test_hooks());
}

void detail::order_keys(key_type type, const void* keys, void* indices, std::uint64_t num_keys,
                        std::uint64_t index_bytes, direction d, const sort_options& options) {
  const bool is_short = !base::has_test_hooks() && sorting::allow_short_way(options);
  if (is_short && device::host::argsort_smallest(type, keys, indices, index_bytes, num_keys, d)) return;
  sorting::order_larger({type, keys, num_keys}, indices, index_bytes, d, options, is_short);
}

}  // namespace spansort
