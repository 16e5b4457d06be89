// SPDX-License-Identifier: Apache-2.0
#include "statistics/chunked_keys.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "spansort/sort.hpp"
#include "statistics/key_positions.hpp"
#include "statistics/mean.hpp"
#include "statistics/take_sample.hpp"

namespace spansort::statistics {
namespace {

/// Keys that are copies of one.
void append_copies(std::uint64_t key_bits, unsigned key_bytes, std::uint64_t count, std::vector<std::byte>& to) {
  std::size_t at = to.size();
  to.resize(at + count * key_bytes);
  for (; at < to.size(); at += key_bytes) std::memcpy(to.data() + at, &key_bits, key_bytes);
}

/// Sorts keys on the CPU from byte `begin` on.
void sort_on_host(const keys::key_codec& codec, std::vector<std::byte>& keys, std::size_t begin) {
  sort_options options;
  options.devices = "cpu";
  sorter(options).sort({codec.type, keys.data() + begin, (keys.size() - begin) / codec.width_bytes()},
                       keys::direction_of(codec.descending));
}

}  // namespace

chunked_keys::chunked_keys(key_storage storage, bool descending)
    : ordered_keys(storage.type, descending), storage_(std::move(storage)) {}

std::vector<std::uint64_t> chunked_keys::bits_at(const std::vector<std::uint64_t>& ranks) const {
  return select_keys(codec(), storage_.chunks, ranks);
}

std::vector<std::uint64_t> chunked_keys::count_before(const std::vector<key_bound>& bounds) const {
  std::vector<std::uint64_t> splitters;
  for (const key_bound& b : bounds) {
    if (!b.is_end && (splitters.empty() || splitters.back() != b.encoded)) splitters.push_back(b.encoded);
  }
  const std::vector<key_chunk>& chunks = storage_.chunks;
  std::vector<std::vector<std::uint64_t>> counts(chunks.size(), std::vector<std::uint64_t>(splitters.size() + 1));
  queued_work work(chunks);
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    chunks[c].queue->count_intervals({.codec = codec(),
                                      .keys = chunks[c].keys,
                                      .num_keys = chunks[c].num_keys,
                                      .splitters = splitters,
                                      .counts = counts[c].data()});
  }
  work.finish();
  std::vector<std::uint64_t> before;
  for (const key_bound& b : bounds) {
    std::uint64_t sum = 0;
    for (const std::vector<std::uint64_t>& of_chunk : counts) {
      for (std::size_t i = 0; i < of_chunk.size() && (b.is_end || i == 0 || splitters[i - 1] < b.encoded); ++i) {
        sum += of_chunk[i];
      }
    }
    before.push_back(sum);
  }
  return before;
}

void chunked_keys::collect(const key_bound& from, const key_bound& to, std::uint64_t most,
                           std::vector<std::byte>& keys) const {
  std::vector<std::uint64_t> splitters;
  if (from.encoded != 0) splitters.push_back(from.encoded);
  const std::size_t wanted = splitters.size();  // the interval behind `from`
  if (!to.is_end) splitters.push_back(to.encoded);
  const std::vector<key_chunk>& chunks = storage_.chunks;
  std::vector<std::vector<std::uint64_t>> counts(chunks.size(), std::vector<std::uint64_t>(splitters.size() + 1));
  std::vector<device::buffer> collected;
  for (const key_chunk& c : chunks) {
    collected.push_back(c.device->allocate(std::min(most, c.num_keys) * key_bytes()));
  }
  queued_work counting(chunks);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    chunks[i].queue->count_intervals({.codec = codec(),
                                      .keys = chunks[i].keys,
                                      .num_keys = chunks[i].num_keys,
                                      .splitters = splitters,
                                      .marked = std::uint64_t{1} << wanted,
                                      .counts = counts[i].data(),
                                      .collected = collected[i].data(),
                                      .capacity = std::min(most, chunks[i].num_keys)});
  }
  counting.finish();
  std::uint64_t num_collected = 0;
  for (const std::vector<std::uint64_t>& of_chunk : counts) num_collected += of_chunk[wanted];
  SPANSORT_ASSERT(num_collected <= most);
  const std::size_t begin = keys.size();
  std::size_t at = begin;
  keys.resize(at + num_collected * key_bytes());
  queued_work copying(chunks);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const std::uint64_t size_bytes = counts[i][wanted] * key_bytes();
    chunks[i].queue->copy(keys.data() + at, collected[i].data(), size_bytes, "collected");
    at += size_bytes;
  }
  copying.finish();
  sort_on_host(codec(), keys, begin);
}

std::vector<std::byte> chunked_keys::slice(std::uint64_t begin, std::uint64_t end) const {
  SPANSORT_ASSERT(begin <= end && end <= num_keys());
  if (begin == end) return {};
  std::vector<std::uint64_t> ranks{end - 1};
  if (begin != 0) ranks.push_back(begin);
  const std::vector<std::uint64_t> ends = bits_at(ranks);
  std::vector<std::byte> keys;
  keys.reserve((end - begin) * key_bytes());
  const std::uint64_t last = encode(ends.front());
  // The first and the last key may have equals outside of the slice, so they are not collected but counted.
  std::uint64_t from = 0;
  std::uint64_t num_wanted = end - begin;
  if (begin != 0) {
    if (ends.back() == ends.front()) {
      append_copies(ends.front(), key_bytes(), num_wanted, keys);
      return keys;
    }
    from = encode(ends.back()) + 1;
    const std::uint64_t num_first = count_before({{from, false}})[0] - begin;
    append_copies(ends.back(), key_bytes(), num_first, keys);
    num_wanted -= num_first;
  }
  const std::size_t middle = keys.size();
  if (from < last) collect({from, false}, {last, false}, num_wanted, keys);
  const std::uint64_t num_middle = (keys.size() - middle) / key_bytes();
  append_copies(ends.front(), key_bytes(), num_wanted - num_middle, keys);
  return keys;
}

std::vector<std::byte> chunked_keys::slice_between(std::uint64_t begin, std::uint64_t end, const key_bound& from,
                                                   const key_bound& to) const {
  std::vector<std::byte> keys;
  if (begin != end) collect(from, to, end - begin, keys);
  return keys;
}

std::vector<std::uint64_t> chunked_keys::first_positions(std::uint64_t count) const {
  if (count == 0) return {};
  SPANSORT_ASSERT(count <= num_keys());
  const tie_bounds last = ties_of(bits_at({count - 1}).front());
  if (storage_.host_keys == nullptr) return find_positions(storage_.chunks, codec(), last, count);
  return find_positions({storage_.type, storage_.host_keys, storage_.num_keys}, codec(), last, count);
}

double chunked_keys::mean() const {
  if (storage_.host_keys == nullptr) return statistics::mean(storage_.type, storage_.chunks);
  return statistics::mean({storage_.type, storage_.host_keys, storage_.num_keys});
}

}  // namespace spansort::statistics
