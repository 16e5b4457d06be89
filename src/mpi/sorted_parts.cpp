// SPDX-License-Identifier: Apache-2.0
#include "mpi/sorted_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

#include "keys/codec.hpp"
#include "mpi/fetch_values.hpp"
#include "spansort/sort.hpp"

namespace spansort::mpi {
namespace {

/// A key, encoded so that keys of equal value are equal, and its index, where that counts.
struct element {
  std::uint64_t key = 0;
  std::uint64_t index = 0;
  friend auto operator<=>(const element&, const element&) = default;
};

/// The last element of the node ranks before this one. `last`: this one's; nothing where it has none.
std::optional<element> find_predecessor(transport::communicator& group, const std::optional<element>& last) {
  const element mine = last.value_or(element{});
  const std::uint64_t numbers[] = {last ? std::uint64_t{1} : 0, mine.key, mine.index};
  const std::vector<std::uint64_t> all = group.all_gather(numbers);
  std::optional<element> found;
  for (std::size_t i = 0; i < group.node_rank(); ++i) {
    const std::uint64_t* const its = all.data() + i * std::size(numbers);
    if (its[0] != 0) found = element{its[1], its[2]};
  }
  return found;
}

keys::key_codec codec_of(const const_key_span& keys, bool descending) {
  return {keys.type, descending, keys::tie_rule::by_input_order};
}

/// A part of sorted keys, and what comes before it.
struct part_begin {
  std::optional<element> predecessor;
  std::optional<element> first;
};

part_begin find_begin(transport::communicator& group, const const_key_span& keys, bool descending) {
  const keys::key_codec codec = codec_of(keys, descending);
  if (keys.num_keys == 0) return {find_predecessor(group, {}), {}};
  return {find_predecessor(group, element{encode_at(codec, keys.data, keys.num_keys - 1)}),
          element{encode_at(codec, keys.data, 0)}};
}

/// Returns the sum over all node ranks.
multiset_checksum checksum_over(transport::communicator& group, const multiset_checksum& mine) {
  const std::vector<std::uint64_t> all = group.all_gather(mine.words);
  multiset_checksum sum;
  for (std::size_t i = 0; i < all.size(); i += 2) sum = sum + multiset_checksum{{all[i], all[i + 1]}};
  return sum;
}

/// No index is twice there when all are below `num_keys` and their elements ascend strictly: it is a permutation then.
std::string find_wrong_index(std::span<const std::uint64_t> indices, std::uint64_t num_keys) {
  const auto wrong = std::ranges::find_if(indices, [&](std::uint64_t index) { return index >= num_keys; });
  if (wrong == indices.end()) return {};
  return fmt::format("the order is not a permutation: the index {} of {} keys", *wrong, num_keys);
}

}  // namespace

std::string find_fault(transport::communicator& group, const const_key_span& sorted_keys, bool descending,
                       const multiset_checksum& before) {
  group.set_phase("verifying");
  const check_result here = check(sorted_keys, {.direction = keys::direction_of(descending)});
  const bool has_same_keys = checksum_over(group, here.checksum) == checksum_over(group, before);
  const part_begin begin = find_begin(group, sorted_keys, descending);
  if (!has_same_keys) return "the sorted keys are not the keys that were read";
  if (begin.first && begin.predecessor && *begin.predecessor > *begin.first)
    return "it begins before its predecessor ends";
  if (here.first_disorder) return fmt::format("its key at {} is out of order", *here.first_disorder);
  return {};
}

bool are_in_order(transport::communicator& group, const const_key_span& keys, bool descending) {
  group.set_phase("looking for disorder");
  const bool is_in_order = detail::is_sorted(keys, keys::direction_of(descending));
  const part_begin begin = find_begin(group, keys, descending);
  const bool begins_too_early = begin.first && begin.predecessor && *begin.predecessor > *begin.first;
  const std::uint64_t is_wrong = !is_in_order || begins_too_early ? 1 : 0;
  return group.all_reduce_sum({&is_wrong, 1}).front() == 0;
}

std::string find_duplicate(transport::communicator& group, const const_key_span& sorted_keys, bool descending) {
  group.set_phase("verifying");
  const check_result here = check(sorted_keys, {.direction = keys::direction_of(descending), .unique = true});
  const part_begin begin = find_begin(group, sorted_keys, descending);
  if (begin.first && begin.predecessor && *begin.predecessor >= *begin.first)
    return "it begins with a key that its predecessor ends with";
  if (here.first_disorder) return fmt::format("duplicate at {}", *here.first_disorder);
  return {};
}

std::string find_fault_of_order(transport::node_group& group, const transport::exchange_limits& limits,
                                const const_key_span& keys, std::span<const std::uint64_t> indices, bool descending) {
  group.set_phase("verifying");
  std::string fault = find_wrong_index(indices, group.all_reduce_sum({&keys.num_keys, 1}).front());
  const std::uint64_t is_wrong = fault.empty() ? 0 : 1;
  if (group.all_reduce_sum({&is_wrong, 1}).front() != 0) return fault;  // nobody has such a key

  const std::uint64_t width = size_bytes(keys.type);
  std::vector<std::byte> fetched(indices.size() * width);
  fetch_values(group, limits, {.values = keys.data, .value_bytes = width, .num_values = keys.num_keys}, indices,
               fetched.data());
  group.set_phase("verifying");
  const keys::key_codec codec = codec_of(keys, descending);
  const auto element_at = [&](std::size_t i) { return element{encode_at(codec, fetched.data(), i), indices[i]}; };
  std::optional<element> last;
  if (!indices.empty()) last = element_at(indices.size() - 1);
  last = find_predecessor(group, last);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const element next = element_at(i);
    if (last && *last >= next) return fmt::format("its index at {} is out of order", i);
    last = next;
  }
  return {};
}

std::uint64_t keep_unique(transport::communicator& group, const key_span& sorted_keys, bool descending,
                          std::uint64_t* indices) {
  const keys::key_codec codec = codec_of(sorted_keys, descending);
  const std::uint64_t width = size_bytes(sorted_keys.type);
  auto* const bytes = static_cast<std::byte*>(sorted_keys.data);
  std::optional<element> last = find_begin(group, sorted_keys, descending).predecessor;
  std::uint64_t num_kept = 0;
  for (std::uint64_t i = 0; i < sorted_keys.num_keys; ++i) {
    const element next{encode_at(codec, sorted_keys.data, i)};
    if (last == next) continue;
    last = next;
    if (indices != nullptr) indices[num_kept] = indices[i];
    std::memmove(bytes + num_kept++ * width, bytes + i * width, width);
  }
  return num_kept;
}

}  // namespace spansort::mpi
