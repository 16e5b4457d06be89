// SPDX-License-Identifier: Apache-2.0
// Sorts records in memory and keeps its buffers: the order of the records by their normalised keys, then the records
// themselves, in stripes of columns so that a copy of all of them is not needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/byte_buffer.hpp"
#include "base/memory_formula.hpp"
#include "records/record_codec.hpp"
#include "sort/group_sort.hpp"
#include "sort/sort_observer.hpp"
#include "spansort/options.hpp"
#include "spansort/records.hpp"
#include "spansort/sort.hpp"

namespace spansort::records {

class record_sorter {
 public:
  /// direction::descending turns the direction of every field around. A ceiling on memory is kept by the sorter of the
  /// words alone. Throws invalid_argument and device_error.
  record_sorter(const record_format& format, direction d, const sort_options& options,
                std::uint64_t small_group = sorting::default_small_group);

  [[nodiscard]] const record_codec& codec() const noexcept { return codec_; }

  /// Stable. Throws what a sort throws; the records are then untouched.
  void sort(std::byte* records, std::uint64_t num_records, const sorting::order_steps& steps = {});

  /// Returns the memory taken beside the records, for sorts of any size; that of the words' sorter is included.
  [[nodiscard]] base::memory_formula memory() const;
  /// Held now; the sorter's own workspace included.
  [[nodiscard]] std::uint64_t held_bytes() const noexcept;
  /// Returns the bytes of buffers for `num_records`, without the workspace of the words' sorter.
  [[nodiscard]] static std::uint64_t buffer_bytes(std::uint64_t record_bytes, std::uint64_t num_records);

 private:
  template <class Index>
  void sort_with(std::byte* records, std::uint64_t num_records, const sorting::order_steps& steps);

  record_codec codec_;
  sort_options options_;
  std::uint64_t small_group_;
  sorter words_sorter_;
  base::byte_buffer words_;  ///< then the stripe that is being gathered
  base::byte_buffer indices_;
};

}  // namespace spansort::records
