// SPDX-License-Identifier: Apache-2.0
#include "files/record_order.hpp"

#include "files/element_scan.hpp"
#include "records/record_sorter.hpp"

namespace spansort::files {
namespace {

struct record_comparison {
  const records::record_codec& codec;
  int operator()(const std::byte* a, const std::byte* b) const noexcept { return codec.compare(a, b); }
};

class record_order final : public external::element_order {
 public:
  record_order(const record_format& format, direction d, const sort_options& options) : sorter_(format, d, options) {}

  [[nodiscard]] std::uint64_t element_bytes() const noexcept override { return codec().record_bytes(); }
  [[nodiscard]] std::uint64_t key_bytes() const noexcept override { return codec().key_bytes(); }
  void write_key(const std::byte* element, std::byte* key) const override { codec().encode(element, key); }

  void sort(std::byte* elements, std::uint64_t count) override { sorter_.sort(elements, count); }
  [[nodiscard]] base::memory_formula sort_memory() const override { return sorter_.memory(); }

  [[nodiscard]] multiset_checksum checksum(const std::byte* elements, std::uint64_t count) const override {
    return sum_elements(view(nullptr, elements, count), element_bytes());
  }
  [[nodiscard]] std::optional<std::uint64_t> first_disorder(const std::byte* left, const std::byte* elements,
                                                            std::uint64_t count, bool unique) const override {
    return first_wrong(
        view(left, elements, count),
        [&, most = unique ? -1 : 0](const std::byte* a, const std::byte* b) { return codec().compare(a, b) > most; });
  }
  [[nodiscard]] std::uint64_t num_duplicates(const std::byte* left, const std::byte* elements,
                                             std::uint64_t count) const override {
    return count_equal(view(left, elements, count), record_comparison{codec()});
  }
  [[nodiscard]] std::uint64_t remove_duplicates(const std::byte* left, std::byte* elements,
                                                std::uint64_t count) const override {
    return keep_first_of_equal(view(left, elements, count), elements, record_comparison{codec()});
  }

 private:
  [[nodiscard]] const records::record_codec& codec() const noexcept { return sorter_.codec(); }
  [[nodiscard]] element_view view(const std::byte* left, const std::byte* elements, std::uint64_t count) const {
    return {left, elements, count, element_bytes()};
  }

  records::record_sorter sorter_;
};

}  // namespace

std::unique_ptr<external::element_order> make_record_order(const record_format& format, direction d,
                                                           const sort_options& options) {
  return std::make_unique<record_order>(format, d, options);
}

}  // namespace spansort::files
