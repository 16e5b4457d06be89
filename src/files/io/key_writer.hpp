// SPDX-License-Identifier: Apache-2.0
// Writes keys or indices as a raw or .npy file, through atomic_file.
#pragma once

#include <cstdint>
#include <string>

#include "files/io/atomic_file.hpp"
#include "files/io/key_reader.hpp"
#include "files/io/output_target.hpp"

namespace spansort::files {

/// Returns how an output is written: .npy when its name says so; as the input where the output is a stream or the input
/// itself; raw otherwise.
[[nodiscard]] key_layout output_layout(const output_target& target, const std::string& input, const key_layout& layout);

/// Returns what comes before the keys: "" for raw ones.
[[nodiscard]] std::string header_of(const key_layout& layout, std::uint64_t num_keys);

/// Bytes of the whole file.
[[nodiscard]] std::uint64_t file_bytes(const key_layout& layout, std::uint64_t num_keys);

/// Writes `keys`, which are in native order, in the order of the layout; they are swapped in place for that. Throws
/// io_error; the target is then as it was.
void write_keys(const output_target& target, const key_layout& layout, key_span keys,
                const temporary_callback& on_temporary = {}, const transfer_progress& progress = {});

}  // namespace spansort::files
