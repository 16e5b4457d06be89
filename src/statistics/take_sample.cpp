// SPDX-License-Identifier: Apache-2.0
#include "statistics/take_sample.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

#include "base/math.hpp"
#include "device/rank_sampler.hpp"
#include "keys/dispatch.hpp"

namespace spansort::statistics {
namespace {

/// Neighbours in a chunk.
struct sample_run {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

/// The runs of each chunk: one in each of equal parts of all keys. Runs that begin in other processes' keys are theirs.
std::vector<std::vector<sample_run>> place_runs(std::span<const key_chunk> chunks, const key_extent& extent,
                                                std::uint64_t num_runs, std::uint64_t run_keys) {
  std::vector<std::vector<sample_run>> runs(chunks.size());
  const std::uint64_t part = extent.num_total / num_runs;
  const std::uint64_t end = extent.first + num_keys_of(chunks);
  std::size_t chunk = 0;
  std::uint64_t chunk_begin = extent.first;
  for (std::uint64_t i = 0; i < num_runs; ++i) {
    const std::uint64_t begin = device::sample_run_begin(i, part, run_keys);
    if (begin < extent.first || begin >= end) continue;
    while (begin >= chunk_begin + chunks[chunk].num_keys) chunk_begin += chunks[chunk++].num_keys;
    const std::uint64_t at = begin - chunk_begin;
    runs[chunk].push_back({at, std::min(run_keys, chunks[chunk].num_keys - at)});
  }
  return runs;
}

/// Queues the copies of a chunk's runs to `sampled`, one after the other; what is read from memory of the device's own
/// goes through `gathered`.
void gather(const key_chunk& chunk, const std::vector<sample_run>& runs, unsigned key_bytes, char* sampled,
            const device::buffer& gathered) {
  const auto* const keys = static_cast<const char*>(chunk.keys);
  const bool is_direct = chunk.device->shares_host_memory();
  char* const first = is_direct ? sampled : static_cast<char*>(gathered.data());
  char* to = first;
  std::vector<device::copy_piece> pieces;
  for (const sample_run& r : runs) {
    if (is_direct) {
      std::memcpy(to, keys + r.begin * key_bytes, r.count * key_bytes);
    } else {
      pieces.push_back({to, keys + r.begin * key_bytes, r.count * key_bytes});
    }
    to += r.count * key_bytes;
  }
  if (is_direct || pieces.empty()) return;
  chunk.queue->copy_pieces(std::move(pieces), key_bytes, "sample");
  chunk.queue->copy(sampled, first, static_cast<std::uint64_t>(to - first), "sample");
}

std::uint64_t num_sampled(const std::vector<sample_run>& runs) {
  std::uint64_t count = 0;
  for (const sample_run& r : runs) count += r.count;
  return count;
}

/// The keys of the runs, chunk after chunk.
std::vector<char> gather_all(std::span<const key_chunk> chunks, const std::vector<std::vector<sample_run>>& runs,
                             unsigned key_bytes) {
  std::uint64_t count = 0;
  for (const std::vector<sample_run>& of_chunk : runs) count += num_sampled(of_chunk);
  std::vector<char> sampled(count * key_bytes);
  std::vector<device::buffer> gathered(chunks.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (chunks[i].device->shares_host_memory()) continue;
    gathered[i] = chunks[i].device->allocate(num_sampled(runs[i]) * key_bytes);
  }
  queued_work work(chunks);
  char* to = sampled.data();
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    gather(chunks[i], runs[i], key_bytes, to, gathered[i]);
    to += num_sampled(runs[i]) * key_bytes;
  }
  work.finish();
  return sampled;
}

}  // namespace

queued_work::~queued_work() {
  for (const key_chunk& c : chunks_) {
    try {
      c.queue->synchronize();
    } catch (...) {
      // finish() has told, or something else is on its way.
    }
  }
}

void queued_work::finish() {
  std::exception_ptr failure;
  for (const key_chunk& c : chunks_) {
    try {
      c.queue->synchronize();
    } catch (...) {
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  chunks_ = {};
  if (failure != nullptr) std::rethrow_exception(failure);
}

key_sample take_sample(const keys::key_codec& codec, std::span<const key_chunk> chunks, const key_extent& extent,
                       std::uint64_t most_keys) {
  const unsigned key_bytes = codec.width_bytes();
  key_sample sample;
  sample.run_keys = device::sample_run_bytes / key_bytes;
  std::vector<std::vector<sample_run>> runs;
  if (extent.num_total <= most_keys) {
    for (const key_chunk& c : chunks) runs.push_back({{0, c.num_keys}});
  } else {
    runs = place_runs(chunks, extent, num_sample_runs(extent.num_total, most_keys, sample.run_keys), sample.run_keys);
  }
  const std::vector<char> keys = gather_all(chunks, runs, key_bytes);
  sample.keys.resize(keys.size() / key_bytes);
  keys::with_width(key_bytes, [&]<class K>() {
    const keys::codec_of<K> encoder = codec.of<K>();
    for (std::size_t i = 0; i < sample.keys.size(); ++i) {
      K key;
      std::memcpy(&key, keys.data() + i * sizeof(K), sizeof(K));
      sample.keys[i] = encoder.encode_bits(key);
    }
  });
  return sample;
}

}  // namespace spansort::statistics
