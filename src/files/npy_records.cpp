// SPDX-License-Identifier: Apache-2.0
#include "files/npy_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string_view>

#include "files/io/text.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

/// A part of an element that a key names.
struct found_field {
  const npy_dtype* dtype = nullptr;
  std::uint64_t offset = 0;
  bool is_array = false;
};

/// Finds "a", or "a.b" in the fields of a.
std::optional<found_field> find_field(const npy_dtype& whole, std::string_view name, std::uint64_t offset) {
  for (const npy_field& field : whole.fields) {
    const std::uint64_t at = offset + field.offset;
    if (name == field.name) return found_field{&field.dtype, at, field.is_array};
    const std::string inner_prefix = field.name + ".";
    if (!name.starts_with(inner_prefix)) continue;
    std::optional<found_field> inner = find_field(field.dtype, name.substr(inner_prefix.size()), at);
    if (!inner) continue;
    inner->is_array = inner->is_array || field.is_array;
    return inner;
  }
  return std::nullopt;
}

std::string names_of(const npy_dtype& whole) {
  std::string names;
  for (const npy_field& field : whole.fields) {
    if (names.size() > 200) return names + " ...";
    names += (names.empty() ? "" : " ") + files::quoted(field.name);
  }
  return names;
}

class order_builder {
 public:
  order_builder(const npy_array& array, direction d, const std::string& file)
      : array_(array), is_descending_(d == direction::descending), file_(file) {}

  void add(const field_key& key) {
    if (array_.dtype.kind != npy_kind::structured) {
      throw invalid_argument(
          fmt::format("{}: dtype {} has no fields, so that none can be named", file_, dtype_text(array_.dtype)));
    }
    const auto field = find_field(array_.dtype, key.name, 0);
    if (!field) {
      throw invalid_argument(
          fmt::format("{}: has no field {}; its fields: {}", file_, files::quoted(key.name), names_of(array_.dtype)));
    }
    add_part(*field, key.descending, key.name);
  }

  void add_all() { add_part({&array_.dtype, 0, false}, false, ""); }

  npy_records finish() {
    result_.format.record_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(array_.dtype.item_bytes, ~0U));
    if (result_.format.keys.size() > most_record_keys) {
      throw invalid_argument(
          fmt::format("{}: at most {} numbers, or pieces of {} bytes of strings, order an element, and these fields "
                      "have more; name "
                      "fewer of them (--key)",
                      file_, most_record_keys, most_record_key_bytes));
    }
    try {
      check_record_format(result_.format);
    } catch (const invalid_argument& failure) {
      throw invalid_argument(fmt::format("{}: {}", file_, failure.what()));
    }
    return std::move(result_);
  }

 private:
  void add_part(const found_field& part, bool descending, const std::string& name) {
    const npy_dtype& dtype = *part.dtype;
    if (part.is_array) refuse(name, "a subarray: several values under one name; save the one that counts as a field");
    switch (dtype.kind) {
      case npy_kind::structured:
        for (const npy_field& inner : dtype.fields) {
          add_part({&inner.dtype, part.offset + inner.offset, inner.is_array}, descending,
                   name.empty() ? inner.name : name + "." + inner.name);
        }
        return;
      case npy_kind::number:
      case npy_kind::boolean:
      case npy_kind::time: return add_number(dtype, part.offset, descending);
      case npy_kind::bytes: return add_bytes(part.offset, dtype.item_bytes, descending);
      case npy_kind::text: return add_text(dtype, part.offset, descending);
      case npy_kind::raw: refuse(name, "raw bytes, which have no order");
      case npy_kind::other: refuse(name, "complex numbers and long doubles have no order here");
    }
  }

  [[noreturn]] void refuse(const std::string& name, std::string_view why) const {
    throw invalid_argument(fmt::format("{}: field {} cannot be sorted by: {}", file_, files::quoted(name), why));
  }

  /// A part that is a key already decides nothing a second time.
  [[nodiscard]] bool is_known(std::uint64_t offset) const {
    const auto& keys = result_.format.keys;
    return std::any_of(keys.begin(), keys.end(), [&](const record_key& key) { return key.offset == offset; });
  }

  void add_key(std::uint64_t offset, std::uint64_t size, std::optional<key_type> type, bool descending) {
    result_.format.keys.push_back(
        {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(size), type, descending});
  }

  void add_number(const npy_dtype& dtype, std::uint64_t offset, bool descending) {
    if (is_known(offset)) return;
    add_key(offset, dtype.item_bytes, dtype.key, descending);
    const bool swaps = dtype.byte_order != std::endian::native && dtype.item_bytes > 1;
    // NaT, the least number, comes last by itself where the order is descending.
    const bool lowers = dtype.kind == npy_kind::time && descending == is_descending_;
    if (!swaps && !lowers) return;
    result_.changes.push_back({.offset = offset,
                               .word_bytes = static_cast<std::uint32_t>(dtype.item_bytes),
                               .swaps = swaps,
                               .lowers = lowers});
  }

  void add_bytes(std::uint64_t offset, std::uint64_t size, bool descending) {
    if (size == 0 || is_known(offset)) return;
    for (std::uint64_t begin = 0; begin < size; begin += most_record_key_bytes) {
      if (result_.format.keys.size() > most_record_keys) return;  // refused in the end
      add_key(offset + begin, std::min<std::uint64_t>(size - begin, most_record_key_bytes), std::nullopt, descending);
    }
  }

  /// Code points in big-endian words are in order where their bytes are.
  void add_text(const npy_dtype& dtype, std::uint64_t offset, bool descending) {
    if (is_known(offset)) return;
    add_bytes(offset, dtype.item_bytes, descending);
    if (dtype.byte_order == std::endian::big || dtype.item_bytes == 0) return;
    result_.changes.push_back({.offset = offset, .word_bytes = 4, .num_words = dtype.item_bytes / 4, .swaps = true});
  }

  const npy_array& array_;
  bool is_descending_;
  const std::string& file_;
  npy_records result_;
};

}  // namespace

npy_records order_of_array(const npy_array& array, const std::vector<field_key>& keys, direction d,
                           const std::string& file) {
  order_builder builder(array, d, file);
  for (const field_key& key : keys) builder.add(key);
  if (keys.empty()) builder.add_all();
  return builder.finish();
}

}  // namespace spansort::files
