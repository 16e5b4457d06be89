// SPDX-License-Identifier: Apache-2.0
// Blocks in temporary files that somebody changes, cuts off or makes longer: what is read is what was written, or is
// refused as damaged.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "byte_reader.hpp"
#include "files/external/spill_store.hpp"
#include "spansort/errors.hpp"

namespace {

using namespace spansort::external;
using spansort::fuzz::byte_reader;

constexpr std::uint64_t block_bytes = 4096;
constexpr std::uint64_t most_blocks = 24;

/// Memory, where there is a file system in it: nothing here is about the disk.
std::string folder() { return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"; }

/// A block as the caller has it: in memory that direct access takes.
struct aligned_blocks {
  explicit aligned_blocks(std::uint64_t count)
      : size_bytes(count * block_bytes),
        memory(static_cast<std::byte*>(std::aligned_alloc(block_bytes, size_bytes)), &std::free) {
    if (memory == nullptr) throw std::bad_alloc();
  }
  [[nodiscard]] std::span<std::byte> bytes() const { return {memory.get(), size_bytes}; }

  std::uint64_t size_bytes;
  std::unique_ptr<std::byte, decltype(&std::free)> memory;
};

class spill_case {
 public:
  explicit spill_case(byte_reader& input)
      : input_(input),
        batch_blocks_(1 + input.below(4)),
        files_(first_free_descriptors()),
        store_({folder(), folder()}, {block_bytes, batch_blocks_ * block_bytes}, 0) {}

  void run() {
    while (!input_.is_empty()) {
      switch (input_.below(5)) {
        case 0: append(); break;
        case 1: write(); break;
        case 2: change_file(); break;
        case 3: cut_file(); break;
        default: read(); break;
      }
    }
    for (std::uint64_t block = 0; block < blocks_.size(); ++block) read_blocks(block, 1);
  }

 private:
  struct known_block {
    std::vector<std::byte> contents = {};  ///< empty: not written
    bool was_changed = false;              ///< it may be damaged
  };

  /// The store's files get these numbers, for nobody else opens any.
  static std::array<int, 2> first_free_descriptors() {
    std::array<int, 2> free{};
    for (int& each : free) each = ::open("/dev/null", O_RDONLY);
    for (const int each : free) ::close(each);
    return free;
  }

  void append() {
    const std::uint64_t count = 1 + input_.below(batch_blocks_);
    if (blocks_.size() + 2 * batch_blocks_ > most_blocks) return;
    const std::uint64_t first = store_.append(count);
    if (first % batch_blocks_ != 0 || first < blocks_.size()) std::abort();
    blocks_.resize(first + count);
  }

  /// Some blocks of one batch.
  [[nodiscard]] std::uint64_t blocks_from(std::uint64_t first) {
    const std::uint64_t batch_end = (first / batch_blocks_ + 1) * batch_blocks_;
    return 1 + input_.below(std::min<std::uint64_t>(batch_end, blocks_.size()) - first);
  }

  void write() {
    if (blocks_.empty()) return;
    const std::uint64_t first = input_.below(blocks_.size());
    const std::uint64_t count = blocks_from(first);
    const aligned_blocks memory(count);
    std::uint64_t value = input_.number(2);
    for (std::byte& byte : memory.bytes()) byte = static_cast<std::byte>(value++ >> 3);
    store_.write(first, memory.bytes());
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto own = memory.bytes().subspan(i * block_bytes, block_bytes);
      blocks_[first + i] = {{own.begin(), own.end()}, false};
    }
  }

  void read() {
    if (blocks_.empty()) return;
    const std::uint64_t first = input_.below(blocks_.size());
    read_blocks(first, blocks_from(first));
  }

  void read_blocks(std::uint64_t first, std::uint64_t count) {
    const auto own = std::span(blocks_).subspan(first, count);
    if (std::ranges::any_of(own, [](const known_block& b) { return b.contents.empty(); })) return;
    const aligned_blocks memory(count);
    try {
      store_.read(first, memory.bytes());
    } catch (const spansort::internal_error&) {
      if (std::ranges::none_of(own, &known_block::was_changed)) std::abort();
      return;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!std::ranges::equal(own[i].contents, memory.bytes().subspan(i * block_bytes, block_bytes))) std::abort();
    }
  }

  void may_be_damaged() {
    for (known_block& each : blocks_) each.was_changed = true;
  }

  void change_file() {
    const int file = files_[input_.below(2)];
    const auto at = static_cast<off_t>(input_.below(most_blocks * block_bytes, 3));
    const std::array<std::uint64_t, 2> words{input_.number(8), input_.number(1)};
    static_cast<void>(!::pwrite(file, words.data(), 1 + input_.below(sizeof words), at));
    may_be_damaged();
  }

  void cut_file() {
    const int file = files_[input_.below(2)];
    static_cast<void>(!::ftruncate(file, static_cast<off_t>(input_.below(most_blocks * block_bytes, 3))));
    may_be_damaged();
  }

  byte_reader& input_;
  std::uint64_t batch_blocks_;
  std::array<int, 2> files_;
  spill_store store_;
  std::vector<known_block> blocks_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  byte_reader input(data, size);
  spill_case(input).run();
  return 0;
}
