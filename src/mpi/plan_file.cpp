// SPDX-License-Identifier: Apache-2.0
// This file says what a sort of a file over all node ranks would do, before it is done.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "base/math.hpp"
#include "base/shares.hpp"
#include "base/threads.hpp"
#include "files/external/spill_store.hpp"
#include "mpi/external/cluster_sort_in_parts.hpp"
#include "mpi/plan_parts.hpp"
#include "mpi/shared_output.hpp"
#include "mpi/sort_in_parts.hpp"
#include "sort/sorter_memory.hpp"
#include "spansort/errors.hpp"

namespace spansort::mpi {
namespace {

/// A size of 0 may be true or unknown; reading tells.
bool is_empty_file(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::is_regular_file(path, unknown) &&
         std::ifstream(path).peek() == std::ifstream::traits_type::eof();
}

/// Collective. Adds what this node rank writes to its temporary files, reads back and sends. Throws io_error where
/// there is no space for it.
void plan_temporary_files(session::state& session, const external::spill_plan& spill, const file_options& file,
                          cluster_file_plan& plan) {
  const std::uint64_t num_ranks = session.group->num_nodes();
  const unsigned rank = session.group->node_rank();
  file_plan& here = plan.here;
  const std::uint64_t count = base::share_size(plan.num_elements, num_ranks, rank);
  here.spilled_bytes = here.temporary_bytes = bytes_to_spill(session, spill, count, file);
  session.together("planning", [&] { external::require_spill_space(here.folders, here.temporary_bytes, "", 0); });
  // This node rank reads its share of a head back, and sends it.
  const bool merges_all = file.unique || head_of_runs(file) >= plan.num_elements;
  const std::uint64_t num_merged =
      merges_all ? num_spilled(spill, count, file) : base::share_size(*file.head, num_ranks, rank);
  plan.read_bytes += merges_all ? here.spilled_bytes : num_merged * here.element_bytes;
  plan.sent_bytes = num_merged * here.element_bytes / num_ranks * (num_ranks - 1);
}

}  // namespace

std::unique_ptr<files::element_kind> open_input_of_parts(const parts_request& request) {
  auto elements = files::open_elements(request.input, request.output, request.file, request.outcome);
  if (!elements->num_elements() && !is_empty_file(request.input)) {
    throw invalid_argument(
        fmt::format("{}: over MPI only regular files are read, in parts; this is a stream", request.input));
  }
  return elements;
}

unsigned threads_of_parts(const session::state& session) {
  if (session.given.threads != 0) return session.given.threads;
  return std::max(base::num_processors() / session.num_sharing, 1U);
}

cluster_file_plan sum_of_plans(session::state& session, cluster_file_plan mine) {
  transport::communicator& group = *session.group;
  const std::uint64_t to_sum[] = {mine.here.num_runs, mine.here.spilled_bytes, mine.read_bytes, mine.sent_bytes};
  const std::vector<std::uint64_t> sums = group.all_reduce_sum(to_sum);
  mine.num_node_ranks = group.num_nodes();
  mine.num_runs = sums[0];
  mine.spilled_bytes = sums[1];
  mine.read_bytes = sums[2];
  mine.sent_bytes = sums[3];
  mine.most_memory_bytes = std::ranges::max(group.all_gather({&mine.here.memory_bytes, 1}));
  return mine;
}

cluster_file_plan plan_sort_in_parts(session::state& session, const parts_request& request) {
  require_same_request(session, request.input, request.output, request.file);
  const file_options& file = request.file;
  const std::uint64_t num_ranks = session.group->num_nodes();
  cluster_file_plan plan;
  external::spill_plan spill;
  session.together("planning", [&] {
    const auto elements = open_input_of_parts(request);
    const files::output_target target = find_shared_output(request.output);
    plan.num_elements = elements->num_elements().value_or(0);
    const std::uint64_t count = base::share_size(plan.num_elements, num_ranks, session.group->node_rank());
    const sort_options options{.devices = session.devices.is_auto ? device_list("cpu") : session.given.devices,
                               .threads = threads_of_parts(session)};
    const auto order = elements->make_order(file.direction, sorting::for_counted_sorts(options));
    const std::uint64_t ceiling_bytes = ceiling_of_parts(session);
    spill = plan_parts(session, request.input, *order, count, ceiling_bytes);
    plan.here = {.num_elements = count,
                 .element_bytes = order->element_bytes(),
                 .ceiling_bytes = ceiling_bytes,
                 .memory_bytes = spill.memory_bytes,
                 .chunk_elements = spill.chunk_elements,
                 .num_runs = base::ceil_div(count, spill.chunk_elements),
                 .block_bytes = spill.block_bytes,
                 .output_bytes = elements->output_bytes(std::min(plan.num_elements, file.head.value_or(no_head))),
                 .folders = file.temporary_directories.empty() ? external::default_temporary_folders()
                                                               : file.temporary_directories};
    // Indices are made, not read. Records are read whole, though their keys alone go with the indices.
    const std::optional<key_type> type = elements->type();
    plan.read_bytes = count * (type ? size_bytes(*type) : elements->record_bytes());
  });
  session.require_same({{"number of elements", std::to_string(plan.num_elements)},
                        {"element bytes", std::to_string(plan.here.element_bytes)}});
  plan_temporary_files(session, spill, file, plan);
  return sum_of_plans(session, std::move(plan));
}

}  // namespace spansort::mpi
