// SPDX-License-Identifier: Apache-2.0
// Files over the node ranks of a session: each reads its share and writes its part into one new file.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/available_memory.hpp"
#include "base/byte_buffer.hpp"
#include "files/io/key_reader.hpp"
#include "files/io/key_writer.hpp"
#include "mpi/part_place.hpp"
#include "mpi/session_state.hpp"
#include "mpi/shared_output.hpp"
#include "mpi/sort_in_parts.hpp"
#include "mpi/sorted_parts.hpp"
#include "report/open_report.hpp"
#include "spansort/check.hpp"
#include "spansort/report.hpp"

namespace spansort::mpi {
namespace {

using clock = std::chrono::steady_clock;

/// One file operation of all node ranks.
class shared_files {
 public:
  /// A null `report`: nobody wants to know of it.
  shared_files(session::state& session, sort_report* report, std::string_view operation, const std::string& input,
               const std::string& output, const file_options& file)
      : session_(session),
        input_(input),
        output_(output),
        file_(file),
        to_{.is_synced = file.sync, .on_temporary = file.on_temporary},
        report_(report, operation) {}

  /// Finds out what the files are. Returns whether every node rank has room for its share of the keys, the workspace of
  /// records with `value_bytes` more, and `other_bytes(type)` a key.
  bool open(std::uint64_t value_bytes, const std::function<std::uint64_t(key_type)>& other_bytes) {
    const std::uint64_t num_copies = session_.algorithm.driver.is.num_copies;
    memory_ = {[=](key_type type) { return num_copies * (size_bytes(type) + value_bytes) + other_bytes(type); },
               session_.given.memory_limit_bytes};
    std::uint64_t lacks_room = 0;
    require_same_request(session_, input_, output_, file_);
    session_.together("reading", [&] {
      files::key_reader& reader = reader_.emplace(input_, file_.type);
      if (!reader.num_keys()) {
        throw invalid_argument(
            fmt::format("{}: over MPI only regular files are read, in parts; this is a stream", input_));
      }
      to_.target = find_shared_output(output_);
      to_.layout = files::output_layout(to_.target, input_, reader.layout());
      num_keys_ = *reader.num_keys();
      lacks_room = has_room(reader.layout().type) ? 0 : 1;
    });
    // Not all of them may see the same file by its name.
    session_.require_same(
        {{"number of keys", std::to_string(num_keys_)}, {"type", std::string(name(to_.layout.type))}});
    return session_.group->all_reduce_sum({&lacks_room, 1}).front() == 0;
  }

  /// This node rank's share of the keys.
  files::loaded_keys read() {
    const auto begin = clock::now();
    files::loaded_keys keys;
    session_.together("reading", [&] { keys = reader_->read_part(first_key(), num_keys_here(), memory_); });
    reader_.reset();
    add_phase("read", begin, keys.bytes.size());
    return keys;
  }

  /// The file was sorted in parts, which has filled the report.
  file_result finished(const file_result& result) {
    report_.finish();
    return result;
  }

  /// Indices in the place of keys. Returns how many.
  std::uint64_t write_indices(std::span<std::byte> part) {
    to_.layout.type = key_type::i64;
    to_.layout.byte_order = std::endian::little;
    return write(part);
  }

  /// `part`: this node rank's of the result, in native byte order, which may be swapped.
  std::uint64_t write(std::span<std::byte> part) {
    const auto begin = clock::now();
    if (file_.head) part = part.first(num_of_head(part.size() / width()) * width());
    const std::uint64_t num_elements = write_shared_output(session_, to_, part);
    add_phase("write", begin, part.size());
    report_.finish();
    return num_elements;
  }

  [[nodiscard]] std::uint64_t num_keys() const noexcept { return num_keys_; }

  /// Collective. The plan of a sort in memory.
  cluster_file_plan plan(files::element_outcome outcome) {
    const std::uint64_t num_ranks = session_.group->num_nodes();
    const std::uint64_t count = num_keys_here();
    const bool is_of_indices = outcome == files::element_outcome::indices;
    const std::uint64_t key_bytes = size_bytes(to_.layout.type);
    const std::uint64_t element_bytes = key_bytes + (is_of_indices ? sizeof(std::uint64_t) : 0);
    files::key_layout output = to_.layout;
    if (is_of_indices) output.type = key_type::i64;
    const std::uint64_t num_keys_out = std::min(num_keys_, file_.head.value_or(num_keys_));
    cluster_file_plan plan{.here = {.num_elements = count,
                                    .element_bytes = element_bytes,
                                    .ceiling_bytes = limit_bytes(),
                                    .memory_bytes = count * bytes_per_key(to_.layout.type),
                                    .chunk_elements = count,
                                    .output_bytes = files::file_bytes(output, num_keys_out)},
                           .num_elements = num_keys_,
                           .read_bytes = count * key_bytes,
                           .sent_bytes = count * element_bytes / num_ranks * (num_ranks - 1)};
    return sum_of_plans(session_, std::move(plan));
  }

 private:
  [[nodiscard]] std::uint64_t first_key() const {
    return base::share_begin(num_keys_, session_.group->num_nodes(), session_.group->node_rank());
  }
  [[nodiscard]] std::uint64_t num_keys_here() const {
    return base::share_size(num_keys_, session_.group->num_nodes(), session_.group->node_rank());
  }
  [[nodiscard]] std::uint64_t width() const { return size_bytes(to_.layout.type); }

  /// Collective. Returns how many of this node rank's elements are among the head of all.
  [[nodiscard]] std::uint64_t num_of_head(std::uint64_t num_here) const {
    const std::uint64_t num_before = place_part(*session_.group, num_here).num_before;
    return std::min(*file_.head - std::min(*file_.head, num_before), num_here);
  }

  [[nodiscard]] bool has_room(key_type type) const {
    const std::uint64_t in_tests = session_.sort_settings.hooks.file_chunk_elements;
    if (in_tests != 0 && num_keys_here() > in_tests) return false;
    return num_keys_here() <= limit_bytes() / bytes_per_key(type);
  }
  [[nodiscard]] std::uint64_t bytes_per_key(key_type type) const {
    return size_bytes(type) + memory_.workspace_bytes_per_key(type);
  }
  [[nodiscard]] std::uint64_t limit_bytes() const {
    // The other node ranks of this machine take as much from the same memory.
    const std::uint64_t available = base::available_memory_bytes() / session_.num_sharing;
    return memory_.limit_bytes != 0 ? std::min(memory_.limit_bytes, available) : available;
  }

  void add_phase(const char* name, clock::time_point begin, std::uint64_t bytes_moved) {
    report_.add_phase(name, std::chrono::duration<double, std::milli>(clock::now() - begin).count(), bytes_moved);
  }

  session::state& session_;
  const std::string& input_;
  const std::string& output_;
  const file_options& file_;
  shared_output to_;
  std::uint64_t num_keys_ = 0;
  files::memory_policy memory_;
  std::optional<files::key_reader> reader_;
  report::open_report report_;  ///< to which the sort adds its phases
};

/// Refuses what is left out of parts that no node rank sees as a whole.
void require_available(session::state& session, const file_options& file) {
  struct local_option {
    const char* name;
    bool is_given;
  };
  const local_option options[] = {{"array", file.array.axis || file.array.flattens},
                                  {"values", file.values.has_value()},
                                  {"index_type", file.index_type != key_type::i64},
                                  {"on_sorted", static_cast<bool>(file.on_sorted)}};
  session.together("checking arguments", [&] {
    for (const local_option& option : options) {
      if (option.is_given) throw invalid_argument(fmt::format("file_options::{}: not available over MPI", option.name));
    }
  });
}

/// Records have one way alone, which needs no memory for all of them.
bool is_of_records(const file_options& file) { return file.records || !file.array.fields.empty(); }

/// Throws internal_error where this node rank's part has a fault, cluster_failure where another's has.
void withhold_if_faulty(session::state& session, const std::string& input, const std::string& fault) {
  session.together("verifying", [&] {
    if (fault.empty()) return;
    throw internal_error(
        fmt::format("{}: verification failed on node rank {}: {}; the output was withheld; please report this", input,
                    session.group->node_rank(), fault));
  });
}

/// Returns whether all node ranks have room to sort their shares in memory.
bool fits_sort(shared_files& files) {
  return files.open(0, [](key_type) { return std::uint64_t{0}; });
}

/// Returns whether they have room for the order: the result, the keys of the order, and what is fetched for
/// verification.
bool fits_argsort(shared_files& files, const file_options& file) {
  return files.open(sizeof(std::uint64_t), [&](key_type type) {
    return sizeof(std::uint64_t) + size_bytes(type) + (file.verify ? order_check_bytes(type) : 0);
  });
}

/// Flips a bit, for verification to find.
void corrupt(std::span<std::byte> result) {
  if (!result.empty()) result.front() ^= std::byte{1};
}

}  // namespace

file_result session::sort_file(const std::string& input, const std::string& output, const file_options& file) {
  const call_scope scope(*state_);
  state& s = *state_;
  transport::communicator& group = *s.group;
  const bool descending = keys::is_descending(file.direction);
  require_available(s, file);
  if (is_of_records(file)) return sort_in_parts(s, {"sort", input, output, file, files::element_outcome::elements});
  shared_files files(s, s.given.report, "sort", input, output, file);
  if (!fits_sort(files))
    return files.finished(sort_in_parts(s, {"sort", input, output, file, files::element_outcome::elements}));
  files::loaded_keys keys = files.read();
  key_span span = keys.span();
  const multiset_checksum before = file.verify ? checksum(span) : multiset_checksum{};
  sort(span, file.direction);
  if (s.sort_settings.hooks.corrupt_result) corrupt(keys.bytes.bytes());
  if (file.verify) withhold_if_faulty(s, input, find_fault(group, span, descending, before));
  if (file.unique) span.num_keys = keep_unique(group, span, descending);
  if (file.unique && file.verify) withhold_if_faulty(s, input, find_duplicate(group, span, descending));
  const std::uint64_t num_keys_out = files.write(keys.bytes.bytes().first(span.num_keys * size_bytes(span.type)));
  return {.type = span.type, .num_keys_in = files.num_keys(), .num_keys_out = num_keys_out, .verified = file.verify};
}

file_result session::argsort_file(const std::string& input, const std::string& output, const file_options& file) {
  const call_scope scope(*state_);
  state& s = *state_;
  transport::node_group& group = *s.group;
  const bool descending = keys::is_descending(file.direction);
  require_available(s, file);
  if (is_of_records(file)) return sort_in_parts(s, {"argsort", input, output, file, files::element_outcome::indices});
  shared_files files(s, s.given.report, "argsort", input, output, file);
  if (!fits_argsort(files, file))
    return files.finished(sort_in_parts(s, {"argsort", input, output, file, files::element_outcome::indices}));
  const files::loaded_keys keys = files.read();
  const std::uint64_t num_keys = keys.num_keys;
  base::byte_buffer order;
  device::buffer sorted_keys;
  s.together("taking memory", [&] {
    order = base::byte_buffer(num_keys * sizeof(std::uint64_t));
    sorted_keys = s.scratch(keys.bytes.size());
  });
  const std::span indices(reinterpret_cast<std::uint64_t*>(order.data()), num_keys);
  s.argsort(keys.span(), indices.data(), sorted_keys.data(), file.direction);
  if (s.sort_settings.hooks.corrupt_result) corrupt(order.bytes());
  if (file.verify) {
    std::string fault;
    s.alone([&] { fault = find_fault_of_order(group, s.limits(), keys.span(), indices, descending); });
    withhold_if_faulty(s, input, fault);
  }
  key_span span{keys.layout.type, sorted_keys.data(), num_keys};
  if (file.unique) span.num_keys = keep_unique(group, span, descending, indices.data());
  if (file.unique && file.verify) withhold_if_faulty(s, input, find_duplicate(group, span, descending));
  const std::uint64_t num_keys_out = files.write_indices(order.bytes().first(span.num_keys * sizeof(std::uint64_t)));
  return {.type = span.type, .num_keys_in = files.num_keys(), .num_keys_out = num_keys_out, .verified = file.verify};
}

cluster_file_plan session::plan_sort_file(const std::string& input, const std::string& output,
                                          const file_options& file) {
  const call_scope scope(*state_);
  state& s = *state_;
  require_available(s, file);
  if (!is_of_records(file)) {
    shared_files files(s, nullptr, "sort", input, output, file);
    if (fits_sort(files)) return files.plan(files::element_outcome::elements);
  }
  return plan_sort_in_parts(s, {"sort", input, output, file, files::element_outcome::elements});
}

cluster_file_plan session::plan_argsort_file(const std::string& input, const std::string& output,
                                             const file_options& file) {
  const call_scope scope(*state_);
  state& s = *state_;
  require_available(s, file);
  if (!is_of_records(file)) {
    shared_files files(s, nullptr, "argsort", input, output, file);
    if (fits_argsort(files, file)) return files.plan(files::element_outcome::indices);
  }
  return plan_sort_in_parts(s, {"argsort", input, output, file, files::element_outcome::indices});
}

}  // namespace spansort::mpi
