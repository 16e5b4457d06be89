// SPDX-License-Identifier: Apache-2.0
// Arrays of libraries that speak DLPack's exchange interface in C (DLPack 1.3) are taken, and made, without a call of
// Python, which for few keys takes longer than the sort.
#pragma once

#include <cstdint>
#include <optional>
#include <spansort/types.hpp>

#include "binding.hpp"
#include "dlpack.hpp"

namespace python {

struct exchange_functions;
struct managed_array;

/// A new vector of a library's, which is given back unless it becomes an object.
class exchanged_array {
 public:
  exchanged_array(const exchange_functions& functions, managed_array* array) : functions_(&functions), array_(array) {}
  ~exchanged_array();
  exchanged_array(exchanged_array&& other) noexcept;
  exchanged_array& operator=(exchanged_array&&) = delete;

  [[nodiscard]] std::uintptr_t address() const;
  /// Returns the library's own kind of array, which has the memory from then on.
  [[nodiscard]] nb::object to_object();

 private:
  const exchange_functions* functions_;
  managed_array* array_;
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
  /// Returns new elements of the library's on the same GPU, not initialised; nothing where it has no memory for them.
  [[nodiscard]] std::optional<exchanged_array> new_keys() const { return new_elements(tensor_.type, num_keys_); }
  [[nodiscard]] std::optional<exchanged_array> new_indices() const;
  [[nodiscard]] std::optional<exchanged_array> new_bytes(std::uint64_t count) const;

 private:
  exchanged_keys(const exchange_functions& functions, const dlpack_tensor& tensor, spansort::key_type type);
  [[nodiscard]] std::optional<exchanged_array> new_elements(dlpack_type type, std::uint64_t count) const;

  const exchange_functions* functions_;
  dlpack_tensor tensor_;
  spansort::key_type type_;
  std::uint64_t num_keys_;
};

}  // namespace python
