// SPDX-License-Identifier: Apache-2.0
#include "files/file_blocks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "files/io/file_descriptor.hpp"
#include "files/page_cache.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

class file_blocks final : public statistics::key_blocks {
 public:
  file_blocks(const std::string& path, const key_reader& reader, std::function<void(std::uint64_t)> on_read)
      : name_(reader.name()),
        layout_(reader.layout()),
        first_byte_(reader.header_bytes()),
        num_keys_(reader.num_keys().value_or(0)),
        file_(open_file(path.c_str(), O_RDONLY | O_NOCTTY)),
        drops_pages_(!fits_page_cache(num_keys_ * size_bytes(layout_.type))),
        on_read_(std::move(on_read)) {
    if (!file_.is_open()) throw_unreadable(errno);
    status_ = status();
    if (!S_ISREG(status_.st_mode)) throw bad_input(fmt::format("{}: is no regular file", name_));
    static_cast<void>(::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL));
  }

  [[nodiscard]] key_type type() const noexcept override { return layout_.type; }
  [[nodiscard]] std::uint64_t num_keys() const noexcept override { return num_keys_; }

  void read(std::uint64_t first, std::uint64_t count, void* to) override {
    const std::uint64_t width = size_bytes(layout_.type);
    const std::span<std::byte> into(static_cast<std::byte*>(to), count * width);
    const std::uint64_t offset = first_byte_ + first * width;
    const transfer_result done = read_fully_at(file_.get(), into, offset);
    if (done.error_code != 0) throw_unreadable(done.error_code);
    if (done.num_bytes != into.size()) {
      throw bad_input(
          fmt::format("{}: input changed while it was read: it ends at byte {}", name_, offset + done.num_bytes));
    }
    if (drops_pages_) {
      static_cast<void>(::posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(into.size()),
                                        POSIX_FADV_DONTNEED));
    }
    if (layout_.byte_order != std::endian::native) swap_bytes(into, width);
    if (on_read_) on_read_(count);
  }

  void require_unchanged() override {
    const struct stat now = status();
    if (!is_unchanged(status_, now)) throw bad_input(fmt::format("{}: input changed while it was read", name_));
  }

 private:
  [[noreturn]] void throw_unreadable(int code) const {
    throw io_error(fmt::format("cannot read {}: {}", name_, error_text(code)), code);
  }

  [[nodiscard]] struct stat status() const {
    struct stat found {};
    if (::fstat(file_.get(), &found) != 0) throw_unreadable(errno);
    return found;
  }

  std::string name_;
  key_layout layout_;
  std::uint64_t first_byte_;
  std::uint64_t num_keys_;
  file_descriptor file_;
  bool drops_pages_;
  std::function<void(std::uint64_t)> on_read_;
  struct stat status_ {};
};

}  // namespace

std::unique_ptr<statistics::key_blocks> open_key_blocks(const std::string& path, const key_reader& reader,
                                                        std::function<void(std::uint64_t num_keys)> on_read) {
  return std::make_unique<file_blocks>(path, reader, std::move(on_read));
}

}  // namespace spansort::files
