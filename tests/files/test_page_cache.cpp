// SPDX-License-Identifier: Apache-2.0
// Files larger than memory are not to push everything else out of the page cache: what has been read or written of them
// leaves it, when that is asked for.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include <algorithm>

#include "files/element_case.hpp"
#include "files/element_sinks.hpp"
#include "files/element_sources.hpp"
#include "files/file_folder.hpp"
#include "files/io/file_descriptor.hpp"

namespace spansort {
namespace {

constexpr std::uint64_t file_bytes = std::uint64_t{64} << 20;
const files::key_layout raw_keys{files::file_format::raw, key_type::u64};

class page_cache_test : public testing::Test {
 protected:
  void SetUp() override {
    struct statfs system {};
    ASSERT_EQ(::statfs(folder_.path("").c_str(), &system), 0);
    if (system.f_type == TMPFS_MAGIC) GTEST_SKIP() << "files of tmpfs are nowhere but in memory";
  }

  void write(bool keeps_page_cache) {
    const auto sink =
        files::make_key_sink(files::find_output(folder_.path("x")), raw_keys, {.keeps_page_cache = keeps_page_cache});
    sink->expect(file_bytes / 8);
    std::vector<std::byte> piece(std::uint64_t{1} << 20);
    for (std::uint64_t at = 0; at < file_bytes; at += piece.size()) sink->write(piece.data(), piece.size() / 8);
    sink->finish();
  }

  void read(bool keeps_page_cache) {
    const auto source =
        files::make_key_source({folder_.path("x"), key_type::u64}, {.keeps_page_cache = keeps_page_cache});
    std::vector<std::byte> piece(std::uint64_t{1} << 20);
    while (source->read(piece.data(), piece.size() / 8) != 0) {
    }
  }

  /// Share of the first `num_bytes` that is in memory.
  [[nodiscard]] double cached_share(std::uint64_t num_bytes) const {
    const files::file_descriptor file = files::open_file(folder_.path("x").c_str(), O_RDONLY);
    void* const mapped = ::mmap(nullptr, num_bytes, PROT_READ, MAP_SHARED, file.get(), 0);
    if (mapped == MAP_FAILED) return -1;
    std::vector<unsigned char> pages(num_bytes / static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
    const int status = ::mincore(mapped, num_bytes, pages.data());
    ::munmap(mapped, num_bytes);
    if (status != 0) return -1;
    const auto num_cached = std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; });
    return static_cast<double>(num_cached) / static_cast<double>(pages.size());
  }

  test::file_folder folder_;
};

TEST_F(page_cache_test, WrittenPagesLeaveBehindTheWriter) {
  write(false);
  const double share = cached_share(file_bytes / 4);
  EXPECT_GE(share, 0);
  EXPECT_LT(share, 0.1);
}

TEST_F(page_cache_test, ReadPagesLeaveBehindTheReader) {
  write(true);
  read(false);
  const double share = cached_share(file_bytes / 2);
  EXPECT_GE(share, 0);
  EXPECT_LT(share, 0.1);
}

TEST_F(page_cache_test, OthersStay) {
  write(true);
  if (cached_share(file_bytes) < 0.9) GTEST_SKIP() << "memory is short, or the file system caches nothing";
  read(true);
  EXPECT_GT(cached_share(file_bytes), 0.5);
}

}  // namespace
}  // namespace spansort
