// SPDX-License-Identifier: Apache-2.0
// Files over the node ranks of a session: each reads its share and writes its part into one new file.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "api/mpi/session_state.hpp"
#include "files/atomic_file.hpp"
#include "files/byte_buffer.hpp"
#include "files/file_part.hpp"
#include "files/key_reader.hpp"
#include "files/key_writer.hpp"
#include "files/output_target.hpp"
#include "keys/codec.hpp"
#include "spansort/check.hpp"
#include "spansort/report.hpp"

namespace spansort::mpi {
namespace {

using clock = std::chrono::steady_clock;

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

/// One file operation of all node ranks.
class shared_files {
 public:
  shared_files(session::state& session, const std::string& input, const std::string& output, const file_options& file)
      : session_(session), input_(input), output_(output), file_(file) {}

  /// This node rank's share of the keys. Refused where there is no room beside it for the workspace of records with
  /// `value_bytes` more, and for `other_bytes(type)` a key.
  files::loaded_keys read(std::uint64_t value_bytes, const std::function<std::uint64_t(key_type)>& other_bytes) {
    const auto begin = clock::now();
    const std::uint64_t num_copies = session_.given.algorithm == "distributed_lsd" ? 2 : 1;
    files::loaded_keys keys;
    require_same_request();
    session_.together("reading", [&] {
      files::key_reader reader(input_, file_.type);
      target_ = files::find_output(output_);
      if (!reader.num_keys() || target_.is_stream) {
        throw invalid_argument(fmt::format("{}: over MPI only regular files are read and written in parts, no streams",
                                           reader.num_keys() ? output_ : input_));
      }
      layout_ = files::output_layout(target_, input_, reader.layout());
      num_keys_ = *reader.num_keys();
      const std::uint64_t num_nodes = session_.group->num_nodes();
      const std::uint64_t rank = session_.group->node_rank();
      std::uint64_t first = 0;
      for (std::uint64_t i = 0; i < rank; ++i) first += even_part(num_keys_, num_nodes, i);
      const files::memory_policy memory{
          [&](key_type type) { return num_copies * (size_bytes(type) + value_bytes) + other_bytes(type); },
          session_.given.memory_limit_bytes};
      keys = reader.read_part(first, even_part(num_keys_, num_nodes, rank), memory);
    });
    // Not all of them may see the same file by its name.
    session_.require_same({{"number of keys", std::to_string(num_keys_)}, {"type", std::string(name(layout_.type))}});
    end_phase("read", begin, keys.bytes.size());
    return keys;
  }

  /// Indices in the place of keys.
  void write_indices(std::span<std::byte> part) {
    layout_.type = key_type::i64;
    layout_.byte_order = std::endian::little;
    write(part);
  }

  /// `part`: this node rank's of the result, in native byte order, which may be swapped.
  void write(std::span<std::byte> part) {
    const auto begin = clock::now();
    const std::uint64_t width = spansort::size_bytes(layout_.type);
    const std::uint64_t count = part.size() / width;
    const std::vector<std::uint64_t> counts = session_.group->all_gather({&count, 1});
    std::uint64_t num_before = 0;
    std::uint64_t num_keys = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (i < session_.group->node_rank()) num_before += counts[i];
      num_keys += counts[i];
    }
    if (layout_.byte_order != std::endian::native) files::swap_bytes(part, width);

    const std::string header = files::header_of(layout_, num_keys);
    std::optional<files::atomic_file> whole;  // node rank 0 makes it and gives it its name
    session_.together("making the output", [&] {
      if (session_.group->node_rank() != 0) return;
      const std::uint64_t size_bytes = header.size() + num_keys * width;
      files::require_free_space(target_, size_bytes);
      whole.emplace(target_, size_bytes, file_.on_temporary, files::atomic_file::naming::from_the_start);
      whole->write(std::as_bytes(std::span(header)));
    });
    const std::string path =
        session_.group->all_gather_strings(whole ? whole->temporary_path() : std::string()).front();
    // Node rank 0 may be killed: whoever is left removes it.
    shared_temporary temporary(whole ? std::string() : path, file_.on_temporary);
    session_.together("writing", [&] {
      files::write_file_part({path, target_, header.size() + num_keys * width}, header.size() + num_before * width,
                             part);
    });
    session_.together("replacing the output", [&] {
      // A node rank that fails with its part written still keeps the output from being replaced.
      session_.group->barrier();
      if (whole) whole->commit();
    });
    temporary.is_gone();
    end_phase("write", begin, part.size());
    add_phases();
  }

  [[nodiscard]] std::uint64_t num_keys() const noexcept { return num_keys_; }

 private:
  /// Node ranks that differ would read one file and write another.
  void require_same_request() {
    session_.group->set_phase("settings");
    session_.require_same({{"input", input_},
                           {"output", output_},
                           {"type", file_.type ? std::string(name(*file_.type)) : "of the file"},
                           {"unique", file_.unique ? "yes" : "no"},
                           {"verify", file_.verify ? "yes" : "no"}});
  }

  void end_phase(const char* name, clock::time_point begin, std::uint64_t bytes_moved) {
    const double elapsed_ms = std::chrono::duration<double, std::milli>(clock::now() - begin).count();
    phases_.push_back({name, elapsed_ms, elapsed_ms, bytes_moved, 1});
  }

  /// Around those of the sort, which has filled the report anew.
  void add_phases() {
    sort_report* const report = session_.given.report;
    if (report == nullptr) return;
    report->phases.insert(report->phases.begin(), phases_.front());
    report->phases.push_back(phases_.back());
  }

  session::state& session_;
  const std::string& input_;
  const std::string& output_;
  const file_options& file_;
  files::output_target target_;
  files::key_layout layout_;
  std::uint64_t num_keys_ = 0;
  std::vector<phase_report> phases_;
};

/// The first and the last key of every node rank that has any, as bytes of a word, by node rank.
struct part_ends {
  bool has_keys = false;
  std::uint64_t first = 0;  ///< encoded so that keys of equal value are equal
  std::uint64_t last = 0;
};

std::vector<part_ends> gather_ends(exchange::node_group& group, const_key_span keys, bool descending) {
  const keys::key_codec codec{keys.type, descending, keys::tie_rule::by_input_order};
  part_ends mine{.has_keys = keys.num_keys != 0};
  if (mine.has_keys) {
    mine.first = encode_at(codec, keys.data, 0);
    mine.last = encode_at(codec, keys.data, keys.num_keys - 1);
  }
  const std::uint64_t numbers[] = {mine.has_keys ? std::uint64_t{1} : 0, mine.first, mine.last};
  const std::vector<std::uint64_t> all = group.all_gather(numbers);
  std::vector<part_ends> ends;
  for (std::size_t i = 0; i < all.size(); i += 3) ends.push_back({all[i] != 0, all[i + 1], all[i + 2]});
  return ends;
}

/// The last key of the node ranks before `rank`.
std::optional<std::uint64_t> last_before(const std::vector<part_ends>& ends, unsigned rank) {
  std::optional<std::uint64_t> last;
  for (unsigned i = 0; i < rank; ++i) {
    if (ends[i].has_keys) last = ends[i].last;
  }
  return last;
}

/// Of all node ranks together.
multiset_checksum sum_over(exchange::node_group& group, const multiset_checksum& mine) {
  const std::vector<std::uint64_t> all = group.all_gather(mine.words);
  multiset_checksum sum;
  for (std::size_t i = 0; i < all.size(); i += 2) sum = sum + multiset_checksum{{all[i], all[i + 1]}};
  return sum;
}

void verify(session::state& session, const std::string& input, const_key_span keys, const multiset_checksum& before) {
  exchange::node_group& group = *session.group;
  group.set_phase("verifying");
  const check_result here = check(keys, {.descending = session.given.descending});
  const bool has_same_keys = sum_over(group, here.checksum) == sum_over(group, before);
  const std::vector<part_ends> ends = gather_ends(group, keys, session.given.descending);
  const std::optional<std::uint64_t> left = last_before(ends, group.node_rank());
  session.together("verifying", [&] {
    const char* what = nullptr;
    if (here.first_disorder) what = "its keys are out of order";
    if (left && keys.num_keys != 0 && *left > ends[group.node_rank()].first)
      what = "it begins before its predecessor ends";
    if (!has_same_keys) what = "the sorted keys are not the keys that were read";
    if (what == nullptr) return;
    throw internal_error(
        fmt::format("{}: verification failed on node rank {}: {}; the output was withheld; please report "
                    "this",
                    input, group.node_rank(), what));
  });
}

/// Keeps the first of equal keys. Returns those that are left.
key_span keep_unique(session::state& session, key_span keys) {
  const keys::key_codec codec{keys.type, session.given.descending, keys::tie_rule::by_input_order};
  const std::uint64_t width = size_bytes(keys.type);
  auto* const bytes = static_cast<std::byte*>(keys.data);
  const std::vector<part_ends> ends = gather_ends(*session.group, keys, session.given.descending);
  std::optional<std::uint64_t> last = last_before(ends, session.group->node_rank());
  std::uint64_t num_kept = 0;
  for (std::uint64_t i = 0; i < keys.num_keys; ++i) {
    const std::uint64_t key = encode_at(codec, keys.data, i);
    if (last == key) continue;
    last = key;
    std::memmove(bytes + num_kept++ * width, bytes + i * width, width);
  }
  return {keys.type, keys.data, num_kept};
}

}  // namespace

file_result session::sort_file(const std::string& input, const std::string& output, const file_options& file) {
  state& s = *state_;
  shared_files files(s, input, output, file);
  files::loaded_keys keys = files.read(0, [](key_type) { return std::uint64_t{0}; });
  key_span span = keys.span();
  const multiset_checksum before = file.verify ? checksum(span) : multiset_checksum{};
  sort(span);
  if (s.given.tuning.damage_result && span.num_keys != 0) *static_cast<std::byte*>(span.data) ^= std::byte{1};
  if (file.verify) verify(s, input, span, before);
  if (file.unique) span = keep_unique(s, span);
  const std::uint64_t width = size_bytes(span.type);
  const std::vector<std::uint64_t> counts = s.group->all_gather({&span.num_keys, 1});
  files.write(keys.bytes.bytes().first(span.num_keys * width));
  file_result result{span.type, files.num_keys(), 0, file.verify};
  for (const std::uint64_t count : counts) result.num_keys_out += count;
  return result;
}

file_result session::argsort_file(const std::string& input, const std::string& output, const file_options& file) {
  state& s = *state_;
  s.together("checking arguments", [&] {
    if (file.unique || file.verify) throw invalid_argument("argsort over MPI: -u and --verify are not available");
  });
  shared_files files(s, input, output, file);
  const files::loaded_keys keys = files.read(
      sizeof(std::uint64_t), [](key_type type) { return sizeof(std::uint64_t) + size_bytes(type); });  // result, copy
  files::byte_buffer order;
  s.together("taking memory", [&] { order = files::byte_buffer(keys.num_keys * sizeof(std::uint64_t)); });
  argsort(keys.span(), reinterpret_cast<std::uint64_t*>(order.data()));
  files.write_indices(order.bytes());
  return {keys.layout.type, files.num_keys(), files.num_keys(), false};
}

}  // namespace spansort::mpi
