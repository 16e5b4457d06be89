// SPDX-License-Identifier: Apache-2.0
#include "mpi/fetch_values.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

namespace spansort::mpi {
namespace {

using transport::node_group;

/// Elements for and from every node rank, one after another.
struct blocks {
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> begins;

  explicit blocks(std::vector<std::uint64_t> of_ranks) : counts(std::move(of_ranks)), begins(counts.size()) {
    std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), std::uint64_t{0});
  }
  [[nodiscard]] std::uint64_t total() const { return begins.back() + counts.back(); }
};

void exchange_blocks(node_group& group, const transport::exchange_limits& limits, const blocks& sent, const void* from,
                     const blocks& received, void* to, std::uint64_t element_bytes) {
  std::vector<transport::outgoing_part> outgoing;
  std::vector<transport::incoming_part> incoming;
  for (unsigned p = 0; p < sent.counts.size(); ++p) {
    outgoing.push_back(
        {p, static_cast<const std::byte*>(from) + sent.begins[p] * element_bytes, sent.counts[p] * element_bytes});
    incoming.push_back(
        {p, static_cast<std::byte*>(to) + received.begins[p] * element_bytes, received.counts[p] * element_bytes});
  }
  transport::exchange_bytes(group, outgoing, incoming, limits);
}

}  // namespace

void fetch_values(node_group& group, const transport::exchange_limits& limits, const held_values& held,
                  std::span<const std::uint64_t> indices, void* destination) {
  group.set_phase("fetching values");
  const std::vector<std::uint64_t> sizes = group.all_gather({&held.num_values, 1});
  std::vector<std::uint64_t> begins(sizes.size() + 1);
  std::partial_sum(sizes.begin(), sizes.end(), begins.begin() + 1);
  const auto holder_of = [&](std::uint64_t index) {
    return static_cast<std::size_t>(std::ranges::upper_bound(begins, index) - begins.begin() - 1);
  };

  // Ask: positions by holder, as the holder counts.
  std::vector<std::uint64_t> counts(sizes.size());
  for (const std::uint64_t index : indices) ++counts[holder_of(index)];
  const blocks asked(counts);
  std::vector<std::uint64_t> next = asked.begins;
  std::vector<std::uint64_t> questions(indices.size());
  std::vector<std::uint64_t> places(indices.size());  // of the answers
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::size_t holder = holder_of(indices[i]);
    questions[next[holder]] = indices[i] - begins[holder];
    places[next[holder]++] = i;
  }
  const blocks asked_of_me(group.all_to_all(counts));
  std::vector<std::uint64_t> wanted(asked_of_me.total());
  exchange_blocks(group, limits, asked, questions.data(), asked_of_me, wanted.data(), sizeof(std::uint64_t));

  // Answer.
  const std::uint64_t size = held.value_bytes;
  std::vector<std::byte> given(wanted.size() * size);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    std::memcpy(given.data() + i * size, static_cast<const std::byte*>(held.values) + wanted[i] * size, size);
  }
  std::vector<std::byte> answers(indices.size() * size);
  exchange_blocks(group, limits, asked_of_me, given.data(), asked, answers.data(), size);
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::memcpy(static_cast<std::byte*>(destination) + places[i] * size, answers.data() + i * size, size);
  }
}

}  // namespace spansort::mpi
