// SPDX-License-Identifier: Apache-2.0
// sort, sort_pairs and argsort, by a sorter of their own, by free functions with options, and without.
#include <fmt/format.h>

#include <algorithm>

#include "soak/job.hpp"
#include "support/engines.hpp"
#include "support/sort_job.hpp"

namespace spansort::soak {
namespace {

class array_job : public job {
 public:
  array_job(const test::operation& op, drawing& from)
      : op_(op),
        type_(from.type()),
        num_keys_(from.size()),
        distribution_(from.distribution()),
        seed_(from.random()),
        is_descending_(from.one_in(2)),
        way_(static_cast<way>(from.random.below(3))),
        arrays_(op, test::make_oracle(type_, num_keys_, parse_distribution(distribution_), seed_, is_descending_),
                op.what == test::operation::kind::pairs && from.one_in(4) ? unsigned(from.random.below(9)) : 0) {}

  std::string describe() const override {
    static constexpr std::string_view ways[] = {"sorter", "options", "plain"};
    return fmt::format("{}, {} {} keys {}{}, by {}", test::describe(op_), num_keys_, name(type_), distribution_,
                       is_descending_ ? " descending" : "", ways[static_cast<int>(way_)]);
  }

  void prepare() override { arrays_.reset(); }

  ending run(const test::hooked_options& given) override {
    test::hooked_options options = given;
    // Thousands of chunks of some keys each take minutes.
    if (options.world.device_chunk_keys != 0) {
      options.world.device_chunk_keys = std::max(options.world.device_chunk_keys, num_keys_ / 512);
    }
    // Faults need options that tell of them.
    const bool is_plain = way_ == way::plain && !options.on_progress && options.memory_limit_bytes == 0;
    if (is_plain) {
      arrays_.run();
    } else if (way_ == way::sorter) {
      sorter s = test::make_sorter(options);
      arrays_.run(s);
    } else {
      const base::test_hooks_scope scope(options.world.hooks());
      arrays_.run(static_cast<const sort_options&>(options));
    }
    return ending::done;
  }

  std::string check(ending end) override {
    switch (end) {
      case ending::done: return arrays_.diagnose_done();
      case ending::callback_threw: return arrays_.diagnose_done().empty() ? "" : arrays_.diagnose_untouched();
      case ending::bad_alloc:  // sort.hpp promises no more
      case ending::lost: return arrays_.diagnose_red_zones();
      default: return arrays_.diagnose_untouched();
    }
  }

  std::span<std::byte> result() override { return arrays_.result(); }

 private:
  enum class way : std::uint8_t { sorter, options, plain };

  test::operation op_;
  key_type type_;
  std::uint64_t num_keys_;
  std::string distribution_;
  std::uint64_t seed_;
  bool is_descending_;
  way way_;
  test::sort_job arrays_;
};

using kind = test::operation::kind;

}  // namespace

std::unique_ptr<job> draw_sort(drawing& from) {
  return std::make_unique<array_job>(test::operation{kind::keys, 0}, from);
}

std::unique_ptr<job> draw_sort_pairs(drawing& from) {
  // Widths that have code of their own more often than the others.
  static constexpr unsigned common[] = {4, 8, 16};
  const unsigned bytes =
      from.one_in(2) ? common[from.random.below(3)] : 1 + static_cast<unsigned>(from.random.below(64));
  return std::make_unique<array_job>(test::operation{kind::pairs, bytes}, from);
}

std::unique_ptr<job> draw_argsort(drawing& from) {
  return std::make_unique<array_job>(test::operation{kind::argsort, from.one_in(2) ? 4U : 8U}, from);
}

}  // namespace spansort::soak
