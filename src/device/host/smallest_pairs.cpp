// SPDX-License-Identifier: Apache-2.0
// The shortest way of pairs and argsorts: a table of types says which network, and which codec, a few keys take.
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "device/host/pair_network.hpp"
#include "device/host/small_pairs.hpp"
#include "keys/codec.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::host {
namespace {

/// The networks of all types, both directions, and values of 4 and 8 bytes. Codecs that were made long ago are read
/// faster than new ones.
class pair_networks {
 public:
  struct network_of_type {
    pair_network network;
    const void* codec = nullptr;
    std::uint64_t key_bytes = 1;
  };

  [[gnu::noinline]] pair_networks() {
    for (std::size_t i = 0; i < num_codecs; ++i) {
      const keys::key_codec codec{static_cast<key_type>(i / 2), i % 2 != 0, keys::tie_rule::by_input_order};
      keys::with_width(codec.width_bytes(), [&]<class K>() {
        if constexpr (sizeof(K) >= 4) {
          auto& of_width = std::get<keys::codec_of<K>>(codecs_[i]);
          of_width = codec.of<K>();
          for (const std::size_t wide : {0, 1}) {
            networks_[2 * i + wide] = {find_pair_network<K>(4 + 4 * wide, of_width.folds_ties), &of_width, sizeof(K)};
          }
        }
      });
    }
  }
  pair_networks(const pair_networks&) = delete;
  pair_networks& operator=(const pair_networks&) = delete;

  [[nodiscard]] const network_of_type& of(key_type type, direction d, std::uint64_t value_bytes) const {
    return networks_[4 * static_cast<std::size_t>(type) + (keys::is_descending(d) ? 2 : 0) + value_bytes / 8];
  }

 private:
  static constexpr std::size_t num_codecs = 2 * (static_cast<std::size_t>(key_type::f64) + 1);
  std::array<network_of_type, 2 * num_codecs> networks_;
  std::array<std::tuple<keys::codec_of<std::uint32_t>, keys::codec_of<std::uint64_t>>, num_codecs> codecs_;
};

const pair_networks& all_pair_networks() {
  static const pair_networks networks;
  return networks;
}

/// Returns the network of what checks would let pass; others are null.
const pair_networks::network_of_type* find_network(key_type type, const void* keys, const void* values,
                                                   std::uint64_t value_bytes, std::uint64_t num_keys, direction d) {
  if (type > key_type::f64 || (value_bytes != 4 && value_bytes != 8)) return nullptr;
  if (num_keys < 2 || num_keys > most_network_pairs || keys == nullptr || values == nullptr) return nullptr;
  const pair_networks::network_of_type& chosen = all_pair_networks().of(type, d, value_bytes);
  const auto key_begin = reinterpret_cast<std::uintptr_t>(keys);
  const auto value_begin = reinterpret_cast<std::uintptr_t>(values);
  const bool overlap =
      key_begin < value_begin + num_keys * value_bytes && value_begin < key_begin + num_keys * chosen.key_bytes;
  return overlap || key_begin % chosen.key_bytes != 0 || chosen.network.sort == nullptr ? nullptr : &chosen;
}

}  // namespace

bool sort_smallest_pairs(key_type type, void* keys, void* values, std::uint64_t value_bytes, std::uint64_t num_keys,
                         direction d) {
  const auto* const chosen = find_network(type, keys, values, value_bytes, num_keys, d);
  if (chosen == nullptr) return false;
  chosen->network.sort(chosen->codec, keys, values, num_keys);
  return true;
}

bool argsort_smallest(key_type type, const void* keys, void* indices, std::uint64_t index_bytes, std::uint64_t num_keys,
                      direction d) {
  const auto* const chosen = find_network(type, keys, indices, index_bytes, num_keys, d);
  if (chosen == nullptr) return false;
  chosen->network.order(chosen->codec, keys, indices, num_keys);
  return true;
}

}  // namespace spansort::device::host
