// SPDX-License-Identifier: Apache-2.0
// The floor of a sort in parts: what its node ranks cannot do without, and nothing else. Each reads its share of a
// file, writes it to a file of its own, reads that and writes it into one file of all, past the page cache, one step
// after the other; then all send each other what a sort of uniform keys would. scripts/bench_parts.py runs this beside
// the sort.
#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::uint64_t call_bytes = std::uint64_t{4} << 20;
/// Messages leave and arrive in memory that is larger than caches.
constexpr std::uint64_t message_memory_bytes = 16 * call_bytes;
constexpr std::size_t alignment_bytes = 4096;

struct releaser {
  void operator()(std::byte* p) const noexcept { std::free(p); }
};
using buffer = std::unique_ptr<std::byte, releaser>;

buffer make_buffer(std::uint64_t size_bytes) {
  buffer made(static_cast<std::byte*>(std::aligned_alloc(alignment_bytes, size_bytes)));
  if (made == nullptr) throw std::runtime_error("out of memory");
  std::fill_n(made.get(), size_bytes, std::byte{1});
  return made;
}

class open_file {
 public:
  open_file(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_DIRECT | O_CLOEXEC, 0600)) {
    if (fd_ < 0) throw std::runtime_error("cannot open " + path);
  }
  ~open_file() { ::close(fd_); }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

/// Calls call(offset, bytes) for all bytes from `first` on.
template <class Call>
void move(std::uint64_t first, std::uint64_t size_bytes, const Call& call) {
  for (std::uint64_t done = 0; done < size_bytes; done += call_bytes) {
    const std::uint64_t wanted = std::min(call_bytes, size_bytes - done);
    if (!std::cmp_equal(call(static_cast<off_t>(first + done), wanted), wanted))
      throw std::runtime_error("a transfer failed");
  }
}

/// Returns the seconds that the slowest node rank takes.
template <class F>
double seconds_of(const F& f) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  f();
  double mine = MPI_Wtime() - begin;
  double longest = 0;
  MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return longest;
}

/// Sends to every other node rank, and gets from it, `each_bytes` in messages of a call's bytes.
void exchange(int node_rank, int num_nodes, std::uint64_t each_bytes, std::byte* sent, std::byte* received) {
  for (int step = 1; step < num_nodes; ++step) {
    const int to = (node_rank + step) % num_nodes;
    const int from = (node_rank + num_nodes - step) % num_nodes;
    for (std::uint64_t done = 0; done < each_bytes; done += call_bytes) {
      const int count = static_cast<int>(std::min(call_bytes, each_bytes - done));
      const std::uint64_t at = done % message_memory_bytes;
      MPI_Sendrecv(sent + at, count, MPI_BYTE, to, 0, received + at, count, MPI_BYTE, from, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    }
  }
}

int run(int argc, char** argv) {
  std::string input;
  std::string output;
  std::string folder = "/tmp";
  CLI::App app("The bare reads, writes and messages of a sort in parts");
  app.add_option("--input", input)->required();
  app.add_option("--output", output, "Written, and left there")->required();
  app.add_option("--folder", folder, "For temporary files");
  CLI11_PARSE(app, argc, argv);
  int node_rank = 0;
  int num_nodes = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &node_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_nodes);

  const open_file in(input, O_RDONLY);
  struct stat status {};
  ::fstat(in.get(), &status);
  const auto nodes = static_cast<std::uint64_t>(num_nodes);
  const std::uint64_t share = static_cast<std::uint64_t>(status.st_size) / nodes / alignment_bytes * alignment_bytes;
  const std::uint64_t first = share * static_cast<std::uint64_t>(node_rank);
  const open_file spilled(folder, O_TMPFILE | O_RDWR);
  if (::fallocate(spilled.get(), 0, 0, static_cast<off_t>(share)) != 0) throw std::runtime_error("no space");
  const open_file out(output, O_CREAT | O_WRONLY);
  if (node_rank == 0 && ::fallocate(out.get(), 0, 0, static_cast<off_t>(share * nodes)) != 0)
    throw std::runtime_error("no space");
  const buffer sent = make_buffer(message_memory_bytes);
  const buffer received = make_buffer(message_memory_bytes);

  const double reading = seconds_of([&] {
    move(first, share, [&](off_t at, std::uint64_t size) { return ::pread(in.get(), sent.get(), size, at); });
  });
  const double spilling = seconds_of([&] {
    move(0, share, [&](off_t at, std::uint64_t size) { return ::pwrite(spilled.get(), sent.get(), size, at); });
    ::fsync(spilled.get());
  });
  const double reading_back = seconds_of([&] {
    move(0, share, [&](off_t at, std::uint64_t size) { return ::pread(spilled.get(), sent.get(), size, at); });
  });
  const double writing = seconds_of([&] {
    move(first, share, [&](off_t at, std::uint64_t size) { return ::pwrite(out.get(), sent.get(), size, at); });
    ::fsync(out.get());
  });
  const double exchanging =
      seconds_of([&] { exchange(node_rank, num_nodes, share / nodes, sent.get(), received.get()); });
  if (node_rank == 0) {
    fmt::print(R"({{"read": {:.3f}, "spill": {:.3f}, "read_back": {:.3f}, "write": {:.3f}, "exchange": {:.3f}}})",
               reading, spilling, reading_back, writing, exchanging);
    fmt::print("\n");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 1;
  try {
    status = run(argc, argv);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "spansort_bench_transfers: {}\n", failure.what());
    MPI_Abort(MPI_COMM_WORLD, status);
  }
  MPI_Finalize();
  return status;
}
