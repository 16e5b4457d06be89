// SPDX-License-Identifier: Apache-2.0
// Inputs of the tests of sources and sinks, and what they make of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "files/external/element_stream.hpp"
#include "support/environment.hpp"

namespace spansort::test {

inline std::vector<std::byte> random_bytes(std::uint64_t num_bytes, std::uint64_t seed) {
  random_words words(seed);
  std::vector<std::byte> bytes(num_bytes);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(words());
  return bytes;
}

/// All elements of a source, read `piece` at a time into memory of just that size.
inline std::vector<std::byte> read_all(external::element_source& source, std::uint64_t element_bytes,
                                       std::uint64_t piece) {
  std::vector<std::byte> all;
  while (true) {
    std::vector<std::byte> part(piece * element_bytes);
    const std::uint64_t count = source.read(part.data(), piece);
    all.insert(all.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count * element_bytes));
    if (count < piece) return all;
  }
}

/// Gives `elements` to a sink, `piece` at a time, and leaves finish() to the caller.
inline void write_all(external::element_sink& sink, std::vector<std::byte> elements, std::uint64_t element_bytes,
                      std::uint64_t piece) {
  const std::uint64_t count = elements.size() / element_bytes;
  for (std::uint64_t at = 0; at < count; at += piece) {
    sink.write(elements.data() + at * element_bytes, std::min(piece, count - at));
  }
}

/// Keys of `width` bytes, each followed by its index.
inline std::vector<std::byte> with_indices(std::span<const std::byte> keys, std::uint64_t width) {
  std::vector<std::byte> elements(keys.size() / width * (width + 8));
  for (std::uint64_t i = 0; i < keys.size() / width; ++i) {
    std::memcpy(elements.data() + i * (width + 8), keys.data() + i * width, width);
    std::memcpy(elements.data() + i * (width + 8) + width, &i, 8);
  }
  return elements;
}

}  // namespace spansort::test
