// SPDX-License-Identifier: Apache-2.0
// Quantiles, the first keys and where they are, and ranks: the keys are only read, and the oracle has them in order.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "soak/job.hpp"
#include "spansort/statistics.hpp"
#include "spansort/top_k.hpp"
#include "support/engines.hpp"
#include "support/oracle.hpp"

namespace spansort::soak {
namespace {

/// Keys that a call reads, and their order.
class read_keys : public job {
 public:
  explicit read_keys(drawing& from, bool is_descending = false)
      : type_(from.type()), distribution_(from.distribution()) {
    expected_ = std::make_unique<test::oracle>(test::make_oracle(type_, std::max<std::uint64_t>(from.size(), 1),
                                                                 parse_distribution(distribution_), from.random(),
                                                                 is_descending));
    const std::size_t width = size_bytes(type_);
    for (std::uint64_t i = 0; i < num_keys(); ++i) {
      num_nans_ += std::isnan(test::number_of(type_, expected_->input().data() + i * width));
    }
  }

  void prepare() override { copy_.assign(expected_->input().begin(), expected_->input().end()); }

  std::string check(ending end) override {
    const std::string wrong = test::diagnose_bytes("key that was read", expected_->input(), copy_, size_bytes(type_));
    return end == ending::done && wrong.empty() ? check_result() : wrong;
  }

 protected:
  [[nodiscard]] virtual std::string check_result() = 0;

  [[nodiscard]] const_key_span keys() const { return {type_, copy_.data(), num_keys()}; }
  [[nodiscard]] std::uint64_t num_keys() const { return expected_->num_keys(); }
  [[nodiscard]] std::string words() const {
    return fmt::format("{} {} keys {}{}", num_keys(), name(type_), distribution_,
                       expected_->descending() ? " descending" : "");
  }
  /// The number at a position of the sorted keys.
  [[nodiscard]] double number_at(std::uint64_t position) const {
    return test::number_of(type_, expected_->keys_alone().data() + position * size_bytes(type_));
  }

  key_type type_;
  std::string distribution_;
  std::unique_ptr<test::oracle> expected_;
  std::uint64_t num_nans_ = 0;
  std::vector<std::byte> copy_;
};

class quantiles_job : public read_keys {
 public:
  explicit quantiles_job(drawing& from) : read_keys(from), skips_nans_(from.one_in(2)) {
    static constexpr quantile_method methods[] = {quantile_method::lower, quantile_method::higher,
                                                  quantile_method::linear, quantile_method::midpoint};
    method_ = methods[from.random.below(4)];
    // Parts of 64: their product with a count is a double without rounding.
    for (std::uint64_t i = 1 + from.random.below(9); i != 0; --i) {
      q_.push_back(static_cast<double>(from.random.below(65)) / 64);
    }
  }

  std::string describe() const override {
    return fmt::format("{} quantiles {}{}, {}", q_.size(), name(method_), skips_nans_ ? " without NaN" : "", words());
  }

  ending run(const test::hooked_options& options) override {
    if (skips_nans_ && num_nans_ == num_keys()) return ending::done;  // there is nothing to take quantiles of
    found_ = quantiles(keys(), q_,
                       {.method = method_,
                        .nans = skips_nans_ ? nan_policy::omit : nan_policy::propagate,
                        .devices = options.devices,
                        .threads = options.threads});
    return ending::done;
  }

  std::string check_result() override {
    if (skips_nans_ && num_nans_ == num_keys()) return "";
    if (found_.size() != q_.size()) return fmt::format("{} quantiles, {} were asked for", found_.size(), q_.size());
    for (std::size_t i = 0; i < q_.size(); ++i) {
      if (!is_right(q_[i], found_[i])) return fmt::format("the {}-quantile is not {}", q_[i], found_[i]);
    }
    return "";
  }

  std::span<std::byte> result() override { return std::as_writable_bytes(std::span(found_)); }

 private:
  [[nodiscard]] bool is_right(double q, double found) const {
    if (!skips_nans_ && num_nans_ != 0) return std::isnan(found);
    const double rank = q * static_cast<double>(num_keys() - num_nans_ - 1);
    const double low = number_at(static_cast<std::uint64_t>(std::floor(rank)));
    const double high = number_at(static_cast<std::uint64_t>(std::ceil(rank)));
    if (method_ == quantile_method::lower) return found == low;
    if (method_ == quantile_method::higher) return found == high;
    if (low == high) return found == low;
    if (std::isinf(low) || std::isinf(high)) return true;  // inf - inf is no number; the unit tests have the rules
    return low <= found && found <= high;
  }

  quantile_method method_ = {};
  bool skips_nans_;
  std::vector<double> q_;
  std::vector<double> found_;
};

class top_job : public read_keys {
 public:
  explicit top_job(drawing& from)
      : read_keys(from, from.one_in(2)),
        k_(from.one_in(8) ? num_keys() + 3 : from.random.below(std::min<std::uint64_t>(num_keys(), 5000) + 1)),
        wants_indices_(from.one_in(2)),
        skips_nans_(from.one_in(2)) {}

  std::string describe() const override {
    return fmt::format("first {}{}{}, {}", k_, wants_indices_ ? " indices" : " keys", skips_nans_ ? " without NaN" : "",
                       words());
  }

  ending run(const test::hooked_options& options) override {
    const top_options how{.nans = skips_nans_ ? nan_policy::omit : nan_policy::propagate,
                          .devices = options.devices,
                          .threads = options.threads};
    const bool descends = expected_->descending();
    if (!wants_indices_) {
      found_ = descends ? top_k(keys(), k_, how) : bottom_k(keys(), k_, how);
      return ending::done;
    }
    const std::vector<std::uint64_t> indices =
        descends ? top_k_indices(keys(), k_, how) : bottom_k_indices(keys(), k_, how);
    const auto bytes = std::as_bytes(std::span(indices));
    found_.assign(bytes.begin(), bytes.end());
    return ending::done;
  }

  std::string check_result() override {
    const std::uint64_t count = std::min(k_, num_keys() - (skips_nans_ ? num_nans_ : 0));
    if (!wants_indices_) {
      const std::size_t width = size_bytes(type_);
      return test::diagnose_bytes("key", expected_->keys_alone().first(count * width), found_, width);
    }
    const auto order = std::as_bytes(std::span(expected_->order()).first(count));
    return test::diagnose_bytes("index", order, found_, sizeof(std::uint64_t));
  }

  std::span<std::byte> result() override { return found_; }

 private:
  std::uint64_t k_;
  bool wants_indices_;
  bool skips_nans_;
  std::vector<std::byte> found_;
};

class rank_job : public read_keys {
 public:
  explicit rank_job(drawing& from) : read_keys(from), value_(size_bytes(type_)) {
    const std::byte* const one = expected_->input().data() + from.random.below(num_keys()) * value_.size();
    std::copy_n(one, value_.size(), value_.begin());
    if (from.one_in(3)) value_[from.random.below(value_.size())] ^= std::byte{1};
  }

  std::string describe() const override { return fmt::format("rank, {}", words()); }

  ending run(const test::hooked_options& options) override {
    found_ = rank_of(keys(), value_.data(), {.devices = options.devices, .threads = options.threads});
    return ending::done;
  }

  std::string check_result() override {
    key_rank expected{.num_nans = num_nans_};
    for (std::uint64_t i = 0; i < num_keys(); ++i) {
      const std::byte* const key = expected_->input().data() + i * value_.size();
      if (test::precedes_in_value(type_, false, key, value_.data())) {
        ++expected.num_less;
      } else {
        ++(test::precedes_in_value(type_, false, value_.data(), key) ? expected.num_greater : expected.num_equal);
      }
    }
    if (found_ == expected) return "";
    return fmt::format("{} less, {} equal, {} greater, {} NaN; expected {}, {}, {}, {}", found_.num_less,
                       found_.num_equal, found_.num_greater, found_.num_nans, expected.num_less, expected.num_equal,
                       expected.num_greater, expected.num_nans);
  }

  std::span<std::byte> result() override { return std::as_writable_bytes(std::span(&found_, 1)); }

 private:
  std::vector<std::byte> value_;
  key_rank found_;
};

}  // namespace

std::unique_ptr<job> draw_quantiles(drawing& from) { return std::make_unique<quantiles_job>(from); }
std::unique_ptr<job> draw_top(drawing& from) { return std::make_unique<top_job>(from); }
std::unique_ptr<job> draw_rank(drawing& from) { return std::make_unique<rank_job>(from); }

}  // namespace spansort::soak
