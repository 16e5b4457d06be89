// SPDX-License-Identifier: Apache-2.0
#include "soak/call.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "memory/failing_memory.hpp"
#include "spansort/errors.hpp"

namespace spansort::soak {
namespace {

/// What a progress callback may throw.
struct callers_own {};

/// While the scope lives, files of this process have `most_bytes` at most. SIGXFSZ is ignored.
class file_size_scope {
 public:
  explicit file_size_scope(std::uint64_t most_bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{most_bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~file_size_scope() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  file_size_scope(const file_size_scope&) = delete;
  file_size_scope& operator=(const file_size_scope&) = delete;

 private:
  rlimit before_{};
};

/// Small numbers as often as large ones, from 1 to 2^most_bits.
std::uint64_t draw_place(drawing& from, unsigned most_bits) {
  const std::uint64_t bits = from.random.below(most_bits + 1);
  return (std::uint64_t{1} << bits) + from.random.below(std::uint64_t{1} << bits);
}

/// A list of GPUs, which may name one several times, an algorithm, and a world of some size.
test::engine draw_gpu_engine(drawing& from) {
  static constexpr const char* lists[] = {"gpu", "gpu:0", "gpu:0,0", "gpu:0,0,0"};
  static constexpr const char* algorithms[] = {"auto", "rmg", "out_of_core", "het_merge"};
  static constexpr test::test_tuning worlds[] = {
      {.radix_bits = 3, .fuse_threshold = 0, .copy_piece_bytes = 16384},
      {.radix_bits = 3, .fuse_threshold = 0, .copy_piece_bytes = 16384, .exchange_through_host = true},
      {.radix_bits = 4, .fuse_threshold = 0, .copy_piece_bytes = 16384, .round_keys = 1500},
      {.radix_bits = 2, .fuse_threshold = 0, .copy_piece_bytes = 65536, .packing = base::key_packing::always},
      {.device_chunk_keys = 977},
      {.buckets = base::gpu_buckets::always},
      {.buckets = base::gpu_buckets::where_even, .small_sort = base::gpu_small_sort::none},
      {.buckets = base::gpu_buckets::by_spread},
      {.buckets = base::gpu_buckets::by_wide_spread},
      {.small_sort = base::gpu_small_sort::none}};
  test::engine drawn{lists[from.random.below(4)], algorithms[from.random.below(4)]};
  if (from.one_in(2)) drawn.tuning = worlds[from.random.below(std::size(worlds))];
  return drawn;
}

}  // namespace

call::call(const operation& what, drawing& from, bool is_alone) : has_gpu_(from.has_gpu) {
  draw_engine(what, from);
  options_ = engine_.options();
  if (from.one_in(2)) options_.threads = 1 + static_cast<unsigned>(from.random.below(8));
  draw_fault(what, from, is_alone);
}

void call::draw_engine(const operation& what, drawing& from) {
  static constexpr const char* hosts[] = {"auto", "cpu", "host:1", "host:2", "host:3", "host:5"};
  if (!what.has_devices) {
    engine_ = {hosts[from.random.below(6)], "auto"};
  } else if (from.has_gpu && from.one_in(2)) {
    engine_ = draw_gpu_engine(from);
    is_on_gpus_ = true;
  } else if (from.one_in(3)) {
    engine_ = {hosts[from.random.below(6)], "auto"};
  } else {
    const std::vector<test::engine>& all = test::all_engines();
    engine_ = all[from.random.below(all.size())];
    if (engine_.is_costly && !from.one_in(8)) engine_ = {"host:3", "rmg"};
    if (from.one_in(2)) engine_.tuning = {};
  }
}

std::vector<fault> call::possible_faults(const operation& what, bool is_alone) const {
  std::vector<fault> possible;
  if (what.has_progress) {
    possible.push_back(fault::cancel);
    possible.push_back(fault::callback);
  }
  if (what.has_devices) possible.push_back(fault::workspace);
  if (is_alone && test::can_fail_memory()) possible.push_back(fault::memory);
  if (is_alone && what.writes_files) possible.push_back(fault::file_size);
  if (is_on_gpus_) possible.resize(possible.size() + 2, fault::device_call);
  return possible;
}

void call::draw_fault(const operation& what, drawing& from, bool is_alone) {
  if (from.one_in(10)) options_.memory_limit_bytes = draw_place(from, 26);
  if (from.one_in(2) || what.is_process) return;
  const std::vector<fault> possible = possible_faults(what, is_alone);
  if (possible.empty()) return;
  fault_ = possible[from.random.below(possible.size())];
  static constexpr unsigned most_bits[] = {0, 6, 6, 4, 11, 20, 11};
  at_ = draw_place(from, most_bits[static_cast<int>(fault_)]);
  is_lasting_ = from.one_in(3);
  if (fault_ == fault::workspace) options_.world.fail_allocation_at = at_;
  if (fault_ == fault::device_call) {
    // Errors from which a process's GPUs recover: an unknown one, and memory of the runtime that is refused.
    constexpr int out_of_device_memory = 2;
    options_.world.fail_device_call_at = at_;
    options_.world.fail_device_call_with = from.one_in(2) ? out_of_device_memory : 0;
  }
}

std::string call::describe() const {
  std::string text = fmt::format("{}, {} threads", engine_.describe(), options_.threads);
  if (options_.memory_limit_bytes != 0) text += fmt::format(", {} bytes of memory", options_.memory_limit_bytes);
  static constexpr const char* faults[] = {"",
                                           ", cancelled at call {}",
                                           ", callback throws at call {}",
                                           ", workspace {} fails",
                                           ", allocation {} fails",
                                           ", files of {} bytes at most",
                                           ", call {} to the GPUs' runtime fails"};
  text += fmt::format(fmt::runtime(faults[static_cast<int>(fault_)]), at_);
  return is_lasting_ && fault_ == fault::memory ? text + " and all behind it" : text;
}

bool call::may_run_out() const {
  return options_.memory_limit_bytes != 0 || fault_ == fault::workspace || fault_ == fault::memory ||
         fault_ == fault::device_call;
}

ending call::run(job& j) {
  try {
    return run_with_fault(j);
  } catch (const callers_own&) {
    return ending::callback_threw;
  } catch (const cancelled&) {
    if (fault_ == fault::cancel) return ending::cancelled;
    throw;
  } catch (const out_of_memory&) {
    if (may_run_out()) return ending::out_of_memory;
    throw;
  } catch (const io_error&) {
    if (fault_ == fault::file_size) return ending::io_failed;
    throw;
  } catch (const device_error& failure) {
    const bool may_fail = fault_ == fault::memory || (is_on_gpus_ && may_run_out());
    if (!may_fail) throw;
    const bool is_lost = std::string_view(failure.what()).find("neither input nor result") != std::string_view::npos;
    // Arrays are lost where a GPU fails, and never because the library lacks memory.
    if (is_lost && (!is_on_gpus_ || fault_ == fault::memory)) throw;
    return is_lost ? ending::lost : ending::no_device;
  } catch (const std::bad_alloc&) {
    if (fault_ == fault::memory) return ending::bad_alloc;
    throw;
  }
}

ending call::run_with_fault(job& j) {
  std::uint64_t num_calls = 0;
  if (fault_ == fault::cancel) {
    options_.on_progress = [&](const progress&) { return ++num_calls < at_; };
  } else if (fault_ == fault::callback) {
    options_.on_progress = [&](const progress&) {
      if (++num_calls == at_) throw callers_own{};
      return true;
    };
  }
  if (fault_ == fault::memory) {
    // A GPU's driver does what it likes where its own small allocations fail.
    const bool may_have_driver = has_gpu_ && (is_on_gpus_ || engine_.devices == "auto");
    const test::failing_memory_scope scope(
        at_, is_lasting_, may_have_driver ? test::failing_allocations::of_new : test::failing_allocations::all);
    return j.run(options_);
  }
  if (fault_ == fault::file_size) {
    const file_size_scope scope(at_);
    return j.run(options_);
  }
  return j.run(options_);
}

}  // namespace spansort::soak
