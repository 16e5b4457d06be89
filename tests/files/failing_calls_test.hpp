// SPDX-License-Identifier: Apache-2.0
// Tests of calls that fail share these: a folder with one file in it, and errors with their number and their words.
#pragma once

#include <gtest/gtest.h>
#include <sys/xattr.h>

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/failing_calls.hpp"
#include "files/file_folder.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {

using test::failing_call_scope;
using test::file_call;

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// Expects of a call that it throws io_error with this number, whose text has all the words.
template <class Call>
void expect_io_error(const Call& call, int code, std::initializer_list<std::string> words) {
  try {
    call();
    ADD_FAILURE() << "nothing thrown where " << *words.begin() << " was expected";
  } catch (const io_error& failure) {
    EXPECT_EQ(failure.code(), code) << failure.what();
    for (const std::string& word : words) {
      EXPECT_NE(std::string(failure.what()).find(word), std::string::npos) << failure.what() << ": no " << word;
    }
  }
}

class FailingCalls : public testing::Test {
 protected:
  [[nodiscard]] std::string write(const std::string& name, std::string_view content) const {
    return folder_.write(name, bytes_of(content));
  }
  [[nodiscard]] std::string content(const std::string& name) const {
    const std::vector<std::byte> bytes = folder_.read(name);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// Returns false where the file system has no attributes of users.
  [[nodiscard]] bool set_attribute(const std::string& path) const {
    return ::setxattr(path.c_str(), "user.origin", "station 7", 9, 0) == 0;
  }
  void expect_old() const {
    EXPECT_EQ(content("y"), "old");
    EXPECT_EQ(folder_.num_files(), 1u);
  }

  test::file_folder folder_;
  std::string y_ = write("y", "old");
};

}  // namespace spansort::files
