// SPDX-License-Identifier: Apache-2.0
#include "files/io/parallel_read.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/math.hpp"
#include "base/signals_held.hpp"
#include "base/threads.hpp"

namespace spansort::files {
namespace {

/// The bytes that a thread asks for at a time: less costs more calls, more shows progress later.
constexpr std::uint64_t block_bytes = std::uint64_t{2} << 20;
/// The disk has something to do beside the copy also where there is one processor; more than eight threads have not
/// been measured.
constexpr unsigned least_threads = 2;
constexpr unsigned most_threads = 8;

class block_reader {
 public:
  block_reader(int fd, std::span<std::byte> into, std::uint64_t offset)
      : fd_(fd), into_(into), offset_(offset), blocks_(base::ceil_div<std::uint64_t>(into.size(), block_bytes)) {}

  transfer_result read(const prefix_callback& on_prefix) {
    {
      std::vector<std::jthread> others = start_others();
      try {
        while (read_next()) {
          if (on_prefix) on_prefix(prefix());
        }
      } catch (...) {
        stop();
        throw;
      }
    }
    if (on_prefix) on_prefix(prefix());
    return result();
  }

 private:
  struct block {
    transfer_result done;
    bool is_finished = false;
  };

  std::vector<std::jthread> start_others() {
    const std::uint64_t wanted = std::clamp(base::num_processors(), least_threads, most_threads);
    std::vector<std::jthread> others;
    const base::signals_held hold;  // the caller's threads are there for them
    for (std::uint64_t i = 1; i < std::min<std::uint64_t>(wanted, blocks_.size()); ++i) {
      try {
        others.emplace_back([this] {
          while (read_next()) {
          }
        });
      } catch (const std::system_error&) {
        break;  // those that there are do it all
      }
    }
    return others;
  }

  [[nodiscard]] std::span<std::byte> bytes_of(std::uint64_t i) const noexcept {
    const std::uint64_t begin = i * block_bytes;
    return into_.subspan(begin, std::min<std::uint64_t>(block_bytes, into_.size() - begin));
  }

  /// Reads the next block that nobody has; false where there is none, or what came before it ended early.
  bool read_next() noexcept {
    const std::uint64_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= blocks_.size()) return false;
    const std::span<std::byte> bytes = bytes_of(i);
    const transfer_result done = read_fully_at(fd_, bytes, offset_ + i * block_bytes);
    const bool is_whole = done.error_code == 0 && done.num_bytes == bytes.size();
    const std::lock_guard lock(mutex_);
    blocks_[i] = {done, true};
    while (num_whole_ < blocks_.size() && is_whole_block(num_whole_)) ++num_whole_;
    if (!is_whole) stop();
    return is_whole;
  }
  void stop() noexcept { next_.store(blocks_.size(), std::memory_order_relaxed); }

  [[nodiscard]] bool is_whole_block(std::uint64_t i) const noexcept {
    return blocks_[i].is_finished && blocks_[i].done.error_code == 0 && blocks_[i].done.num_bytes == bytes_of(i).size();
  }
  [[nodiscard]] std::uint64_t prefix() {
    const std::lock_guard lock(mutex_);
    return std::min<std::uint64_t>(num_whole_ * block_bytes, into_.size());
  }
  /// Blocks are begun in order and ended: the first that is not whole is where reading ended.
  [[nodiscard]] transfer_result result() const noexcept {
    transfer_result all{.num_bytes = std::min<std::uint64_t>(num_whole_ * block_bytes, into_.size())};
    if (num_whole_ == blocks_.size()) return all;
    all.num_bytes += blocks_[num_whole_].done.num_bytes;
    all.error_code = blocks_[num_whole_].done.error_code;
    return all;
  }

  int fd_;
  std::span<std::byte> into_;
  std::uint64_t offset_;
  std::atomic<std::uint64_t> next_{0};
  std::mutex mutex_;
  std::vector<block> blocks_;
  std::uint64_t num_whole_ = 0;  ///< blocks from the first on that are there as a whole
};

}  // namespace

transfer_result read_by_threads(int fd, std::span<std::byte> into, std::uint64_t offset,
                                const prefix_callback& on_prefix) {
  return block_reader(fd, into, offset).read(on_prefix);
}

}  // namespace spansort::files
