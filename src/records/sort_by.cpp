// SPDX-License-Identifier: Apache-2.0
// sort_by() and argsort_by() of elements whose keys are read through projections. Keys of up to 8 bytes together are
// one number each, and one sort orders them; wider ones are ordered as those of records.
#include "spansort/sort_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <limits>

#include "base/byte_buffer.hpp"
#include "base/threads.hpp"
#include "records/gather_in_place.hpp"
#include "records/projected_keys.hpp"
#include "sort/flowing_calls.hpp"
#include "sort/sort_observer.hpp"
#include "sort/values.hpp"
#include "spansort/errors.hpp"

namespace spansort {
namespace {

constexpr std::uint64_t most_travelling_bytes = 16;
constexpr std::uint64_t narrow_elements = std::uint64_t{1} << 32;  // that 32-bit indices can name

/// Elements and what they are ordered by.
struct order_job {
  const records::projected_keys& keys;
  std::uint64_t num_elements = 0;
  const sort_options& options;

  [[nodiscard]] std::uint64_t word_bytes() const { return size_bytes(keys.word_type()); }
  [[nodiscard]] std::string description() const { return fmt::format("keys of {} bytes", keys.key_bytes()); }
};

std::uint64_t bytes_of(std::uint64_t count, std::uint64_t element_bytes) {
  std::uint64_t bytes = 0;
  const bool is_too_many = __builtin_mul_overflow(count, element_bytes, &bytes) ||
                           bytes > static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max());
  if (!is_too_many) return bytes;
  throw invalid_argument(fmt::format("{} elements of {} bytes are more than memory can hold", count, element_bytes));
}

/// Returns what is left of a ceiling on memory when `own_bytes` are taken. Throws out_of_memory where nothing is.
sort_options less_memory(const order_job& job, sort_options options, std::uint64_t own_bytes) {
  sorting::require_memory(job.num_elements, own_bytes, job.options.memory_limit_bytes);
  if (options.memory_limit_bytes != 0) options.memory_limit_bytes -= own_bytes;
  return options;
}

/// The elements travel with their keys.
void sort_travelling(const order_job& job, void* elements, std::uint64_t element_bytes) {
  const std::uint64_t own_bytes = bytes_of(job.num_elements, job.word_bytes());
  sorter words_sorter(less_memory(job, job.options, own_bytes));
  base::byte_buffer words(own_bytes);
  job.keys.write_words(job.num_elements, words.data());
  sorting::run_beside(own_bytes, [&] {
    words_sorter.sort_pairs({job.keys.word_type(), words.data(), job.num_elements}, elements, element_bytes);
  });
  if (job.options.report == nullptr) return;
  job.options.report->operation = "sort_by";
  job.options.report->key_type = job.description();
  job.options.report->workspace_bytes += own_bytes;
}

/// Writes the order into `indices`. `words` are as many, of word_bytes().
template <std::unsigned_integral Index>
void order(const order_job& job, base::byte_buffer& words, std::span<Index> indices, sorter& words_sorter,
           const progress_callback& on_progress, const sorting::order_steps& steps) {
  if (!job.keys.fit_one_word()) {
    return sorting::sort_by_groups({.keys = job.keys,
                                    .words = {reinterpret_cast<std::uint64_t*>(words.data()), job.num_elements},
                                    .words_sorter = words_sorter,
                                    .watch = base::call_watch(on_progress),
                                    .on_first_sorted = steps.on_first_sorted},
                                   indices);
  }
  sorting::flowing_calls::dispose(words_sorter);
  job.keys.write_words(job.num_elements, words.data());
  sorting::write_indices(indices.data(), sizeof(Index), indices.size());
  words_sorter.sort_pairs({job.keys.word_type(), words.data(), job.num_elements}, indices.data(), sizeof(Index));
  if (steps.on_first_sorted) steps.on_first_sorted();
}

template <std::unsigned_integral Index>
void sort_with_indices(const order_job& job, std::byte* elements, std::uint64_t element_bytes) {
  const std::uint64_t words_bytes =
      bytes_of(job.num_elements, std::max(job.word_bytes(), records::stripe_bytes(element_bytes)));
  const std::uint64_t indices_bytes = bytes_of(job.num_elements, sizeof(Index));
  sorting::sort_observer observer(job.options);
  const sort_options observed = less_memory(job, observer.observed(job.options), words_bytes + indices_bytes);
  sorter words_sorter(observed);
  base::byte_buffer words(words_bytes);
  base::byte_buffer index_buffer(indices_bytes);
  const std::span<Index> indices(reinterpret_cast<Index*>(index_buffer.data()), job.num_elements);

  const sorting::order_steps steps = observer.steps();
  sorting::run_beside(words_bytes + indices_bytes,
                      [&] { order(job, words, indices, words_sorter, observed.on_progress, steps); });
  steps.on_ordered();
  const base::call_watch late(observed.on_progress, "gather", 1, base::stop_rule::when_abandoned);
  records::gather_in_place(elements, element_bytes, indices, words.data(), late);
  late.raise_late();
  observer.finish({.operation = "sort_by",
                   .elements = job.description(),
                   .num_elements = job.num_elements,
                   .moved_bytes = 4 * job.num_elements * element_bytes,
                   .workspace_bytes = words_bytes + indices_bytes + words_sorter.workspace_bytes()});
}

template <std::unsigned_integral Index>
void argsort_with(const order_job& job, void* indices) {
  const std::uint64_t words_bytes = bytes_of(job.num_elements, job.word_bytes());
  sorting::sort_observer observer(job.options);
  const sort_options observed = less_memory(job, observer.observed(job.options), words_bytes);
  sorter words_sorter(observed);
  base::byte_buffer words(words_bytes);
  const sorting::order_steps steps = observer.steps();
  sorting::run_beside(words_bytes, [&] {
    order(job, words, std::span(static_cast<Index*>(indices), job.num_elements), words_sorter, observed.on_progress,
          steps);
  });
  steps.on_ordered();
  observer.finish({.operation = "argsort_by",
                   .elements = job.description(),
                   .num_elements = job.num_elements,
                   .workspace_bytes = words_bytes + words_sorter.workspace_bytes()});
}

}  // namespace

void detail::sort_by(void* elements, std::uint64_t num_elements, std::uint64_t element_bytes,
                     std::span<const projected_key> keys, const sort_options& options) {
  bytes_of(num_elements, element_bytes);
  const records::projected_keys projected(keys);
  const order_job job{projected, num_elements, options};
  auto* const bytes = static_cast<std::byte*>(elements);
  base::with_threads(options.threads, [&] {
    const bool travel = projected.fit_one_word() && element_bytes <= most_travelling_bytes;
    if (travel) return sort_travelling(job, elements, element_bytes);
    if (num_elements <= narrow_elements) return sort_with_indices<std::uint32_t>(job, bytes, element_bytes);
    sort_with_indices<std::uint64_t>(job, bytes, element_bytes);
  });
}

void detail::argsort_by(std::uint64_t num_elements, std::span<const projected_key> keys, void* indices,
                        std::uint64_t index_bytes, const sort_options& options) {
  const records::projected_keys projected(keys);
  const order_job job{projected, num_elements, options};
  base::with_threads(options.threads, [&] {
    if (index_bytes == sizeof(std::uint32_t)) return argsort_with<std::uint32_t>(job, indices);
    argsort_with<std::uint64_t>(job, indices);
  });
}

}  // namespace spansort
