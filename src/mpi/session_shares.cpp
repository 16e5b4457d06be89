// SPDX-License-Identifier: Apache-2.0
// A file's keys as shares of the node ranks; counts of keys that lie with all of them, and their outliers.
#include <fmt/format.h>

#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_buffer.hpp"
#include "files/io/key_writer.hpp"
#include "files/outliers.hpp"
#include "mpi/session_state.hpp"
#include "mpi/shared_output.hpp"
#include "sort/arguments.hpp"
#include "spansort/files.hpp"
#include "spansort/statistics.hpp"

namespace spansort::mpi {

key_file session::read_share(const std::string& input, std::optional<key_type> type) {
  const call_scope scope(*state_);
  state& s = *state_;
  s.require_same({{"input", input}, {"type", type ? std::string(name(*type)) : "of the file"}});
  std::optional<key_file> share;
  s.together("reading", [&] { share.emplace(input, type, file_share{s.group->node_rank(), s.group->num_nodes()}); });
  return std::move(*share);
}

std::vector<std::uint64_t> session::histogram(const_key_span keys, std::span<const double> edges) {
  const call_scope scope(*state_);
  state& s = *state_;
  std::string edge_bits;
  for (const double edge : edges) edge_bits += fmt::format("{:x} ", std::bit_cast<std::uint64_t>(edge));
  s.require_same({{"operation", "histogram"}, {"type", std::string(name(keys.type))}, {"edges", edge_bits}});
  std::vector<std::uint64_t> counts;
  s.together("counting", [&] { counts = spansort::histogram(keys, edges, {.threads = s.given.threads}); });
  return s.group->all_reduce_sum(counts);
}

std::uint64_t session::write_outliers(const std::string& output, const const_key_span keys, const summary& box,
                                      const temporary_file_callback& on_temporary) {
  const call_scope scope(*state_);
  state& s = *state_;
  s.require_same({{"operation", "write_outliers"},
                  {"output", output},
                  {"type", std::string(name(keys.type))},
                  {"whisker_low", exactly(box.whisker_low)},
                  {"whisker_high", exactly(box.whisker_high)}});
  shared_output to{.on_temporary = on_temporary};
  base::byte_buffer mine;
  s.together("collecting outliers", [&] {
    sorting::check_keys(keys);
    to.target = find_shared_output(output);
    to.layout = files::output_layout(to.target, output, {files::file_format::raw, keys.type});
    mine = files::outliers_of(keys, box);
  });
  return write_shared_output(s, to, mine.bytes());
}

}  // namespace spansort::mpi
