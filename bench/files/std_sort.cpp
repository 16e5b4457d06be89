// SPDX-License-Identifier: Apache-2.0
// The plain program that sorts of files are measured against: reads raw 64-bit unsigned keys into memory, std::sort,
// writes them and has the disk take them.
// usage: spansort_bench_std_sort IN OUT; prints the milliseconds of its phases as JSON.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <system_error>

namespace {

constexpr std::size_t call_bytes = std::size_t{4} << 20;

class file {
 public:
  file(const char* path, int flags) : path_(path), descriptor_(::open(path, flags | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) fail("open");
  }
  file(const file&) = delete;
  file& operator=(const file&) = delete;
  ~file() { ::close(descriptor_); }

  [[nodiscard]] std::size_t size_bytes() const {
    struct stat found {};
    if (::fstat(descriptor_, &found) != 0) fail("stat");
    return static_cast<std::size_t>(found.st_size);
  }

  void read(std::span<std::byte> bytes) const {
    while (!bytes.empty()) bytes = bytes.subspan(moved(::read(descriptor_, bytes.data(), piece(bytes)), "read"));
  }

  void write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) bytes = bytes.subspan(moved(::write(descriptor_, bytes.data(), piece(bytes)), "write"));
    if (::fsync(descriptor_) != 0) fail("sync");
  }

 private:
  static std::size_t piece(std::span<const std::byte> bytes) { return std::min(bytes.size(), call_bytes); }

  [[nodiscard]] std::size_t moved(ssize_t count, const char* action) const {
    if (count == 0) throw std::runtime_error(fmt::format("{}: ended early", path_));
    if (count > 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) fail(action);
    return 0;
  }

  [[noreturn]] void fail(const char* action) const {
    throw std::system_error(errno, std::generic_category(), fmt::format("cannot {} {}", action, path_));
  }

  std::string path_;
  int descriptor_;
};

/// Milliseconds since it was last asked.
class stopwatch {
 public:
  double lap_ms() {
    const auto now = std::chrono::steady_clock::now();
    const double elapsed_ms = std::chrono::duration<double, std::milli>(now - begin_).count();
    begin_ = now;
    return elapsed_ms;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void sort_file(const char* input, const char* output) {
  stopwatch watch;
  const file in(input, O_RDONLY);
  const std::size_t num_keys = in.size_bytes() / sizeof(std::uint64_t);
  // Not a vector, which would write zeros first.
  const auto memory = std::make_unique_for_overwrite<std::uint64_t[]>(num_keys);
  const std::span keys(memory.get(), num_keys);
  in.read(std::as_writable_bytes(keys));
  const double read_ms = watch.lap_ms();
  std::sort(keys.begin(), keys.end());
  const double sort_ms = watch.lap_ms();
  file(output, O_WRONLY | O_CREAT | O_TRUNC).write(std::as_bytes(keys));
  const double write_ms = watch.lap_ms();
  fmt::print("{{\"read_ms\": {:.3f}, \"sort_ms\": {:.3f}, \"write_ms\": {:.3f}}}\n", read_ms, sort_ms, write_ms);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: {} IN OUT\n", argv[0]);
    return 2;
  }
  try {
    sort_file(argv[1], argv[2]);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "{}: {}\n", argv[0], failure.what());
    return 4;
  }
  return 0;
}
