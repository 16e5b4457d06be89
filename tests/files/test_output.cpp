// SPDX-License-Identifier: Apache-2.0
// Atomic output and reading back: whole or not at all, nothing left behind, temporary names announced.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "files/io/atomic_file.hpp"
#include "files/io/key_reader.hpp"
#include "files/io/key_writer.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

class Output : public testing::Test {
 protected:
  Output() {
    std::string name = (std::filesystem::temp_directory_path() / "spansort-output-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    folder_ = name;
  }
  ~Output() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  [[nodiscard]] std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name), std::ios::binary).rdbuf();
    return text.str();
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) result.push_back(entry.path().filename());
    return result;
  }

  static std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

  std::filesystem::path folder_;
};

TEST_F(Output, AppearsWithCommitOnly) {
  std::ofstream(path("y")) << "old";
  {
    atomic_file file(find_output(path("y")), 3);
    file.write(bytes_of("new"));
    EXPECT_EQ(content("y"), "old");
  }
  EXPECT_EQ(content("y"), "old");
  atomic_file file(find_output(path("y")), 3);
  file.write(bytes_of("new"));
  file.commit();
  EXPECT_EQ(content("y"), "new");
  EXPECT_EQ(names(), std::vector<std::string>{"y"});
}

TEST_F(Output, AnnouncesEveryNameBeforeItExistsAndWhenItIsGone) {
  std::vector<std::string> announced;
  atomic_file file(find_output(path("y")), 3, [&](const std::string& name) {
    EXPECT_TRUE(name.empty() || !std::filesystem::exists(name));
    announced.push_back(name);
  });
  file.write(bytes_of("new"));
  file.commit();
  ASSERT_EQ(announced.size(), 2u);
  EXPECT_EQ(std::filesystem::path(announced[0]).parent_path(), folder_);
  EXPECT_EQ(announced[1], "");
  EXPECT_EQ(names(), std::vector<std::string>{"y"});
}

/// The room that /dev/shm has lost so far, or nothing where that is no file system in memory.
std::optional<std::uint64_t> bytes_in_memory() {
  struct statfs system {};
  if (::statfs("/dev/shm", &system) != 0 || system.f_type != TMPFS_MAGIC) return std::nullopt;
  return (system.f_blocks - system.f_bfree) * static_cast<std::uint64_t>(system.f_bsize);
}

TEST_F(Output, TakesRoomInMemoryBeforeItIsWritten) {
  if (!bytes_in_memory()) GTEST_SKIP() << "/dev/shm is no file system in memory";
  const std::string content(std::size_t{40} << 20, 'x');
  const std::string name = fmt::format("/dev/shm/spansort-room-{}", ::getpid());
  {
    atomic_file file(find_output(name), content.size());
    file.write(bytes_of(content).first(5));
    EXPECT_TRUE(file.take_room());
    EXPECT_FALSE(file.take_room());
    EXPECT_GE(*bytes_in_memory(), content.size());
    file.write(bytes_of(content).subspan(5));
    EXPECT_FALSE(file.take_room());
    file.commit();
  }
  std::ostringstream text;
  text << std::ifstream(name, std::ios::binary).rdbuf();
  EXPECT_EQ(text.str(), content);
  std::filesystem::remove(name);
}

TEST_F(Output, TakesNoRoomOnDisksAndStreamsAndOfUnknownSize) {
  struct statfs system {};
  ASSERT_EQ(::statfs(folder_.c_str(), &system), 0);
  if (system.f_type != TMPFS_MAGIC) {
    EXPECT_FALSE(atomic_file(find_output(path("y")), 100).take_room());
  }
  EXPECT_FALSE(atomic_file(find_output("/dev/full"), 100).take_room());
  EXPECT_FALSE(atomic_file(find_output(path("z")), 0).take_room());
}

TEST_F(Output, StreamsAreWrittenDirectly) {
  EXPECT_TRUE(find_output("-").is_stream);
  EXPECT_TRUE(find_output("/dev/null").is_stream);
  EXPECT_FALSE(find_output(path("y")).is_stream);
  atomic_file full(find_output("/dev/full"), 3);
  EXPECT_THROW(full.write(bytes_of("new")), io_error);
}

TEST_F(Output, RefusesWhatCannotBeAFile) {
  EXPECT_THROW(static_cast<void>(find_output("")), io_error);
  EXPECT_THROW(static_cast<void>(find_output(folder_.string())), io_error);
  EXPECT_THROW(static_cast<void>(find_output(path("missing/y"))), io_error);
  EXPECT_THROW(require_free_space(find_output(path("y")), ~std::uint64_t{0}), io_error);
}

TEST_F(Output, KeysComeBackInEveryLayout) {
  const std::vector<std::uint32_t> keys{0x01020304, 7, 0xffffffff};
  for (const std::string name : {"raw", "a.npy"}) {
    for (const std::endian order : {std::endian::little, std::endian::big}) {
      const bool is_npy = is_npy_name(name);
      const key_layout layout{is_npy ? file_format::npy : file_format::raw, key_type::u32,
                              is_npy ? order : std::endian::little};
      std::vector<std::uint32_t> written = keys;  // may be swapped in place
      write_keys(find_output(path(name)), layout, {key_type::u32, written.data(), written.size()});
      key_reader reader(path(name), key_type::u32);
      EXPECT_EQ(reader.num_keys(), keys.size());
      EXPECT_EQ(reader.layout().byte_order, layout.byte_order);
      const loaded_keys loaded = reader.read({});
      const auto* const words = reinterpret_cast<const std::uint32_t*>(loaded.bytes.data());
      EXPECT_EQ(std::vector<std::uint32_t>(words, words + loaded.num_keys), keys);
      EXPECT_EQ(std::filesystem::file_size(path(name)), file_bytes(layout, keys.size()));
    }
  }
}

TEST_F(Output, ProgressMayStopReadingAndWriting) {
  std::vector<std::uint8_t> keys(100);
  const auto stop = [](std::uint64_t, std::uint64_t) { throw cancelled("stop"); };
  const key_layout layout{file_format::raw, key_type::u8, std::endian::little};
  const key_span span{key_type::u8, keys.data(), keys.size()};
  EXPECT_THROW(write_keys(find_output(path("y")), layout, span, {}, stop), cancelled);
  EXPECT_TRUE(names().empty());
  write_keys(find_output(path("y")), layout, span);
  EXPECT_THROW(static_cast<void>(key_reader(path("y"), key_type::u8).read({}, stop)), cancelled);
}

TEST_F(Output, PartsOfAnInputThatAreNotThereAreRefused) {
  std::ofstream(path("x")) << "0123456789";
  const loaded_keys part = key_reader(path("x"), key_type::u8).read_part(4, 3, {});
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(part.bytes.data()), part.num_keys), "456");
  EXPECT_THROW(static_cast<void>(key_reader(path("x"), key_type::u8).read_part(8, 3, {})), bad_input);
  key_reader reader(path("x"), key_type::u8);
  std::array<std::byte, 10> into{};
  reader.take_part(2, 5);
  EXPECT_EQ(reader.read_some(std::span(into).first(3), {}), 3u);
  EXPECT_EQ(reader.read_some(std::span(into).subspan(3), {}), 2u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(into.data()), 5), "23456");
  EXPECT_EQ(reader.read_some(into, {}), 0u) << "the part has ended";
  key_reader beyond(path("x"), key_type::u8);
  beyond.take_part(9, 2);
  EXPECT_THROW(static_cast<void>(beyond.read_some(into, {})), bad_input);
}

TEST_F(Output, InputThatChangesIsNoticed) {
  std::ofstream(path("x")) << "0123456789";
  for (const std::uintmax_t new_size : {5u, 15u}) {
    std::filesystem::resize_file(path("x"), 10);
    key_reader reader(path("x"), key_type::u8);
    std::filesystem::resize_file(path("x"), new_size);
    EXPECT_THROW(static_cast<void>(reader.read({})), bad_input);
  }
}

TEST_F(Output, InputThatChangesIsNoticedThoughItsTimeIsSetBack) {
  std::ofstream(path("x")) << "0123456789";
  struct stat before {};
  ASSERT_EQ(::stat(path("x").c_str(), &before), 0);
  key_reader reader(path("x"), key_type::u8);
  std::fstream(path("x"), std::ios::in | std::ios::out) << "9876543210";
  const timespec times[]{before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path("x").c_str(), times, 0), 0);
  EXPECT_THROW(static_cast<void>(reader.read({})), bad_input);
}

TEST(SwapBytes, ReversesElements) {
  std::array<std::byte, 8> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(i);
  for (const auto& [width, first] : {std::pair{1, 0}, {2, 1}, {4, 3}, {8, 7}}) {
    std::array<std::byte, 8> swapped = bytes;
    swap_bytes(swapped, static_cast<std::size_t>(width));
    EXPECT_EQ(swapped[0], static_cast<std::byte>(first));
    swap_bytes(swapped, static_cast<std::size_t>(width));
    EXPECT_EQ(swapped, bytes);
  }
}

}  // namespace
}  // namespace spansort::files
