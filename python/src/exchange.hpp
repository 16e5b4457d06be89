// SPDX-License-Identifier: Apache-2.0
// Tensors of PyTorch are looked at by DLPack's exchange interface in C (DLPack 1.3), for the attributes of a tensor
// take longer by Python than few keys take to be sorted.
#pragma once

#include <cstdint>
#include <optional>
#include <spansort/types.hpp>

#include "binding.hpp"
#include "dlpack.hpp"

namespace python {

struct exchange_functions;
struct managed_array;

/// Memory of the library's own, which is given back to it.
class exchanged_memory {
 public:
  explicit exchanged_memory(managed_array* array) : array_(array) {}
  ~exchanged_memory();
  exchanged_memory(exchanged_memory&& other) noexcept;
  exchanged_memory& operator=(exchanged_memory&&) = delete;

  [[nodiscard]] std::uintptr_t address() const;

 private:
  managed_array* array_;
};

/// A new tensor, and where its memory is.
struct exchanged_result {
  nb::object tensor;
  std::uintptr_t address = 0;
};

/// Keys of one axis, C-contiguous, in the memory of a GPU.
class exchanged_keys {
 public:
  /// Returns the keys of an array of exactly a type that exchange_with() was told of. Nothing of other objects, and of
  /// arrays that are not as described, whose elements are no keys, or that are more than memory: tensors of PyTorch
  /// with a gradient, and those that stand for the negative of what they hold.
  static std::optional<exchanged_keys> of(nb::handle array);

  [[nodiscard]] spansort::key_type type() const { return type_; }
  [[nodiscard]] std::uint64_t num_keys() const { return num_keys_; }
  [[nodiscard]] std::uint64_t size_bytes() const { return num_keys_ * spansort::size_bytes(type_); }
  [[nodiscard]] int device() const { return tensor_.device; }
  [[nodiscard]] std::uintptr_t address() const { return tensor_.address(); }
  /// Returns the stream that the library works on, nothing where it does not say.
  [[nodiscard]] std::optional<std::uintptr_t> stream() const;
  /// Returns as many new keys, or indices of 64 bits, on the same GPU. They are made by the tensor's own function, for
  /// one that is made of foreign memory forgets what record_stream() is told, and cannot be resized. Throws its errors.
  [[nodiscard]] exchanged_result new_keys() const;
  [[nodiscard]] exchanged_result new_indices() const;
  /// Returns new memory on the same GPU; nothing where the library has none.
  [[nodiscard]] std::optional<exchanged_memory> new_bytes(std::uint64_t count) const;

 private:
  exchanged_keys(const exchange_functions& functions, nb::handle array, const dlpack_tensor& tensor,
                 spansort::key_type type);
  [[nodiscard]] exchanged_result looked_at(nb::object made) const;

  const exchange_functions* functions_;
  nb::handle array_;  ///< the caller's, which outlives this
  dlpack_tensor tensor_;
  spansort::key_type type_;
  std::uint64_t num_keys_;
};

}  // namespace python
