// SPDX-License-Identifier: Apache-2.0
#include "statistics/key_ends.hpp"

#include <algorithm>
#include <limits>
#include <mutex>

#include "base/for_blocks.hpp"
#include "keys/codec.hpp"
#include "keys/dispatch.hpp"
#include "statistics/key_value.hpp"

namespace spansort::statistics {
namespace {

/// Fewer keys are read in less time than it takes to wake threads.
constexpr std::uint64_t keys_of_ends_block = std::uint64_t{1} << 16;

template <class K>
struct encoded_ends {
  K least = std::numeric_limits<K>::max();
  K greatest = 0;
  std::uint64_t num_numbers = 0;

  void add(const encoded_ends& more) noexcept {
    least = std::min(least, more.least);
    greatest = std::max(greatest, more.greatest);
    num_numbers += more.num_numbers;
  }
};

/// Returns the greatest encoding of a number: those of NaN keys are above.
template <class K>
K last_number(const keys::key_codec& codec, const keys::codec_of<K>& encoder) noexcept {
  return keys::is_float(codec.type) ? encoder.encode_bits(encoder.infinity) : std::numeric_limits<K>::max();
}

template <class K>
encoded_ends<K> ends_of_block(const K* keys, std::uint64_t num_keys, const keys::codec_of<K>& encoder, K last) {
  encoded_ends<K> ends;
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    const K encoded = encoder.encode_bits(keys[i]);
    const bool is_number = encoded <= last;
    ends.least = std::min(ends.least, encoded);  // of a NaN key it is never less than a number's
    ends.greatest = std::max(ends.greatest, is_number ? encoded : K{0});
    ends.num_numbers += is_number ? 1 : 0;
  }
  return ends;
}

}  // namespace

key_ends find_ends(const const_key_span& keys) {
  const keys::key_codec codec{keys.type, false, keys::tie_rule::by_bits};
  return keys::with_width(codec.width_bytes(), [&]<class K>() -> key_ends {
    const keys::codec_of<K> encoder = codec.of<K>();
    const K last = last_number(codec, encoder);
    const K* const first = static_cast<const K*>(keys.data);
    encoded_ends<K> all;
    std::mutex mutex;
    base::for_blocks(
        keys.num_keys,
        [&](std::uint64_t begin, std::uint64_t end) {
          const encoded_ends<K> ends = ends_of_block(first + begin, end - begin, encoder, last);
          const std::lock_guard lock(mutex);
          all.add(ends);
        },
        keys_of_ends_block);
    return {.least = key_value(codec.type, encoder.decode(all.least)),
            .greatest = key_value(codec.type, encoder.decode(all.greatest)),
            .num_numbers = all.num_numbers};
  });
}

}  // namespace spansort::statistics
