// SPDX-License-Identifier: Apache-2.0
// Inputs made on a GPU, for the host would take minutes, and results looked at there. All on the current device;
// nothing here waits unless it says so.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

namespace bench {

enum class device_input : std::uint8_t {
  entropy,   ///< the AND of `words` uniform words; 0 words: zeros. Every key depends on its place and the seed alone
  sorted,    ///< ascending uniform draws, spread evenly over the range
  reversed,  ///< the same, descending
  nearly_sorted,  ///< sorted, but that each hundredth key, in the mean, is a uniform one
  few_values,     ///< one of `words` values, each a uniform word
  log_uniform,    ///< as many keys in each octave: zipf's law with the exponent 1, of as many ranks as the type has
  low_bits,       ///< uniform integers of `words` bits
  unit,           ///< uniform floats of [0, 1), multiples of 2^-24 or 2^-53; keys of 4 and 8 bytes are floats here
  unit_or_zero,   ///< of these each thousandth, in the mean, is -0.0 or 0.0, which tie in sorts of pairs
  normal,         ///< floats of the standard normal distribution
  log_normal,     ///< e to the power of these
};

struct fill_request {
  device_input kind = device_input::entropy;
  unsigned words = 1;
  std::uint64_t seed = 1;
  std::uint64_t first_place = 0;  ///< of the first key, where several arrays make up one input
  bool finite_floats = false;     ///< no NaN and no zero: every sort of floats agrees about the bits
};

/// Fills `num_keys` keys of 4 or 8 bytes.
void fill_device(cudaStream_t stream, void* keys, unsigned key_bytes, std::uint64_t num_keys,
                 const fill_request& request);

/// Writes positions from first_place on as values of 4 or 8 bytes.
void fill_places(cudaStream_t stream, void* values, unsigned value_bytes, std::uint64_t count,
                 std::uint64_t first_place = 0);

/// Words of 4 bytes in which two arrays differ. Waits.
[[nodiscard]] std::uint64_t count_differences(cudaStream_t stream, const void* a, const void* b,
                                              std::uint64_t size_bytes);

struct key_summary {
  bool in_order = true;        ///< equal keys by their values, as a stable sort leaves places
  std::uint64_t checksum = 0;  ///< sum of the hashes of keys with their values: the same in any order
  std::uint64_t first = 0;     ///< first and last key, 0 where there is none
  std::uint64_t last = 0;
};

/// These are unsigned keys of 4 or 8 bytes, and values of as many bytes, which are null where there are none.
struct device_records {
  const void* keys = nullptr;
  const void* values = nullptr;
  unsigned key_bytes = 4;
  std::uint64_t num_records = 0;
};

/// Summarizes records. Waits.
[[nodiscard]] key_summary summarize(cudaStream_t stream, const device_records& records);

}  // namespace bench
