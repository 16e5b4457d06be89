// SPDX-License-Identifier: Apache-2.0
// Sorts over all ranks, again and again, and has one allocation of one rank fail, or all from it on: what
// test_failing_memory.py runs. Only `new` fails, which the library and its headers call: what Open MPI does where its
// own malloc fails is not ours. Each rank writes down how its call ended and what its arrays are then; the first call
// after which the ranks cannot go on together is the last.
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "spansort/errors.hpp"
#include "spansort/mpi.hpp"

namespace {

std::atomic<std::int64_t> num_allowed{-1};  ///< allocations before the one that fails; negative: none fails
std::atomic<bool> lasts{false};
std::atomic<bool> has_failed{false};

bool fails() noexcept {
  if (num_allowed.load(std::memory_order_relaxed) < 0) return false;
  if (num_allowed.fetch_sub(1) > 0) return false;
  num_allowed.store(lasts.load() ? 0 : -1);
  has_failed.store(true);
  return true;
}

void* allocate(std::size_t size, std::size_t alignment) {
  void* memory = nullptr;
  if (fails() || ::posix_memalign(&memory, std::max(alignment, sizeof(void*)), std::max<std::size_t>(size, 1)) != 0) {
    return nullptr;
  }
  return memory;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* const memory = allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

constexpr std::size_t usual_alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(std::size_t size) { return allocate_or_throw(size, usual_alignment); }
void* operator new[](std::size_t size) { return allocate_or_throw(size, usual_alignment); }
void* operator new(std::size_t size, std::align_val_t a) { return allocate_or_throw(size, std::size_t(a)); }
void* operator new[](std::size_t size, std::align_val_t a) { return allocate_or_throw(size, std::size_t(a)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, usual_alignment); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, usual_alignment); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

using key = std::uint32_t;
constexpr std::uint64_t keys_of_rank = 3000;

struct rank_of_all {
  unsigned rank = 0;
  unsigned count = 1;
};

/// Keeps what one rank has, before a call and after it where that is right.
struct arrays {
  std::vector<key> keys;
  std::vector<std::uint64_t> values;

  friend bool operator==(const arrays&, const arrays&) = default;
};

arrays input_of(const rank_of_all& me) {
  arrays made;
  for (std::uint64_t i = me.rank * keys_of_rank; i < (me.rank + 1) * keys_of_rank; ++i) {
    // Keys repeat, for stability.
    made.keys.push_back(static_cast<key>((i * 2654435761U >> 7) % 5000));
    made.values.push_back(i);
  }
  return made;
}

arrays result_of(const rank_of_all& me) {
  arrays all;
  for (unsigned r = 0; r < me.count; ++r) {
    const arrays part = input_of({r, me.count});
    all.keys.insert(all.keys.end(), part.keys.begin(), part.keys.end());
    all.values.insert(all.values.end(), part.values.begin(), part.values.end());
  }
  std::ranges::stable_sort(all.values, {}, [&](std::uint64_t i) { return all.keys[i]; });
  std::ranges::sort(all.keys);
  const auto begin = static_cast<std::ptrdiff_t>(me.rank * keys_of_rank);
  const auto end = begin + static_cast<std::ptrdiff_t>(keys_of_rank);
  return {{all.keys.begin() + begin, all.keys.begin() + end}, {all.values.begin() + begin, all.values.begin() + end}};
}

void call(spansort::mpi::session& session, const std::string& operation, arrays& mine) {
  if (operation == "keys") session.sort(mine.keys);
  if (operation == "pairs") session.sort_pairs(mine.keys, mine.values);
  if (operation == "argsort") {
    session.argsort(spansort::as_const_key_span(std::span<const key>(mine.keys)), mine.values.data());
  }
}

/// How a call ended on this rank.
struct ending {
  std::string how = "returned";
  bool all_know = true;  ///< the ranks can go on together
  std::string message = "";
};

ending run(const std::string& operation, arrays& mine, const std::string& devices) {
  ending end;
  std::optional<spansort::mpi::session> session;
  try {
    spansort::mpi::options options;
    options.devices = spansort::device_list(devices);
    options.threads = 2;
    options.heartbeat_timeout = std::chrono::seconds(10);
    session.emplace(MPI_COMM_WORLD, options);
    call(*session, operation, mine);
  } catch (const std::bad_alloc&) {
    end = {"bad_alloc", session && session->all_know_of_failure()};
  } catch (const spansort::error& failure) {
    end = {"error", session && session->all_know_of_failure(), failure.what()};
  } catch (const std::exception& failure) {
    end = {"other", session && session->all_know_of_failure(), failure.what()};
  }
  num_allowed.store(-1);
  return end;
}

std::string state_of(const std::string& operation, const arrays& mine, const rank_of_all& me) {
  arrays input = input_of(me);
  arrays result = result_of(me);
  if (operation == "keys") result.values = input.values;
  if (operation == "argsort") result.keys = input.keys;
  if (mine == input) return "untouched";
  return mine == result ? "sorted" : "half";
}

/// Waits until all ranks have written down how the call ended: who leaves before has mpirun end the others.
void wait_for_all(const std::string& folder, std::uint64_t number, unsigned num_ranks) {
  for (unsigned r = 0; r < num_ranks; ++r) {
    const std::string path = fmt::format("{}/{}.{}", folder, number, r);
    for (int i = 0; i < 3000 && !std::filesystem::exists(path); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

void write_down(const std::string& path, const std::string& text) {
  std::ofstream(path + ".new") << text;
  std::filesystem::rename(path + ".new", path);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    fmt::print(stderr, "usage: failing_memory_rank FOLDER keys|pairs|argsort DEVICES FIRST LAST once|lasting\n");
    return 2;
  }
  const std::string folder = argv[1];
  const std::string operation = argv[2];
  std::signal(SIGTERM, SIG_IGN);
  MPI_Init(&argc, &argv);
  int rank = 0;
  int num_ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  const rank_of_all me{static_cast<unsigned>(rank), static_cast<unsigned>(num_ranks)};
  for (std::uint64_t number = std::strtoull(argv[4], nullptr, 10); number <= std::strtoull(argv[5], nullptr, 10);
       ++number) {
    arrays mine = input_of(me);
    lasts.store(std::string(argv[6]) == "lasting");
    has_failed.store(false);
    if (number % me.count == me.rank) num_allowed.store(static_cast<std::int64_t>(number / me.count));
    const ending end = run(operation, mine, argv[3]);
    write_down(fmt::format("{}/{}.{}", folder, number, rank),
               fmt::format("{} {} {} {} {}", end.how, state_of(operation, mine, me), end.all_know ? "all" : "alone",
                           has_failed ? "failed" : "sound", end.message));
    wait_for_all(folder, number, me.count);
    int can_go_on = end.all_know ? 1 : 0;
    for (unsigned r = 0; r < me.count; ++r) {
      std::ifstream file(fmt::format("{}/{}.{}", folder, number, r));
      std::string how;
      std::string state;
      std::string all_know;
      file >> how >> state >> all_know;
      if (all_know != "all") can_go_on = 0;
    }
    if (can_go_on == 0) ::_exit(0);
  }
  MPI_Finalize();
  return 0;
}
