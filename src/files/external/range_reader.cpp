// SPDX-License-Identifier: Apache-2.0
#include "files/external/range_reader.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/assert.hpp"
#include "base/math.hpp"

namespace spansort::external {
namespace {

int compare(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::memcmp(a.data(), b.data(), a.size());
}

}  // namespace

range_reader::range_reader(const element_order& order, const spill_plan& plan, run_list runs, bool sums_elements)
    : order_(order),
      capacity_(plan.chunk_elements),
      block_elements_(plan.block_elements),
      pool_(plan.batch_bytes),
      sums_elements_(sums_elements) {
  for (std::unique_ptr<sorted_run>& run : runs) {
    cursor c;
    c.num_blocks = base::ceil_div(run->num_elements(), block_elements_);
    c.run = std::move(run);
    cursors_.push_back(std::move(c));
  }
  const auto later = [&](std::size_t a, std::size_t b) { return comes_before(b, a); };
  for (std::size_t i = 0; i < cursors_.size(); ++i) {
    if (cursors_[i].num_blocks != 0) heap_.push_back(i);
  }
  std::ranges::make_heap(heap_, later);
}

std::uint64_t range_reader::elements_of(const cursor& c, std::uint64_t block) const noexcept {
  return std::min(block_elements_, c.run->num_elements() - block * block_elements_);
}

/// Returns whether the next block of one run begins before that of another.
bool range_reader::comes_before(std::size_t left, std::size_t right) const {
  const cursor& a = cursors_[left];
  const cursor& b = cursors_[right];
  const int order = compare(a.run->first_key(a.next_block), b.run->first_key(b.next_block));
  return order != 0 ? order < 0 : left < right;
}

bool range_reader::next(element_chunk& into) {
  const std::optional<bound> end = choose_blocks();
  load(into);
  cut_off_tails(into, end);
  SPANSORT_ASSERT(into.count != 0 || !end);
  return into.count != 0;
}

std::optional<range_reader::bound> range_reader::choose_blocks() {
  const auto later = [&](std::size_t a, std::size_t b) { return comes_before(b, a); };
  std::uint64_t total = 0;
  for (cursor& c : cursors_) {
    c.first_block = c.next_block;
    c.count = c.tail.size() / order_.element_bytes();
    total += c.count;
  }
  while (!heap_.empty()) {
    const std::size_t run = heap_.front();
    cursor& c = cursors_[run];
    const std::uint64_t count = elements_of(c, c.next_block);
    if (total + count > capacity_) return bound{c.run->first_key(c.next_block), run};
    std::ranges::pop_heap(heap_, later);
    heap_.pop_back();
    c.count += count;
    total += count;
    if (++c.next_block == c.num_blocks) continue;
    heap_.push_back(run);
    std::ranges::push_heap(heap_, later);
  }
  return std::nullopt;
}

void range_reader::load(element_chunk& into) {
  struct request {
    cursor* from = nullptr;
    std::uint64_t first = 0;
    std::uint64_t num_elements = 0;
    std::byte* to = nullptr;
  };
  const std::uint64_t width = order_.element_bytes();
  std::vector<request> requests;
  std::uint64_t offset = 0;
  for (cursor& c : cursors_) {
    c.offset = offset;
    std::byte* to = into.bytes.data() + offset * width;
    std::copy(c.tail.begin(), c.tail.end(), to);
    to += c.tail.size();
    c.tail.clear();
    for (std::uint64_t block = c.first_block; block < c.next_block;) {
      const std::uint64_t num_blocks = std::min(c.run->readable_blocks(block), c.next_block - block);
      const std::uint64_t first = block * block_elements_;
      const std::uint64_t count = std::min(num_blocks * block_elements_, c.run->num_elements() - first);
      requests.push_back({&c, first, count, to});
      block += num_blocks;
      to += count * width;
    }
    offset += c.count;
  }
  std::mutex mutex;
  pool_.run(requests.size(), [&](std::uint64_t i, std::span<std::byte> buffer) {
    const request& r = requests[i];
    r.from->run->read(r.first, r.num_elements, r.to, buffer);
    if (!sums_elements_) return;
    const multiset_checksum sum = order_.checksum(r.to, r.num_elements);
    const std::lock_guard lock(mutex);
    checksum_ = checksum_ + sum;
  });
}

void range_reader::cut_off_tails(element_chunk& into, const std::optional<bound>& end) {
  const std::uint64_t width = order_.element_bytes();
  std::byte* const begin = into.bytes.data();
  into.count = 0;
  for (std::size_t i = 0; i < cursors_.size(); ++i) {
    cursor& c = cursors_[i];
    std::byte* const elements = begin + c.offset * width;
    c.num_final = end ? num_before(elements, c.count, *end, i) : c.count;
    c.tail.assign(elements + c.num_final * width, elements + c.count * width);
    std::memmove(begin + into.count * width, elements, c.num_final * width);
    into.count += c.num_final;
    if (c.next_block == c.num_blocks && c.first_block != c.next_block) c.run->discard();
  }
}

/// Returns how many of a run's elements come before the bound. Those of the bound's own run all do: its block follows
/// them.
std::uint64_t range_reader::num_before(const std::byte* elements, std::uint64_t count, const bound& end,
                                       std::size_t run) const {
  if (run == end.run) return count;
  std::vector<std::byte> key(order_.key_bytes());
  std::uint64_t low = 0;
  for (std::uint64_t high = count; low < high;) {
    const std::uint64_t middle = low + (high - low) / 2;
    order_.write_key(elements + middle * order_.element_bytes(), key.data());
    const int order = compare(key, end.key);
    // Equal elements of earlier runs come first.
    if (order < 0 || (order == 0 && run < end.run)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace spansort::external
