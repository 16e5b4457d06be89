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

#include "files/io/key_writer.hpp"
#include "mpi/part_place.hpp"

namespace spansort::mpi {

/// A file that another node rank has made; removed unless that has given it its name.
class shared_output_file::temporary {
 public:
  temporary(std::string path, const temporary_file_callback& tell) : path_(std::move(path)), tell_(tell) {
    if (!path_.empty() && tell_) tell_(path_);
  }
  ~temporary() {
    if (path_.empty()) return;
    std::error_code is_gone_already;
    std::filesystem::remove(path_, is_gone_already);
    is_gone();
  }
  temporary(const temporary&) = delete;
  temporary& operator=(const temporary&) = delete;

  void is_gone() {
    if (!path_.empty() && tell_) tell_("");
    path_.clear();
  }

 private:
  std::string path_;
  const temporary_file_callback& tell_;
};

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

  shared_output_file file(session, output.target, header, whole_bytes, output.is_synced, output.on_temporary);
  session.together("writing", [&] {
    file.open_part(place.num_before * width);
    file.write(part);
    file.finish_part();
  });
  file.commit();
  return place.num_all;
}

shared_output_file::shared_output_file(session::state& session, const files::output_target& target, std::string header,
                                       std::uint64_t whole_bytes, bool is_synced,
                                       const temporary_file_callback& on_temporary)
    : session_(session), target_(target), header_(std::move(header)), whole_bytes_(whole_bytes), is_synced_(is_synced) {
  const bool makes_it = session.group->node_rank() == 0;
  session.together("making the output", [&] {
    if (!makes_it) return;
    files::require_free_space(target, whole_bytes);
    whole_.emplace(target, whole_bytes, on_temporary, files::atomic_file::naming::from_the_start);
    if (!is_synced) whole_->leave_unsynced();
    whole_->write(std::as_bytes(std::span(header_)));
  });
  path_ = session.group->all_gather_strings(whole_ ? whole_->temporary_path() : std::string()).front();
  // Node rank 0 may be killed: whoever is left removes it.
  temporary_ = std::make_unique<temporary>(whole_ ? std::string() : path_, on_temporary);
}

shared_output_file::~shared_output_file() = default;

void shared_output_file::open_part(std::uint64_t offset) {
  part_.emplace(files::shared_file{path_, target_, whole_bytes_, is_synced_}, header_.size() + offset);
}

void shared_output_file::commit() {
  session_.together("replacing the output", [&] {
    // A node rank that fails with its part written still keeps the output from being replaced.
    session_.group->barrier();
    if (whole_) whole_->commit();
  });
  temporary_->is_gone();
}

}  // namespace spansort::mpi
