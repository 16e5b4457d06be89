// SPDX-License-Identifier: Apache-2.0
#include "files/key_element_orders.hpp"

#include <cstring>

#include "base/byte_buffer.hpp"
#include "base/for_blocks.hpp"
#include "files/element_scan.hpp"
#include "files/index_bytes.hpp"
#include "keys/codec.hpp"
#include "keys/dispatch.hpp"
#include "sort/flowing_calls.hpp"
#include "sort/sorter_memory.hpp"
#include "spansort/check.hpp"
#include "spansort/sort.hpp"

namespace spansort::files {
namespace {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

/// Calls f with the comparison of elements by their keys' values.
template <class F>
auto with_comparison(const keys::key_codec& by_value, const F& f) {
  return keys::with_width(by_value.width_bytes(), [&]<class K>() {
    return f([codec = by_value.of<K>()](const std::byte* a, const std::byte* b) {
      const K x = codec.encode(load<K>(a));
      const K y = codec.encode(load<K>(b));
      return static_cast<int>(x > y) - static_cast<int>(x < y);
    });
  });
}

/// What keys with and without index share: elements that begin with a key, equal where that is equal in value.
class order_by_key_value : public external::element_order {
 public:
  order_by_key_value(key_type type, direction d, const sort_options& options)
      : by_value_{type, keys::is_descending(d), keys::tie_rule::by_input_order}, options_(options), sorter_(options_) {}

  [[nodiscard]] std::uint64_t key_bytes() const noexcept override { return by_value_.width_bytes(); }
  [[nodiscard]] multiset_checksum checksum(const std::byte* elements, std::uint64_t count) const override {
    return sum_elements(view(nullptr, elements, count), key_bytes());
  }
  [[nodiscard]] std::uint64_t num_duplicates(const std::byte* left, const std::byte* elements,
                                             std::uint64_t count) const override {
    return with_comparison(by_value_,
                           [&](const auto& compare) { return count_equal(view(left, elements, count), compare); });
  }
  [[nodiscard]] std::uint64_t remove_duplicates(const std::byte* left, std::byte* elements,
                                                std::uint64_t count) const override {
    return with_comparison(by_value_, [&](const auto& compare) {
      return keep_first_of_equal(view(left, elements, count), elements, compare);
    });
  }

 protected:
  [[nodiscard]] key_type type() const noexcept { return by_value_.type; }
  [[nodiscard]] const keys::key_codec& by_value() const noexcept { return by_value_; }
  [[nodiscard]] const sort_options& options() const noexcept { return options_; }
  [[nodiscard]] sorter& own_sorter() noexcept { return sorter_; }
  [[nodiscard]] direction wanted() const noexcept { return keys::direction_of(by_value_.descending); }
  [[nodiscard]] element_view view(const std::byte* left, const std::byte* elements, std::uint64_t count) const {
    return {left, elements, count, element_bytes()};
  }

  /// The encoded key of `element`, its most significant byte first.
  static void write_encoded(const keys::key_codec& codec, const std::byte* element, std::byte* key) {
    keys::with_width(codec.width_bytes(), [&]<class K>() {
      K encoded = codec.of<K>().encode(load<K>(element));
      for (std::byte* to = key + sizeof(K); to != key; encoded = static_cast<K>(std::uint64_t{encoded} >> 8)) {
        *--to = static_cast<std::byte>(encoded & 0xff);
      }
    });
  }

 private:
  keys::key_codec by_value_;
  sort_options options_;
  sorter sorter_;
};

class order_of_keys final : public order_by_key_value {
 public:
  using order_by_key_value::order_by_key_value;

  [[nodiscard]] std::uint64_t element_bytes() const noexcept override { return key_bytes(); }
  void write_key(const std::byte* element, std::byte* key) const override { write_encoded(by_bits(), element, key); }
  void sort(std::byte* elements, std::uint64_t count) override {
    own_sorter().sort({type(), elements, count}, wanted());
  }
  void sort_flowing(std::byte* elements, std::uint64_t count, base::record_flow& flow) override {
    sorting::flowing_calls::sort(own_sorter(), {type(), elements, count}, wanted(), flow);
  }
  [[nodiscard]] base::memory_formula sort_memory() const override {
    return sorting::sorter_memory(options(), key_bytes(), 0);
  }
  [[nodiscard]] multiset_checksum checksum(const std::byte* elements, std::uint64_t count) const override {
    return spansort::checksum(const_key_span(type(), elements, count));
  }
  [[nodiscard]] std::optional<std::uint64_t> first_disorder(const std::byte* left, const std::byte* elements,
                                                            std::uint64_t count, bool unique) const override {
    return with_comparison(by_value(), [&](const auto& compare) -> std::optional<std::uint64_t> {
      const auto is_wrong = [&, most = unique ? -1 : 0](const std::byte* a, const std::byte* b) {
        return compare(a, b) > most;
      };
      const bool begins_well = left == nullptr || count == 0 || !is_wrong(left, elements);
      // Where nothing is wrong, as nearly always, vector code says so.
      if (!unique && begins_well && is_sorted(const_key_span(type(), elements, count), wanted())) return std::nullopt;
      return first_wrong(view(left, elements, count), is_wrong);
    });
  }
  [[nodiscard]] std::optional<std::uint64_t> first_key_disorder(const std::byte* left, const std::byte* elements,
                                                                std::uint64_t count) const override {
    return with_comparison(by_bits(), [&](const auto& compare) {
      return first_wrong(view(left, elements, count),
                         [&](const std::byte* a, const std::byte* b) { return compare(a, b) > 0; });
    });
  }

 private:
  [[nodiscard]] keys::key_codec by_bits() const noexcept {
    return {type(), by_value().descending, keys::tie_rule::by_bits};
  }
};

class order_of_indexed_keys final : public order_by_key_value {
 public:
  using order_by_key_value::order_by_key_value;

  [[nodiscard]] std::uint64_t element_bytes() const noexcept override { return key_bytes() + index_bytes; }
  void write_key(const std::byte* element, std::byte* key) const override { write_encoded(by_value(), element, key); }

  void sort(std::byte* elements, std::uint64_t count) override {
    keys_.make_room(count * key_bytes());
    indices_.make_room(count * index_bytes);
    keys::with_width(by_value().width_bytes(), [&]<class K>() {
      auto* const keys = reinterpret_cast<K*>(keys_.data());
      auto* const indices = reinterpret_cast<std::uint64_t*>(indices_.data());
      unpack(elements, keys, indices, count);
      own_sorter().sort_pairs({type(), keys, count}, indices, index_bytes, wanted());
      pack(elements, keys, indices, count);
    });
  }
  [[nodiscard]] base::memory_formula sort_memory() const override {
    base::memory_formula memory = sorting::sorter_memory(options(), key_bytes(), index_bytes);
    memory.element_bytes += key_bytes() + index_bytes;
    return memory;
  }
  [[nodiscard]] std::optional<std::uint64_t> first_disorder(const std::byte* left, const std::byte* elements,
                                                            std::uint64_t count, bool unique) const override {
    return with_comparison(by_value(), [&](const auto& compare) {
      return first_wrong(view(left, elements, count), [&](const std::byte* a, const std::byte* b) {
        const int order = compare(a, b);
        return order > 0 || (order == 0 && (unique || index_of(b) < index_of(a)));
      });
    });
  }

 private:
  [[nodiscard]] std::uint64_t index_of(const std::byte* element) const noexcept {
    return load<std::uint64_t>(element + key_bytes());
  }

  template <class K>
  static void unpack(const std::byte* elements, K* keys, std::uint64_t* indices, std::uint64_t count) {
    base::for_blocks(count, [&](std::uint64_t begin, std::uint64_t end) {
      const std::byte* element = elements + begin * (sizeof(K) + index_bytes);
      for (std::uint64_t i = begin; i < end; ++i, element += sizeof(K) + index_bytes) {
        keys[i] = load<K>(element);
        indices[i] = load<std::uint64_t>(element + sizeof(K));
      }
    });
  }

  template <class K>
  static void pack(std::byte* elements, const K* keys, const std::uint64_t* indices, std::uint64_t count) {
    base::for_blocks(count, [&](std::uint64_t begin, std::uint64_t end) {
      std::byte* element = elements + begin * (sizeof(K) + index_bytes);
      for (std::uint64_t i = begin; i < end; ++i, element += sizeof(K) + index_bytes) {
        std::memcpy(element, keys + i, sizeof(K));
        std::memcpy(element + sizeof(K), indices + i, index_bytes);
      }
    });
  }

  base::byte_buffer keys_;
  base::byte_buffer indices_;
};

}  // namespace

std::unique_ptr<external::element_order> make_key_order(key_type type, direction d, const sort_options& options) {
  return std::make_unique<order_of_keys>(type, d, options);
}

std::unique_ptr<external::element_order> make_indexed_key_order(key_type type, direction d,
                                                                const sort_options& options) {
  return std::make_unique<order_of_indexed_keys>(type, d, options);
}

}  // namespace spansort::files
