// SPDX-License-Identifier: Apache-2.0
#include "device/host/host_device.hpp"

#include <algorithm>
#include <cstring>

#include "base/available_memory.hpp"
#include "device/exchange_work.hpp"
#include "device/host/host_memory.hpp"
#include "device/host/host_queue.hpp"
#include "device/host/local_sort/local_sort.hpp"
#include "device/host/scratch.hpp"
#include "device/host/topology.hpp"
#include "device/host/vector_kernels.hpp"
#include "device/host/vector_sort.hpp"

#include "spansort/errors.hpp"

namespace spansort::device::host {
namespace {

/// An input smaller than this is sorted by one device before several have agreed on a plan: here rmg over host:2 begins
/// to beat one of the two (u32, u64, f32, uniform; AMD Zen 3, two cores).
constexpr std::uint64_t keys_worth_several = std::uint64_t{1} << 17;

class host_device final : public device, public copying_device {
 public:
  explicit host_device(host_device_options options)
      : options_(std::move(options)), team_(options_.num_threads, options_.numa_node) {}

  [[nodiscard]] const std::string& name() const noexcept override { return options_.name; }
  [[nodiscard]] unsigned num_threads() const noexcept override { return options_.num_threads; }
  [[nodiscard]] std::uint64_t available_bytes() const override { return base::available_memory_bytes(); }
  [[nodiscard]] device_info info() const override {
    return {.model = processor_model(),
            .memory_bytes = total_memory_bytes(options_.numa_node),
            .numa_node = options_.numa_node,
            .vector_target = vector_target()};
  }

  [[nodiscard]] buffer allocate_on(void* /*stream*/, std::uint64_t size_bytes) override {
    if (size_bytes == 0) return {};
    if (options_.before_allocation) options_.before_allocation(size_bytes);
    return {*this, map_memory(size_bytes, options_.numa_node), size_bytes};
  }

  [[nodiscard]] std::unique_ptr<queue> make_queue() override {
    return std::make_unique<host_queue>(team_, options_.limits, options_.on_calling_thread);
  }

  [[nodiscard]] std::unique_ptr<event> make_event() override { return std::make_unique<host_event>(); }

  [[nodiscard]] bool reaches(const device& other) const override {
    return dynamic_cast<const host_device*>(&other) != nullptr;
  }
  [[nodiscard]] std::string why_unreachable(const device& other) const override {
    return reaches(other) ? "" : other.name() + " is no host device";
  }
  [[nodiscard]] bool owns(const void*) const override { return true; }
  [[nodiscard]] bool shares_host_memory() const noexcept override { return options_.shares_memory; }

  [[nodiscard]] int memory_id() const noexcept override { return host_memory; }

  [[nodiscard]] partition_advice advise(const record_shape& shape) const override {
    const unsigned widest = max_combining_digit_bits(shape.codec.width_bytes(), shape.value_bytes);
    return {options_.limits.bucket_bytes / shape.bytes(), std::min(options_.limits.radix_bits, widest), max_digit_bits,
            keys_worth_several};
  }

  /// Buckets that fit the cache end where they are wanted, at no cost. A device that pretends to have memory of its own
  /// pretends passes of eight bits, too.
  [[nodiscard]] bool prefers_alternate(const record_shape&, keys::bit_range bits) const override {
    return !options_.shares_memory && (bits.size() + 7) / 8 % 2 != 0;
  }
  [[nodiscard]] local_sort_offer offer_local_sort(std::string_view wanted, const record_shape& shape,
                                                  std::uint64_t num_keys) const override {
    return wanted.empty() ? local_sort_offer{} : offer(wanted, shape, num_keys);
  }
  [[nodiscard]] buffer allocate_staging(std::uint64_t size_bytes) override { return allocate(size_bytes); }
  [[nodiscard]] buffer allocate_host(std::uint64_t size_bytes) override { return allocate(size_bytes); }

  [[nodiscard]] std::uint64_t scratch_bytes() const override { return team_.scratch_bytes(); }
  void prepare() override {
    try {
      team_.prepare_scratch();
    } catch (const std::bad_alloc&) {
      throw out_of_memory(options_.name + ": no memory for its threads' scratch", scratch_bytes(), available_bytes());
    }
  }
  void release() override { team_.release_scratch(); }
  [[nodiscard]] bool copy_at_once(void* to, const void* from, std::uint64_t size_bytes) noexcept override {
    std::memcpy(to, from, size_bytes);
    return true;
  }

 private:
  void deallocate(void* data, std::uint64_t size_bytes) noexcept override { unmap_memory(data, size_bytes); }

  host_device_options options_;
  workers team_;
};

}  // namespace

std::unique_ptr<device> make_host_device(host_device_options options) {
  return std::make_unique<host_device>(std::move(options));
}

std::uint64_t fewest_streamed_copies() {
  constexpr std::uint64_t least = std::uint64_t{1} << 25;
  constexpr std::uint64_t most = std::uint64_t{1} << 27;
  static const std::uint64_t wanted = std::clamp(last_level_cache_bytes() / 4, least, most);
  return wanted;
}

std::uint64_t inline_keys(const sort_limits& limits, std::uint64_t key_bytes, std::uint64_t value_bytes) {
  if (key_bytes < 4 || !has_vector_sort()) return limits.inline_keys;
  const std::uint64_t in_vectors = value_bytes == 0 ? limits.vector_inline_bytes / key_bytes : limits.word_inline_keys;
  return std::max(limits.inline_keys, in_vectors);
}

}  // namespace spansort::device::host
