// SPDX-License-Identifier: Apache-2.0
// This header says how host kernels see records: keys and values in two arrays (the caller's memory), or packed
// together (scratch, where one store moves both), and the three orders that a key codec can ask for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/math.hpp"
#include "device/device.hpp"
#include "keys/codec.hpp"

namespace spansort::device::host {

struct no_value {};
// Packed: a caller's values may have any alignment.
struct [[gnu::packed]] value4 {
  std::uint32_t word;
};
struct [[gnu::packed]] value8 {
  std::uint64_t word;
};
struct [[gnu::packed]] value16 {
  std::uint64_t words[2];
};

template <class V>
inline constexpr unsigned value_bytes_of = sizeof(V);
template <>
inline constexpr unsigned value_bytes_of<no_value> = 0;

template <class K, class V>
struct packed_record {
  K key;
  [[no_unique_address]] V value;
};

/// Keys and values in arrays of their own.
template <class K, class V>
struct split_records {
  K* keys = nullptr;
  V* values = nullptr;

  [[nodiscard]] packed_record<K, V> get(std::uint64_t i) const noexcept {
    if constexpr (value_bytes_of<V> == 0)
      return {keys[i], {}};
    else
      return {keys[i], values[i]};
  }
  void put(std::uint64_t i, packed_record<K, V> r) const noexcept {
    keys[i] = r.key;
    if constexpr (value_bytes_of<V> != 0) values[i] = r.value;
  }
  [[nodiscard]] split_records operator+(std::uint64_t count) const noexcept {
    return {keys + count, value_bytes_of<V> == 0 ? nullptr : values + count};
  }
};

template <class K, class V>
[[nodiscard]] split_records<K, V> split(records r) noexcept {
  return {static_cast<K*>(r.keys), static_cast<V*>(r.values)};
}

/// Returns how many bytes of memory split_at() gives so many records: keys and values end on a line each.
template <class K, class V>
[[nodiscard]] constexpr std::uint64_t split_bytes(std::uint64_t num_records) noexcept {
  constexpr std::uint64_t line = 64;
  return base::round_up(num_records * sizeof(K), line) + base::round_up(num_records * value_bytes_of<V>, line);
}

/// Returns the records of memory that begins on a line: all keys, and behind them all values.
template <class K, class V>
[[nodiscard]] split_records<K, V> split_at(std::byte* memory, std::uint64_t num_records) noexcept {
  return {reinterpret_cast<K*>(memory), reinterpret_cast<V*>(memory + split_bytes<K, no_value>(num_records))};
}

/// Key and value side by side.
template <class K, class V>
struct packed_records {
  packed_record<K, V>* data = nullptr;

  [[nodiscard]] packed_record<K, V> get(std::uint64_t i) const noexcept { return data[i]; }
  void put(std::uint64_t i, packed_record<K, V> r) const noexcept { data[i] = r; }
};

// An order says how a key in memory is encoded (`encode`), what is moved inside a local sort (`load` on the way in,
// `store` on the way out) and how a moved key is encoded (`encode_moved`).

/// Unsigned ascending: bits are the encoded key.
template <class K>
struct identity_order {
  explicit identity_order(const keys::codec_of<K>&) {}
  [[nodiscard]] K encode(K x) const noexcept { return x; }
  [[nodiscard]] K load(K x) const noexcept { return x; }
  [[nodiscard]] K encode_moved(K x) const noexcept { return x; }
  [[nodiscard]] K store(K x) const noexcept { return x; }
};

/// A bijective encoding: encoded once, moved encoded, decoded at the end.
template <class K>
struct bijective_order {
  keys::codec_of<K> codec;
  explicit bijective_order(const keys::codec_of<K>& c) : codec(c) {}
  [[nodiscard]] K encode(K x) const noexcept { return codec.encode_bits(x); }
  [[nodiscard]] K load(K x) const noexcept { return codec.encode_bits(x); }
  [[nodiscard]] K encode_moved(K x) const noexcept { return x; }
  [[nodiscard]] K store(K x) const noexcept { return codec.decode(x); }
};

/// Ties folded (-0.0 and +0.0, NaNs): keys move as they are and are encoded wherever they are looked at.
template <class K>
struct folding_order {
  keys::codec_of<K> codec;
  explicit folding_order(const keys::codec_of<K>& c) : codec(c) {}
  [[nodiscard]] K encode(K x) const noexcept { return codec.encode_bits(codec.fold(x)); }
  [[nodiscard]] K load(K x) const noexcept { return x; }
  [[nodiscard]] K encode_moved(K x) const noexcept { return encode(x); }
  [[nodiscard]] K store(K x) const noexcept { return x; }
};

}  // namespace spansort::device::host
