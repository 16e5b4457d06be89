// SPDX-License-Identifier: Apache-2.0
// Sorting over the processes of an MPI communicator: component `mpi` of the package, target Spansort::mpi.
//
// Every process (a node rank) holds a part of the data and calls the same function with the same settings; parts may
// have any sizes, none too. The sorted whole is laid over the node ranks in their order. All calls are collective and
// block. MPI must have been initialised, by the caller, and any thread level will do: only the calling thread calls
// MPI. The communicator is left as it was: work is done on a duplicate.
//
// Ranges are contiguous memory, with keys of a key type (the concept radix_key) and values of any trivially copyable
// type (sortable_value).
//
// Failure. What all node ranks can see together (an argument that cannot be, memory that is not there, settings that
// differ) ends the call on all of them with the data untouched: the one in trouble throws what happened, the others
// cluster_failure, and of settings that differ all throw invalid_argument. When a node rank fails later, is killed or
// stops answering, all others throw cluster_failure within `heartbeat_timeout` and some seconds, naming it and the
// phase it was in; their data is then as it was or lost (neither input nor result). After that only the process's end
// is sure to work: MPI may still write to the arrays of the call, so that they must stay where they are, and neither
// the communicator nor MPI_Finalize should be called. Where MPI's messages go over TCP, MPI itself may end a process
// whose peer is gone before the exception is thrown; `on_failure` is called all the same. For this, beside MPI, every
// node rank holds a TCP connection to node rank 0 during the call.
//
// Memory beside the caller's arrays, on each node rank: that of sort() for the larger of its parts before and after, on
// GPUs too; distributed_lsd twice that. Values of more than 16 bytes take 32 bytes and three values a pair besides.
// Node rank 0 to n-1 of a machine share its processors between them.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "spansort/errors.hpp"
#include "spansort/files.hpp"
#include "spansort/options.hpp"
#include "spansort/sort.hpp"
#include "spansort/statistics.hpp"
#include "spansort/top_k.hpp"
#include "spansort/types.hpp"

namespace spansort::mpi {

/// The failure of another node rank.
struct failure {
  unsigned node_rank = 0;
  std::string phase;    ///< the last it was heard to be in
  std::string message;  ///< a sentence with all that is known
};

/// A plan tells what a session's sort_file() would do, on this node rank and on all.
struct cluster_file_plan {
  /// This node rank's share: its elements, its runs, its folders. `fan_in`, `num_merges` and `keeps_head_only` say
  /// nothing here, and `output_bytes` are those of the whole output.
  file_plan here;
  unsigned num_node_ranks = 1;
  std::uint64_t num_elements = 0;       ///< of the file
  std::uint64_t num_runs = 0;           ///< of all node ranks; 0: all in memory, nothing is spilled
  std::uint64_t spilled_bytes = 0;      ///< to temporary files by all
  std::uint64_t read_bytes = 0;         ///< of the file, and of temporary files, by all
  std::uint64_t sent_bytes = 0;         ///< by all to others, where keys come in no order
  std::uint64_t most_memory_bytes = 0;  ///< on the node rank that will take the most, about
};

/// An algorithm that sorts over the node ranks, as spansort::algorithm says it of one machine.
class algorithm {
 public:
  static const algorithm automatic;        ///< "auto": distributed_rmg
  static const algorithm distributed_rmg;  ///< "distributed_rmg": most significant digits first, and one exchange (RMG
                                           ///< paper, section 3, over processes)
  static const algorithm
      distributed_lsd;  ///< "distributed_lsd": Spafford's Algorithm 1, least significant digits first and
                        ///< an exchange a digit, on one CPU device; for comparison
  static const algorithm distributed_sample_sort;  ///< "distributed_sample_sort": sorted parts, splitters from samples,
                                                   ///< one exchange, merges, on one device; for comparison

  constexpr algorithm() noexcept = default;  ///< automatic
  friend constexpr bool operator==(algorithm a, algorithm b) noexcept { return a.name_ == b.name_; }
  friend constexpr std::string_view name(algorithm a) noexcept { return a.name_; }

 private:
  friend algorithm parse_algorithm(std::string_view text);
  friend std::vector<algorithm> list_algorithms();
  explicit constexpr algorithm(std::string_view name) noexcept : name_(name) {}

  std::string_view name_ = "auto";
};
inline constexpr algorithm algorithm::automatic{};
inline constexpr algorithm algorithm::distributed_rmg{"distributed_rmg"};
inline constexpr algorithm algorithm::distributed_lsd{"distributed_lsd"};
inline constexpr algorithm algorithm::distributed_sample_sort{"distributed_sample_sort"};

/// The inverse of name(). Throws invalid_argument for anything else, listing what is known.
[[nodiscard]] algorithm parse_algorithm(std::string_view text);

/// All of them, "auto" first.
[[nodiscard]] std::vector<algorithm> list_algorithms();

/// How keys go between GPUs of different node ranks.
enum class exchange_method : std::uint8_t {
  automatic,  ///< nccl where it can be had on all node ranks, else host
  nccl,       ///< from GPU to GPU, where every node rank has one GPU, all different, and libnccl.so.2 can be loaded
  host,       ///< through host memory and MPI
};

/// "auto", "nccl", "host".
[[nodiscard]] std::string_view name(exchange_method method) noexcept;

/// The inverse of name(). Throws invalid_argument for anything else, listing what is known.
[[nodiscard]] exchange_method parse_exchange_method(std::string_view text);

struct options {
  /// This process's own; may differ from process to process. "auto" and "cpu": its share of the machine's processors,
  /// those that the processes on it leave each other; "gpu:0" a GPU. As in sort_options otherwise.
  device_list devices = {};
  /// Threads that compute on the host, as in sort_options, for this process. 0: as many as its share of the processors.
  unsigned threads = 0;
  mpi::algorithm algorithm = mpi::algorithm::automatic;
  /// How keys go between GPUs of different node ranks; the same on all of them.
  exchange_method exchange = exchange_method::automatic;
  /// Ceiling on workspace beside the caller's arrays, on this node rank; on all memory of the process in sorts of files
  /// that it is too little for. 0: what the machine has.
  std::uint64_t memory_limit_bytes = 0;
  /// The report of this node rank's part; its `ranks` are this node rank's devices.
  sort_report* report = nullptr;
  /// A node rank that has not been heard of for this long has failed. Every one says something each second.
  std::chrono::milliseconds heartbeat_timeout{20000};
  /// Called on a thread of the library's, once, as soon as another node rank is known to have failed, also while the
  /// calling thread computes. It must not throw and may end the process.
  std::function<void(const failure&)> on_failure = {};
  /// Called on the calling thread when this node rank enters a phase of its work, of which the others have been told.
  /// What it throws is a failure of this node rank.
  std::function<void(std::string_view phase)> on_phase = {};
  /// Largest MPI message, up to 2^30. Where devices have memory of their own, 8 such are pinned on the host. Tests set
  /// a thousand.
  std::uint64_t message_bytes = std::uint64_t{8} << 20;
  /// These are the tuning options of one machine. For distributed_lsd `radix_bits` is the width of its digits, 1 to 16,
  /// where wider means fewer exchanges, and 0 is the paper's 16.
  tuning_options tuning = {};
};

/// The node ranks of a communicator with their devices and connections, kept from call to call. Movable, not copyable;
/// a thread at a time. Made and destroyed by all together.
class session {
 public:
  /// Collective. Throws as the calls do, and invalid_argument where MPI is not initialised.
  explicit session(MPI_Comm communicator, options options = {});
  /// Waits, on node rank 0, until the others have come as far.
  ~session();
  session(session&&) noexcept;
  session& operator=(session&&) noexcept;

  [[nodiscard]] unsigned node_rank() const noexcept;
  [[nodiscard]] unsigned num_nodes() const noexcept;
  /// Returns, after a call has thrown, whether all node ranks have thrown from it together, so that the communicator
  /// can go on being used. Otherwise the process can do nothing more with it, nor call MPI_Finalize.
  [[nodiscard]] bool all_know_of_failure() const noexcept;

  /// Sorts keys of a run-time type; every node rank ends with as many as it began with, in the same memory. Keys that
  /// tie are ordered by bits: the same bytes as one machine's sort().
  void sort(key_span keys, direction d = direction::ascending);
  /// Sorts keys with `keys.num_keys` values of `value_bytes` bytes each. Stable: of equal keys the one of the lower
  /// node rank comes first, then the earlier one. Values of more than 16 bytes are fetched by index afterwards.
  void sort_pairs(key_span keys, void* values, std::uint64_t value_bytes, direction d = direction::ascending);
  /// The stable order of all keys: `indices`, as many as keys, get this node rank's part of it. An index counts through
  /// the parts of all node ranks in their order. Keys are not changed.
  void argsort(const_key_span keys, std::uint64_t* indices, direction d = direction::ascending);
  [[nodiscard]] std::vector<std::uint64_t> argsort(const_key_span keys, direction d = direction::ascending);

  template <std::ranges::contiguous_range R>
    requires radix_key<std::ranges::range_value_t<R>>
  void sort(R&& keys, direction d = direction::ascending) { sort(as_key_span(std::span(keys)), d); }
  template <std::ranges::contiguous_range R, std::ranges::contiguous_range S>
    requires radix_key<std::ranges::range_value_t<R>> && sortable_value<std::ranges::range_value_t<S>>
  void sort_pairs(R&& keys, S&& values, direction d = direction::ascending) {
    sort_pairs(as_key_span(std::span(keys)), std::ranges::data(values), sizeof(std::ranges::range_value_t<S>),
               std::ranges::size(values), d);
  }
  /// Sorts, and evens the sizes out: afterwards `keys` holds at most 1.05 n/p + 1 of the n keys of p node ranks,
  /// however they were spread and also when all are equal (with the default `tuning.epsilon`). A new vector, beside the
  /// workspace.
  template <radix_key K>
  void sort_balanced(std::vector<K>& keys, direction d = direction::ascending);
  template <radix_key K, sortable_value V>
  void sort_pairs_balanced(std::vector<K>& keys, std::vector<V>& values, direction d = direction::ascending);
  template <std::ranges::contiguous_range R>
    requires radix_key<std::ranges::range_value_t<R>>
  [[nodiscard]] std::vector<std::uint64_t> argsort(const R& keys, direction d = direction::ascending) {
    using key = std::remove_cv_t<std::ranges::range_value_t<R>>;
    return argsort(as_const_key_span(std::span<const key>(keys)), d);
  }

  /// Quantiles of the keys of all node ranks, which stay where they are; every node rank gets the same, those of one
  /// process with all keys. Nearly always one read of them for 8 ranks; what node ranks tell each other is a sample of
  /// 2^16 keys and some counts. Devices are the session's, and `order` is of no use here. Throws as quantiles().
  [[nodiscard]] std::vector<double> quantiles(const_key_span keys, std::span<const double> q,
                                              const quantile_options& options = {});
  /// Returns what a box plot of the keys of all node ranks shows, likewise; all get the outliers. The mean of floats
  /// may be rounded otherwise than in one process. Throws as summarize().
  [[nodiscard]] summary summarize(const_key_span keys, const summary_options& options = {});
  /// Returns whether the keys of all node ranks, laid end to end in their order, are in order of value, as is_sorted()
  /// of one process says; the same for all. One read; no memory.
  [[nodiscard]] bool is_sorted(const_key_span keys, direction d = direction::ascending);
  /// Counts the keys of all node ranks that are less than a value, equal to it, and greater; the same for all. `value`
  /// points to one key of the keys' type, the same on all node ranks. One read. Throws as rank_of().
  [[nodiscard]] key_rank rank_of(const_key_span keys, const void* value);
  /// Returns the k largest keys of all node ranks, the largest first, as bytes; all get all of them, so that k should
  /// be small. Where they are is said by argsort() alone. Memory: that of top_k() for this node rank's keys, and three
  /// times the answer. Throws as top_k().
  [[nodiscard]] std::vector<std::byte> top_k(const_key_span keys, std::uint64_t k, const top_options& options = {});
  /// Returns the k smallest keys, the smallest first, likewise.
  [[nodiscard]] std::vector<std::byte> bottom_k(const_key_span keys, std::uint64_t k, const top_options& options = {});
  template <std::ranges::contiguous_range R>
    requires radix_key<std::ranges::range_value_t<R>>
  [[nodiscard]] bool is_sorted(const R& keys, direction d = direction::ascending) {
    using key = std::remove_cv_t<std::ranges::range_value_t<R>>;
    return is_sorted(as_const_key_span(std::span<const key>(keys)), d);
  }
  template <std::ranges::contiguous_range R>
    requires radix_key<std::ranges::range_value_t<R>>
  [[nodiscard]] key_rank rank_of(const R& keys, std::type_identity_t<std::ranges::range_value_t<R>> value) {
    using key = std::remove_cv_t<std::ranges::range_value_t<R>>;
    return rank_of(as_const_key_span(std::span<const key>(keys)), &value);
  }
  template <std::ranges::contiguous_range R>
    requires radix_key<std::ranges::range_value_t<R>>
  [[nodiscard]] std::vector<double> quantiles(const R& keys, std::span<const double> q,
                                              const quantile_options& options = {}) {
    using key = std::remove_cv_t<std::ranges::range_value_t<R>>;
    return quantiles(as_const_key_span(std::span<const key>(keys)), q, options);
  }
  template <std::ranges::contiguous_range R>
    requires radix_key<std::ranges::range_value_t<R>>
  [[nodiscard]] summary summarize(const R& keys, const summary_options& options = {}) {
    using key = std::remove_cv_t<std::ranges::range_value_t<R>>;
    return summarize(as_const_key_span(std::span<const key>(keys)), options);
  }

  /// Sorts a file that all node ranks see by this name, as sort_file() does: each reads an equal share of its keys, and
  /// writes its part of the result into one new file, which replaces `output` when all parts are written and synced.
  /// Both are regular files; `output` may be the input. Throws as sort_file(), and cluster_failure on the other node
  /// ranks; `output` is then as it was. Memory on each node rank: its share of the keys and the workspace. Where that
  /// is more than a node rank has, or than its `memory_limit_bytes`, and for records always, all sort through temporary
  /// files, each in its own `temporary_directories`, whose space is its share, twice that with `unique`: the limit is
  /// then one on all memory of the process, half of what is free by default. Of file_options `direction`, `records`,
  /// the fields of `array`, `temporary_directories`, `head`, `type`, `unique`, `verify`, `sync` and `on_temporary` are
  /// for here; invalid_argument is thrown where another is given. (`on_sorted` wants all keys, which no node rank has.)
  /// A `head` that is sorted in parts and not verified has no more spilled of any run, and no more is sent unless
  /// it is `unique`.
  file_result sort_file(const std::string& input, const std::string& output, const file_options& file = {});
  /// The stable order of a file's keys likewise, as argsort_file() writes it. Verification fetches the keys at the
  /// indices from the node ranks that have read them: 24 bytes and three keys a key more.
  file_result argsort_file(const std::string& input, const std::string& output, const file_options& file = {});

  /// Says what sort_file() would do, from the file's header and size. Reads and writes nothing else. Throws as
  /// sort_file() before it begins; free space is looked at where there are runs.
  [[nodiscard]] cluster_file_plan plan_sort_file(const std::string& input, const std::string& output,
                                                 const file_options& file = {});
  /// Says what argsort_file() would do, as plan_sort_file().
  [[nodiscard]] cluster_file_plan plan_argsort_file(const std::string& input, const std::string& output,
                                                    const file_options& file = {});

  /// This node rank's share of the keys of a regular file that all see by this name: shares of equal size (± 1), in the
  /// order of node ranks. Throws as key_file, and cluster_failure on the other node ranks.
  [[nodiscard]] key_file read_share(const std::string& input, std::optional<key_type> type = {});
  /// Returns how many keys of all node ranks lie between the edges, as histogram() counts them; the same for all. On
  /// the CPU. Throws as histogram().
  [[nodiscard]] std::vector<std::uint64_t> histogram(const_key_span keys, std::span<const double> edges);
  /// Writes the outliers among the keys of all node ranks into one file, as write_outliers() does: in the order of node
  /// ranks, each one's in their order, so that shares of a file give the bytes that the whole file gives. `box`: what
  /// summarize() said, the same on all. `output` is no stream; each node rank writes its part, as in sort_file().
  /// Returns how many were written by all. Memory: this node rank's outliers. Throws as write_outliers(), and
  /// cluster_failure on the other node ranks; `output` is then as it was.
  std::uint64_t write_outliers(const std::string& output, const_key_span keys, const summary& box,
                               const temporary_file_callback& on_temporary = {});

  struct state;

 private:
  struct arrays {
    void* keys = nullptr;
    void* values = nullptr;
  };
  void sort_pairs(key_span keys, void* values, std::uint64_t value_bytes, std::uint64_t num_values, direction d);
  /// Sorts into arrays that `make_room` makes for at most so many elements, called where a failure is seen by all.
  /// Returns how many there are. `value_bytes` 0: keys alone.
  std::uint64_t sort_balanced(key_span keys, void* values, std::uint64_t value_bytes, std::uint64_t num_values,
                              direction d, const std::function<arrays(std::uint64_t)>& make_room);

  std::unique_ptr<state> state_;
};

template <radix_key K>
void session::sort_balanced(std::vector<K>& keys, direction d) {
  std::vector<K> sorted;
  sorted.resize(sort_balanced(as_key_span(std::span(keys)), nullptr, 0, 0, d, [&](std::uint64_t most) {
    sorted.resize(most);
    return arrays{sorted.data(), nullptr};
  }));
  keys = std::move(sorted);
}

template <radix_key K, sortable_value V>
void session::sort_pairs_balanced(std::vector<K>& keys, std::vector<V>& values, direction d) {
  std::vector<K> sorted_keys;
  std::vector<V> sorted_values;
  const std::uint64_t count =
      sort_balanced(as_key_span(std::span(keys)), values.data(), sizeof(V), values.size(), d, [&](std::uint64_t most) {
        sorted_keys.resize(most);
        sorted_values.resize(most);
        return arrays{sorted_keys.data(), sorted_values.data()};
      });
  sorted_keys.resize(count);
  sorted_values.resize(count);
  keys = std::move(sorted_keys);
  values = std::move(sorted_values);
}

// One call, one session.

/// Sorts the keys of all node ranks; see session::sort().
template <std::ranges::contiguous_range R>
  requires radix_key<std::ranges::range_value_t<R>>
void sort(R&& keys, MPI_Comm communicator, direction d, const options& options = {}) {
  session(communicator, options).sort(std::span(keys), d);
}
template <std::ranges::contiguous_range R>
  requires radix_key<std::ranges::range_value_t<R>>
void sort(R&& keys, MPI_Comm communicator, const options& options = {}) {
  mpi::sort(keys, communicator, direction::ascending, options);
}

/// Sorts the keys of all node ranks and moves values along; see session::sort_pairs().
template <std::ranges::contiguous_range R, std::ranges::contiguous_range S>
  requires radix_key<std::ranges::range_value_t<R>> && sortable_value<std::ranges::range_value_t<S>>
void sort_pairs(R&& keys, S&& values, MPI_Comm communicator, direction d, const options& options = {}) {
  session(communicator, options).sort_pairs(std::span(keys), std::span(values), d);
}
template <std::ranges::contiguous_range R, std::ranges::contiguous_range S>
  requires radix_key<std::ranges::range_value_t<R>> && sortable_value<std::ranges::range_value_t<S>>
void sort_pairs(R&& keys, S&& values, MPI_Comm communicator, const options& options = {}) {
  mpi::sort_pairs(keys, values, communicator, direction::ascending, options);
}

/// This node rank's part of the stable order of all keys; see session::argsort().
template <std::ranges::contiguous_range R>
  requires radix_key<std::ranges::range_value_t<R>>
[[nodiscard]] std::vector<std::uint64_t> argsort(const R& keys, MPI_Comm communicator, direction d,
                                                 const options& options = {}) {
  return session(communicator, options).argsort(keys, d);
}
template <std::ranges::contiguous_range R>
  requires radix_key<std::ranges::range_value_t<R>>
[[nodiscard]] std::vector<std::uint64_t> argsort(const R& keys, MPI_Comm communicator, const options& options = {}) {
  return mpi::argsort(keys, communicator, direction::ascending, options);
}

/// Quantiles of the keys of all node ranks; see session::quantiles().
template <std::ranges::contiguous_range R>
  requires radix_key<std::ranges::range_value_t<R>>
[[nodiscard]] std::vector<double> quantiles(const R& keys, std::span<const double> q, MPI_Comm communicator,
                                            const quantile_options& what = {}, const options& options = {}) {
  return session(communicator, options).quantiles(keys, q, what);
}

/// A summary of the keys of all node ranks; see session::summarize().
template <std::ranges::contiguous_range R>
  requires radix_key<std::ranges::range_value_t<R>>
[[nodiscard]] summary summarize(const R& keys, MPI_Comm communicator, const summary_options& what = {},
                                const options& options = {}) {
  return session(communicator, options).summarize(keys, what);
}

}  // namespace spansort::mpi
