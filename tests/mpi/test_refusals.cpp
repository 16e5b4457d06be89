// SPDX-License-Identifier: Apache-2.0
// A session refuses options, devices, values, and streams in the place of files, and says why. All node ranks hear of
// it, and can go on.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cluster_case.hpp"
#include "cluster_files.hpp"
#include "mpi/agreement.hpp"
#include "mpi/transport/mpi_handle.hpp"
#include "spansort/errors.hpp"
#include "spansort/mpi.hpp"

namespace spansort::test {
namespace {

using namespace std::chrono_literals;

/// Returns the kind and the text of what is thrown, or "".
std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const invalid_argument& refused) {
    return std::string("invalid_argument: ") + refused.what();
  } catch (const device_error& refused) {
    return std::string("device_error: ") + refused.what();
  } catch (const cluster_failure& refused) {
    return std::string("cluster_failure: ") + refused.what();
  }
  return "";
}

std::string refusal_of_options(const mpi::options& options) {
  return refusal_of([&] { const mpi::session all(MPI_COMM_WORLD, options); });
}

TEST(session_refusals, OptionsThatCannotBe) {
  for (const std::chrono::milliseconds timeout : {99ms, 1ms, 0ms, -5ms}) {
    EXPECT_EQ(
        refusal_of_options({.heartbeat_timeout = timeout}),
        "invalid_argument: heartbeat_timeout of " + std::to_string(timeout.count()) + " ms: expected 100 ms at least");
  }
  EXPECT_EQ(refusal_of_options({.message_bytes = 0}), "invalid_argument: message_bytes 0: expected 1 to 2^30");
  EXPECT_EQ(refusal_of_options({.message_bytes = (std::uint64_t{1} << 30) + 1}),
            "invalid_argument: message_bytes 1073741825: expected 1 to 2^30");
  EXPECT_EQ(refusal_of_options({.message_bytes = std::uint64_t{1} << 30}), "");
}

TEST(session_refusals, OptionsOfOneNodeRankEndTheSessionOfAll) {
  const unsigned last = world_size() - 1;
  const bool is_wrong = world_rank() == last;
  const std::string refused = refusal_of_options({.heartbeat_timeout = is_wrong ? 99ms : 20'000ms});
  const std::string why = "heartbeat_timeout of 99 ms: expected 100 ms at least";
  EXPECT_EQ(refused, is_wrong ? "invalid_argument: " + why
                              : "cluster_failure: node rank " + std::to_string(last) +
                                    " failed in phase opening devices: " + why);
}

TEST(session_refusals, AnExchangeThatCannotBeHad) {
  const std::string refused = refusal_of_options({.devices = "cpu", .exchange = mpi::exchange_method::nccl});
  EXPECT_TRUE(refused.starts_with("device_error: exchange 'nccl' cannot be had: ")) << refused;
  EXPECT_GT(refused.size(), std::string("device_error: exchange 'nccl' cannot be had: ").size());
  std::vector<int> keys{3, 1, 2};
  mpi::sort(keys, MPI_COMM_WORLD);
  EXPECT_TRUE(std::ranges::is_sorted(keys)) << "the communicator serves on";
}

TEST(session_refusals, SettingsThatOthersDoNotHave) {
  if (world_size() == 1) GTEST_SKIP() << "needs several node ranks";
  const auto group = transport::make_node_group(MPI_COMM_WORLD);
  std::vector<mpi::setting> settings{{"order", "ascending"}, {"type", "u32"}, {"head", "7"}};
  if (world_rank() == 1) settings.resize(1);
  EXPECT_EQ(mpi::differences_of(*group, settings),
            "the node ranks were given different settings; node rank 1 has fewer settings where node rank 0 has type "
            "u32, head 7");
  EXPECT_EQ(mpi::differences_of(*group, {{"order", "ascending"}}), "");
}

TEST(session_refusals, AFailureWithoutWordsIsOne) {
  const auto group = transport::make_node_group(MPI_COMM_WORLD);
  std::exception_ptr failure;
  const auto fail_on_first = [] {
    if (world_rank() == 0) throw std::runtime_error("");
  };
  EXPECT_FALSE(mpi::try_together(*group, "trying", fail_on_first, failure));
  ASSERT_NE(failure, nullptr);
  const std::string said = refusal_of([&] {
    try {
      std::rethrow_exception(failure);
    } catch (const std::runtime_error& own) {
      if (std::string(own.what()).empty()) return;
      throw;
    }
  });
  EXPECT_EQ(said, world_rank() == 0 ? "" : "cluster_failure: node rank 0 failed in phase trying: it does not say why");
  EXPECT_TRUE(mpi::try_together(
      *group, "trying again", [] {}, failure));
  EXPECT_EQ(failure, nullptr);
}

TEST(session_refusals, SeveralDevicesOfAProcess) {
  for (const char* const algorithm : {"distributed_lsd", "distributed_sample_sort"}) {
    mpi::options options{.devices = "host:2", .algorithm = mpi::parse_algorithm(algorithm)};
    std::vector<int> keys{3, 1, 2};
    const std::string refused = refusal_of([&] { mpi::sort(keys, MPI_COMM_WORLD, options); });
    EXPECT_NE(refused.find(std::string("invalid_argument: algorithm ") + algorithm + " takes one "), std::string::npos)
        << refused;
    EXPECT_EQ(keys, (std::vector<int>{3, 1, 2}));
  }
}

TEST(session_refusals, NoValueToRank) {
  const std::vector<int> keys{1, 2, 3};
  mpi::session all(MPI_COMM_WORLD);
  const const_key_span span{key_type::i32, keys.data(), keys.size()};
  EXPECT_EQ(refusal_of([&] { static_cast<void>(all.rank_of(span, nullptr)); }),
            "invalid_argument: rank_of: null pointer for the value");
  EXPECT_TRUE(all.all_know_of_failure());
  EXPECT_EQ(all.rank_of(keys, 2).num_less, world_size());
}

TEST(session_refusals, StreamsAreNotReadInParts) {
  const shared_file output(10);
  const std::string before = contents_of(output.path);
  mpi::session all(MPI_COMM_WORLD);
  // The size of the second is said to be 0, and is not.
  for (const char* const stream : {"/dev/null", "/proc/self/status"}) {
    const std::string text = "invalid_argument: " + std::string(stream) +
                             ": over MPI only regular files are read, in parts; this is a stream";
    const file_options of_keys{.type = key_type::u8};
    file_options of_records;
    of_records.records = parse_record_format(4, "0:4:u32");
    for (const bool only_plans : {false, true}) {
      const auto sort = [&](const file_options& file) {
        return refusal_of([&] {
          if (only_plans) {
            static_cast<void>(all.plan_sort_file(stream, output.path, file));
          } else {
            static_cast<void>(all.sort_file(stream, output.path, file));
          }
        });
      };
      EXPECT_EQ(sort(of_keys), text);
      EXPECT_EQ(sort(of_records), text);
      EXPECT_TRUE(all.all_know_of_failure());
    }
  }
  EXPECT_EQ(contents_of(output.path), before);
}

}  // namespace
}  // namespace spansort::test
