// SPDX-License-Identifier: Apache-2.0
// Sorts of segments: keys, pairs and indices, with keys before, behind and in no segment.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "keys/codec.hpp"
#include "soak/job.hpp"
#include "spansort/segmented.hpp"
#include "support/engines.hpp"
#include "support/guarded_array.hpp"
#include "support/oracle.hpp"

namespace spansort::soak {
namespace {

using kind = test::operation::kind;
using byte_span = std::span<const std::byte>;

class segments_job : public job {
 public:
  explicit segments_job(drawing& from)
      : op_{static_cast<kind>(from.random.below(3)), 4},
        type_(from.type()),
        num_keys_(from.size()),
        is_descending_(from.one_in(2)),
        distribution_(from.distribution()) {
    if (op_.what == kind::pairs) op_.bytes = 1 + static_cast<unsigned>(from.random.below(24));
    if (op_.what == kind::argsort && from.one_in(2)) op_.bytes = 8;
    input_ = test::make_keys(type_, num_keys_, parse_distribution(distribution_), from.random());
    if (op_.what == kind::pairs) values_input_ = test::input_values(num_keys_, op_.bytes);
    draw_offsets(from);
  }

  std::string describe() const override {
    return fmt::format("{} of {} segments, {} {} keys {}{}", test::describe(op_), offsets_.size() - 1, num_keys_,
                       name(type_), distribution_, is_descending_ ? " descending" : "");
  }

  void prepare() override {
    keys_ = test::guarded_array(input_, key_bytes());
    values_ = op_.what == kind::argsort ? test::guarded_array(num_keys_ * op_.bytes, op_.bytes)
                                        : test::guarded_array(values_input_, 0);
    if (op_.what == kind::argsort) std::ranges::fill(values_.bytes(), std::byte{0xEE});
  }

  ending run(const test::hooked_options& options) override {
    const base::test_hooks_scope scope(options.world.hooks());
    const key_span keys{type_, keys_.data(), num_keys_};
    const const_key_span offsets{key_type::u64, offsets_.data(), offsets_.size()};
    const direction d = keys::direction_of(is_descending_);
    switch (op_.what) {
      case kind::keys: sort_segments(keys, offsets, d, options); break;
      case kind::pairs: sort_pairs_segments(keys, values_.data(), op_.bytes, offsets, d, options); break;
      default: argsort_segments(keys, values_.data(), op_.bytes, offsets, d, options); break;
    }
    return ending::done;
  }

  /// Compares each segment, which is sorted or, where memory ended, as it was.
  std::string check(ending end) override {
    std::string wrong = keys_.corruption() + values_.corruption();
    std::uint64_t at = 0;
    for (std::size_t i = 0; i + 1 < offsets_.size() && wrong.empty(); ++i) {
      wrong = diagnose_untouched(at, offsets_[i]);
      at = offsets_[i + 1];
      if (!wrong.empty()) break;
      wrong = diagnose_sorted(offsets_[i], at);
      const bool may_be_untouched = end == ending::out_of_memory || end == ending::bad_alloc;
      if (!wrong.empty() && may_be_untouched && diagnose_untouched(offsets_[i], at).empty()) wrong.clear();
      if (!wrong.empty()) wrong = fmt::format("segment {} from {}: {}", i, offsets_[i], wrong);
    }
    return wrong.empty() ? diagnose_untouched(at, num_keys_) : wrong;
  }

  std::span<std::byte> result() override { return op_.what == kind::keys ? keys_.bytes() : values_.bytes(); }

 private:
  [[nodiscard]] std::size_t key_bytes() const { return size_bytes(type_); }
  [[nodiscard]] static byte_span part(byte_span all, std::uint64_t first, std::uint64_t last, std::uint64_t width) {
    return all.subspan(first * width, (last - first) * width);
  }

  void draw_offsets(drawing& from) {
    const std::uint64_t num_segments = from.random.below(from.one_in(4) ? 3 : 300);
    for (std::uint64_t i = 0; i <= num_segments; ++i) offsets_.push_back(from.random.below(num_keys_ + 1));
    if (from.one_in(2)) offsets_.front() = 0;
    if (from.one_in(2)) offsets_.back() = num_keys_;
    std::ranges::sort(offsets_);
  }

  [[nodiscard]] std::string diagnose_untouched(std::uint64_t first, std::uint64_t last) const {
    std::string wrong = test::diagnose_bytes("untouched key", part(input_, first, last, key_bytes()),
                                             part(keys_.bytes(), first, last, key_bytes()), key_bytes());
    if (op_.what == kind::argsort) return wrong;  // indices of a call that throws are unspecified
    if (op_.what == kind::keys) return wrong;
    return wrong + test::diagnose_bytes("untouched value", part(values_input_, first, last, op_.bytes),
                                        part(values_.bytes(), first, last, op_.bytes), op_.bytes);
  }

  [[nodiscard]] std::string diagnose_sorted(std::uint64_t first, std::uint64_t last) const {
    const test::oracle expected(const_key_span(type_, input_.data() + first * key_bytes(), last - first),
                                is_descending_);
    const byte_span keys = part(keys_.bytes(), first, last, key_bytes());
    if (op_.what == kind::keys) return test::diagnose_bytes("key", expected.keys_alone(), keys, key_bytes());
    const byte_span values = part(values_.bytes(), first, last, op_.bytes);
    if (op_.what == kind::argsort) {
      return test::diagnose_bytes("key", expected.input(), keys, key_bytes()) +
             test::diagnose_bytes("index", test::values_in_order(expected.order(), op_.bytes), values, op_.bytes);
    }
    std::vector<std::uint64_t> order = expected.order();
    for (std::uint64_t& index : order) index += first;
    return test::diagnose_bytes("key", expected.keys_of_pairs(), keys, key_bytes()) +
           test::diagnose_bytes("value", test::values_in_order(order, op_.bytes), values, op_.bytes);
  }

  test::operation op_;
  key_type type_;
  std::uint64_t num_keys_;
  bool is_descending_;
  std::string distribution_;
  std::vector<std::byte> input_;
  std::vector<std::byte> values_input_;
  std::vector<std::uint64_t> offsets_;
  test::guarded_array keys_{0};
  test::guarded_array values_{0};
};

}  // namespace

std::unique_ptr<job> draw_segments(drawing& from) { return std::make_unique<segments_job>(from); }

}  // namespace spansort::soak
