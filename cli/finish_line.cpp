// SPDX-License-Identifier: Apache-2.0
#include "cli/finish_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/numbers.hpp"
#include "spansort/types.hpp"

namespace cli {
namespace {

std::string what_was_done(const finished_operation& done) {
  const spansort::file_result& result = done.result;
  const std::string_view operation = done.report.operation;
  const char* const did = operation == "merge" ? "merged" : operation == "argsort" ? "found the order of" : "sorted";
  std::string text = fmt::format("{} {}", did, count_text(result.num_keys_in));
  text += done.result.record_bytes != 0 ? fmt::format(" records of {} bytes", done.result.record_bytes)
                                        : fmt::format(" {} keys", spansort::name(result.type));
  if (result.num_keys_out != result.num_keys_in) text += fmt::format(", kept {}", count_text(result.num_keys_out));
  return text;
}

std::string how_fast(const finished_operation& done) {
  const double elapsed_s = std::max(done.report.elapsed_ms / 1e3, 1e-6);
  const std::uint64_t width =
      done.result.record_bytes != 0 ? done.result.record_bytes : spansort::size_bytes(done.result.type);
  const double keys_per_s = static_cast<double>(done.result.num_keys_in) / elapsed_s;
  return fmt::format("in {}, {} {}/s, {}B/s", seconds_text(elapsed_s), si_text(keys_per_s),
                     done.result.record_bytes != 0 ? "records" : "keys",
                     si_text(keys_per_s * static_cast<double>(width)));
}

std::string devices_text(const spansort::sort_report& report) {
  if (report.ranks.empty()) return "";
  unsigned num_threads = 0;
  for (const spansort::rank_report& rank : report.ranks) num_threads += rank.num_threads;
  std::string text = " on " + report.ranks.front().device;
  if (report.ranks.size() > 1) text += fmt::format(" ... {}", report.ranks.back().device);
  if (report.ranks.front().device.starts_with("host")) {
    text += fmt::format(", {} thread{}", num_threads, num_threads == 1 ? "" : "s");
  }
  return text;
}

}  // namespace

known_file find_file(const std::string& path) {
  std::error_code failure;
  const std::uint64_t size_bytes = std::filesystem::file_size(path, failure);
  if (path == "-" || failure) return {path};
  return {path, size_bytes};
}

std::string finish_line(const finished_operation& done) {
  std::string text =
      fmt::format("{} {}; {}{}", what_was_done(done), how_fast(done), done.report.algorithm, devices_text(done.report));
  if (done.result.num_runs != 0) {
    text += fmt::format(", {} runs, {} spilled", done.result.num_runs, bytes_text(done.result.spilled_bytes));
  }
  return text + (done.result.verified ? "; verified" : "; not verified");
}

}  // namespace cli
