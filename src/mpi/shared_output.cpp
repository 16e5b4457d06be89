// SPDX-License-Identifier: Apache-2.0
#include "mpi/shared_output.hpp"

#include <fmt/format.h>

#include <bit>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "files/io/atomic_file.hpp"
#include "files/io/file_part.hpp"
#include "files/io/key_writer.hpp"

namespace spansort::mpi {
namespace {

/// A file that another node rank has made; removed unless that has given it its name.
class shared_temporary {
 public:
  shared_temporary(std::string path, const temporary_file_callback& tell) : path_(std::move(path)), tell_(tell) {
    if (!path_.empty() && tell_) tell_(path_);
  }
  ~shared_temporary() {
    if (path_.empty()) return;
    std::error_code is_gone_already;
    std::filesystem::remove(path_, is_gone_already);
    is_gone();
  }
  shared_temporary(const shared_temporary&) = delete;
  shared_temporary& operator=(const shared_temporary&) = delete;

  void is_gone() {
    if (!path_.empty() && tell_) tell_("");
    path_.clear();
  }

 private:
  std::string path_;
  const temporary_file_callback& tell_;
};

/// The position of a part among those of all node ranks.
struct part_place {
  std::uint64_t num_before = 0;
  std::uint64_t num_all = 0;
};

part_place place_part(transport::communicator& group, std::uint64_t num_elements) {
  const std::vector<std::uint64_t> counts = group.all_gather({&num_elements, 1});
  part_place place;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (i < group.node_rank()) place.num_before += counts[i];
    place.num_all += counts[i];
  }
  return place;
}

}  // namespace

files::output_target find_shared_output(const std::string& output) {
  files::output_target target = files::find_output(output);
  if (!target.is_stream) return target;
  throw invalid_argument(
      fmt::format("{}: over MPI only regular files are written, in parts; this is a stream", output));
}

std::uint64_t write_shared_output(session::state& session, const shared_output& output, std::span<std::byte> part) {
  transport::communicator& group = *session.group;
  const std::uint64_t width = spansort::size_bytes(output.layout.type);
  const part_place place = place_part(group, part.size() / width);
  if (output.layout.byte_order != std::endian::native) files::swap_bytes(part, width);
  const std::string header = files::header_of(output.layout, place.num_all);
  const std::uint64_t whole_bytes = header.size() + place.num_all * width;

  std::optional<files::atomic_file> whole;  // node rank 0 makes it and gives it its name
  session.together("making the output", [&] {
    if (group.node_rank() != 0) return;
    files::require_free_space(output.target, whole_bytes);
    whole.emplace(output.target, whole_bytes, output.on_temporary, files::atomic_file::naming::from_the_start);
    if (!output.is_synced) whole->leave_unsynced();
    whole->write(std::as_bytes(std::span(header)));
  });
  const std::string path = group.all_gather_strings(whole ? whole->temporary_path() : std::string()).front();
  // Node rank 0 may be killed: whoever is left removes it.
  shared_temporary temporary(whole ? std::string() : path, output.on_temporary);
  session.together("writing", [&] {
    files::write_file_part({path, output.target, whole_bytes, output.is_synced},
                           header.size() + place.num_before * width, part);
  });
  session.together("replacing the output", [&] {
    // A node rank that fails with its part written still keeps the output from being replaced.
    group.barrier();
    if (whole) whole->commit();
  });
  temporary.is_gone();
  return place.num_all;
}

}  // namespace spansort::mpi
