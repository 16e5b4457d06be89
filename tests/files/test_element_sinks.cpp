// SPDX-License-Identifier: Apache-2.0
// Sinks of elements: the file that a writer of the whole would have made, whatever the pieces, or none.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <numeric>
#include <thread>

#include "files/element_case.hpp"
#include "files/element_sinks.hpp"
#include "files/file_folder.hpp"
#include "files/io/key_writer.hpp"
#include "spansort/errors.hpp"
#include "support/engines.hpp"

namespace spansort {
namespace {

const std::array<files::key_layout, 3> formats{
    files::key_layout{files::file_format::raw, key_type::u8, std::endian::little},
    files::key_layout{files::file_format::npy, key_type::u8, std::endian::little},
    files::key_layout{files::file_format::npy, key_type::u8, std::endian::big}};

/// The file's bytes as one who has the whole in memory puts them together.
std::vector<std::byte> whole_file(const files::key_layout& layout, std::vector<std::byte> keys) {
  const std::uint64_t width = size_bytes(layout.type);
  const std::string header = files::header_of(layout, keys.size() / width);
  if (layout.byte_order != std::endian::native) files::swap_bytes(keys, width);
  const auto head = std::as_bytes(std::span(header));
  keys.insert(keys.begin(), head.begin(), head.end());
  return keys;
}

// Every file is synced, which takes its time: no more of them than there are cases.
class sinks_test : public testing::TestWithParam<key_type> {
 protected:
  [[nodiscard]] std::uint64_t width() const { return size_bytes(GetParam()); }

  void expect_file(const files::key_layout& layout, const std::vector<std::byte>& keys, std::uint64_t piece,
                   bool is_count_known) {
    const auto sink = files::make_key_sink(files::find_output(folder_.path("y")), layout,
                                           {.is_count_known = is_count_known, .keeps_page_cache = is_count_known});
    if (is_count_known) sink->expect(keys.size() / width());
    test::write_all(*sink, keys, width(), piece);
    sink->finish();
    EXPECT_EQ(folder_.read("y"), whole_file(layout, keys)) << keys.size() << " bytes, pieces of " << piece;
  }

  test::file_folder folder_;
};

TEST_P(sinks_test, PiecesOfKeysMakeTheWholeFile) {
  for (const std::uint64_t n : {0, 1, 1001}) {
    const std::vector<std::byte> keys = test::random_bytes(n * width(), test::seed_for(n));
    for (files::key_layout layout : formats) {
      layout.type = GetParam();
      expect_file(layout, keys, 64, true);
      expect_file(layout, keys, n == 1 ? 5000 : 1, false);
    }
  }
}

TEST_P(sinks_test, PiecesOfIndicesMakeTheWholeFile) {
  constexpr std::uint64_t n = 1001;
  const std::vector<std::byte> keys = test::random_bytes(n * width(), test::seed_for(n));
  std::vector<std::uint64_t> indices(n);
  std::iota(indices.begin(), indices.end(), 0);
  const auto index_bytes = std::as_bytes(std::span(indices));
  for (files::key_layout layout : formats) {
    layout.type = GetParam();
    const auto sink = files::make_index_sink(files::find_output(folder_.path("y")),
                                             files::index_layout_of(layout, key_type::i64), width());
    sink->expect(n);
    test::write_all(*sink, test::with_indices(keys, width()), width() + 8, 64);
    sink->finish();
    EXPECT_EQ(folder_.read("y"), whole_file({layout.format, key_type::i64, std::endian::little},
                                            {index_bytes.begin(), index_bytes.end()}));
  }
}

TEST_P(sinks_test, NarrowIndices) {
  constexpr std::uint64_t n = 301;
  const std::vector<std::byte> keys = test::random_bytes(n * width(), test::seed_for(n));
  std::vector<std::uint32_t> indices(n);
  std::iota(indices.begin(), indices.end(), 0);
  const auto index_bytes = std::as_bytes(std::span(indices));
  for (const key_type type : {key_type::u32, key_type::i32}) {
    const files::key_layout layout{files::file_format::npy, type};
    const auto sink = files::make_index_sink(files::find_output(folder_.path("y")), layout, width());
    sink->expect(n);
    test::write_all(*sink, test::with_indices(keys, width()), width() + 8, 64);
    sink->finish();
    EXPECT_EQ(folder_.read("y"), whole_file(layout, {index_bytes.begin(), index_bytes.end()}));
  }
}

TEST(IndexTypes, CountWhatTheyCan) {
  constexpr std::uint64_t two_to_32 = std::uint64_t{1} << 32;
  EXPECT_NO_THROW(files::require_index_type(key_type::u32, two_to_32));
  EXPECT_THROW(files::require_index_type(key_type::u32, two_to_32 + 1), invalid_argument);
  EXPECT_THROW(files::require_index_type(key_type::i32, two_to_32), invalid_argument);
  EXPECT_NO_THROW(files::require_index_type(key_type::i64, two_to_32 + 1));
  EXPECT_THROW(files::require_index_type(key_type::f32, 1), invalid_argument);
}

// The number of a stream's elements is not known before they come.
TEST_P(sinks_test, AnIndexThatDoesNotFitItsTypeIsRefused) {
  const std::vector<std::uint64_t> index{(std::uint64_t{1} << 32)};
  std::vector<std::byte> element(width() + 8);
  std::memcpy(element.data() + width(), index.data(), 8);
  const auto sink =
      files::make_index_sink(files::find_output(folder_.path("y")), {files::file_format::raw, key_type::u32}, width());
  EXPECT_THROW(sink->write(element.data(), 1), invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Types, sinks_test, testing::ValuesIn(test::all_key_types()),
                         [](const auto& param) { return std::string(name(param.param)); });

class sink_test : public testing::Test {
 protected:
  const files::key_layout npy{files::file_format::npy, key_type::u32, std::endian::little};
  test::file_folder folder_;
};

TEST_F(sink_test, RecordsAreWrittenAsTheyAre) {
  const std::vector<std::byte> records = test::random_bytes(700, 1);
  for (const bool is_count_known : {true, false}) {
    const auto sink =
        files::make_record_sink(files::find_output(folder_.path("y")), 7, {.is_count_known = is_count_known});
    if (is_count_known) sink->expect(100);
    test::write_all(*sink, records, 7, 9);
    sink->finish();
    EXPECT_EQ(folder_.read("y"), records);
  }
  EXPECT_THROW(static_cast<void>(files::make_record_sink(files::find_output(folder_.path("y.npy")), 7)),
               invalid_argument);
}

TEST_F(sink_test, NothingAppearsWithoutFinish) {
  folder_.write("y", test::random_bytes(10, 2));
  const std::vector<std::byte> old = folder_.read("y");
  {
    const auto sink = files::make_key_sink(files::find_output(folder_.path("y")), npy);
    sink->expect(100);
    test::write_all(*sink, test::random_bytes(400, 3), 4, 10);
  }
  EXPECT_EQ(folder_.read("y"), old);
  EXPECT_EQ(folder_.num_files(), 1u);
}

TEST_F(sink_test, CountThatWasNotKeptIsRefused) {
  for (const std::uint64_t count : {0, 99, 101}) {
    const auto sink = files::make_key_sink(files::find_output(folder_.path("y")), npy);
    sink->expect(100);
    test::write_all(*sink, test::random_bytes(4 * count, 3), 4, 10);
    EXPECT_THROW(sink->finish(), internal_error);
  }
  EXPECT_EQ(folder_.num_files(), 0u);
}

TEST_F(sink_test, StreamOfNpyNeedsItsCountAhead) {
  const files::output_target stream = files::find_output("/dev/null");
  EXPECT_THROW(static_cast<void>(files::make_key_sink(stream, npy, {.is_count_known = false})), invalid_argument);
  EXPECT_THROW(static_cast<void>(files::make_index_sink(stream, npy, 4, {.is_count_known = false})), invalid_argument);
  EXPECT_NO_THROW(static_cast<void>(files::make_record_sink(stream, 4, {.is_count_known = false})));
  // Promised, but not told: late, and before anything is written all the same.
  const auto sink = files::make_key_sink(stream, npy);
  EXPECT_THROW(test::write_all(*sink, test::random_bytes(4, 3), 4, 1), invalid_argument);
}

TEST_F(sink_test, StreamsGetTheSameBytes) {
  const std::vector<std::byte> keys = test::random_bytes(4004, 4);
  for (const bool is_npy : {true, false}) {
    const files::key_layout layout{is_npy ? npy.format : files::file_format::raw, key_type::u32};
    const auto into_file = files::make_key_sink(files::find_output(folder_.path("y")), layout);
    into_file->expect(1001);
    test::write_all(*into_file, keys, 4, 13);
    into_file->finish();

    ASSERT_EQ(::mkfifo(folder_.path("fifo").c_str(), 0600), 0);
    std::vector<std::byte> piped;
    std::thread reader([&] { piped = folder_.read("fifo"); });
    const auto into_stream = files::make_key_sink(files::find_output(folder_.path("fifo")), layout);
    into_stream->expect(1001);
    test::write_all(*into_stream, keys, 4, 13);
    into_stream->finish();
    reader.join();
    EXPECT_EQ(piped, folder_.read("y"));
    std::filesystem::remove(folder_.path("fifo"));
  }
}

TEST_F(sink_test, FullDiskSaysSo) {
  const auto sink = files::make_key_sink(files::find_output("/dev/full"), {files::file_format::raw, key_type::u32},
                                         {.is_count_known = false});
  try {
    test::write_all(*sink, test::random_bytes(4, 3), 4, 1);
    FAIL() << "nothing was thrown";
  } catch (const io_error& failure) {
    EXPECT_EQ(failure.code(), ENOSPC);
    EXPECT_EQ(std::string(failure.what()).find(" 0 bytes"), std::string::npos) << failure.what();
  }
}

TEST_F(sink_test, LargeFileIsWholeWhenItsPagesAreDropped) {
  const std::vector<std::byte> keys = test::random_bytes(48 << 20, 5);
  const auto sink =
      files::make_key_sink(files::find_output(folder_.path("y")), {files::file_format::raw, key_type::u64},
                           {.is_count_known = false, .keeps_page_cache = false});
  test::write_all(*sink, keys, 8, 100'000);
  sink->finish();
  EXPECT_TRUE(folder_.read("y") == keys);
}

}  // namespace
}  // namespace spansort
