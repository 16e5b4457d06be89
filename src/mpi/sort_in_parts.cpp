// SPDX-License-Identifier: Apache-2.0
#include "mpi/sort_in_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/math.hpp"
#include "base/shares.hpp"
#include "files/external/spill_store.hpp"
#include "keys/codec.hpp"
#include "mpi/external/cluster_sort_in_parts.hpp"
#include "mpi/part_checks.hpp"
#include "mpi/part_place.hpp"
#include "mpi/plan_parts.hpp"
#include "mpi/shared_output.hpp"
#include "report/open_report.hpp"
#include "sort/sorter_memory.hpp"
#include "spansort/report.hpp"

namespace spansort::mpi {
namespace {

using clock = std::chrono::steady_clock;

/// One file on its way through all node ranks.
class sort_of_parts {
 public:
  sort_of_parts(session::state& session, const parts_request& request)
      : session_(session), request_(request), report_(session.given.report, request.operation) {}

  file_result run() {
    require_same_request(session_, request_.input, request_.output, request_.file);
    session_.together("reading", [&] { open(); });
    session_.require_same({{"number of elements", std::to_string(num_elements_)},
                           {"element bytes", std::to_string(order_->element_bytes())}});
    take_memory();
    in_phase("sort runs", count(), [&] { sort_->make_runs(*source_); });
    const std::uint64_t num_out = request_.file.unique ? write_distinct() : write_all();
    fill_report();
    return {.type = elements_->type().value_or(key_type::u8),
            .record_bytes = elements_->record_bytes(),
            .num_keys_in = num_elements_,
            .num_keys_out = num_out,
            .verified = request_.file.verify,
            .num_runs = sum_over_all(sort_->result().num_runs),
            .spilled_bytes = sum_over_all(spilled_bytes())};
  }

 private:
  void open() {
    const file_options& file = request_.file;
    elements_ = open_input_of_parts(request_);
    target_ = find_shared_output(request_.output);
    form_ = elements_->form();
    num_elements_ = elements_->num_elements().value_or(0);
    sort_options options{.devices = session_.devices.is_auto ? device_list("cpu") : session_.given.devices,
                         .threads = threads()};
    order_ = elements_->make_order(file.direction, sorting::for_counted_sorts(options));
    folders_ = file.temporary_directories.empty() ? external::default_temporary_folders() : file.temporary_directories;
    source_ = elements_->take_source({.keeps_page_cache = false, .share = files::element_share{first(), count()}});
  }

  [[nodiscard]] unsigned threads() const { return threads_of_parts(session_); }
  [[nodiscard]] std::uint64_t first() const {
    return base::share_begin(num_elements_, session_.group->num_nodes(), session_.group->node_rank());
  }
  [[nodiscard]] std::uint64_t count() const {
    return base::share_size(num_elements_, session_.group->num_nodes(), session_.group->node_rank());
  }

  void take_memory() {
    session_.together("taking memory", [&] {
      ceiling_bytes_ = ceiling_of_parts(session_);
      plan_ = plan_parts(session_, request_.input, *order_, count(), ceiling_bytes_);
    });
    const std::uint64_t spilled_bytes = bytes_to_spill(session_, plan_, count(), request_.file);
    const auto together = [this](std::string_view phase, const std::function<void()>& f) {
      session_.together(phase, f);
    };
    session_.together("taking memory", [&] {
      external::require_spill_space(folders_, spilled_bytes, "", 0);
      sort_ = std::make_unique<cluster_sort_in_parts>(
          *session_.group, together, *order_,
          parts_options{.plan = plan_,
                        .folders = folders_,
                        .threads = threads(),
                        .sums_elements = request_.file.verify,
                        .drops_duplicates = request_.file.unique && !request_.file.verify,
                        .head = head_of_runs(request_.file),
                        .limits = session_.limits()});
    });
  }

  [[nodiscard]] std::uint64_t head() const { return request_.file.head.value_or(no_head); }

  std::uint64_t write_all() {
    const std::uint64_t width = form_.element_bytes;
    const std::uint64_t num_all = std::min(sort_->num_elements(), head());
    const std::uint64_t first = std::min(sort_->first_of_part(), num_all);
    std::uint64_t num_left = std::min(sort_->size_of_part(), num_all - first);
    part_checks checks(*order_, request_.file.verify);
    const std::string header = form_.header(num_all);
    shared_output_file output(session_, target_, header, header.size() + num_all * width, request_.file.sync,
                              request_.file.on_temporary);
    session_.together("making the output", [&] { open_part(output, first, num_left); });
    in_phase("merge", count(), [&] {
      const auto take = [&](std::byte* elements, std::uint64_t count) {
        corrupt(elements, count);
        checks.add(elements, count);
        const std::uint64_t num_written = std::min(count, num_left);
        form_.convert(elements, num_written);
        output.write({elements, num_written * width});
        num_left -= num_written;
      };
      sort_->merge(take, {header.size() + first * width, width});
    });
    verify(checks);
    session_.together("writing", [&] { output.finish_part(); });
    output.commit();
    return num_all;
  }

  /// Runs are not written any more: one of the buffers for that is now for the output.
  void open_part(shared_output_file& output, std::uint64_t first, std::uint64_t count) const {
    output.open_part(first * form_.element_bytes);
    output.pass_by_page_cache(count * form_.element_bytes, plan_.batch_bytes);
  }

  /// Spills what is left of equal elements: how many those are is known when all have been merged.
  std::uint64_t write_distinct() {
    const std::uint64_t width = form_.element_bytes;
    part_checks checks(*order_, request_.file.verify);
    std::optional<external::run_writer> kept;
    session_.together("making the output",
                      [&] { kept.emplace(*order_, plan_, folders_, sort_->size_of_part() * order_->element_bytes()); });
    in_phase("merge", count(), [&] {
      sort_->merge([&](std::byte* elements, std::uint64_t count) {
        corrupt(elements, count);
        const std::uint64_t num_kept = checks.add_and_keep_first(elements, count);
        kept->append(elements, num_kept);
      });
    });
    verify(checks);
    external::run_list runs;
    session_.together("writing", [&] {
      kept->finish_run();
      runs = kept->take_runs();
      kept_bytes_ = kept->bytes_written();
    });
    const bool drops_first = checks.begins_as_others_end(*session_.group);
    const std::uint64_t num_kept = (runs.empty() ? 0 : runs.front()->num_elements()) - (drops_first ? 1 : 0);
    const part_place place = place_part(*session_.group, num_kept);
    const std::uint64_t num_all = std::min(place.num_all, head());
    const std::uint64_t first = std::min(place.num_before, num_all);
    const std::uint64_t num_copied = std::min(num_kept, num_all - first);
    const std::string header = form_.header(num_all);
    shared_output_file output(session_, target_, header, header.size() + num_all * width, request_.file.sync,
                              request_.file.on_temporary);
    in_phase("copy", num_copied, [&] {
      session_.together("writing", [&] {
        open_part(output, first, num_copied);
        if (num_copied != 0) copy(*runs.front(), drops_first ? 1 : 0, num_copied, output);
        output.finish_part();
      });
    });
    output.commit();
    return num_all;
  }

  void copy(external::sorted_run& run, std::uint64_t first, std::uint64_t count, shared_output_file& output) const {
    external::aligned_bytes buffer(plan_.batch_bytes);
    std::vector<std::byte> elements(buffer.bytes().size() / plan_.block_bytes * plan_.block_elements *
                                    order_->element_bytes());
    const std::uint64_t end = first + count;
    for (std::uint64_t next = first; next < end;) {
      const std::uint64_t block = next / plan_.block_elements;
      const std::uint64_t readable = (block + run.readable_blocks(block)) * plan_.block_elements;
      const std::uint64_t num_read = std::min(readable, end) - next;
      run.read(next, num_read, elements.data(), buffer.bytes());
      form_.convert(elements.data(), num_read);
      output.write({elements.data(), num_read * form_.element_bytes});
      next += num_read;
    }
  }

  void verify(const part_checks& checks) {
    if (!request_.file.verify) return;
    const std::string fault = checks.find_fault(*session_.group, sort_->result().checksum);
    session_.together("verifying", [&] {
      if (fault.empty()) return;
      throw internal_error(
          fmt::format("{}: verification failed on node rank {}: {}; the output was withheld; please report this",
                      request_.input, session_.group->node_rank(), fault));
    });
  }

  /// Flips a bit, for verification to find.
  void corrupt(std::byte* elements, std::uint64_t count) {
    if (!session_.sort_settings.hooks.corrupt_result || is_corrupted_ || count == 0) return;
    elements[0] ^= std::byte{1};
    is_corrupted_ = true;
  }

  /// `num_moved`: elements that are read and written.
  template <class F>
  void in_phase(const char* name, std::uint64_t num_moved, const F& f) {
    const auto begin = clock::now();
    f();
    // Bytes of files that are read, and those that are written.
    report_.add_phase(name, std::chrono::duration<double, std::milli>(clock::now() - begin).count(),
                      2 * num_moved * order_->element_bytes());
  }

  /// Bytes of this node rank's runs, and of what was left of equal elements.
  [[nodiscard]] std::uint64_t spilled_bytes() const { return sort_->result().spilled_bytes + kept_bytes_; }

  [[nodiscard]] std::uint64_t sum_over_all(std::uint64_t mine) const {
    return session_.group->all_reduce_sum({&mine, 1}).front();
  }

  void fill_report() {
    report_.finish();
    sort_report* const report = session_.given.report;
    if (report == nullptr) return;
    const parts_result& result = sort_->result();
    const std::optional<key_type> type = elements_->type();
    report->key_type = type ? std::string(spansort::name(*type)) : "record";
    report->algorithm = "external";
    report->picked = fmt::format(
        "{} runs of up to {} elements in temporary files, exchanged and merged range by range: larger than {} bytes "
        "of memory on a node rank",
        result.num_runs, plan_.chunk_elements, ceiling_bytes_);
    report->input_shape = "unknown";
    report->descending = keys::is_descending(request_.file.direction);
    report->num_keys = result.num_read;
    report->workspace_bytes = plan_.memory_bytes;
    report->exchanged_bytes = result.sent_bytes;
    report->spilled_bytes = spilled_bytes();
    report->num_passes = request_.file.unique ? 3 : 2;
  }

  session::state& session_;
  const parts_request& request_;
  report::open_report report_;
  std::unique_ptr<files::element_kind> elements_;
  std::unique_ptr<external::element_order> order_;
  std::unique_ptr<external::element_source> source_;
  files::output_target target_;
  files::disk_form form_;
  std::vector<std::string> folders_;
  std::uint64_t num_elements_ = 0;
  std::uint64_t ceiling_bytes_ = 0;
  std::uint64_t kept_bytes_ = 0;  ///< spilled while equal elements were dropped
  external::spill_plan plan_;
  std::unique_ptr<cluster_sort_in_parts> sort_;
  bool is_corrupted_ = false;
};

/// Returns a text of fields, which differs where they do.
std::string text_of(const std::optional<record_format>& records) {
  if (!records) return "none";
  std::string text = std::to_string(records->record_bytes);
  for (const record_key& key : records->keys) {
    text += fmt::format(" {}+{}:{}{}", key.offset, key.size_bytes, key.type ? name(*key.type) : "bytes",
                        key.descending ? "-" : "");
  }
  return text;
}

std::string text_of(const std::vector<field_key>& fields) {
  std::string text;
  for (const field_key& field : fields) text += fmt::format("{}{} ", field.name, field.descending ? "-" : "");
  return text;
}

}  // namespace

void require_same_request(session::state& session, const std::string& input, const std::string& output,
                          const file_options& file) {
  session.group->set_phase("settings");
  session.require_same({{"input", input},
                        {"output", output},
                        {"type", file.type ? std::string(name(*file.type)) : "of the file"},
                        {"order", keys::is_descending(file.direction) ? "descending" : "ascending"},
                        {"records", text_of(file.records)},
                        {"fields", text_of(file.array.fields)},
                        {"index_type", std::string(name(file.index_type))},
                        {"unique", file.unique ? "yes" : "no"},
                        {"head", file.head ? std::to_string(*file.head) : "none"},
                        {"verify", file.verify ? "yes" : "no"}});
}

file_result sort_in_parts(session::state& session, const parts_request& request) {
  return sort_of_parts(session, request).run();
}

}  // namespace spansort::mpi
