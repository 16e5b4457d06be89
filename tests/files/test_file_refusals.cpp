// SPDX-License-Identifier: Apache-2.0
// The library refuses what the command refuses before it calls it: merges, takes and values that cannot be. The output
// stays as it was.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/file_folder.hpp"
#include "spansort/errors.hpp"
#include "spansort/files.hpp"
#include "spansort/take_file.hpp"

namespace spansort {
namespace {

class FileRefusals : public testing::Test {
 protected:
  [[nodiscard]] std::string write(const std::string& name, std::string_view content) const {
    return folder_.write(name, std::as_bytes(std::span(content)));
  }
  /// Expects a call to throw an Error with the words, and the output and its folder to stay as they were.
  template <class Error>
  void expect_refusal(const std::string& words, const std::function<void()>& call) const {
    const std::size_t num_files = folder_.num_files();
    try {
      call();
      ADD_FAILURE() << "not refused: " << words;
    } catch (const Error& refused) {
      EXPECT_NE(std::string(refused.what()).find(words), std::string::npos) << refused.what();
    }
    EXPECT_EQ(folder_.read("y").size(), 3u);
    EXPECT_EQ(folder_.num_files(), num_files);
  }

  test::file_folder folder_;
  std::string y_ = write("y", "old");
  std::string keys_ = write("keys", "abcdefgh");
};

TEST_F(FileRefusals, Merges) {
  const file_options u8{.type = key_type::u8};
  expect_refusal<invalid_argument>("no input is named", [&] { merge_files({}, y_, u8); });
  expect_refusal<invalid_argument>("a merge knows no axis", [&] {
    file_options along = u8;
    along.array.axis = 0;
    merge_files({keys_}, y_, along);
  });
  expect_refusal<invalid_argument>("it has no summary", [&] {
    file_options summed = u8;
    summed.on_sorted = [](auto&&...) {};
    merge_files({keys_}, y_, summed);
  });
  expect_refusal<bad_input>("is no regular file", [&] { merge_files({keys_, "/dev/null"}, y_, u8); });
}

TEST_F(FileRefusals, Takes) {
  const std::string order = write("order", std::string(8, '\0'));
  const std::string npy = write("x.npy", std::string("\x93NUMPY\x01\x00\x76\x00{'descr': '<u4'", 25));
  expect_refusal<invalid_argument>("records have no type",
                                   [&] { take_file(keys_, order, y_, {.type = key_type::u8, .record_bytes = 4}); });
  expect_refusal<bad_input>(".npy header is truncated", [&] { take_file(npy, order, y_); });
  expect_refusal<invalid_argument>("leave --record out", [&] { take_file(npy, order, y_, {.record_bytes = 4}); });
  expect_refusal<bad_input>("not a multiple of 3", [&] { take_file(keys_, order, y_, {.record_bytes = 3}); });
  expect_refusal<invalid_argument>("cannot both be standard input", [&] { take_file("-", "-", y_); });
  expect_refusal<invalid_argument>("records are raw bytes without a dtype",
                                   [&] { take_file(keys_, order, folder_.path("z.npy"), {.record_bytes = 4}); });
  expect_refusal<bad_input>("index 9 at position 0 is out of range", [&] {
    take_file(keys_, write("order", std::string("\x09\0\0\0\0\0\0\0", 8)), y_, {.type = key_type::u8});
  });
}

TEST_F(FileRefusals, ValuesThatNeedAPlaceOfTheirOwn) {
  const std::string rows = write("rows", "01234567");
  const std::string same = folder_.path("same");
  ASSERT_EQ(::link(y_.c_str(), same.c_str()), 0);
  for (const std::string& output : {y_, folder_.path(".") + "/y", same}) {
    expect_refusal<invalid_argument>("each needs a place of its own", [&] {
      sort_file(keys_, y_, {.values = value_files{.input = rows, .output = output}, .type = key_type::u8});
    });
  }
}

}  // namespace
}  // namespace spansort
