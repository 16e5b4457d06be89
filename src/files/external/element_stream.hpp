// SPDX-License-Identifier: Apache-2.0
// Elements come from sources and go to sinks: files of any size and streams, one chunk after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace spansort::external {

/// Elements of an input, read once from begin to end, as native elements of an element_order.
class element_source {
 public:
  virtual ~element_source() = default;
  /// Nothing for streams.
  [[nodiscard]] virtual std::optional<std::uint64_t> num_elements() const = 0;
  /// Reads up to `most` elements; fewer only at the end, where it throws bad_input if the input is not what it was when
  /// it was opened, or not whole. Throws io_error. One thread at a time.
  [[nodiscard]] virtual std::uint64_t read(std::byte* elements, std::uint64_t most) = 0;
};

/// Takes elements in their final order.
class element_sink {
 public:
  virtual ~element_sink() = default;
  /// Says how many elements will come, once that is known and before the first one; not called where it never is.
  virtual void expect(std::uint64_t num_elements) = 0;
  /// Opens the output now rather than with the first element.
  virtual void open() {}
  /// Takes room for a part of what was expected, of an output that is open, while there is nothing to write: where that
  /// makes write() shorter. Returns whether there is more to take.
  virtual bool take_room() { return false; }
  /// May overwrite `elements`. Throws io_error. One thread at a time.
  virtual void write(std::byte* elements, std::uint64_t count) = 0;
  /// All have come: the output appears. Throws io_error; it is then as it was.
  virtual void finish() = 0;
};

}  // namespace spansort::external
