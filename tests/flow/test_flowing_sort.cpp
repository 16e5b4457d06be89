// SPDX-License-Identifier: Apache-2.0
// Files that are read, sorted and written side by side: the bytes are those of a sort in memory on every kind of
// device, and whoever fails or stops leaves the old output.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "files/element_flow.hpp"
#include "files/element_sources.hpp"
#include "files/file_folder.hpp"
#include "files/typed_input.hpp"
#include "spansort/errors.hpp"
#include "spansort/files.hpp"
#include "spansort/sort.hpp"
#include "support/environment.hpp"

namespace spansort {
namespace {

/// A world in which a few keys flow, and pieces and buckets are small.
struct world {
  const char* devices;
  bool has_separate_memory;
};
constexpr std::array<world, 4> worlds{{{"cpu", false}, {"host:3", false}, {"host:1", true}, {"host:3", true}}};

base::test_hooks hooks_of(const world& w) {
  return {.host_inline_keys = 10,
          .host_bucket_bytes = 512,
          .host_tile_keys = 1000,
          .host_separate_memory = w.has_separate_memory,
          .copy_piece_bytes = 4096,
          .several_devices_keys = 1,
          .file_flow_bytes = 1};
}

class flowing_sort_test : public testing::Test {
 protected:
  void make_input(key_type type, std::uint64_t num_keys, const distribution& keys) {
    type_ = type;
    num_keys_ = num_keys;
    generate_file(input_, type, num_keys, keys, test::seed_for(num_keys));
  }

  /// Returns the output of the same operation where everything is done one after the other.
  template <class Operation>
  std::vector<std::byte> expected(const Operation& operation, const file_options& file) {
    const base::test_hooks_scope one_after_the_other({.file_flow_bytes = ~std::uint64_t{0}});
    operation(input_, folder_.path("expected.npy"), file, sort_options{.devices = "cpu"});
    return folder_.read("expected.npy");
  }

  test::file_folder folder_;
  std::string input_ = folder_.path("in.npy");
  std::string output_ = folder_.path("out.npy");
  key_type type_ = key_type::u32;
  std::uint64_t num_keys_ = 0;
};

TEST_F(flowing_sort_test, HasTheBytesOfASortInMemory) {
  const std::array<distribution, 5> distributions{{{distribution_kind::uniform},
                                                   {distribution_kind::zero},
                                                   {distribution_kind::sorted},
                                                   {distribution_kind::reverse},
                                                   {distribution_kind::entropy, 4}}};
  std::uint64_t number = 0;
  for (const key_type type : {key_type::u8, key_type::i32, key_type::f64}) {
    for (const distribution& keys : distributions) {
      make_input(type, 20'011 + number, keys);
      const file_options file{.direction = number % 2 == 0 ? direction::ascending : direction::descending,
                              .unique = number % 5 == 4,
                              .verify = number % 3 == 0};
      const std::vector<std::byte> sorted = expected(sort_file, file);
      const std::vector<std::byte> order = expected(argsort_file, file);
      for (const world& w : worlds) {
        SCOPED_TRACE(std::string(w.devices) + (w.has_separate_memory ? " apart " : " ") + std::to_string(number));
        const base::test_hooks_scope hooks(hooks_of(w));
        const file_result result = sort_file(input_, output_, file, {.devices = w.devices});
        EXPECT_EQ(result.num_keys_in, num_keys_);
        EXPECT_TRUE(folder_.read("out.npy") == sorted);
        argsort_file(input_, output_, file, {.devices = w.devices});
        EXPECT_TRUE(folder_.read("out.npy") == order);
      }
      ++number;
    }
  }
}

TEST_F(flowing_sort_test, TheOutputMayBeTheInput) {
  make_input(key_type::u64, 30'000, {});
  const std::vector<std::byte> sorted = expected(sort_file, {});
  for (const world& w : worlds) {
    make_input(key_type::u64, 30'000, {});
    const base::test_hooks_scope hooks(hooks_of(w));
    sort_file(input_, input_, {}, {.devices = w.devices});
    EXPECT_TRUE(folder_.read("in.npy") == sorted);
  }
}

TEST_F(flowing_sort_test, KeysInTheOtherByteOrderAreTurnedAround) {
  make_input(key_type::u32, 30'000, {});
  std::vector<std::byte> bytes = folder_.read("in.npy");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), 128);
  bytes[text.find("'<u4'") + 1] = static_cast<std::byte>('>');
  folder_.write("in.npy", bytes);
  const std::vector<std::byte> sorted = expected(sort_file, {});
  for (const world& w : worlds) {
    const base::test_hooks_scope hooks(hooks_of(w));
    sort_file(input_, output_, {.verify = true}, {.devices = w.devices});
    EXPECT_TRUE(folder_.read("out.npy") == sorted);
  }
}

/// Writes the header of `npy` anew with another dtype, of the same length as before.
void change_dtype(std::vector<std::byte>& npy, std::string_view from, std::string_view to) {
  const std::string text(reinterpret_cast<const char*>(npy.data()), 128);
  std::string changed = text;
  changed.replace(text.find(from), from.size(), to);
  changed.erase(changed.size() - 1 - (to.size() - from.size()), to.size() - from.size());
  std::memcpy(npy.data(), changed.data(), changed.size());
}

TEST_F(flowing_sort_test, TimesHaveNotATimeLast) {
  make_input(key_type::i64, 30'000, {});
  std::vector<std::byte> bytes = folder_.read("in.npy");
  change_dtype(bytes, "'<i8'", "'<M8[s]'");
  const std::int64_t not_a_time = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < num_keys_; i += 3) std::memcpy(bytes.data() + 128 + i * 8, &not_a_time, 8);
  folder_.write("in.npy", bytes);
  const std::vector<std::byte> sorted = expected(sort_file, {});
  for (const world& w : worlds) {
    const base::test_hooks_scope hooks(hooks_of(w));
    sort_file(input_, output_, {.verify = true}, {.devices = w.devices});
    EXPECT_TRUE(folder_.read("out.npy") == sorted);
  }
}

TEST_F(flowing_sort_test, OnlyKeysThatStayAsTheyAreAreThereBeforeAllAre) {
  make_input(key_type::u64, 2'000'000, {});
  const std::vector<std::byte> bytes = folder_.read("in.npy");
  for (const std::string dtype : {"'<u8'", "'>u8'", "'<M8[s]'", "'<m8[D]'"}) {
    std::vector<std::byte> changed = bytes;
    change_dtype(changed, "'<u8'", dtype);
    folder_.write("in.npy", changed);
    std::uint64_t num_arrived = 0;
    const auto source = files::make_key_source(files::open_typed_input(input_, {}).reader,
                                               {.on_arrived = [&](std::uint64_t count) { num_arrived = count; }});
    std::vector<std::byte> elements(num_keys_ * 8);
    EXPECT_EQ(source->read(elements.data(), num_keys_), num_keys_);
    EXPECT_EQ(num_arrived, dtype == "'<u8'" ? num_keys_ : 0) << dtype;
  }
}

TEST_F(flowing_sort_test, ACorruptResultIsWithheld) {
  make_input(key_type::u32, 30'000, {});
  folder_.write("out.npy", {});
  for (const world& w : worlds) {
    base::test_hooks corrupting = hooks_of(w);
    corrupting.corrupt_result = true;
    const base::test_hooks_scope hooks(corrupting);
    EXPECT_THROW(sort_file(input_, output_, {.verify = true}, {.devices = w.devices}), internal_error);
    EXPECT_TRUE(folder_.read("out.npy").empty());
    EXPECT_EQ(folder_.num_files(), 2u);
  }
}

TEST_F(flowing_sort_test, WhoeverIsCancelledOrFailsLeavesTheOldOutput) {
  make_input(key_type::u32, 300'000, {});
  folder_.write("out.npy", {});
  for (const world& w : worlds) {
    const base::test_hooks_scope hooks(hooks_of(w));
    for (const bool throws : {false, true}) {
      const auto stop = [throws](const progress&) {
        if (throws) throw std::runtime_error("enough");
        return false;
      };
      EXPECT_ANY_THROW(sort_file(input_, output_, {}, {.devices = w.devices, .on_progress = stop}));
    }
    // Memory that a device refuses: what reads and what would write end all the same.
    base::test_hooks refusing = hooks_of(w);
    refusing.fail_allocation_at = 1;
    const base::test_hooks_scope refusal(refusing);
    EXPECT_THROW(sort_file(input_, output_, {}, {.devices = w.devices}), out_of_memory);
    EXPECT_TRUE(folder_.read("out.npy").empty());
    EXPECT_EQ(folder_.num_files(), 2u);
  }
}

TEST_F(flowing_sort_test, AnInputThatBecomesShorterIsNoticed) {
  for (const world& w : worlds) {
    make_input(key_type::u32, 300'000, {});
    folder_.write("out.npy", {});
    const base::test_hooks_scope hooks(hooks_of(w));
    // A device's first allocation comes after the file has been opened and measured.
    bool is_first = true;
    const auto shorten = [&](const progress&) {
      if (std::exchange(is_first, false)) std::filesystem::resize_file(input_, 1000);
      return true;
    };
    try {
      sort_file(input_, output_, {}, {.devices = w.devices, .on_progress = shorten});
      EXPECT_NE(folder_.read("out.npy").size(), 0u) << "it was read before it became shorter";
    } catch (const bad_input& failure) {
      EXPECT_NE(std::string(failure.what()).find("changed while it was read"), std::string::npos);
      EXPECT_TRUE(folder_.read("out.npy").empty());
    }
    EXPECT_EQ(folder_.num_files(), 2u);
  }
}

namespace flow {

using files::element_flow;

TEST(ElementFlow, FinishedElementsAreTakenFromTheBeginOn) {
  element_flow flow(100, {});
  flow.finished(50, 10);
  flow.finished(0, 20);
  EXPECT_EQ(flow.wait_for_finished(0, 20), 20u);
  flow.finished(55, 10);
  flow.finished(10, 40);
  EXPECT_EQ(flow.wait_for_finished(20, 1), 65u);
  flow.finished(0, 5);
  flow.finish_all();
  EXPECT_EQ(flow.wait_for_finished(65, 50), 100u);
}

TEST(ElementFlow, TheLastElementIsThereWhenTheInputIsKnownToBeWell) {
  element_flow flow(100, {});
  flow.arrive(100);
  flow.wait_for(99);
  std::jthread reader([&] { flow.fail_reading(std::make_exception_ptr(bad_input("it changed"))); });
  EXPECT_THROW(flow.wait_for(100), bad_input);
}

TEST(ElementFlow, WhoeverMadeItIsCalledWhileItWaits) {
  element_flow flow(100, [](double) { throw cancelled("enough"); });
  EXPECT_THROW(flow.wait_for(1), cancelled);
  EXPECT_THROW(flow.wait_for_writer([](double) { throw cancelled("enough"); }), cancelled);
}

TEST(ElementFlow, AbandonedNobodyWaits) {
  element_flow flow(100, {});
  std::jthread sorter([&] { EXPECT_THROW(flow.wait_for(100), cancelled); });
  std::jthread writer([&] { EXPECT_THROW(static_cast<void>(flow.wait_for_finished(0, 1)), cancelled); });
  flow.abandon();
  EXPECT_THROW(flow.arrive(1), cancelled);
  EXPECT_THROW(flow.note_reading(1, 2), cancelled);
  EXPECT_THROW(flow.note_writing(1, 2), cancelled);
}

}  // namespace flow
}  // namespace
}  // namespace spansort
