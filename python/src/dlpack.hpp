// SPDX-License-Identifier: Apache-2.0
// This is what DLPack says of an array: the structure is that of the standard since its first version.
#pragma once

#include <cstdint>

namespace python {

struct dlpack_type {
  std::uint8_t code = 0;
  std::uint8_t bits = 0;
  std::uint16_t lanes = 1;
};

struct dlpack_tensor {
  void* data = nullptr;
  std::int32_t device_type = 0;
  std::int32_t device = 0;
  std::int32_t num_axes = 0;
  dlpack_type type;
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;
  std::uint64_t byte_offset = 0;

  [[nodiscard]] std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(data) + byte_offset; }
};

inline constexpr std::int32_t dlpack_cuda = 2;  ///< the device type of memory of an NVIDIA GPU

}  // namespace python
