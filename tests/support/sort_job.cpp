// SPDX-License-Identifier: Apache-2.0
#include "support/sort_job.hpp"

#include <utility>

#include "keys/codec.hpp"

namespace spansort::test {

sort_job::sort_job(operation op, oracle expected) : op_(op), expected_(std::move(expected)) { reset(); }

void sort_job::reset() {
  keys_.assign(expected_.input().begin(), expected_.input().end());
  values_ = {};
  if (op_.what == operation::kind::pairs) values_ = input_values(expected_.num_keys(), op_.bytes);
  if (op_.what == operation::kind::argsort) values_.assign(expected_.num_keys() * op_.bytes, std::byte{0xEE});
}

void sort_job::run(sorter& s) {
  const key_span keys{expected_.type(), keys_.data(), expected_.num_keys()};
  const direction wanted = keys::direction_of(expected_.descending());
  switch (op_.what) {
    case operation::kind::keys: s.sort(keys, wanted); break;
    case operation::kind::pairs: s.sort_pairs(keys, values_.data(), op_.bytes, wanted); break;
    default: s.argsort(keys, values_.data(), op_.bytes, wanted); break;
  }
}

std::string sort_job::diagnose_untouched() const {
  std::string wrong = diagnose_bytes("key", expected_.input(), keys_, size_bytes(expected_.type()));
  if (op_.what == operation::kind::pairs) {
    wrong += diagnose_bytes(" value", input_values(expected_.num_keys(), op_.bytes), values_, op_.bytes);
  }
  return wrong;
}

std::string sort_job::diagnose_done() const {
  const std::size_t key_bytes = size_bytes(expected_.type());
  if (op_.what == operation::kind::keys) return diagnose_bytes("key", expected_.keys_alone(), keys_, key_bytes);
  const bool is_argsort = op_.what == operation::kind::argsort;
  return diagnose_bytes("key", is_argsort ? expected_.input() : expected_.keys_of_pairs(), keys_, key_bytes) +
         diagnose_bytes(" value", values_in_order(expected_.order(), op_.bytes), values_, op_.bytes);
}

}  // namespace spansort::test
