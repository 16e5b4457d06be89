// SPDX-License-Identifier: Apache-2.0
#include "files/file_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/math.hpp"
#include "files/io/file_descriptor.hpp"
#include "files/io/input.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

class file_run final : public external::sorted_run {
 public:
  file_run(const sorted_input& file, const external::element_order& order, const external::spill_plan& plan)
      : file_(file),
        name_(name_of_input(file.path)),
        order_(order),
        block_elements_(plan.block_elements),
        batch_blocks_(plan.batch_bytes / plan.block_bytes) {
    const opened_file opened = open();
    state_ = opened.state;
    if (static_cast<std::uint64_t>(state_.st_size) != file_.first_byte + file_.num_elements * order_.element_bytes())
      throw_changed();
    keys_.resize(num_blocks() * order_.key_bytes());
    std::vector<std::byte> element(order_.element_bytes());
    std::vector<std::byte> left;
    for (std::uint64_t block = 0; block < num_blocks(); ++block) {
      read_elements(opened.descriptor.get(), block * block_elements_, 1, element.data());
      order_.write_key(element.data(), keys_.data() + block * order_.key_bytes());
      if (block != 0) require_order(left.data(), element.data(), 1, "somewhere before", block * block_elements_);
      left = element;
    }
  }

  [[nodiscard]] std::uint64_t num_elements() const noexcept override { return file_.num_elements; }
  [[nodiscard]] std::span<const std::byte> first_key(std::uint64_t block) const noexcept override {
    return std::span(keys_).subspan(block * order_.key_bytes(), order_.key_bytes());
  }
  [[nodiscard]] std::uint64_t readable_blocks(std::uint64_t block) const noexcept override {
    return std::min(batch_blocks_, num_blocks() - block);
  }

  /// Compares the last element with the one behind, where there is one: what one call reads is in order with what
  /// another does, too.
  void read(std::uint64_t first, std::uint64_t count, std::byte* elements, std::span<std::byte>) override {
    const opened_file opened = open();
    require_unchanged(opened.state);
    read_elements(opened.descriptor.get(), first, count, elements);
    require_unchanged(state_of(opened.descriptor.get()));
    require_order(nullptr, elements, count, "at", first);
    if (first + count == file_.num_elements) return;
    std::vector<std::byte> next(order_.element_bytes());
    read_elements(opened.descriptor.get(), first + count, 1, next.data());
    const std::byte* const last = elements + (count - 1) * order_.element_bytes();
    require_order(last, next.data(), 1, "at", first + count);
  }

 private:
  [[nodiscard]] std::uint64_t num_blocks() const noexcept {
    return base::ceil_div(file_.num_elements, block_elements_);
  }

  struct opened_file {
    file_descriptor descriptor;
    struct stat state;
  };
  [[nodiscard]] opened_file open() const {
    file_descriptor opened = open_file(file_.path.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK);
    if (!opened.is_open()) throw_unreadable(errno);
    const struct stat state = state_of(opened.get());
    return {std::move(opened), state};
  }

  [[nodiscard]] struct stat state_of(int fd) const {
    struct stat status {};
    if (::fstat(fd, &status) != 0) throw_unreadable(errno);
    if (!S_ISREG(status.st_mode)) {
      throw bad_input(fmt::format("{}: is no regular file; a merge reads its inputs here and there", name_));
    }
    return status;
  }

  void require_unchanged(const struct stat& now) const {
    if (!is_unchanged(state_, now)) throw_changed();
  }
  [[noreturn]] void throw_changed() const {
    throw bad_input(fmt::format("{}: input changed while it was read", name_));
  }
  [[noreturn]] void throw_unreadable(int code) const {
    throw io_error(fmt::format("cannot read {}: {}", name_, error_text(code)), code);
  }

  void read_elements(int fd, std::uint64_t first, std::uint64_t count, std::byte* to) const {
    const std::uint64_t width = order_.element_bytes();
    const transfer_result done = read_fully_at(fd, {to, count * width}, file_.first_byte + first * width);
    if (done.error_code != 0) throw_unreadable(done.error_code);
    if (done.num_bytes != count * width) {
      throw bad_input(fmt::format("{}: input changed while it was read: it ends earlier", name_));
    }
    make_native({to, count * width}, width, file_.changes);
  }

  /// `first` is the index of the first of `elements`, for messages.
  void require_order(const std::byte* left, const std::byte* elements, std::uint64_t count, const char* where,
                     std::uint64_t first) const {
    if (!order_.first_key_disorder(left, elements, count)) return;
    if (const auto at = order_.first_disorder(left, elements, count, false)) {
      throw bad_input(
          fmt::format("{}: is not sorted: an element {} index {} comes before its left neighbour; sort it first", name_,
                      where, first + *at));
    }
    throw tie_disorder(fmt::format(
        "{}: keys that are equal in value, -0.0 and 0.0 or NaN, are not in the order of their bits; merge into a file "
        "rather than a stream, or sort it first",
        name_));
  }

  sorted_input file_;
  std::string name_;
  const external::element_order& order_;
  std::uint64_t block_elements_;
  std::uint64_t batch_blocks_;
  struct stat state_ {};
  std::vector<std::byte> keys_;
};

}  // namespace

std::unique_ptr<external::sorted_run> make_file_run(const sorted_input& file, const external::element_order& order,
                                                    const external::spill_plan& plan) {
  return std::make_unique<file_run>(file, order, plan);
}

}  // namespace spansort::files
