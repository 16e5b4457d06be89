// SPDX-License-Identifier: Apache-2.0
// key_file of a share: consecutive, of equal size, all keys once; wrong shares are refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "spansort/errors.hpp"
#include "spansort/files.hpp"

namespace spansort {
namespace {

class share_test : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string generated(const std::string& name, std::uint64_t num_keys) {
    const std::string path = folder_ / name;
    generate_file(path, key_type::u32, num_keys, {}, 7);
    return path;
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("spansort-share-" + std::to_string(::getpid()));
};

std::vector<std::uint32_t> keys_of(const key_file& file) {
  std::vector<std::uint32_t> keys(file.keys().num_keys);
  if (!keys.empty()) std::memcpy(keys.data(), file.keys().data, keys.size() * sizeof(std::uint32_t));
  return keys;
}

TEST_F(share_test, SharesMakeUpTheFile) {
  for (const char* const name : {"x.npy", "x.raw"}) {
    for (const std::uint64_t num_keys : {0, 1, 2, 6, 7, 1001}) {
      const std::string path = generated(name, num_keys);
      const key_file whole(path, key_type::u32);
      EXPECT_EQ(whole.num_keys_in_file(), num_keys);
      for (const std::uint64_t count : {1, 2, 3, 7}) {
        std::vector<std::uint32_t> all;
        for (std::uint64_t i = 0; i < count; ++i) {
          const key_file share(path, key_type::u32, {i, count});
          EXPECT_EQ(share.num_keys_in_file(), num_keys);
          EXPECT_EQ(share.keys().num_keys, num_keys / count + (i < num_keys % count ? 1 : 0)) << i << " of " << count;
          const std::vector<std::uint32_t> part = keys_of(share);
          all.insert(all.end(), part.begin(), part.end());
        }
        EXPECT_EQ(all, keys_of(whole)) << name << ": " << num_keys << " keys in " << count << " shares";
      }
    }
  }
}

TEST_F(share_test, WhatCannotBeIsRefused) {
  const std::string path = generated("x.raw", 10);
  EXPECT_THROW(key_file(path, key_type::u32, {1, 1}), invalid_argument);
  EXPECT_THROW(key_file(path, key_type::u32, {0, 0}), invalid_argument);
  EXPECT_THROW(key_file(path, std::nullopt, {0, 1}), invalid_argument);
  EXPECT_THROW(key_file("/dev/null", key_type::u32, {0, 1}), invalid_argument);
  EXPECT_THROW(key_file(folder_ / "missing", key_type::u32, {0, 1}), io_error);
  std::filesystem::resize_file(path, 39);
  EXPECT_THROW(key_file(path, key_type::u32, {0, 2}), bad_input);
}

}  // namespace
}  // namespace spansort
