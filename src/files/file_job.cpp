// SPDX-License-Identifier: Apache-2.0
#include "files/file_job.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/available_memory.hpp"
#include "base/threads.hpp"
#include "files/external/spill_store.hpp"
#include "sort/kept_ranks.hpp"
#include "sort/open_devices.hpp"
#include "sort/sorter_memory.hpp"
#include "spansort/errors.hpp"
#include "spansort/sort.hpp"

namespace spansort::files {
namespace {

/// What the process grows by besides what is planned: code that is paged in, stacks, the allocator's own.
constexpr std::uint64_t unplanned_bytes = std::uint64_t{3} << 20;
constexpr std::uint64_t no_ceiling_bytes = std::uint64_t{1} << 62;

bool has_test_world(const base::test_hooks& hooks) {
  return hooks.file_chunk_elements != 0 || hooks.file_block_elements != 0 || hooks.file_fan_in != 0;
}

external::spill_demand demand_of(const file_job& job, std::optional<std::uint64_t> num_elements,
                                 std::uint64_t memory_bytes) {
  return {.memory_bytes = memory_bytes,
          .num_elements = num_elements,
          .element_bytes = job.order->element_bytes(),
          .key_bytes = job.order->key_bytes(),
          .sort_memory = job.order->sort_memory(),
          .chunk_elements = job.hooks.file_chunk_elements,
          .block_elements = job.hooks.file_block_elements,
          .fan_in = job.hooks.file_fan_in};
}

/// Returns whether a ceiling lower than the process itself still has room for elements and what sorting them takes.
bool fits_below_the_process(const file_job& job, std::uint64_t num_elements) {
  const std::uint64_t per_element = job.order->element_bytes() + job.order->sort_memory().element_bytes;
  return num_elements <= job.ceiling_bytes / per_element;
}

/// A head that is kept while the input goes by cannot be verified: the elements that are dropped are never sorted.
bool is_head_sort(const file_job& job, const file_options& file) {
  return file.head && !file.verify && *file.head <= job.plan.chunk_elements / 2 && job.plan.chunk_elements >= 2;
}

}  // namespace

void require_space(const file_job& job, const file_options& file) {
  const bool may_spill = !job.num_elements && !file.temporary_directories.empty();
  if (!job.is_head_sort && (job.plan.spilled_bytes != 0 || may_spill)) {
    const std::uint64_t output_bytes = file.unique ? 0 : job.output_bytes();
    external::require_spill_space(job.folders, job.temporary_bytes(), job.elements->target().directory, output_bytes);
  }
  if (job.num_elements && !file.unique) require_free_space(job.elements->target(), job.output_bytes());
}

std::uint64_t file_job::output_bytes() const {
  const std::uint64_t all = num_elements.value_or(0);
  return elements->output_bytes(std::min(all, head.value_or(all)));
}

std::uint64_t file_job::temporary_bytes() const {
  if (is_head_sort) return 0;
  // A merge into longer runs reads one pass's files while it writes the next one's.
  const unsigned num_spills = operation == file_operation::merge ? plan.num_merges - 1 : plan.num_merges;
  return num_spills > 1 ? 2 * (plan.spilled_bytes / num_spills) : plan.spilled_bytes;
}

namespace {

/// Returns what the ceiling leaves beside the process itself, which takes `own_bytes`.
std::uint64_t memory_beside(const file_job& job, std::uint64_t own_bytes) {
  return job.ceiling_bytes > own_bytes ? job.ceiling_bytes - own_bytes : 0;
}

std::uint64_t own_memory_bytes() { return sorting::resident_bytes_with_nothing_kept() + unplanned_bytes; }

}  // namespace

void plan_parts(file_job& job, std::optional<std::uint64_t> num_elements) {
  const std::uint64_t own = own_memory_bytes();
  const std::uint64_t for_elements = memory_beside(job, own);
  try {
    job.plan = external::make_spill_plan(demand_of(job, num_elements, for_elements));
    job.plan.memory_bytes += own;
  } catch (const out_of_memory& failure) {
    if (num_elements && fits_below_the_process(job, *num_elements)) {
      job.plan = external::make_spill_plan(demand_of(job, num_elements, no_ceiling_bytes));
      return;
    }
    const std::uint64_t needed = failure.needed_bytes() + own;
    throw out_of_memory(fmt::format("{}: {} bytes of memory (-S) are too few to sort it in parts; {} would do",
                                    job.input_name(), job.ceiling_bytes, needed),
                        needed, job.ceiling_bytes);
  }
}

namespace {

/// Makes the order, and plans unless files are merged. The scratch of all threads of a large machine does not fit below
/// a low ceiling: fewer sort then.
void plan_with_threads(file_job& job) {
  const unsigned all = base::resolve_threads(job.options.threads);
  const std::uint64_t memory_bytes = memory_beside(job, own_memory_bytes());
  for (unsigned num_threads = sorting::threads_below(memory_bytes, all);; num_threads /= 2) {
    if (num_threads < all) job.options.threads = num_threads;
    job.order = job.elements->make_order(job.direction, sorting::for_counted_sorts(job.options));
    if (job.operation == file_operation::merge) return;
    try {
      return plan_parts(job, job.num_elements);
    } catch (const out_of_memory&) {
      if (num_threads == 1) throw;
    }
  }
}

}  // namespace

std::string_view name(file_operation operation) noexcept {
  switch (operation) {
    case file_operation::sort: return "sort";
    case file_operation::argsort: return "argsort";
    case file_operation::merge: return "merge";
  }
  return "";
}

file_job make_file_job(const std::string& input, const std::string& output, const file_options& file,
                       const sort_options& options, file_operation operation) {
  if (file.values && operation != file_operation::sort) {
    throw invalid_argument(fmt::format("values are sorted along by a sort, not by {}", name(operation)));
  }
  file_job job;
  job.operation = operation;
  job.head = file.head;
  job.direction = file.direction;
  job.options = options;
  job.hooks = base::current_test_hooks();
  job.whole_devices = options.devices;
  job.folders = file.temporary_directories.empty() ? external::default_temporary_folders() : file.temporary_directories;
  job.ceiling_bytes = options.memory_limit_bytes != 0 ? options.memory_limit_bytes : base::available_memory_bytes() / 2;
  static_cast<void>(sorter(options));  // a wrong device list or algorithm shows before anything is opened
  // A GPU's runtime alone would take hundreds of megabytes of what is left.
  const sorting::device_set devices = sorting::resolve_devices(options.devices);
  if (devices.is_auto) job.options.devices = "cpu";
  const bool wants_indices = operation == file_operation::argsort;
  job.elements =
      open_elements(input, output, file, wants_indices ? element_outcome::indices : element_outcome::elements);
  job.num_elements = job.elements->num_elements();
  plan_with_threads(job);
  if (operation == file_operation::merge) return job;
  job.is_head_sort = is_head_sort(job, file);
  job.is_held_whole =
      job.elements->type() && job.num_elements && job.plan.num_runs == 0 && !file.head && !has_test_world(job.hooks);
  require_space(job, file);
  return job;
}

}  // namespace spansort::files
