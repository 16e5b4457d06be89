// SPDX-License-Identifier: Apache-2.0
#include "files/index_order.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
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

std::uint64_t index_of(const std::byte* element) noexcept {
  std::uint64_t index;
  std::memcpy(&index, element, index_bytes);
  return index;
}

class order_of_indices final : public external::element_order {
 private:
  [[nodiscard]] static element_view view(const std::byte* left, const std::byte* elements, std::uint64_t count) {
    return {left, elements, count, index_bytes};
  }
  /// Calls f with the keys as unsigned words and the encoding in which keys of equal value are equal.
  template <class F>
  decltype(auto) with_words(const F& f) const {
    return keys::with_width(by_value_.width_bytes(), [&]<class K>() {
      return f(reinterpret_cast<const K*>(keys_->bytes.data()), by_value_.of<K>());
    });
  }
  /// Calls f with the comparison of indices by the values of their keys.
  template <class F>
  decltype(auto) with_comparison(const F& f) const {
    return with_words([&]<class K>(const K* words, const keys::codec_of<K>& codec) {
      return f([&](const std::byte* a, const std::byte* b) {
        const K x = codec.encode(words[index_of(a)]);
        const K y = codec.encode(words[index_of(b)]);
        return static_cast<int>(x > y) - static_cast<int>(x < y);
      });
    });
  }

 public:
  order_of_indices(std::shared_ptr<const loaded_keys> keys, direction d, const sort_options& options)
      : keys_(std::move(keys)),
        direction_(d),
        by_value_{keys_->layout.type, keys::is_descending(d), keys::tie_rule::by_input_order},
        options_(options),
        sorter_(options) {}

  [[nodiscard]] std::uint64_t element_bytes() const noexcept override { return index_bytes; }
  [[nodiscard]] std::uint64_t key_bytes() const noexcept override { return by_value_.width_bytes(); }
  void write_key(const std::byte* element, std::byte* key) const override {
    with_words([&]<class K>(const K* words, const keys::codec_of<K>& codec) {
      K encoded = codec.encode(words[index_of(element)]);
      for (std::byte* to = key + sizeof(K); to != key; encoded = static_cast<K>(std::uint64_t{encoded} >> 8)) {
        *--to = static_cast<std::byte>(encoded & 0xff);
      }
    });
  }

  void sort(std::byte* elements, std::uint64_t count) override {
    SPANSORT_ASSERT(count == keys_->num_keys);
    sorter_.argsort(std::as_const(*keys_).span(), elements, index_bytes, direction_);
  }
  /// Waits for all: only then it is known where the keys lie.
  void sort_flowing(std::byte* elements, std::uint64_t count, base::record_flow& flow) override {
    flow.wait_for(count);
    SPANSORT_ASSERT(count == keys_->num_keys);
    sorting::flowing_calls::argsort(sorter_, std::as_const(*keys_).span(), elements, direction_, flow);
  }
  [[nodiscard]] base::memory_formula sort_memory() const override {
    base::memory_formula memory = sorting::sorter_memory(options_, key_bytes(), index_bytes);
    memory.element_bytes += key_bytes();
    return memory;
  }

  [[nodiscard]] multiset_checksum checksum(const std::byte* elements, std::uint64_t count) const override {
    return spansort::checksum(const_key_span(key_type::u64, elements, count));
  }
  /// An index that is none counts as out of order.
  [[nodiscard]] std::optional<std::uint64_t> first_disorder(const std::byte* left, const std::byte* elements,
                                                            std::uint64_t count, bool unique) const override {
    return with_words([&]<class K>(const K* words, const keys::codec_of<K>& codec) {
      return first_wrong(view(left, elements, count), [&](const std::byte* a, const std::byte* b) {
        const std::uint64_t i = index_of(a);
        const std::uint64_t j = index_of(b);
        if (i >= keys_->num_keys || j >= keys_->num_keys) return true;
        const K x = codec.encode(words[i]);
        const K y = codec.encode(words[j]);
        return y < x || (x == y && (unique || j <= i));
      });
    });
  }
  [[nodiscard]] std::uint64_t num_duplicates(const std::byte* left, const std::byte* elements,
                                             std::uint64_t count) const override {
    return with_comparison([&](const auto& compare) { return count_equal(view(left, elements, count), compare); });
  }
  [[nodiscard]] std::uint64_t remove_duplicates(const std::byte* left, std::byte* elements,
                                                std::uint64_t count) const override {
    return with_comparison(
        [&](const auto& compare) { return keep_first_of_equal(view(left, elements, count), elements, compare); });
  }

 private:
  std::shared_ptr<const loaded_keys> keys_;
  direction direction_;
  keys::key_codec by_value_;
  sort_options options_;
  sorter sorter_;
};

class key_index_source final : public external::element_source {
 public:
  key_index_source(key_reader reader, std::shared_ptr<loaded_keys> keys, source_options options)
      : reader_(std::move(reader)), keys_(std::move(keys)), options_(std::move(options)) {
    SPANSORT_ASSERT(reader_.num_keys());
  }

  [[nodiscard]] std::optional<std::uint64_t> num_elements() const override { return reader_.num_keys(); }

  [[nodiscard]] std::uint64_t read(std::byte* elements, std::uint64_t most) override {
    if (std::exchange(is_at_end_, true)) return 0;
    *keys_ = reader_.read({}, options_.on_progress);
    const std::uint64_t count = keys_->num_keys;
    SPANSORT_ASSERT(count <= most);
    auto* const indices = reinterpret_cast<std::uint64_t*>(elements);
    base::for_blocks(count, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) indices[i] = i;
    });
    return count;
  }

 private:
  key_reader reader_;
  std::shared_ptr<loaded_keys> keys_;
  source_options options_;
  bool is_at_end_ = false;
};

}  // namespace

std::unique_ptr<external::element_order> make_index_order(std::shared_ptr<const loaded_keys> keys, direction d,
                                                          const sort_options& options) {
  return std::make_unique<order_of_indices>(std::move(keys), d, options);
}

std::unique_ptr<external::element_source> make_index_source(key_reader reader, std::shared_ptr<loaded_keys> keys,
                                                            source_options options) {
  return std::make_unique<key_index_source>(std::move(reader), std::move(keys), std::move(options));
}

}  // namespace spansort::files
