// SPDX-License-Identifier: Apache-2.0
#include "files/external/runs.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "base/math.hpp"

namespace spansort::external {

/// A run in a store: some stretches of blocks, all full but the very last.
class spilled_run final : public sorted_run {
 public:
  spilled_run(std::shared_ptr<spill_store> store, std::uint64_t element_bytes, std::uint64_t block_elements,
              std::uint64_t key_bytes)
      : store_(std::move(store)),
        element_bytes_(element_bytes),
        block_elements_(block_elements),
        key_bytes_(key_bytes) {}

  [[nodiscard]] std::uint64_t num_elements() const noexcept override { return num_elements_; }
  [[nodiscard]] std::span<const std::byte> first_key(std::uint64_t block) const noexcept override {
    return std::span(keys_).subspan(block * key_bytes_, key_bytes_);
  }

  [[nodiscard]] std::uint64_t readable_blocks(std::uint64_t block) const noexcept override {
    const extent& e = extent_of(block);
    const std::uint64_t stored = e.stored_at + (block - e.first_block);
    const std::uint64_t to_batch_end = store_->blocks_of_a_batch() - stored % store_->blocks_of_a_batch();
    return std::min(to_batch_end, e.first_block + e.num_blocks - block);
  }

  void read(std::uint64_t first, std::uint64_t count, std::byte* elements, std::span<std::byte> buffer) override {
    const std::uint64_t first_block = first / block_elements_;
    const std::uint64_t end_block = base::ceil_div(first + count, block_elements_);
    const extent& e = extent_of(first_block);
    const std::span<std::byte> bytes = buffer.first((end_block - first_block) * store_->block_bytes());
    store_->read(e.stored_at + (first_block - e.first_block), bytes);
    for (std::uint64_t at = first, end = first + count; at < end;) {
      const std::uint64_t block = at / block_elements_;
      const std::uint64_t in_block = at % block_elements_;
      const std::uint64_t num_copied = std::min(block_elements_ - in_block, end - at);
      std::memcpy(elements, bytes.data() + (block - first_block) * store_->block_bytes() + in_block * element_bytes_,
                  num_copied * element_bytes_);
      elements += num_copied * element_bytes_;
      at += num_copied;
    }
  }

  void discard() noexcept override {
    for (const extent& e : extents_) store_->discard(e.stored_at, e.num_blocks);
  }

  /// Room for `num_blocks` more with `count` elements in all; returns where in the store they go.
  [[nodiscard]] std::uint64_t extend(std::uint64_t num_blocks, std::uint64_t count) {
    extents_.push_back({keys_.size() / key_bytes_, store_->append(num_blocks), num_blocks});
    keys_.resize(keys_.size() + num_blocks * key_bytes_);
    num_elements_ += count;
    return extents_.back().stored_at;
  }
  /// Returns where the first key of the i-th block of the last extent goes.
  [[nodiscard]] std::byte* new_key(std::uint64_t i) noexcept {
    return keys_.data() + (extents_.back().first_block + i) * key_bytes_;
  }

 private:
  struct extent {
    std::uint64_t first_block = 0;  ///< of the run
    std::uint64_t stored_at = 0;    ///< its number in the store
    std::uint64_t num_blocks = 0;
  };
  [[nodiscard]] const extent& extent_of(std::uint64_t block) const noexcept {
    const auto after = std::ranges::upper_bound(extents_, block, {}, &extent::first_block);
    return *std::prev(after);
  }

  std::shared_ptr<spill_store> store_;
  std::uint64_t element_bytes_;
  std::uint64_t block_elements_;
  std::uint64_t key_bytes_;
  std::uint64_t num_elements_ = 0;
  std::vector<extent> extents_;
  std::vector<std::byte> keys_;
};

run_writer::run_writer(const element_order& order, const spill_plan& plan, const std::vector<std::string>& folders,
                       std::uint64_t expected_bytes)
    : order_(order),
      block_elements_(plan.block_elements),
      store_(std::make_shared<spill_store>(folders, block_sizes{plan.block_bytes, plan.batch_bytes}, expected_bytes)),
      pool_(plan.batch_bytes) {}

run_writer::~run_writer() = default;

void run_writer::append(const std::byte* elements, std::uint64_t count) {
  const std::uint64_t width = order_.element_bytes();
  if (current_ == nullptr) {
    current_ = std::make_unique<spilled_run>(store_, width, block_elements_, order_.key_bytes());
  }
  if (!rest_.empty()) {
    const std::uint64_t moved = std::min(count, block_elements_ - rest_.size() / width);
    const std::size_t filled = rest_.size();
    rest_.resize(filled + moved * width);
    std::copy_n(elements, moved * width, rest_.data() + filled);
    elements += moved * width;
    count -= moved;
    if (rest_.size() < block_elements_ * width) return;
    write_blocks(rest_.data(), block_elements_);
    rest_.clear();
  }
  const std::uint64_t whole = count / block_elements_ * block_elements_;
  write_blocks(elements, whole);
  rest_.assign(elements + whole * width, elements + count * width);
}

void run_writer::finish_run() {
  if (current_ == nullptr) return;
  write_blocks(rest_.data(), rest_.size() / order_.element_bytes());
  rest_.clear();
  runs_.push_back(std::move(current_));
}

run_list run_writer::take_runs() {
  SPANSORT_ASSERT(current_ == nullptr);
  return std::move(runs_);
}

void run_writer::write_blocks(const std::byte* elements, std::uint64_t count) {
  if (count == 0) return;
  const std::uint64_t width = order_.element_bytes();
  const std::uint64_t num_blocks = base::ceil_div(count, block_elements_);
  const std::uint64_t stored_at = current_->extend(num_blocks, count);
  const std::uint64_t batch_blocks = store_->blocks_of_a_batch();
  const bool lies_as_on_disk = store_->block_bytes() == block_elements_ * width && count % block_elements_ == 0 &&
                               reinterpret_cast<std::uintptr_t>(elements) % direct_alignment_bytes == 0;
  const auto write_batch = [&](std::uint64_t batch, std::span<std::byte> buffer) {
    const std::uint64_t first = batch * batch_blocks;
    const std::uint64_t end = std::min(first + batch_blocks, num_blocks);
    if (lies_as_on_disk) {
      const std::uint64_t block_bytes = store_->block_bytes();
      for (std::uint64_t block = first; block < end; ++block)
        order_.write_key(elements + block * block_bytes, current_->new_key(block));
      store_->write(stored_at + first, {elements + first * block_bytes, (end - first) * block_bytes});
      return;
    }
    for (std::uint64_t block = first; block < end; ++block) {
      const std::byte* const from = elements + block * block_elements_ * width;
      const std::uint64_t size = std::min(block_elements_, count - block * block_elements_) * width;
      const std::span<std::byte> to = buffer.subspan((block - first) * store_->block_bytes(), store_->block_bytes());
      std::memcpy(to.data(), from, size);
      std::memset(to.data() + size, 0, to.size() - size);
      order_.write_key(from, current_->new_key(block));
    }
    store_->write(stored_at + first, buffer.first((end - first) * store_->block_bytes()));
  };
  pool_.run(base::ceil_div(num_blocks, batch_blocks), write_batch);
}

}  // namespace spansort::external
