// SPDX-License-Identifier: Apache-2.0
// An element kind is what a file is sorted as: keys, keys with their index, records. One value says where such elements
// come from, how they are ordered and where they go.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "files/element_sinks.hpp"
#include "files/element_sources.hpp"
#include "files/external/element_order.hpp"
#include "files/external/element_stream.hpp"
#include "spansort/files.hpp"
#include "spansort/options.hpp"
#include "spansort/types.hpp"

namespace spansort::files {

class element_kind {
 public:
  virtual ~element_kind() = default;

  /// The input's name for messages.
  [[nodiscard]] virtual const std::string& input_name() const noexcept = 0;
  /// Elements of the input; nothing where it is a stream.
  [[nodiscard]] virtual std::optional<std::uint64_t> num_elements() const = 0;
  /// Bytes of the elements in the input; 0 where it is a stream.
  [[nodiscard]] virtual std::uint64_t input_bytes() const = 0;
  /// Bytes of a record in the input; 0 for keys.
  [[nodiscard]] virtual std::uint64_t record_bytes() const noexcept { return 0; }
  /// Type of the keys; nothing for records.
  [[nodiscard]] virtual std::optional<key_type> type() const noexcept = 0;
  [[nodiscard]] virtual const output_target& target() const noexcept = 0;
  /// Bytes of an output of `count` elements.
  [[nodiscard]] virtual std::uint64_t output_bytes(std::uint64_t count) const = 0;

  /// Report, progress and ceiling of `options` are those of each sort() of the order.
  [[nodiscard]] virtual std::unique_ptr<external::element_order> make_order(direction d,
                                                                            const sort_options& options) const = 0;
  /// Takes the input: there is one source. Throws bad_input for a size that cannot be.
  [[nodiscard]] virtual std::unique_ptr<external::element_source> take_source(source_options options) = 0;
  /// Throws invalid_argument where the output cannot be what its name says.
  [[nodiscard]] virtual std::unique_ptr<external::element_sink> make_sink(const sink_options& options) const = 0;

  /// Returns what becomes of elements in the output, for who writes it himself. Throws invalid_argument for elements of
  /// which two outputs are made.
  [[nodiscard]] virtual disk_form form() const = 0;

  /// All elements will be in memory at once, and be sorted by one call: a kind that has a faster form for this takes
  /// it. Called before an order, a source or a sink is made of it. Throws out_of_memory where `limit_bytes`, or what
  /// the machine has where that is 0, is too little.
  virtual void hold_whole(std::uint64_t limit_bytes) = 0;
  /// Bytes that elements held whole take, without what sorting takes beside them.
  [[nodiscard]] virtual std::uint64_t whole_bytes() const = 0;
};

/// This says what is written: elements in their order, or where each of them was.
enum class element_outcome : std::uint8_t { elements, indices };

/// Opens `input` and finds `output`; of `file` type, records, fields and direction say what the elements are. Throws
/// what is wrong with them.
[[nodiscard]] std::unique_ptr<element_kind> open_elements(const std::string& input, const std::string& output,
                                                          const file_options& file, element_outcome outcome);

}  // namespace spansort::files
