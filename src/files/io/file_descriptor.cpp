// SPDX-License-Identifier: Apache-2.0
#include "files/io/file_descriptor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace spansort::files {
namespace {

// Linux moves at most 0x7ffff000 bytes a call; asking for no more keeps the count positive everywhere.
constexpr std::size_t max_call_bytes = std::size_t{1} << 30;

// A descriptor inherited in non-blocking mode answers EAGAIN: wait for it rather than spin.
void wait_until_ready(int fd, short events) noexcept {
  pollfd waiting{fd, events, 0};
  ::poll(&waiting, 1, -1);
}

template <class Call>
transfer_result transfer(int fd, std::size_t num_bytes, short events, Call call) noexcept {
  transfer_result done;
  while (done.num_bytes < num_bytes) {
    const ssize_t count = call(done.num_bytes, std::min(num_bytes - done.num_bytes, max_call_bytes));
    if (count > 0) {
      done.num_bytes += static_cast<std::size_t>(count);
    } else if (count == 0) {
      return done;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      wait_until_ready(fd, events);
    } else if (errno != EINTR) {
      done.error_code = errno;
      return done;
    }
  }
  return done;
}

// A device that takes nothing and reports nothing would otherwise pass for success.
transfer_result all_or_error(std::size_t num_bytes, transfer_result done) noexcept {
  if (done.error_code == 0 && done.num_bytes < num_bytes) done.error_code = EIO;
  return done;
}

}  // namespace

file_descriptor& file_descriptor::operator=(file_descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

int file_descriptor::close() noexcept {
  if (fd_ < 0) return 0;
  // Not repeated on EINTR: on Linux the descriptor is closed then, and its number may already be another file's.
  const int status = ::close(std::exchange(fd_, -1));
  return status == 0 || errno == EINTR ? 0 : errno;
}

file_descriptor open_file(const char* path, int flags, unsigned mode) noexcept {
  int fd = -1;
  do {
    fd = ::open(path, flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return file_descriptor(fd);
}

transfer_result read_fully(int fd, std::span<std::byte> into) noexcept {
  return transfer(fd, into.size(), POLLIN,
                  [&](std::size_t at, std::size_t count) { return ::read(fd, into.data() + at, count); });
}

transfer_result read_fully_at(int fd, std::span<std::byte> into, std::uint64_t offset) noexcept {
  return transfer(fd, into.size(), POLLIN, [&](std::size_t at, std::size_t count) {
    return ::pread(fd, into.data() + at, count, static_cast<off_t>(offset + at));
  });
}

transfer_result write_fully(int fd, std::span<const std::byte> from) noexcept {
  return all_or_error(from.size(), transfer(fd, from.size(), POLLOUT, [&](std::size_t at, std::size_t count) {
                        return ::write(fd, from.data() + at, count);
                      }));
}

transfer_result write_fully_at(int fd, std::uint64_t offset, std::span<const std::byte> from) noexcept {
  return all_or_error(from.size(), transfer(fd, from.size(), POLLOUT, [&](std::size_t at, std::size_t count) {
                        return ::pwrite(fd, from.data() + at, count, static_cast<off_t>(offset + at));
                      }));
}

bool is_unchanged(const struct stat& before, const struct stat& now) noexcept {
  const auto is_same = [](const timespec& a, const timespec& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
  };
  const bool tells_change = before.st_nlink == now.st_nlink;
  return before.st_dev == now.st_dev && before.st_ino == now.st_ino && before.st_size == now.st_size &&
         is_same(before.st_mtim, now.st_mtim) && (!tells_change || is_same(before.st_ctim, now.st_ctim));
}

std::string error_text(int error_code) { return std::generic_category().message(error_code); }

}  // namespace spansort::files
