// SPDX-License-Identifier: Apache-2.0
// A file that the memory of all node ranks does not hold, sorted by all of them through temporary files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "files/element_kind.hpp"
#include "files/external/spill_plan.hpp"
#include "mpi/session_state.hpp"
#include "spansort/files.hpp"

namespace spansort::mpi {

/// The request, which is the same on all node ranks.
struct parts_request {
  std::string_view operation;  ///< "sort", "argsort"
  const std::string& input;
  const std::string& output;
  const file_options& file;
  files::element_outcome outcome = files::element_outcome::elements;
};

/// Collective. Throws invalid_argument on all unless they were asked for the same: others would read one file and write
/// another.
void require_same_request(session::state& session, const std::string& input, const std::string& output,
                          const file_options& file);

/// Collective. Opens the input, as a regular file of elements. Throws invalid_argument for a stream.
[[nodiscard]] std::unique_ptr<files::element_kind> open_input_of_parts(const parts_request& request);

/// Collective. Says what sort_in_parts() would do.
[[nodiscard]] cluster_file_plan plan_sort_in_parts(session::state& session, const parts_request& request);

/// Collective. Returns the plan of all node ranks. `mine` says of this one alone what `here` is and how many bytes it
/// reads and sends; its other sums and the greatest memory are filled in from all of them.
[[nodiscard]] cluster_file_plan sum_of_plans(session::state& session, cluster_file_plan mine);

/// Returns the threads that sort on this node rank.
[[nodiscard]] unsigned threads_of_parts(const session::state& session);

/// Collective. Sorts the file as session::sort_file() and session::argsort_file() say.
file_result sort_in_parts(session::state& session, const parts_request& request);

}  // namespace spansort::mpi
