// SPDX-License-Identifier: Apache-2.0
#include "files/io/text.hpp"

#include <fmt/format.h>

#include <bit>

namespace spansort::files {

std::string quoted(std::string_view bytes) {
  constexpr std::size_t max_length = 40;
  std::string text = "'";
  for (const char c : bytes) {
    if (text.size() > max_length) return text + "...'";
    const auto code = static_cast<unsigned char>(c);
    text += code >= 0x20 && code < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", code);
  }
  return text + "'";
}

std::string count_text(std::uint64_t count) {
  constexpr std::uint64_t readable = std::uint64_t{1} << 31;
  if (count < readable || !std::has_single_bit(count)) return fmt::format("{}", count);
  return fmt::format("2^{}", std::countr_zero(count));
}

}  // namespace spansort::files
