// SPDX-License-Identifier: Apache-2.0
#include "statistics/key_positions.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <utility>

#include "base/math.hpp"
#include "keys/dispatch.hpp"
#include "spansort/sort.hpp"

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

}  // namespace

std::vector<std::uint64_t> find_positions(const_key_span keys, const keys::key_codec& codec, const tie_bounds& last,
                                          std::uint64_t count) {
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    const std::vector<std::uint64_t> positions = position_search<K>(keys, codec, last).run(count);
    std::vector<K> found(positions.size());
    for (std::size_t i = 0; i < positions.size(); ++i) found[i] = static_cast<const K*>(keys.data)[positions[i]];
    sort_options options;
    options.devices = "cpu";
    std::vector<std::uint64_t> order(positions.size());
    // Positions ascend among keys before the ties, and among the ties, so a stable order keeps the earlier of equals
    // first.
    sorter(options).argsort(const_key_span{codec.type, found.data(), found.size()}, order.data(), sizeof(order[0]),
                            keys::direction_of(codec.descending));
    for (std::uint64_t& o : order) o = positions[o];
    return order;
  });
}

}  // namespace spansort::statistics
