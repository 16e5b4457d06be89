// SPDX-License-Identifier: Apache-2.0
// The .npy header of a file: refused by bad_input, or read as an array whose shape has as many elements as it says.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "files/io/npy.hpp"
#include "spansort/errors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace spansort::files;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  try {
    if (file.size() < npy_preamble_bytes) return 0;
    const std::size_t preamble = npy_preamble_size(file.substr(0, npy_preamble_bytes), "x");
    if (file.size() < preamble) return 0;
    const npy_extent text = npy_header_extent(file.substr(0, preamble), "x");
    if (text.size_bytes > npy_max_header_bytes) std::abort();
    const npy_array array = parse_npy_header(file.substr(text.begin_bytes, text.size_bytes), "x");
    std::uint64_t product = 1;
    for (const std::uint64_t length : array.shape) product *= length;
    if (product != array.num_elements) std::abort();
  } catch (const spansort::error&) {
  }
  return 0;
}
