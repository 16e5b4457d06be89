// SPDX-License-Identifier: Apache-2.0
#include "support/select_check.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/math.hpp"
#include "support/environment.hpp"
#include "support/shard_memory.hpp"

namespace spansort::test {
namespace {

std::string memory_name(const device::device& device) {
  return device.name().starts_with("gpu") ? device.name() : "cpu";
}

std::vector<std::uint64_t> encoded(const keys::key_codec& codec, std::span<const std::byte> keys) {
  std::vector<std::uint64_t> all(keys.size() / codec.width_bytes());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = keys::encode_at(codec, keys.data(), i);
  return all;
}

std::string differs(const std::string& what, std::uint64_t expected, std::uint64_t actual) {
  return what + ": expected " + std::to_string(expected) + ", found " + std::to_string(actual);
}

/// Returns whether `part` is in `whole`, with every key at most as often. Both in order.
bool is_part(const std::vector<std::uint64_t>& whole, const std::vector<std::uint64_t>& part) {
  return std::ranges::includes(whole, part);
}

}  // namespace

std::string diagnose_intervals(device::device& device, std::span<const std::byte> all_keys, const interval_case& c) {
  const keys::key_codec codec{c.type, c.descending, keys::tie_rule::by_bits};
  const std::uint64_t guard_keys = 64;
  const std::uint64_t skipped_bytes = std::min<std::uint64_t>(c.first_key * codec.width_bytes(), all_keys.size());
  const std::span<const std::byte> keys = all_keys.subspan(skipped_bytes);
  const std::uint64_t num_keys = keys.size() / codec.width_bytes();
  shard_memory input(memory_name(device), all_keys.size());
  input.write(all_keys);
  const std::uint64_t room = (c.capacity + guard_keys) * codec.width_bytes();
  shard_memory collected(memory_name(device), room);
  const std::vector<std::byte> untouched(room, std::byte{0xa5});
  collected.write(untouched);
  std::vector<std::uint64_t> counts(c.splitters.size() + 1, 12345);
  device.prepare();
  const std::unique_ptr<device::queue> queue = device.make_queue();
  queue->wait_for_stream(nullptr);  // on which the keys were written
  queue->count_intervals({.codec = codec,
                          .keys = static_cast<const char*>(input.data()) + skipped_bytes,
                          .num_keys = num_keys,
                          .splitters = c.splitters,
                          .marked = c.marked,
                          .counts = counts.data(),
                          .collected = collected.data(),
                          .capacity = c.capacity});
  queue->synchronize();

  std::vector<std::uint64_t> expected_counts(counts.size());
  std::vector<std::uint64_t> marked;
  for (const std::uint64_t key : encoded(codec, keys)) {
    const auto interval = static_cast<std::size_t>(std::ranges::upper_bound(c.splitters, key) - c.splitters.begin());
    ++expected_counts[interval];
    if ((c.marked >> interval & 1) != 0) marked.push_back(key);
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != expected_counts[i]) {
      return differs("interval " + std::to_string(i), expected_counts[i], counts[i]);
    }
  }
  const std::vector<std::byte> found = collected.read(room);
  const std::uint64_t num_found = std::min<std::uint64_t>(marked.size(), c.capacity);
  const auto split = static_cast<std::ptrdiff_t>(num_found * codec.width_bytes());
  if (!std::equal(found.begin() + split, found.end(), untouched.begin() + split)) return "written past what fits";
  std::vector<std::uint64_t> kept = encoded(codec, std::span(found).first(static_cast<std::size_t>(split)));
  std::ranges::sort(kept);
  std::ranges::sort(marked);
  return is_part(marked, kept) ? "" : "other keys were collected than are marked";
}

std::vector<std::uint64_t> draw_splitters(key_type type, bool descending, std::span<const std::byte> keys,
                                          std::size_t num_splitters, std::uint64_t seed) {
  const keys::key_codec codec{type, descending, keys::tie_rule::by_bits};
  const std::vector<std::uint64_t> all = encoded(codec, keys);
  const std::uint64_t max_key = base::low_mask(codec.key_bits());
  random_words random(seed);
  std::vector<std::uint64_t> splitters{max_key};  // the highest key may be one
  for (std::size_t i = 1; i < num_splitters; ++i) {
    const bool occurs = !all.empty() && random.below(4) != 0;
    const std::uint64_t key = occurs ? all[random.below(all.size())] : random() & max_key;
    splitters.push_back(random.below(3) == 0 && key < max_key ? key + 1 : key);
  }
  std::ranges::sort(splitters);
  splitters.erase(std::unique(splitters.begin(), splitters.end()), splitters.end());
  return splitters;
}

std::string diagnose_select(std::span<device::device* const> devices, std::span<const std::byte> keys,
                            std::span<const std::byte> sorted, const select_case& c,
                            std::span<const std::uint64_t> ranks, statistics::select_report* report) {
  const keys::key_codec codec{c.type, c.descending, keys::tie_rule::by_bits};
  const std::size_t width = codec.width_bytes();
  std::vector<std::unique_ptr<device::queue>> queues;
  for (device::device* d : devices) queues.push_back(d->make_queue());
  std::vector<shard_memory> memory;
  std::vector<statistics::key_chunk> chunks;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < c.sizes.size(); ++i) {
    device::device& d = *devices[i % devices.size()];
    memory.emplace_back(memory_name(d), c.sizes[i] * width);
    memory.back().write(keys.subspan(begin, c.sizes[i] * width));
    chunks.push_back({&d, queues[i % devices.size()].get(), memory.back().data(), c.sizes[i]});
    begin += c.sizes[i] * width;
  }
  for (const auto& q : queues) q->wait_for_stream(nullptr);
  const std::vector<std::uint64_t> found = statistics::select_keys(codec, chunks, ranks, report);
  if (found.size() != ranks.size()) return differs("number of answers", ranks.size(), found.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::uint64_t expected = 0;
    std::memcpy(&expected, sorted.data() + ranks[i] * width, width);
    if (found[i] != expected) return differs("key at rank " + std::to_string(ranks[i]), expected, found[i]);
  }
  return "";
}

std::vector<std::uint64_t> draw_sizes(std::uint64_t num_keys, std::size_t num_chunks, std::uint64_t seed) {
  random_words random(seed);
  std::vector<std::uint64_t> cuts{0, num_keys};
  for (std::size_t i = 1; i < num_chunks; ++i) cuts.push_back(random.below(num_keys + 1));
  std::ranges::sort(cuts);
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = 1; i < cuts.size(); ++i) sizes.push_back(cuts[i] - cuts[i - 1]);
  return sizes;
}

}  // namespace spansort::test
