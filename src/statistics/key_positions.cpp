// SPDX-License-Identifier: Apache-2.0
#include "statistics/key_positions.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <utility>

#include "base/math.hpp"
#include "keys/dispatch.hpp"
#include "spansort/sort.hpp"
#include "statistics/take_sample.hpp"

namespace spansort::statistics {
namespace {

constexpr std::uint64_t block_keys = std::uint64_t{1} << 16;

/// The share of one block: keys before the last ones' ties, and those ties. It is counted first, and tells then where
/// the block's positions are written.
struct block_share {
  std::uint64_t before = 0;
  std::uint64_t ties = 0;
};

/// Calls f(block, begin, end) for blocks of keys, side by side.
template <class F>
void for_each_block(std::uint64_t num_keys, const F& f) {
  tbb::task_group_context own(tbb::task_group_context::isolated);
  tbb::parallel_for(
      std::uint64_t{0}, base::ceil_div(num_keys, block_keys),
      [&](std::uint64_t b) { f(b, b * block_keys, std::min(num_keys, (b + 1) * block_keys)); }, own);
}

template <class K>
class position_search {
 public:
  position_search(const_key_span keys, const keys::key_codec& codec, const tie_bounds& last)
      : keys_(static_cast<const K*>(keys.data)),
        num_keys_(keys.num_keys),
        encoder_(codec.of<K>()),
        low_(static_cast<K>(last.begin.encoded)),
        // The last key of the ties: encodings end where keys of all bits set are.
        high_(static_cast<K>(last.end.is_end ? base::low_mask(codec.key_bits()) : last.end.encoded - 1)) {}

  /// Positions of keys before the ties, ascending, then the first ties' until there are `count`.
  [[nodiscard]] std::vector<std::uint64_t> run(std::uint64_t count) const {
    std::vector<block_share> shares = count_shares();
    block_share next;
    for (const block_share& s : shares) next.ties += s.before;  // ties come behind all the others
    for (block_share& s : shares) {
      const block_share counted = std::exchange(s, next);
      next.before += counted.before;
      next.ties += counted.ties;
    }
    std::vector<std::uint64_t> positions(count);
    for_each_block(num_keys_, [&](std::uint64_t b, std::uint64_t begin, std::uint64_t end) {
      block_share at = shares[b];
      const block_share& after = b + 1 < shares.size() ? shares[b + 1] : next;
      if (at.before == after.before && (at.ties == after.ties || at.ties >= count)) return;
      for (std::uint64_t i = begin; i < end; ++i) {
        const K encoded = encoder_.encode_bits(keys_[i]);
        if (encoded < low_) {
          positions[at.before++] = i;
        } else if (encoded <= high_ && at.ties < count) {
          positions[at.ties++] = i;
        }
      }
    });
    return positions;
  }

 private:
  [[nodiscard]] std::vector<block_share> count_shares() const {
    std::vector<block_share> shares(base::ceil_div(num_keys_, block_keys));
    for_each_block(num_keys_, [&](std::uint64_t b, std::uint64_t begin, std::uint64_t end) {
      block_share share;
      for (std::uint64_t i = begin; i < end; ++i) {
        const K encoded = encoder_.encode_bits(keys_[i]);
        share.before += encoded < low_ ? 1 : 0;
        share.ties += encoded >= low_ && encoded <= high_ ? 1 : 0;
      }
      shares[b] = share;
    });
    return shares;
  }

  const K* keys_;
  std::uint64_t num_keys_;
  keys::codec_of<K> encoder_;
  K low_;
  K high_;
};

/// Sorts positions by their keys. They ascend among keys before the ties, and among the ties, so a stable order keeps
/// the earlier of equals first.
template <class K>
std::vector<std::uint64_t> in_key_order(const std::vector<std::uint64_t>& positions, const std::vector<K>& found,
                                        const keys::key_codec& codec) {
  sort_options options;
  options.devices = "cpu";
  std::vector<std::uint64_t> order(positions.size());
  sorter(options).argsort(const_key_span{codec.type, found.data(), found.size()}, order.data(), sizeof(order[0]),
                          keys::direction_of(codec.descending));
  for (std::uint64_t& o : order) o = positions[o];
  return order;
}

/// Keys of a block on a device: so many that a launch is worth its while, so few that a copy of them costs little.
constexpr std::uint64_t device_block_keys = std::uint64_t{1} << 20;

/// A block of keys on a device, and the share of it that the device counted.
struct device_block {
  const key_chunk* chunk = nullptr;
  std::uint64_t begin = 0;           ///< in the chunk
  std::uint64_t first_position = 0;  ///< over all chunks
  std::uint64_t num_keys = 0;
  std::vector<std::uint64_t> counts;

  [[nodiscard]] const void* keys(unsigned key_bytes) const {
    return static_cast<const char*>(chunk->keys) + begin * key_bytes;
  }
};

std::vector<device_block> cut_into_blocks(std::span<const key_chunk> chunks) {
  std::vector<device_block> blocks;
  std::uint64_t chunk_begin = 0;
  for (const key_chunk& c : chunks) {
    for (std::uint64_t begin = 0; begin < c.num_keys; begin += device_block_keys) {
      blocks.push_back({&c, begin, chunk_begin + begin, std::min(device_block_keys, c.num_keys - begin), {}});
    }
    chunk_begin += c.num_keys;
  }
  return blocks;
}

/// Returns the share of each block.
std::vector<block_share> count_shares(std::vector<device_block>& blocks, std::span<const key_chunk> chunks,
                                      const keys::key_codec& codec, const tie_bounds& last) {
  std::vector<std::uint64_t> splitters;
  if (last.begin.encoded != 0) splitters.push_back(last.begin.encoded);
  const std::size_t ties = splitters.size();  // the interval of the ties; what is before them is in the one before
  if (!last.end.is_end) splitters.push_back(last.end.encoded);
  queued_work counting(chunks);
  for (device_block& b : blocks) {
    b.counts.resize(splitters.size() + 1);
    b.chunk->queue->count_intervals({.codec = codec,
                                     .keys = b.keys(codec.width_bytes()),
                                     .num_keys = b.num_keys,
                                     .splitters = splitters,
                                     .counts = b.counts.data()});
  }
  counting.finish();
  std::vector<block_share> shares;
  for (const device_block& b : blocks) shares.push_back({ties == 0 ? 0 : b.counts[0], b.counts[ties]});
  return shares;
}

/// Positions and the keys there.
template <class K>
struct found_keys {
  std::vector<std::uint64_t> positions;
  std::vector<K> keys;

  void append(const std::vector<K>& block, std::uint64_t first_position, std::span<const std::uint64_t> in_block) {
    for (const std::uint64_t position : in_block) {
      positions.push_back(first_position + position);
      keys.push_back(block[position]);
    }
  }
};

}  // namespace

std::vector<std::uint64_t> find_positions(const_key_span keys, const keys::key_codec& codec, const tie_bounds& last,
                                          std::uint64_t count) {
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    const std::vector<std::uint64_t> positions = position_search<K>(keys, codec, last).run(count);
    std::vector<K> found(positions.size());
    for (std::size_t i = 0; i < positions.size(); ++i) found[i] = static_cast<const K*>(keys.data)[positions[i]];
    return in_key_order(positions, found, codec);
  });
}

std::vector<std::uint64_t> find_positions(std::span<const key_chunk> chunks, const keys::key_codec& codec,
                                          const tie_bounds& last, std::uint64_t count) {
  std::vector<device_block> blocks = cut_into_blocks(chunks);
  const std::vector<block_share> shares = count_shares(blocks, chunks, codec, last);
  std::uint64_t ties_wanted = count;
  for (const block_share& s : shares) ties_wanted -= s.before;
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    found_keys<K> before;
    found_keys<K> ties;
    std::vector<K> block;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const device_block& b = blocks[i];
      const std::uint64_t taken_ties = std::min(shares[i].ties, ties_wanted);
      if (shares[i].before + taken_ties == 0) continue;
      ties_wanted -= taken_ties;
      block.resize(b.num_keys);
      b.chunk->queue->copy(block.data(), b.keys(sizeof(K)), b.num_keys * sizeof(K), "read");
      b.chunk->queue->synchronize();
      const std::vector<std::uint64_t> positions =
          position_search<K>({codec.type, block.data(), b.num_keys}, codec, last).run(shares[i].before + taken_ties);
      before.append(block, b.first_position, std::span(positions).first(shares[i].before));
      ties.append(block, b.first_position, std::span(positions).subspan(shares[i].before));
    }
    before.positions.insert(before.positions.end(), ties.positions.begin(), ties.positions.end());
    before.keys.insert(before.keys.end(), ties.keys.begin(), ties.keys.end());
    return in_key_order(before.positions, before.keys, codec);
  });
}

}  // namespace spansort::statistics
