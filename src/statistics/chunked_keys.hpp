// SPDX-License-Identifier: Apache-2.0
// Keys in any order, in chunks over devices: ranks are found by selection, and values by counting.
#pragma once

#include "statistics/key_storage.hpp"
#include "statistics/ordered_keys.hpp"

namespace spansort::statistics {

class chunked_keys : public ordered_keys {
 public:
  chunked_keys(key_storage storage, bool descending);

  [[nodiscard]] std::uint64_t num_keys() const noexcept override { return storage_.num_keys; }

  // Each reads the keys about once; slices that begin behind the first key three times, others and positions twice.

  [[nodiscard]] std::vector<std::uint64_t> bits_at(const std::vector<std::uint64_t>& ranks) const override;
  [[nodiscard]] std::vector<std::uint64_t> count_before(const std::vector<key_bound>& bounds) const override;
  [[nodiscard]] std::vector<std::byte> slice(std::uint64_t begin, std::uint64_t end) const override;
  [[nodiscard]] std::vector<std::byte> slice_between(std::uint64_t begin, std::uint64_t end, const key_bound& from,
                                                     const key_bound& to) const override;
  [[nodiscard]] std::vector<std::uint64_t> first_positions(std::uint64_t count) const override;
  [[nodiscard]] double mean() const override;

 protected:
  /// Appends the keys between two bounds in order; there are at most `most`. One read.
  virtual void collect(const key_bound& from, const key_bound& to, std::uint64_t most,
                       std::vector<std::byte>& keys) const;
  [[nodiscard]] const key_storage& storage() const noexcept { return storage_; }

 private:
  key_storage storage_;
};

}  // namespace spansort::statistics
