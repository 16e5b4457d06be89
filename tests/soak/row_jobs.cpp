// SPDX-License-Identifier: Apache-2.0
// Rows: records by their fields, and tables by their columns.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "keys/codec.hpp"
#include "records/record_case.hpp"
#include "soak/job.hpp"
#include "support/guarded_array.hpp"
#include "support/oracle.hpp"
#include "table/table_case.hpp"

namespace spansort::soak {
namespace {

class records_job : public job {
 public:
  explicit records_job(drawing& from)
      : format_(test::random_format(from.random)),
        num_records_(std::min<std::uint64_t>(from.size(), (8U << 20) / format_.record_bytes)),
        is_descending_(from.one_in(2)) {
    input_ = test::make_records(format_, num_records_, test::all_contents[from.random.below(6)], from.random);
    sorted_ = test::sorted_records(format_, is_descending_, input_);
  }

  std::string describe() const override {
    return fmt::format("{} {}{}", num_records_, test::describe(format_), is_descending_ ? " descending" : "");
  }

  void prepare() override { records_ = test::guarded_array(input_, 0); }

  ending run(const test::hooked_options& options) override {
    const base::test_hooks_scope scope(options.world.hooks());
    sort_records(records_.data(), num_records_, format_, keys::direction_of(is_descending_), options);
    return ending::done;
  }

  std::string check(ending end) override {
    const std::string outside = records_.corruption();
    if (!outside.empty() || end == ending::bad_alloc || end == ending::lost) return outside;
    const std::string not_done = test::diagnose_bytes("record", sorted_, records_.bytes(), format_.record_bytes);
    if (end == ending::done || (end == ending::callback_threw && not_done.empty())) return not_done;
    return test::diagnose_bytes("untouched record", input_, records_.bytes(), format_.record_bytes);
  }

  std::span<std::byte> result() override { return records_.bytes(); }

 private:
  record_format format_;
  std::uint64_t num_records_;
  bool is_descending_;
  test::bytes input_;
  test::bytes sorted_;
  test::guarded_array records_{0};
};

class table_job : public job {
 public:
  explicit table_job(drawing& from) : num_rows_(std::min<std::uint64_t>(from.size(), 20'000)) {
    std::uint64_t num_columns = 1 + from.random.below(4);
    for (; num_columns != 0; --num_columns) {
      test::column_case c = test::random_column_case(from.random);
      if (num_columns != 1) c.contents = test::table_contents::few;  // otherwise the later columns decide nothing
      words_ += test::describe(c);
      columns_.push_back(test::make_column(c, num_rows_, from.random));
    }
    for (const auto& column : columns_) by_.push_back(column->column);
    expected_ = test::expected_order(columns_, num_rows_);
  }

  std::string describe() const override { return fmt::format("{} rows by{}", num_rows_, words_); }

  void prepare() override { order_.assign(num_rows_, 0); }

  ending run(const test::hooked_options& options) override {
    const base::test_hooks_scope scope(options.world.hooks());
    argsort_table(by_, order_, options);
    return ending::done;
  }

  std::string check(ending end) override {
    if (end != ending::done) return "";  // columns are const, indices of a call that throws unspecified
    return test::diagnose_bytes("row", std::as_bytes(std::span(expected_)), std::as_bytes(std::span(order_)), 8);
  }

  std::span<std::byte> result() override { return std::as_writable_bytes(std::span(order_)); }

 private:
  std::uint64_t num_rows_;
  std::string words_;
  std::vector<std::unique_ptr<test::table_column>> columns_;
  std::vector<sort_column> by_;
  std::vector<std::uint64_t> expected_;
  std::vector<std::uint64_t> order_;
};

}  // namespace

std::unique_ptr<job> draw_sort_records(drawing& from) { return std::make_unique<records_job>(from); }
std::unique_ptr<job> draw_argsort_table(drawing& from) { return std::make_unique<table_job>(from); }

}  // namespace spansort::soak
