// SPDX-License-Identifier: Apache-2.0
// A sort of a table larger than memory collects rows, has blocks in files, and works in the background.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <string>

#include "arrow_producer.hpp"
#include "spansort/errors.hpp"
#include "table/external/background_work.hpp"
#include "table/external/row_parts.hpp"
#include "table/external/row_pool.hpp"
#include "table/external/table_spill.hpp"

namespace spansort::test {
namespace {

arrow_source source_of(std::uint64_t num_rows, std::uint64_t chunk_rows, random_words& random,
                       bool may_be_null = true) {
  arrow_source source;
  for (const column_kind kind : {column_kind::number, column_kind::boolean, column_kind::bytes32, column_kind::bytes64,
                                 column_kind::byte_views, column_kind::fixed_bytes}) {
    for (const bool has_nulls : {false, true}) {
      source.columns.push_back(
          make_column({.kind = kind, .type = key_type::i32, .has_nulls = has_nulls && may_be_null}, num_rows, random));
    }
  }
  for (std::uint64_t end = 0; end < num_rows;) source.chunk_ends.push_back(end = std::min(end + chunk_rows, num_rows));
  return source;
}

void expect_cells(const table::arrow_rows& rows, const arrow_source& source, std::uint64_t first_row) {
  for (std::size_t c = 0; c < source.columns.size(); ++c) {
    for (std::uint64_t row = 0; row < rows.num_rows; ++row) {
      const cell found = cell_at(rows.columns[c].span, row);
      const cell& expected = source.columns[c]->cells[first_row + row];
      ASSERT_EQ(found.is_null, expected.is_null) << "column " << c << ", row " << row;
      if (found.is_null) continue;
      ASSERT_TRUE(found.integer == expected.integer && found.bytes == expected.bytes &&
                  (found.number == expected.number || std::isnan(found.number)))
          << "column " << c << ", row " << row;
    }
  }
}

/// Batches without nulls have no bits that say so.
TEST(RowPool, NullsMayComeLate) {
  random_words random(seed_for(34));
  constexpr std::uint64_t num_rows = 77;
  arrow_source plain = source_of(num_rows, num_rows, random, false);
  arrow_source with_nulls = source_of(num_rows, num_rows, random);
  ArrowArrayStream streams[] = {stream_of(plain), stream_of(with_nulls)};
  table::arrow_reader readers[] = {table::arrow_reader(&streams[0]), table::arrow_reader(&streams[1])};
  table::row_pool pool(readers[0].schema());
  table::arrow_rows rows;
  ASSERT_TRUE(readers[0].read(rows));
  ASSERT_TRUE(std::all_of(rows.columns.begin(), rows.columns.end(),
                          [](const table::column_data& column) { return column.span.validity == nullptr; }));
  pool.append(rows);
  ASSERT_TRUE(readers[1].read(rows));
  pool.append(rows);
  expect_cells(table::slice(pool.rows(), 0, num_rows), plain, 0);
  expect_cells(table::slice(pool.rows(), num_rows, num_rows), with_nulls, 0);
}

TEST(RowPool, RowsAreCopiedBehindOneAnother) {
  random_words random(seed_for(31));
  constexpr std::uint64_t num_rows = 1'000;
  arrow_source source = source_of(num_rows, 137, random);
  ArrowArrayStream stream = stream_of(source);
  table::arrow_reader reader(&stream);
  table::row_pool pool(reader.schema());
  std::uint64_t first_row = 0;
  for (table::arrow_rows batch; reader.read(batch);) {
    const std::uint64_t cut = random() % (batch.num_rows + 1);
    pool.append(table::slice(batch, 0, cut));
    pool.append(table::slice(batch, cut, batch.num_rows - cut));
    batch = {};
    if (pool.num_rows() < num_rows / 2 || first_row != 0) continue;
    expect_cells(pool.rows(), source, 0);
    first_row = pool.num_rows();
    pool.clear();  // its memory takes the other half
  }
  ASSERT_EQ(first_row + pool.num_rows(), num_rows);
  expect_cells(pool.rows(), source, first_row);
}

/// The rows of all blocks that are read at once come together, wherever the blocks lie.
TEST(TableSpill, BlocksComeBackAsTheyWere) {
  random_words random(seed_for(32));
  constexpr std::uint64_t num_rows = 3'000;
  arrow_source source = source_of(num_rows, num_rows, random);
  ArrowArrayStream stream = stream_of(source);
  table::arrow_reader reader(&stream);
  table::arrow_rows rows;
  ASSERT_TRUE(reader.read(rows));
  const std::string folder = std::filesystem::temp_directory_path().string();
  table::table_spill spill({folder, folder}, std::uint64_t{64} << 10);
  std::vector<table::spilled_block> blocks;
  for (std::uint64_t row = 0; row < num_rows;) {
    std::vector<std::uint64_t> chosen(std::min<std::uint64_t>(1 + random() % 300, num_rows - row));
    for (std::uint64_t& c : chosen) c = row++;
    table::arrow_rows block = table::take_rows(rows, chosen);
    table::own_views(block);
    blocks.push_back(spill.write(block));
  }
  spill.flush();
  std::uint64_t first_row = 0;
  std::uint64_t num_reads = 0;
  for (std::span<const table::spilled_block> rest = blocks; !rest.empty(); ++num_reads) {
    const std::uint64_t count = spill.num_readable(rest);
    spill.read(rest.first(count), reader.schema(), {}, [&](std::span<table::arrow_rows> read) {
      ASSERT_EQ(read.size(), count);
      for (const table::arrow_rows& block : read) {
        expect_cells(block, source, first_row);
        first_row += block.num_rows;
      }
    });
    rest = rest.subspan(count);
  }
  EXPECT_EQ(first_row, num_rows);
  EXPECT_LT(num_reads, blocks.size());
  spill.discard(blocks);
}

/// Returns a name under which the last file that this process has opened can be opened again.
std::string name_of_newest_file() {
  const int next = ::dup(0);
  ::close(next);
  return "/proc/self/fd/" + std::to_string(next - 1);
}

TEST(TableSpill, ACorruptBlockIsRefused) {
  random_words random(seed_for(33));
  arrow_source source = source_of(500, 500, random);
  ArrowArrayStream stream = stream_of(source);
  table::arrow_reader reader(&stream);
  table::arrow_rows rows;
  ASSERT_TRUE(reader.read(rows));
  std::vector<std::uint64_t> all(rows.num_rows);
  for (std::uint64_t row = 0; row < all.size(); ++row) all[row] = row;
  rows = table::take_rows(rows, all);
  table::own_views(rows);
  table::table_spill spill({std::filesystem::temp_directory_path().string()}, 4096);
  const std::string name = name_of_newest_file();
  const table::spilled_block block = spill.write(rows);
  spill.flush();
  const auto ignore = [](std::span<table::arrow_rows>) {};
  EXPECT_NO_THROW(spill.read({&block, 1}, reader.schema(), {}, ignore));
  const int file = ::open(name.c_str(), O_RDWR);
  ASSERT_GE(file, 0);
  const auto place = static_cast<off_t>(block.offset + random() % block.size_bytes);
  char byte = 0;
  ASSERT_EQ(::pread(file, &byte, 1, place), 1);
  byte = static_cast<char>(byte ^ 1);
  ASSERT_EQ(::pwrite(file, &byte, 1, place), 1);
  EXPECT_THROW(spill.read({&block, 1}, reader.schema(), {}, ignore), internal_error);
  ASSERT_EQ(::ftruncate(file, static_cast<off_t>(block.offset)), 0);
  EXPECT_THROW(spill.read({&block, 1}, reader.schema(), {}, ignore), internal_error);
  ::close(file);
}

TEST(BackgroundWork, FailuresAndQuestionsReachTheOneWhoWaits) {
  table::background_work work;
  work.wait();
  work.start([] { throw bad_input("the disk is on fire"); });
  EXPECT_THROW(work.wait(), bad_input);
  EXPECT_NO_THROW(work.wait());
  std::atomic<bool> may_end = false;
  work.start([&] { may_end.wait(false); });
  EXPECT_THROW(work.wait([] { throw cancelled("enough"); }), cancelled);
  may_end = true;
  may_end.notify_all();
  work.wait();
}

TEST(BackgroundWork, EndsWithItsOwner) {
  std::atomic<bool> has_ended = false;
  {
    table::background_work work;
    work.start([&] {
      while (!work.must_end()) ::usleep(100);
      has_ended = true;
    });
  }
  EXPECT_TRUE(has_ended);
}

TEST(BackgroundWork, AForkedProcessDoesNotWaitForAThreadThatItDoesNotHave) {
  std::atomic<bool> may_end = false;
  auto work = std::make_unique<table::background_work>();
  work->start([&] { may_end.wait(false); });
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 1;
    try {
      work->wait();
    } catch (const invalid_argument&) {
      status = 0;
    }
    work.reset();
    ::_exit(status);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  may_end = true;
  may_end.notify_all();
  work->wait();
}

}  // namespace
}  // namespace spansort::test
