// SPDX-License-Identifier: Apache-2.0
#include "support/sort_job.hpp"

#include <algorithm>
#include <utility>

#include "keys/codec.hpp"

namespace spansort::test {

sort_job::sort_job(operation op, oracle expected, unsigned misalignment_bytes)
    : op_(op), expected_(std::move(expected)), misalignment_bytes_(misalignment_bytes) {
  reset();
}

void sort_job::reset() {
  keys_ = guarded_array(expected_.input(), size_bytes(expected_.type()));
  values_ = guarded_array(0);
  if (op_.what == operation::kind::pairs) {
    values_ = guarded_array(input_values(expected_.num_keys(), op_.bytes), misalignment_bytes_);
  }
  if (op_.what == operation::kind::argsort) {
    values_ = guarded_array(expected_.num_keys() * op_.bytes, op_.bytes);
    std::ranges::fill(values_.bytes(), std::byte{0xEE});
  }
}

key_span sort_job::keys() { return {expected_.type(), keys_.data(), expected_.num_keys()}; }

direction sort_job::wanted() const { return keys::direction_of(expected_.descending()); }

void sort_job::run(sorter& s) {
  switch (op_.what) {
    case operation::kind::keys: s.sort(keys(), wanted()); break;
    case operation::kind::pairs: s.sort_pairs(keys(), values_.data(), op_.bytes, wanted()); break;
    default: s.argsort(keys(), values_.data(), op_.bytes, wanted()); break;
  }
}

void sort_job::run(const sort_options& options) {
  switch (op_.what) {
    case operation::kind::keys: spansort::sort(keys(), wanted(), options); break;
    case operation::kind::pairs: sort_pairs(keys(), values_.data(), op_.bytes, wanted(), options); break;
    default: argsort(keys(), values_.data(), op_.bytes, wanted(), options); break;
  }
}

void sort_job::run() {
  switch (op_.what) {
    case operation::kind::keys: spansort::sort(keys(), wanted()); break;
    case operation::kind::pairs: sort_pairs(keys(), values_.data(), op_.bytes, wanted()); break;
    default: argsort(keys(), values_.data(), op_.bytes, wanted()); break;
  }
}

std::span<std::byte> sort_job::result() { return op_.what == operation::kind::keys ? keys_.bytes() : values_.bytes(); }

std::string sort_job::diagnose_red_zones() const { return keys_.corruption() + values_.corruption(); }

std::string sort_job::diagnose_untouched() const {
  std::string wrong = diagnose_bytes("key", expected_.input(), keys_.bytes(), size_bytes(expected_.type()));
  if (op_.what == operation::kind::pairs) {
    wrong += diagnose_bytes(" value", input_values(expected_.num_keys(), op_.bytes), values_.bytes(), op_.bytes);
  }
  return wrong + diagnose_red_zones();
}

std::string sort_job::diagnose_done() const {
  const std::size_t key_bytes = size_bytes(expected_.type());
  if (op_.what == operation::kind::keys) {
    return diagnose_bytes("key", expected_.keys_alone(), keys_.bytes(), key_bytes) + diagnose_red_zones();
  }
  const bool is_argsort = op_.what == operation::kind::argsort;
  return diagnose_bytes("key", is_argsort ? expected_.input() : expected_.keys_of_pairs(), keys_.bytes(), key_bytes) +
         diagnose_bytes(" value", values_in_order(expected_.order(), op_.bytes), values_.bytes(), op_.bytes) +
         diagnose_red_zones();
}

}  // namespace spansort::test
