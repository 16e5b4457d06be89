// SPDX-License-Identifier: Apache-2.0
// Sorts through temporary files in shrunken worlds: the result is that of a stable sort in memory, whatever the chunks,
// blocks and runs.
#include "files/external/external_sort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "external/keyed_items.hpp"
#include "spansort/errors.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

/// A temporary folder, in which nothing is to be left.
class external_test : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("spansort-external-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_ / "other");
  }
  void TearDown() override {
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1) << "something was left";
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] external::external_options options(const external::spill_plan& plan) const {
    return {
        .plan = plan, .folders = {folder_.string(), (folder_ / "other").string()}, .writing = {.input_name = "test"}};
  }

  std::filesystem::path folder_;
  item_order order_;
};

struct world {
  std::uint64_t num_items = 0;
  std::uint64_t chunk = 0;
  std::uint64_t block = 0;
  std::uint64_t fan_in = 0;
};

external::spill_demand demand_of(const world& w) {
  return {.memory_bytes = std::uint64_t{1} << 30,
          .num_elements = w.num_items,
          .element_bytes = sizeof(keyed_item),
          .key_bytes = sizeof(std::uint32_t),
          .chunk_elements = w.chunk,
          .block_elements = w.block,
          .fan_in = w.fan_in};
}

std::vector<keyed_item> random_items(std::uint64_t count, std::uint64_t num_values, std::mt19937_64& random) {
  std::vector<keyed_item> items(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    items[i] = {static_cast<std::uint32_t>(random() % num_values), static_cast<std::uint32_t>(i)};
  }
  return items;
}

std::vector<keyed_item> without_duplicates(std::vector<keyed_item> sorted) {
  const auto same = [](const keyed_item& a, const keyed_item& b) { return a.key == b.key; };
  sorted.erase(std::unique(sorted.begin(), sorted.end(), same), sorted.end());
  return sorted;
}

TEST_F(external_test, IsAStableSortInAnyWorld) {
  const std::uint64_t seed = test::base_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < test::num_cases(120); ++i) {
    const world w{.num_items = random() % 2000,
                  .chunk = 1 + random() % 300,
                  .block = 1 + random() % 40,
                  .fan_in = 2 + random() % 9};
    SCOPED_TRACE("n " + std::to_string(w.num_items) + " chunk " + std::to_string(w.chunk) + " block " +
                 std::to_string(w.block) + " fan-in " + std::to_string(w.fan_in));
    const std::vector<std::uint64_t> values{1, 2, 50, 100'000};
    std::vector<keyed_item> items = random_items(w.num_items, values[random() % values.size()], random);
    if (random() % 4 == 0) std::ranges::stable_sort(items, by_key);
    external::external_options how = options(external::make_spill_plan(demand_of(w)));
    how.writing.unique = random() % 4 == 0;
    how.writing.verify = random() % 2 == 0;
    if (random() % 4 == 0) how.writing.head = random() % 2100;

    std::vector<keyed_item> expected = items;
    std::ranges::stable_sort(expected, by_key);
    if (how.writing.unique) expected = without_duplicates(expected);
    if (how.writing.head) expected.resize(std::min<std::uint64_t>(expected.size(), *how.writing.head));

    vector_source source(items, random() % 2 == 0);
    vector_sink sink;
    const external::external_result result = external::sort_external(source, sink, order_, how);
    ASSERT_EQ(sink.items, expected);
    EXPECT_TRUE(sink.is_finished);
    EXPECT_EQ(result.num_in, w.num_items);
    EXPECT_EQ(result.num_out, expected.size());
    if (sink.expected) {
      EXPECT_EQ(*sink.expected, expected.size());
    }
    EXPECT_LE(order_.most_sorted, 300u);
  }
}

TEST_F(external_test, TakesAsManyPassesAsThePlanSays) {
  std::mt19937_64 random(1);
  for (const std::uint64_t num_items : {100u, 800u, 801u, 3000u}) {
    const world w{.num_items = num_items, .chunk = 50, .block = 5, .fan_in = 4};
    const external::spill_plan plan = external::make_spill_plan(demand_of(w));
    vector_source source(random_items(num_items, 1000, random), true);
    vector_sink sink;
    const external::external_result result = external::sort_external(source, sink, order_, options(plan));
    EXPECT_EQ(result.num_runs, plan.num_runs);
    EXPECT_EQ(result.num_merges, plan.num_merges);
    EXPECT_EQ(plan.num_merges, num_items <= 200 ? 1 : num_items <= 800 ? 2 : 3);
    EXPECT_GE(result.spilled_bytes, plan.spilled_bytes);
  }
}

TEST_F(external_test, NothingIsSpilledOfWhatFits) {
  std::mt19937_64 random(2);
  const world w{.num_items = 300, .chunk = 300, .block = 8, .fan_in = 2};
  external::external_options how = options(external::make_spill_plan(demand_of(w)));
  how.folders = {"/no/such/folder"};
  vector_source source(random_items(300, 9, random), true);
  vector_sink sink;
  const external::external_result result = external::sort_external(source, sink, order_, how);
  EXPECT_EQ(result.num_runs, 0u);
  EXPECT_EQ(result.spilled_bytes, 0u);
  EXPECT_TRUE(std::ranges::is_sorted(sink.items, by_key));
}

TEST_F(external_test, AFolderThatIsNotThereIsNamed) {
  const world w{.num_items = 301, .chunk = 300, .block = 8, .fan_in = 2};
  external::external_options how = options(external::make_spill_plan(demand_of(w)));
  how.folders = {"/no/such/folder"};
  std::mt19937_64 random(3);
  vector_source source(random_items(301, 9, random), true);
  vector_sink sink;
  try {
    external::sort_external(source, sink, order_, how);
    FAIL() << "sorted without a folder";
  } catch (const io_error& failure) {
    EXPECT_NE(std::string(failure.what()).find("/no/such/folder"), std::string::npos) << failure.what();
    EXPECT_EQ(failure.code(), ENOENT);
  }
  EXPECT_FALSE(sink.is_finished);
}

TEST_F(external_test, ADamagedResultIsWithheld) {
  std::mt19937_64 random(4);
  for (const std::uint64_t num_items : {40u, 400u}) {
    const world w{.num_items = num_items, .chunk = 50, .block = 5, .fan_in = 4};
    external::external_options how = options(external::make_spill_plan(demand_of(w)));
    how.writing.verify = true;
    how.writing.corrupts_result = true;
    vector_source source(random_items(num_items, 1u << 31, random), true);
    vector_sink sink;
    EXPECT_THROW(external::sort_external(source, sink, order_, how), internal_error);
    EXPECT_FALSE(sink.is_finished);
  }
}

/// Runs of `count` distinct even keys each, dealt out in turn.
external::run_list even_runs(const item_order& order, const external::external_options& how, std::uint32_t num_runs,
                             std::uint32_t count) {
  external::run_writer writer(order, how.plan, how.folders, 0);
  for (std::uint32_t run = 0; run < num_runs; ++run) {
    std::vector<keyed_item> items(count);
    for (std::uint32_t i = 0; i < count; ++i) items[i] = {2 * (i * num_runs + run), run};
    writer.append(reinterpret_cast<const std::byte*>(items.data()), items.size());
    writer.finish_run();
  }
  return writer.take_runs();
}

TEST_F(external_test, AMergeIsComparedWithWhatItsRunsHeld) {
  for (const std::uint64_t fan_in : {8u, 2u}) {  // one pass, and several
    const world w{.num_items = 500, .chunk = 50, .block = 5, .fan_in = fan_in};
    external::external_options how = options(external::make_spill_plan(demand_of(w)));
    how.writing.verify = true;
    vector_sink good;
    const external::external_result result =
        external::merge_external(even_runs(order_, how, 5, 100), good, order_, how);
    EXPECT_EQ(result.num_out, 500u);
    EXPECT_TRUE(good.is_finished);

    how.writing.corrupts_result = true;  // key 0 becomes 1 and stays in order: the checksum alone can tell
    vector_sink damaged;
    EXPECT_THROW(external::merge_external(even_runs(order_, how, 5, 100), damaged, order_, how), internal_error);
    EXPECT_FALSE(damaged.is_finished);
  }
}

/// Sorts in which one step throws.
class refusing_order final : public external::element_order {
 public:
  refusing_order(element_order& inner, std::uint64_t fails_at) : inner_(inner), fails_at_(fails_at) {}
  [[nodiscard]] std::uint64_t element_bytes() const noexcept override { return inner_.element_bytes(); }
  [[nodiscard]] std::uint64_t key_bytes() const noexcept override { return inner_.key_bytes(); }
  void write_key(const std::byte* element, std::byte* key) const override { inner_.write_key(element, key); }
  void sort(std::byte* elements, std::uint64_t count) override {
    if (++num_sorts == fails_at_) throw device_error("asked for");
    inner_.sort(elements, count);
  }
  [[nodiscard]] base::memory_formula sort_memory() const override { return inner_.sort_memory(); }
  [[nodiscard]] multiset_checksum checksum(const std::byte* elements, std::uint64_t count) const override {
    return inner_.checksum(elements, count);
  }
  [[nodiscard]] std::optional<std::uint64_t> first_disorder(const std::byte* left, const std::byte* elements,
                                                            std::uint64_t count, bool unique) const override {
    return inner_.first_disorder(left, elements, count, unique);
  }
  [[nodiscard]] std::uint64_t num_duplicates(const std::byte* left, const std::byte* elements,
                                             std::uint64_t count) const override {
    return inner_.num_duplicates(left, elements, count);
  }
  [[nodiscard]] std::uint64_t remove_duplicates(const std::byte* left, std::byte* elements,
                                                std::uint64_t count) const override {
    return inner_.remove_duplicates(left, elements, count);
  }
  std::uint64_t num_sorts = 0;

 private:
  element_order& inner_;
  std::uint64_t fails_at_;
};

TEST_F(external_test, AnySortMayFail) {
  std::mt19937_64 random(5);
  const world w{.num_items = 700, .chunk = 50, .block = 5, .fan_in = 3};
  const external::external_options how = options(external::make_spill_plan(demand_of(w)));
  for (std::uint64_t fails_at = 1;; ++fails_at) {
    refusing_order order(order_, fails_at);
    vector_source source(random_items(700, 1000, random), true);
    vector_sink sink;
    try {
      external::sort_external(source, sink, order, how);
    } catch (const device_error&) {
      EXPECT_FALSE(sink.is_finished);
      continue;
    }
    EXPECT_LT(order.num_sorts, fails_at);
    EXPECT_GT(fails_at, 28u) << "runs and ranges of three passes";
    break;
  }
}

TEST_F(external_test, ProgressNeverFallsAndMayStopTheSort) {
  std::mt19937_64 random(6);
  const world w{.num_items = 700, .chunk = 50, .block = 5, .fan_in = 3};
  external::external_options how = options(external::make_spill_plan(demand_of(w)));
  double last = 0;
  int calls = 0;
  how.on_progress = [&](std::string_view, double fraction) {
    EXPECT_GE(fraction, last);
    last = fraction;
    ++calls;
  };
  const std::vector<keyed_item> items = random_items(700, 1000, random);
  vector_source source(items, true);
  vector_sink sink;
  external::sort_external(source, sink, order_, how);
  EXPECT_DOUBLE_EQ(last, 1);
  for (int stop = 1; stop <= calls; ++stop) {
    int call = 0;
    how.on_progress = [&](std::string_view, double) {
      if (++call == stop) throw cancelled("asked for");
    };
    vector_source again(items, true);
    vector_sink unfinished;
    EXPECT_THROW(external::sort_external(again, unfinished, order_, how), cancelled);
    EXPECT_FALSE(unfinished.is_finished);
  }
}

}  // namespace
}  // namespace spansort::test
