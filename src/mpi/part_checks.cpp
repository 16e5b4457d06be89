// SPDX-License-Identifier: Apache-2.0
#include "mpi/part_checks.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "base/math.hpp"

namespace spansort::mpi {
namespace {

multiset_checksum sum_over(transport::communicator& group, const multiset_checksum& mine) {
  const std::vector<std::uint64_t> all = group.all_reduce_sum(mine.words);
  return {{all[0], all[1]}};
}

}  // namespace

void part_checks::add(const std::byte* elements, std::uint64_t count) {
  if (count == 0) return;
  const std::uint64_t width = order_.element_bytes();
  const std::byte* const left = last_.empty() ? nullptr : last_.data();
  if (verifies_) {
    const std::optional<std::uint64_t> at = order_.first_disorder(left, elements, count, false);
    if (at && fault_.empty()) fault_ = fmt::format("its element at {} is out of order", num_seen_ + *at);
    checksum_ = checksum_ + order_.checksum(elements, count);
  }
  if (first_.empty()) first_.assign(elements, elements + width);
  last_.assign(elements + (count - 1) * width, elements + count * width);
  num_seen_ += count;
}

std::uint64_t part_checks::add_and_keep_first(std::byte* elements, std::uint64_t count) {
  if (count == 0) return 0;
  const std::vector<std::byte> before = last_;
  const std::byte* const left = before.empty() ? nullptr : before.data();
  add(elements, count);
  const std::uint64_t num_kept = order_.remove_duplicates(left, elements, count);
  if (verifies_ && fault_.empty()) {
    if (const auto at = order_.first_disorder(left, elements, num_kept, true))
      fault_ = fmt::format("duplicate at {} of what was kept", *at);
  }
  return num_kept;
}

/// Returns the last element of the parts before; empty where they have none.
std::vector<std::byte> part_checks::predecessor(transport::communicator& group) const {
  std::vector<std::uint64_t> mine(1 + base::ceil_div(order_.element_bytes(), std::uint64_t{sizeof(std::uint64_t)}));
  mine[0] = last_.empty() ? 0 : 1;
  if (!last_.empty()) std::memcpy(mine.data() + 1, last_.data(), last_.size());
  const std::vector<std::uint64_t> all = group.all_gather(mine);
  for (std::size_t rank = group.node_rank(); rank-- > 0;) {
    const std::uint64_t* const its = all.data() + rank * mine.size();
    if (its[0] == 0) continue;
    std::vector<std::byte> found(order_.element_bytes());
    std::memcpy(found.data(), its + 1, found.size());
    return found;
  }
  return {};
}

std::string part_checks::find_fault(transport::communicator& group, const multiset_checksum& read) const {
  group.set_phase("verifying");
  const bool has_same_elements = sum_over(group, checksum_) == sum_over(group, read);
  const std::vector<std::byte> left = predecessor(group);
  if (!has_same_elements) return "the sorted elements are not those that were read";
  const bool meets = !first_.empty() && !left.empty();
  if (meets && order_.first_disorder(left.data(), first_.data(), 1, false))
    return "it begins before its predecessor ends";
  return fault_;
}

bool part_checks::begins_as_others_end(transport::communicator& group) const {
  const std::vector<std::byte> left = predecessor(group);
  return !first_.empty() && !left.empty() && order_.num_duplicates(left.data(), first_.data(), 1) != 0;
}

}  // namespace spansort::mpi
