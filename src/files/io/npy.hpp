// SPDX-License-Identifier: Apache-2.0
// The .npy format of NumPy, versions 1 to 3: headers are parsed by a bounded hand-written reader that knows only what a
// sortable array can say, and written exactly as NumPy writes them. Nothing is ever unpickled or evaluated; no text of
// the header reaches a locale, a regular expression or an allocation of its claimed size.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "files/io/npy_dtype.hpp"
#include "spansort/types.hpp"

namespace spansort::files {

inline constexpr std::string_view npy_magic = "\x93NUMPY";
/// Magic, version and length field of version 1; versions 2 and 3 have two bytes more.
inline constexpr std::size_t npy_preamble_bytes = 10;
/// Longest header text accepted. Version 1 cannot hold more; NumPy itself refuses more than 10,000.
inline constexpr std::size_t npy_max_header_bytes = 65535;

/// A one-dimensional array of numbers, as its header describes it.
struct npy_header {
  key_type type = key_type::u8;
  std::endian byte_order = std::endian::little;
  std::uint64_t num_keys = 0;
};

/// The description of an array in its header.
struct npy_array {
  npy_dtype dtype = {};
  std::vector<std::uint64_t> shape = {};
  bool is_fortran = false;         ///< the first dimension is the one whose elements are neighbours
  std::uint64_t num_elements = 0;  ///< the product of the shape
};

/// The position of the header's text.
struct npy_extent {
  std::size_t begin_bytes = 0;
  std::size_t size_bytes = 0;
};

/// Bytes of preamble that the version in `start` (npy_preamble_bytes long) has: 10 or 12. Throws bad_input naming
/// `file` for a wrong magic or an unknown version.
[[nodiscard]] std::size_t npy_preamble_size(std::string_view start, const std::string& file);

/// Returns where the header's text lies, from the whole preamble. Throws bad_input when it is longer than is sane.
[[nodiscard]] npy_extent npy_header_extent(std::string_view preamble, const std::string& file);

/// Parses the header's text. Throws bad_input naming `file` for what no array of Spansort's can be. The count is what
/// the header claims; the caller compares it with the file.
[[nodiscard]] npy_array parse_npy_header(std::string_view text, const std::string& file);

/// Preamble and header as NumPy writes them: version 1.0, or 2.0 where they are long, padded to a multiple of 64 bytes.
/// bf16, which NumPy does not know, is written as u16.
[[nodiscard]] std::string make_npy_header(const npy_header& header);
/// Makes one for a dtype as a header writes it.
[[nodiscard]] std::string make_npy_header(std::string_view descr, const std::vector<std::uint64_t>& shape,
                                          bool is_fortran = false);

/// The dtype of keys as a header writes it: "'<f4'".
[[nodiscard]] std::string numpy_descr(const npy_header& header);

/// "(3, 4)", "(3,)", "()".
[[nodiscard]] std::string shape_text(const std::vector<std::uint64_t>& shape);

}  // namespace spansort::files
