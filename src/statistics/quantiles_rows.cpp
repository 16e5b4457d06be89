// SPDX-License-Identifier: Apache-2.0
// quantiles_rows(): quantiles of each row of a matrix. Short rows are sorted in copies, which costs less than a look at
// each of them; long ones are selected from, one after the other.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/byte_buffer.hpp"
#include "base/for_blocks.hpp"
#include "base/threads.hpp"
#include "keys/dispatch.hpp"
#include "keys/number.hpp"
#include "sort/arguments.hpp"
#include "sort/open_devices.hpp"
#include "sort/segments.hpp"
#include "spansort/errors.hpp"
#include "spansort/segmented.hpp"
#include "spansort/sort.hpp"
#include "spansort/statistics.hpp"
#include "statistics/quantile_position.hpp"
#include "statistics/sorted_copy.hpp"

namespace spansort {
namespace {

using statistics::quantile_position;

/// Rows are copied in blocks of about this size.
constexpr std::uint64_t block_bytes = std::uint64_t{8} << 20;

/// Longer rows are selected from: of 300,000 f64 two threads take 34 ms for eight rows in copies and 50 selecting, of
/// 500,000 it is 53 and 41.
constexpr std::uint64_t most_row_bytes = std::uint64_t{4} << 20;

struct row_matrix {
  const_key_span keys;
  std::uint64_t row_length;

  [[nodiscard]] std::uint64_t num_rows() const { return row_length == 0 ? 0 : keys.num_keys / row_length; }
  [[nodiscard]] std::uint64_t row_bytes() const { return row_length * size_bytes(keys.type); }
  [[nodiscard]] const_key_span rows(std::uint64_t begin, std::uint64_t end) const {
    return {keys.type, static_cast<const char*>(keys.data) + begin * row_bytes(), (end - begin) * row_length};
  }
};

/// Rows whose keys are in order, NaN keys last.
class quantiles_of_ordered {
 public:
  quantiles_of_ordered(std::uint64_t row_length, std::span<const double> q, const quantile_options& options,
                       bool is_descending)
      : row_length_(row_length), q_(q), options_(options), is_descending_(is_descending) {
    for (const double each : q) positions_.push_back(statistics::position_of(row_length, each, options.method));
  }

  /// Writes the quantiles of each row one behind the other.
  void write(const_key_span rows, double* to) const {
    keys::with_type(rows.type, [&]<class T>() {
      const T* const keys = static_cast<const T*>(rows.data);
      base::for_blocks(
          rows.num_keys / row_length_,
          [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t i = begin; i < end; ++i) write_row(keys + i * row_length_, to + i * q_.size());
          },
          rows_of_block);
    });
  }

 private:
  static constexpr std::uint64_t rows_of_block = 256;

  template <class T>
  void write_row(const T* row, double* to) const {
    if (!std::isnan(keys::number_of(row[row_length_ - 1]))) {
      for (std::size_t i = 0; i < q_.size(); ++i) to[i] = value(row, row_length_, positions_[i]);
      return;
    }
    const T* const end =
        std::partition_point(row, row + row_length_, [](const T& key) { return !std::isnan(keys::number_of(key)); });
    const auto num_numbers = static_cast<std::uint64_t>(end - row);
    if (options_.nans == nan_policy::error) {
      throw bad_input("quantiles: " + std::to_string(row_length_ - num_numbers) + " of " + std::to_string(row_length_) +
                      " keys are NaN");
    }
    if (num_numbers == 0 || options_.nans == nan_policy::propagate) {
      std::fill_n(to, q_.size(), std::numeric_limits<double>::quiet_NaN());
      return;
    }
    for (std::size_t i = 0; i < q_.size(); ++i) {
      to[i] = value(row, num_numbers, statistics::position_of(num_numbers, q_[i], options_.method));
    }
  }

  template <class T>
  [[nodiscard]] double value(const T* row, std::uint64_t num_numbers, const quantile_position& at) const {
    const auto number_at = [&](std::uint64_t rank) {
      return keys::number_of(row[is_descending_ ? num_numbers - 1 - rank : rank]);
    };
    return statistics::quantile_value(options_.method, at, number_at(at.lower_rank), number_at(at.upper_rank));
  }

  std::uint64_t row_length_;
  std::span<const double> q_;
  const quantile_options& options_;
  bool is_descending_;
  std::vector<quantile_position> positions_;
};

/// Sorts copies of rows, block by block, and writes their quantiles.
void sort_copies(const row_matrix& all, const quantiles_of_ordered& quantiles, std::size_t num_q, double* to,
                 const std::function<void(key_span)>& sort_block) {
  const std::uint64_t block_rows = std::max<std::uint64_t>(1, block_bytes / all.row_bytes());
  base::byte_buffer copied(std::min(block_rows, all.num_rows()) * all.row_bytes());
  for (std::uint64_t begin = 0; begin < all.num_rows(); begin += block_rows) {
    const const_key_span block = all.rows(begin, std::min(begin + block_rows, all.num_rows()));
    const std::uint64_t size = block.num_keys * size_bytes(block.type);
    const auto copy = [&](std::uint64_t first, std::uint64_t last) {
      std::memcpy(copied.data() + first, static_cast<const std::byte*>(block.data) + first, last - first);
    };
    constexpr std::uint64_t bytes_of_task = std::uint64_t{256} << 10;
    base::for_blocks(size, copy, all.num_rows() == 1 ? size : bytes_of_task);  // one row is the calling thread's
    const key_span sorted{block.type, copied.data(), block.num_keys};
    sort_block(sorted);
    quantiles.write(sorted, to + begin * num_q);
  }
}

}  // namespace

std::vector<double> quantiles_rows(const_key_span keys, std::uint64_t row_length, std::span<const double> q,
                                   const quantile_options& options) {
  sorting::check_keys(keys);
  static_cast<void>(sorting::bounds_of_rows(row_length, keys.num_keys));
  static_cast<void>(sorting::resolve_devices(options.devices));
  const row_matrix all{keys, row_length};
  const bool is_descending = options.order == key_order::descending;
  const quantiles_of_ordered quantiles(std::max<std::uint64_t>(row_length, 1), q, options, is_descending);
  std::vector<double> found(all.num_rows() * q.size());
  static_cast<void>(base::resolve_threads(options.threads));
  if (all.num_rows() == 0 || (q.empty() && options.nans != nan_policy::error)) return found;
  const bool is_cpu = statistics::is_cpu(options.devices);
  const bool are_sorted = all.num_rows() > 1 ? all.row_bytes() <= most_row_bytes
                                             : statistics::is_best_sorted(keys, options.order, options.devices);
  sort_options of_rows;
  of_rows.threads = options.threads;
  of_rows.devices = is_cpu ? device_list::cpu() : options.devices;
  const auto work = [&] {
    if (options.order != key_order::unknown) {
      quantiles.write(keys, found.data());
    } else if (!are_sorted) {
      for (std::uint64_t row = 0; row < all.num_rows(); ++row) {
        std::ranges::copy(detail::quantiles(all.rows(row, row + 1), q, options), found.data() + row * q.size());
      }
    } else if (is_cpu) {
      sort_copies(all, quantiles, q.size(), found.data(), [&](key_span block) {
        if (all.num_rows() == 1) return sort(block, direction::ascending, of_rows);
        sort_rows(block, row_length, direction::ascending, of_rows);
      });
    } else {
      sorter rows_sorter(of_rows);  // opens the devices once
      sort_copies(all, quantiles, q.size(), found.data(), [&](key_span block) {
        for (std::uint64_t row = 0; row < block.num_keys / row_length; ++row) {
          rows_sorter.sort({block.type, static_cast<char*>(block.data) + row * all.row_bytes(), row_length});
        }
      });
    }
  };
  if (all.num_rows() == 1) {
    work();  // it has threads of its own where it is worth it
  } else {
    base::with_threads(options.threads, work);
  }
  return found;
}

}  // namespace spansort
