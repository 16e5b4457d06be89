// SPDX-License-Identifier: Apache-2.0
// sort_file, argsort_file, write_file: the room files/ around the public sort. Cheap refusals
// come first: header, devices, output, free space, memory; then the keys are read, sorted where they lie, and written.
#include "spansort/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include "base/byte_buffer.hpp"
#include "base/threads.hpp"
#include "files/file_job.hpp"
#include "files/io/key_reader.hpp"
#include "files/io/key_writer.hpp"
#include "files/io/memory.hpp"
#include "files/io/output_target.hpp"
#include "keys/codec.hpp"
#include "keys/dispatch.hpp"
#include "spansort/check.hpp"
#include "spansort/errors.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"

namespace spansort {
namespace {

using clock = std::chrono::steady_clock;

// Shares of the whole that reading and writing are shown as; a sort in memory takes about as long as both.
constexpr double read_share = 0.25;
constexpr double write_share = 0.25;

// One file operation's progress and phases, around those of the sort.
class file_operation {
 public:
  explicit file_operation(const sort_options& options) : on_progress_(options.on_progress), report_(options.report) {}

  files::loaded_keys read(files::key_reader& reader, const files::memory_policy& memory) {
    const auto begin = clock::now();
    files::loaded_keys keys = reader.read(memory, transfer("read", 0, read_share));
    end_phase("read", begin, keys.bytes.size());
    return keys;
  }

  // The last step: the report is complete afterwards.
  void write(const files::output_target& target, const files::key_layout& layout, key_span keys,
             const files::temporary_callback& on_temporary) {
    const auto begin = clock::now();
    files::write_keys(target, layout, keys, on_temporary, transfer("write", 1 - write_share, write_share));
    end_phase("write", begin, keys.num_keys * size_bytes(keys.type));
    // The sort filled the report anew, so its neighbours join it only now.
    if (report_ == nullptr) return;
    report_->phases.insert(report_->phases.begin(), phases_.front());
    report_->phases.push_back(phases_.back());
  }

  // The sort's own progress in the middle of the whole.
  progress_callback sorting() const {
    if (!on_progress_) return {};
    return [user = on_progress_](const progress& p) {
      return user({p.phase, read_share + (1 - read_share - write_share) * p.fraction});
    };
  }

 private:
  // Notes a phase that began at `begin` and ends now.
  void end_phase(const char* name, clock::time_point begin, std::uint64_t bytes_moved) {
    const double elapsed_ms = std::chrono::duration<double, std::milli>(clock::now() - begin).count();
    phases_.push_back({name, elapsed_ms, elapsed_ms, bytes_moved, 1});
  }

  // For reading and writing: shows `phase` as [begin, begin + share] of the whole, about ten times a second.
  files::transfer_progress transfer(std::string_view phase, double begin, double share) {
    if (!on_progress_) return {};
    return [this, phase, begin, share](std::uint64_t done, std::uint64_t total) {
      const auto now = clock::now();
      if (now - last_shown_ < std::chrono::milliseconds(100)) return;
      last_shown_ = now;
      const double fraction = total == 0 ? 0 : static_cast<double>(done) / static_cast<double>(total);
      if (!on_progress_({phase, begin + share * std::min(fraction, 1.0)})) {
        throw cancelled(fmt::format("cancelled (phase: {}); the output is as it was", phase));
      }
    };
  }

  const progress_callback& on_progress_;
  sort_report* report_;
  clock::time_point last_shown_ = clock::now();
  std::vector<phase_report> phases_;
};

// Calls f with a sorter whose ceiling on workspace is the ceiling of the operation less what its arrays take.
template <class F>
void with_sorter(const std::string& input, const sort_options& options, const file_operation& operation,
                 std::uint64_t array_bytes, F f) {
  sort_options inner = options;
  inner.on_progress = operation.sorting();
  if (inner.memory_limit_bytes != 0) inner.memory_limit_bytes -= std::min(inner.memory_limit_bytes - 1, array_bytes);
  try {
    sorter own(std::move(inner));
    f(own);
  } catch (const out_of_memory& failure) {
    throw out_of_memory(fmt::format("{}: {}, with {} bytes of keys and result in memory{}", input, failure.what(),
                                    array_bytes, options.memory_limit_bytes == 0 ? "" : "; raise the ceiling (-S)"),
                        failure.needed_bytes() + array_bytes, failure.available_bytes() + array_bytes);
  }
}

// What tests let verification find.
void damage(void* result, std::uint64_t count) {
  if (count != 0) *static_cast<std::byte*>(result) ^= std::byte{1};
}

[[noreturn]] void throw_failed_check(const std::string& input, const std::string& what) {
  throw internal_error(
      fmt::format("{}: verification failed: {}; the output was withheld; please report this", input, what));
}

void verify_sorted(const std::string& input, const_key_span keys, const multiset_checksum& before, direction d) {
  const check_result after = check(keys, {.direction = d});
  if (after.first_disorder) {
    throw_failed_check(input, fmt::format("the key at index {} is out of order", *after.first_disorder));
  }
  if (after.checksum != before) throw_failed_check(input, "the sorted keys are not the keys that were read");
}

void verify_unique(const std::string& input, const_key_span keys, direction d) {
  const check_result result = check(keys, {.direction = d, .unique = true});
  if (result.first_disorder) throw_failed_check(input, fmt::format("duplicate at index {}", *result.first_disorder));
}

// Calls f with the keys as unsigned words and the encoding in which keys of equal value are equal.
template <class F>
decltype(auto) with_words(const_key_span span, direction d, F f) {
  const keys::key_codec codec{span.type, keys::is_descending(d), keys::tie_rule::by_input_order};
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    return f(std::span(static_cast<const K*>(span.data), span.num_keys), codec.of<K>());
  });
}

// Keeps the first of equal keys; returns how many are left.
std::uint64_t remove_duplicates(key_span span) {
  return with_words(span, direction::ascending, [&]<class K>(std::span<const K>, const keys::codec_of<K>& codec) {
    const std::span words(static_cast<K*>(span.data), span.num_keys);
    const auto end =
        std::unique(words.begin(), words.end(), [&](K a, K b) { return codec.encode(a) == codec.encode(b); });
    return static_cast<std::uint64_t>(end - words.begin());
  });
}

std::uint64_t remove_duplicates(std::span<std::uint64_t> indices, const_key_span span) {
  return with_words(span, direction::ascending, [&]<class K>(std::span<const K> words, const keys::codec_of<K>& codec) {
    const auto end = std::unique(indices.begin(), indices.end(), [&](std::uint64_t a, std::uint64_t b) {
      return codec.encode(words[a]) == codec.encode(words[b]);
    });
    return static_cast<std::uint64_t>(end - indices.begin());
  });
}

// A permutation, in order, equal keys in input order.
void verify_order(const std::string& input, std::span<const std::uint64_t> indices, const_key_span span, direction d) {
  std::vector<bool> seen(span.num_keys);
  for (const std::uint64_t index : indices) {
    if (index >= span.num_keys || seen[index]) throw_failed_check(input, "the order is not a permutation");
    seen[index] = true;
  }
  with_words(span, d, [&]<class K>(std::span<const K> words, const keys::codec_of<K>& codec) {
    for (std::size_t i = 1; i < indices.size(); ++i) {
      const K left = codec.encode(words[indices[i - 1]]);
      const K right = codec.encode(words[indices[i]]);
      if (left < right || (left == right && indices[i - 1] < indices[i])) continue;
      throw_failed_check(input, fmt::format("the index at {} is out of order", i));
    }
  });
}

file_result sort_whole(files::file_job job, const file_options& file) {
  const sort_options& options = job.options;
  const files::memory_policy memory{[](key_type type) { return std::uint64_t{size_bytes(type)}; },
                                    options.memory_limit_bytes};
  file_operation operation(options);
  files::loaded_keys keys = operation.read(*job.reader, memory);
  key_span span = keys.span();
  file_result result{span.type, span.num_keys, span.num_keys, file.verify};

  const multiset_checksum before = file.verify ? checksum(span) : multiset_checksum{};
  with_sorter(job.input, options, operation, keys.bytes.size(), [&](sorter& own) { own.sort(span, file.direction); });
  if (job.hooks.corrupt_result) damage(span.data, span.num_keys);
  if (file.verify) verify_sorted(job.input, span, before, file.direction);
  if (file.on_sorted) file.on_sorted(span);
  if (file.unique) result.num_keys_out = span.num_keys = remove_duplicates(span);
  if (file.unique && file.verify) verify_unique(job.input, span, file.direction);

  operation.write(job.target, job.layout, span, file.on_temporary);
  return result;
}

file_result argsort_whole(files::file_job job, const file_options& file) {
  const sort_options& options = job.options;
  // Beside the keys: 8 bytes an index in the result, a copy of the keys, and as much of both in the workspace.
  const files::memory_policy memory{[](key_type type) { return 16 + 2 * std::uint64_t{size_bytes(type)}; },
                                    options.memory_limit_bytes};
  file_operation operation(options);
  const files::loaded_keys keys = operation.read(*job.reader, memory);
  file_result result{keys.layout.type, keys.num_keys, keys.num_keys, file.verify};
  base::byte_buffer order(keys.num_keys * sizeof(std::uint64_t));
  std::span indices(reinterpret_cast<std::uint64_t*>(order.data()), keys.num_keys);

  with_sorter(job.input, options, operation, keys.bytes.size() + order.size(),
              [&](sorter& own) { own.argsort(keys.span(), indices.data(), sizeof(std::uint64_t), file.direction); });
  if (job.hooks.corrupt_result) damage(indices.data(), indices.size());
  if (file.verify) verify_order(job.input, indices, keys.span(), file.direction);
  if (file.unique) result.num_keys_out = remove_duplicates(indices, keys.span());

  operation.write(job.target, job.layout, {key_type::i64, indices.data(), result.num_keys_out}, file.on_temporary);
  return result;
}

file_plan describe_plan(files::file_job job, const file_options& file) {
  file_plan plan{.num_elements = job.num_elements,
                 .element_bytes = job.order->element_bytes(),
                 .ceiling_bytes = job.ceiling_bytes,
                 .memory_bytes = job.plan.memory_bytes,
                 .chunk_elements = job.plan.chunk_elements,
                 .num_runs = job.plan.num_runs,
                 .fan_in = job.plan.fan_in,
                 .num_merges = job.plan.num_merges,
                 .block_bytes = job.plan.block_bytes,
                 .spilled_bytes = job.plan.spilled_bytes,
                 .temporary_bytes = job.temporary_bytes(),
                 .output_bytes = job.output_bytes(),
                 .folders = job.folders,
                 .keeps_head_only = job.is_bounded_head};
  if (job.is_bounded_head) {
    plan.num_runs = plan.fan_in = plan.spilled_bytes = 0;
    plan.num_merges = 0;
  }
  if (!job.is_whole_in_memory) files::require_sound_ends(std::move(job), file);
  return plan;
}

}  // namespace

file_result sort_file(const std::string& input, const std::string& output, const file_options& file,
                      const sort_options& options) {
  files::file_job job = files::make_file_job(input, output, file, options, files::file_outcome::elements);
  return base::with_threads(options.threads, [&] {
    return job.is_whole_in_memory ? sort_whole(std::move(job), file) : files::sort_in_parts(std::move(job), file);
  });
}

file_result argsort_file(const std::string& input, const std::string& output, const file_options& file,
                         const sort_options& options) {
  files::file_job job = files::make_file_job(input, output, file, options, files::file_outcome::indices);
  return base::with_threads(options.threads, [&] {
    return job.is_whole_in_memory ? argsort_whole(std::move(job), file) : files::sort_in_parts(std::move(job), file);
  });
}

file_plan plan_sort_file(const std::string& input, const std::string& output, const file_options& file,
                         const sort_options& options) {
  return describe_plan(files::make_file_job(input, output, file, options, files::file_outcome::elements), file);
}

file_plan plan_argsort_file(const std::string& input, const std::string& output, const file_options& file,
                            const sort_options& options) {
  return describe_plan(files::make_file_job(input, output, file, options, files::file_outcome::indices), file);
}

void write_file(const std::string& path, std::string_view contents, const temporary_file_callback& on_temporary) {
  files::atomic_file file(files::find_output(path), contents.size(), on_temporary);
  file.write(std::as_bytes(std::span(contents)));
  file.commit();
}

}  // namespace spansort
