// SPDX-License-Identifier: Apache-2.0
#include "api/chunked_keys.hpp"

#include <algorithm>
#include <cstring>

#include "api/key_places.hpp"
#include "base/assert.hpp"
#include "spansort/sort.hpp"
#include "statistics/mean.hpp"
#include "statistics/take_sample.hpp"

namespace spansort::api {
namespace {

/// Keys that are copies of one.
void append_copies(std::uint64_t key_bits, unsigned key_bytes, std::uint64_t count, std::vector<std::byte>& to) {
  std::size_t at = to.size();
  to.resize(at + count * key_bytes);
  for (; at < to.size(); at += key_bytes) std::memcpy(to.data() + at, &key_bits, key_bytes);
}

}  // namespace

chunked_keys::chunked_keys(key_storage storage, bool descending)
    : ordered_keys(storage.type, descending), storage_(std::move(storage)) {}

std::vector<std::uint64_t> chunked_keys::bits_at(const std::vector<std::uint64_t>& ranks) const {
  return statistics::select_keys(codec(), storage_.chunks, ranks);
}

std::vector<std::uint64_t> chunked_keys::count_before(const std::vector<key_border>& borders) const {
  std::vector<std::uint64_t> splitters;
  for (const key_border& b : borders) {
    if (!b.is_end && (splitters.empty() || splitters.back() != b.encoded)) splitters.push_back(b.encoded);
  }
  const std::vector<statistics::key_chunk>& chunks = storage_.chunks;
  std::vector<std::vector<std::uint64_t>> counts(chunks.size(), std::vector<std::uint64_t>(splitters.size() + 1));
  statistics::queued_work work(chunks);
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    chunks[c].queue->count_intervals({.codec = codec(),
                                      .keys = chunks[c].keys,
                                      .num_keys = chunks[c].num_keys,
                                      .splitters = splitters,
                                      .counts = counts[c].data()});
  }
  work.finish();
  std::vector<std::uint64_t> before;
  for (const key_border& b : borders) {
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

void chunked_keys::collect_between(std::uint64_t low, std::uint64_t high, std::uint64_t most,
                                   std::vector<std::byte>& to) const {
  const std::vector<std::uint64_t> splitters{low + 1, high};
  const std::uint64_t marked = 2;  // the interval behind the first splitter
  // A chunk after the other: no more than `most` keys are held at a time.
  for (const statistics::key_chunk& c : storage_.chunks) {
    const std::uint64_t capacity = std::min(most, c.num_keys);
    const device::buffer collected = c.device->allocate(capacity * key_bytes());
    std::vector<std::uint64_t> counts(splitters.size() + 1);
    statistics::queued_work work({&c, 1});
    c.queue->count_intervals({.codec = codec(),
                              .keys = c.keys,
                              .num_keys = c.num_keys,
                              .splitters = splitters,
                              .marked = marked,
                              .counts = counts.data(),
                              .collected = collected.data(),
                              .capacity = capacity});
    c.queue->synchronize();
    SPANSORT_ASSERT(counts[1] <= capacity);
    const std::size_t at = to.size();
    to.resize(at + counts[1] * key_bytes());
    c.queue->copy(to.data() + at, collected.data(), counts[1] * key_bytes(), "collected");
    work.finish();
  }
}

std::vector<std::byte> chunked_keys::slice(std::uint64_t begin, std::uint64_t end) const {
  SPANSORT_ASSERT(begin <= end && end <= num_keys());
  if (begin == end) return {};
  const std::vector<std::uint64_t> ends = bits_at({begin, end - 1});
  std::vector<std::byte> keys;
  keys.reserve((end - begin) * key_bytes());
  const std::uint64_t low = encode(ends[0]);
  const std::uint64_t high = encode(ends[1]);
  if (low == high) {
    append_copies(ends[0], key_bytes(), end - begin, keys);
    return keys;
  }
  // The first and the last key may have equals outside of the slice, so they are not collected but counted.
  const std::uint64_t upto_low = count_before({{low + 1, false}})[0];
  append_copies(ends[0], key_bytes(), upto_low - begin, keys);
  const std::size_t middle = keys.size();
  if (high - low > 1) collect_between(low, high, end - upto_low, keys);
  const std::uint64_t num_middle = (keys.size() - middle) / key_bytes();
  sort_options options;
  options.descending = codec().descending;
  options.devices = "cpu";
  sorter(options).sort({type(), keys.data() + middle, num_middle});
  append_copies(ends[1], key_bytes(), end - upto_low - num_middle, keys);
  return keys;
}

std::vector<std::uint64_t> chunked_keys::first_places(std::uint64_t count) const {
  SPANSORT_ASSERT(storage_.host_keys != nullptr && count <= num_keys());
  if (count == 0) return {};
  const tie_bounds last = ties_of(bits_at({count - 1}).front());
  return find_places({storage_.type, storage_.host_keys, storage_.num_keys}, codec(), last, count);
}

double chunked_keys::mean() const { return statistics::mean({storage_.type, storage_.host_keys, storage_.num_keys}); }

}  // namespace spansort::api
