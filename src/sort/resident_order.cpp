// SPDX-License-Identifier: Apache-2.0
#include "sort/resident_order.hpp"

#include <cstdint>
#include <exception>

#include "keys/codec.hpp"
#include "keys/dispatch.hpp"

namespace spansort::sorting {
namespace {

/// This is known of one shard: the order of its keys, and its ends as encoded keys.
struct shard_order {
  device::input_shape shape = device::input_shape::sorted;
  std::uint64_t ends[2] = {0, 0};  ///< first and last key: as they are, and encoded once they are known
};

/// Queues the read of one shard that is not empty.
void look_at(const algorithms::rank& r, const keys::key_codec& codec, const shard& s, shard_order& found) {
  const unsigned width = codec.width_bytes();
  r.queue->wait_for_stream(s.stream);
  if (s.num_keys > 1) {
    r.queue->histogram(
        {.shape = {codec, 0}, .keys = s.keys, .num_keys = s.num_keys, .digits = {}, .found_shape = &found.shape});
  }
  const auto* const first = static_cast<const char*>(s.keys);
  r.queue->copy(&found.ends[0], first, width, "read");
  r.queue->copy(&found.ends[1], first + (s.num_keys - 1) * width, width, "read");
}

/// Waits for all queues, then throws what the first of them has to throw.
void synchronize_all(const std::vector<algorithms::rank>& ranks) {
  std::exception_ptr failure;
  for (const algorithms::rank& r : ranks) {
    try {
      r.queue->synchronize();
    } catch (...) {
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

void encode_ends(const keys::key_codec& codec, shard_order& found) {
  keys::with_width(codec.width_bytes(), [&]<class K>() {
    for (std::uint64_t& end : found.ends) end = codec.of<K>().encode(static_cast<K>(end));
  });
}

}  // namespace

bool is_sorted_on(std::vector<algorithms::rank>& ranks, const const_sharded_keys& keys, direction d) {
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_input_order};
  for (algorithms::rank& r : ranks) {
    r.device->prepare();
    r.scratch_bytes = r.device->scratch_bytes();
  }
  std::vector<shard_order> found(ranks.size());
  try {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (keys.shards[i].num_keys != 0) look_at(ranks[i], codec, keys.shards[i], found[i]);
    }
  } catch (...) {
    // Queued work writes into `found`: it must have ended before that goes. The first failure is the one to tell.
    const std::exception_ptr failure = std::current_exception();
    try {
      synchronize_all(ranks);
    } catch (...) {
    }
    std::rethrow_exception(failure);
  }
  synchronize_all(ranks);
  const std::uint64_t* last = nullptr;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (keys.shards[i].num_keys == 0) continue;
    if (found[i].shape != device::input_shape::sorted && found[i].shape != device::input_shape::constant) return false;
    encode_ends(codec, found[i]);
    if (last != nullptr && *last > found[i].ends[0]) return false;
    last = &found[i].ends[1];
  }
  return true;
}

}  // namespace spansort::sorting
