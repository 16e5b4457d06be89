// SPDX-License-Identifier: Apache-2.0
// Sources of elements: the file's bytes come out, whatever the pieces; inputs that are not whole or that change are
// refused at the end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <thread>

#include "files/element_case.hpp"
#include "files/element_sources.hpp"
#include "files/file_folder.hpp"
#include "files/io/npy.hpp"
#include "spansort/errors.hpp"
#include "support/engines.hpp"

namespace spansort {
namespace {

constexpr std::array<std::uint64_t, 5> sizes{0, 1, 2, 7, 1001};
constexpr std::array<std::uint64_t, 4> pieces{1, 3, 64, 5000};

std::vector<std::byte> joined(std::string_view header, std::span<const std::byte> data) {
  const auto head = std::as_bytes(std::span(header));
  std::vector<std::byte> bytes(head.begin(), head.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

std::vector<std::byte> npy_bytes(key_type type, std::endian order, std::span<const std::byte> keys) {
  const std::uint64_t width = size_bytes(type);
  std::vector<std::byte> data(keys.begin(), keys.end());
  if (order != std::endian::native) files::swap_bytes(data, width);
  return joined(files::make_npy_header({type, order, keys.size() / width}), data);
}

/// A FIFO that is fed `bytes`, a few at a time.
class fed_fifo {
 public:
  fed_fifo(const std::string& path, std::vector<std::byte> bytes) : path_(path) {
    if (::mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("mkfifo failed");
    feeder_ = std::thread([this, fed = std::move(bytes)] {
      ignore_closed_readers();
      const files::file_descriptor fifo = files::open_file(path_.c_str(), O_WRONLY);
      for (std::size_t at = 0; at < fed.size(); at += 777) {
        const std::span part = std::span(fed).subspan(at, std::min<std::size_t>(777, fed.size() - at));
        static_cast<void>(files::write_fully(fifo.get(), part));
      }
    });
  }
  ~fed_fifo() {
    feeder_.join();
    ::unlink(path_.c_str());
  }

 private:
  /// A reader that has seen enough closes its end; the feeder's writes then fail, and no signal ends the test.
  static void ignore_closed_readers() {
    sigset_t broken_pipe;
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  }

  std::string path_;
  std::thread feeder_;
};

class sources_test : public testing::TestWithParam<key_type> {
 protected:
  [[nodiscard]] std::uint64_t width() const { return size_bytes(GetParam()); }

  void expect_elements(const std::string& path, std::span<const std::byte> keys, bool is_regular, std::uint64_t piece) {
    const auto source = files::make_key_source({path, GetParam()}, {.keeps_page_cache = piece == 3});
    if (is_regular) {
      EXPECT_EQ(source->num_elements(), keys.size() / width());
    }
    const std::vector<std::byte> found = test::read_all(*source, width(), piece);
    EXPECT_TRUE(std::ranges::equal(found, keys)) << path << ", pieces of " << piece;
  }

  void expect_indexed(const std::string& path, std::span<const std::byte> keys, std::uint64_t piece) {
    const auto source = files::make_indexed_key_source({path, GetParam()});
    const std::vector<std::byte> found = test::read_all(*source, width() + 8, piece);
    EXPECT_EQ(found, test::with_indices(keys, width())) << path << ", pieces of " << piece;
  }

  test::file_folder folder_;
};

TEST_P(sources_test, KeysOfEveryFormatComeInPieces) {
  for (const std::uint64_t n : sizes) {
    const std::vector<std::byte> keys = test::random_bytes(n * width(), test::seed_for(n));
    folder_.write("raw", keys);
    folder_.write("little.npy", npy_bytes(GetParam(), std::endian::little, keys));
    folder_.write("big.npy", npy_bytes(GetParam(), std::endian::big, keys));
    for (const std::uint64_t piece : pieces) {
      for (const char* const name : {"raw", "little.npy", "big.npy"}) {
        expect_elements(folder_.path(name), keys, true, piece);
        expect_indexed(folder_.path(name), keys, piece);
      }
    }
  }
}

TEST_P(sources_test, StreamsComeInPieces) {
  for (const std::uint64_t n : sizes) {
    const std::vector<std::byte> keys = test::random_bytes(n * width(), test::seed_for(n));
    for (const std::uint64_t piece : {std::uint64_t{3}, std::uint64_t{5000}}) {
      {
        const fed_fifo raw(folder_.path("fifo"), keys);
        expect_elements(folder_.path("fifo"), keys, false, piece);
      }
      const fed_fifo npy(folder_.path("fifo"), npy_bytes(GetParam(), std::endian::big, keys));
      expect_indexed(folder_.path("fifo"), keys, piece);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, sources_test, testing::ValuesIn(test::all_key_types()),
                         [](const auto& param) { return std::string(name(param.param)); });

class source_test : public testing::Test {
 protected:
  /// Reads all but the last piece, lets `change` happen, and expects the end to refuse.
  template <class Make, class Change>
  void expect_refused_after(const Make& make, const Change& change, std::uint64_t element_bytes) {
    folder_.write("x", test::random_bytes(800, 1));
    const auto source = make();
    std::vector<std::byte> part(50 * element_bytes);
    ASSERT_EQ(source->read(part.data(), 50), 50u);
    change();
    EXPECT_THROW(static_cast<void>(test::read_all(*source, element_bytes, 50)), bad_input);
  }

  template <class Make>
  void expect_changes_refused(const Make& make, std::uint64_t element_bytes) {
    const std::string path = folder_.path("x");
    const auto resize = [&](std::uintmax_t size) { return [=] { std::filesystem::resize_file(path, size); }; };
    expect_refused_after(make, resize(400), element_bytes);
    expect_refused_after(make, resize(500), element_bytes);
    expect_refused_after(make, resize(808), element_bytes);
    expect_refused_after(make, resize(8000), element_bytes);
    // Rewritten in place: the same size, another time.
    expect_refused_after(
        make,
        [&] {
          using namespace std::chrono_literals;
          std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + 1s);
        },
        element_bytes);
  }

  test::file_folder folder_;
};

TEST_F(source_test, InputThatChangesIsRefused) {
  const std::string path = folder_.path("x");
  expect_changes_refused([&] { return files::make_key_source({path, key_type::u64}); }, 8);
  expect_changes_refused([&] { return files::make_indexed_key_source({path, key_type::u32}); }, 12);
  expect_changes_refused([&] { return files::make_record_source(path, 8); }, 8);
}

TEST_F(source_test, LastPieceOfAKnownCountTellsOfAChange) {
  const std::string path = folder_.write("x", test::random_bytes(800, 1));
  const auto source = files::make_key_source({path, key_type::u64});
  std::filesystem::resize_file(path, 808);
  std::vector<std::byte> part(800);
  EXPECT_THROW(static_cast<void>(source->read(part.data(), 100)), bad_input);
}

TEST_F(source_test, StreamsThatAreNotWholeAreRefused) {
  const std::string path = folder_.path("fifo");
  const std::vector<std::byte> keys = test::random_bytes(804, 2);
  {
    const fed_fifo fifo(path, keys);
    const auto source = files::make_key_source({path, key_type::u64});
    EXPECT_THROW(static_cast<void>(test::read_all(*source, 8, 33)), bad_input);
  }
  {
    const fed_fifo fifo(path, keys);
    const auto source = files::make_record_source(path, 100);
    EXPECT_FALSE(source->num_elements());
    EXPECT_THROW(static_cast<void>(test::read_all(*source, 100, 3)), bad_input);
  }
  // Headers that claim fewer and more than comes, pieces that end where the claim does and elsewhere.
  for (const std::uint64_t claimed : {0, 1, 99, 101, 200}) {
    for (const std::uint64_t piece : {1, 3, 99, 100, 101, 1000}) {
      const std::string header = files::make_npy_header({key_type::u64, std::endian::little, claimed});
      const fed_fifo fifo(path, joined(header, std::span(keys).first(800)));
      const auto source = files::make_key_source({path, std::nullopt});
      EXPECT_THROW(static_cast<void>(test::read_all(*source, 8, piece)), bad_input) << claimed << ", " << piece;
    }
  }
}

TEST_F(source_test, HeaderThatClaimsTheWorldIsRefusedBeforeAnythingIsRead) {
  const std::string header = files::make_npy_header({key_type::u64, std::endian::little, std::uint64_t{1} << 60});
  folder_.write("x.npy", joined(header, test::random_bytes(80, 3)));
  EXPECT_THROW(static_cast<void>(files::key_reader(folder_.path("x.npy"), std::nullopt)), bad_input);
}

TEST_F(source_test, RecordsComeInPieces) {
  for (const std::uint64_t record_bytes : {1, 5, 100}) {
    for (const std::uint64_t n : sizes) {
      const std::vector<std::byte> records = test::random_bytes(n * record_bytes, test::seed_for(n));
      const std::string path = folder_.write("x", records);
      for (const std::uint64_t piece : pieces) {
        const auto source = files::make_record_source(path, record_bytes);
        if (n != 0) {
          EXPECT_EQ(source->num_elements(), n);
        }
        EXPECT_EQ(test::read_all(*source, record_bytes, piece), records);
        const fed_fifo fifo(folder_.path("fifo"), records);
        const auto stream = files::make_record_source(folder_.path("fifo"), record_bytes);
        EXPECT_EQ(test::read_all(*stream, record_bytes, piece), records);
      }
    }
  }
}

TEST_F(source_test, RecordsOfAnOpenInput) {
  const std::vector<std::byte> records = test::random_bytes(1000, 6);
  const fed_fifo fifo(folder_.path("fifo"), records);
  files::input_file input(folder_.path("fifo"));  // looked at first, and not opened once more
  EXPECT_FALSE(input.size_bytes());
  EXPECT_EQ(test::read_all(*files::make_record_source(std::move(input), 100), 100, 3), records);
}

TEST_F(source_test, RecordsThatCannotBeAreRefused) {
  folder_.write("x", test::random_bytes(101, 4));
  EXPECT_THROW(static_cast<void>(files::make_record_source(folder_.path("x"), 100)), bad_input);
  EXPECT_THROW(static_cast<void>(files::make_record_source(folder_.path("missing"), 100)), io_error);
  folder_.write("x.npy", test::random_bytes(100, 4));
  EXPECT_THROW(static_cast<void>(files::make_record_source(folder_.path("x.npy"), 100)), bad_input);
}

TEST_F(source_test, FilesOfTheKernelAreStreams) {
  const auto source = files::make_key_source({"/proc/self/maps", key_type::u8});
  EXPECT_FALSE(source->num_elements());
  EXPECT_GT(test::read_all(*source, 1, 10).size(), 100u);
  EXPECT_FALSE(source->num_elements());
}

TEST_F(source_test, ProgressMayStopIt) {
  folder_.write("x", test::random_bytes(80, 5));
  const auto stop = [](std::uint64_t done, std::uint64_t total) {
    EXPECT_EQ(done, 80u);
    EXPECT_EQ(total, 80u);
    throw cancelled("stop");
  };
  const auto source = files::make_key_source({folder_.path("x"), key_type::u64}, {.on_progress = stop});
  EXPECT_THROW(static_cast<void>(test::read_all(*source, 8, 10)), cancelled);
}

}  // namespace
}  // namespace spansort
