// SPDX-License-Identifier: Apache-2.0
// All that src/sort/gpu_devices.cpp and src/sort/gpu_enqueue.cpp define, for GPUs that are made up.
#include "made_up_gpus/made_up_gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <numeric>

#include "device/exchange_work.hpp"
#include "device/host/host_device.hpp"
#include "sort/gpu_devices.hpp"
#include "spansort/devices.hpp"
#include "spansort/errors.hpp"
#include "spansort/sort.hpp"

namespace spansort::test {
namespace {

made_up_machine current;

constexpr std::uint64_t alignment_bytes = 4096;

/// The arrays that are memory of GPUs: their sizes by their begin. Queues allocate none.
std::map<std::uintptr_t, std::uint64_t>& gpu_memory() {
  static std::map<std::uintptr_t, std::uint64_t> arrays;
  return arrays;
}
std::mutex memory_mutex;

void* allocate_gpu_memory(std::uint64_t size_bytes) {
  const std::uint64_t whole = (std::max<std::uint64_t>(size_bytes, 1) + alignment_bytes - 1) / alignment_bytes;
  void* const memory = std::aligned_alloc(alignment_bytes, whole * alignment_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  const std::scoped_lock lock(memory_mutex);
  try {
    gpu_memory().emplace(reinterpret_cast<std::uintptr_t>(memory), size_bytes);
  } catch (...) {
    std::free(memory);
    throw;
  }
  return memory;
}

void free_gpu_memory(void* memory) noexcept {
  const std::scoped_lock lock(memory_mutex);
  gpu_memory().erase(reinterpret_cast<std::uintptr_t>(memory));
  std::free(memory);
}

bool is_gpu_memory(const void* memory) {
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  const std::scoped_lock lock(memory_mutex);
  const auto behind = gpu_memory().upper_bound(at);
  if (behind == gpu_memory().begin()) return false;
  const auto& [begin, size_bytes] = *std::prev(behind);
  return at < begin + size_bytes;
}

class made_up_gpu final : public spansort::device::device, public spansort::device::copying_device {
 public:
  made_up_gpu(int ordinal, const sorting::open_options& options)
      : name_(fmt::format("gpu:{}", ordinal)),
        ordinal_(ordinal),
        before_allocation_(options.hook),
        host_(spansort::device::host::make_host_device({.name = name_, .shares_memory = false})) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] unsigned num_threads() const noexcept override { return 1; }
  [[nodiscard]] spansort::device::device_info info() const override {
    return {.model = "a GPU that is made up", .memory_bytes = std::uint64_t{1} << 30, .vector_target = {}};
  }
  [[nodiscard]] std::uint64_t available_bytes() const override { return current.free_bytes; }
  [[nodiscard]] spansort::device::buffer allocate_on(void* /*stream*/, std::uint64_t size_bytes) override {
    if (size_bytes == 0) return {};
    if (before_allocation_) before_allocation_(size_bytes);
    ++current.num_allocations;
    if (size_bytes > current.most_allocation_bytes) {
      throw out_of_memory(name_ + ": no room", size_bytes, current.most_allocation_bytes, name_);
    }
    return {*this, allocate_gpu_memory(size_bytes), size_bytes};
  }
  [[nodiscard]] std::unique_ptr<spansort::device::queue> make_queue() override { return host_->make_queue(); }
  [[nodiscard]] std::unique_ptr<spansort::device::event> make_event() override { return host_->make_event(); }
  [[nodiscard]] bool reaches(const device& other) const override {
    return dynamic_cast<const made_up_gpu*>(&other) != nullptr;
  }
  [[nodiscard]] std::string why_unreachable(const device& other) const override {
    return reaches(other) ? "" : other.name() + " is no GPU that is made up";
  }
  [[nodiscard]] bool owns(const void* memory) const override { return is_gpu_memory(memory); }
  [[nodiscard]] bool shares_host_memory() const noexcept override { return false; }
  [[nodiscard]] int memory_id() const noexcept override { return ordinal_; }
  [[nodiscard]] spansort::device::partition_advice advise(const spansort::device::record_shape& shape) const override {
    return host_->advise(shape);
  }
  [[nodiscard]] bool prefers_alternate(const spansort::device::record_shape& shape,
                                       keys::bit_range bits) const override {
    return host_->prefers_alternate(shape, bits);
  }
  [[nodiscard]] spansort::device::local_sort_offer offer_local_sort(std::string_view wanted,
                                                                    const spansort::device::record_shape& shape,
                                                                    std::uint64_t num_keys) const override {
    return host_->offer_local_sort(wanted, shape, num_keys);
  }
  [[nodiscard]] spansort::device::buffer allocate_staging(std::uint64_t size_bytes) override {
    return host_->allocate_staging(size_bytes);
  }
  [[nodiscard]] spansort::device::buffer allocate_host(std::uint64_t size_bytes) override {
    return host_->allocate_host(size_bytes);
  }
  [[nodiscard]] std::uint64_t scratch_bytes() const override { return host_->scratch_bytes(); }
  void prepare() override { host_->prepare(); }
  void release() override { host_->release(); }
  [[nodiscard]] bool copy_at_once(void* to, const void* from, std::uint64_t size_bytes) noexcept override {
    if (current.cannot_be_copied_at_once) return false;
    std::memcpy(to, from, size_bytes);
    return true;
  }

 private:
  void deallocate(void* data, std::uint64_t /*size_bytes*/) noexcept override { free_gpu_memory(data); }

  std::string name_;
  int ordinal_;
  sorting::allocation_hook before_allocation_;
  std::unique_ptr<device> host_;
};

}  // namespace

made_up_machine& machine() { return current; }

machine_scope::machine_scope(const made_up_machine& made_up) { current = made_up; }
machine_scope::~machine_scope() { current = {}; }

gpu_bytes::gpu_bytes(std::uint64_t size_bytes) : data_(allocate_gpu_memory(size_bytes)), size_bytes_(size_bytes) {}
gpu_bytes::~gpu_bytes() { free_gpu_memory(data_); }

}  // namespace spansort::test

namespace spansort {

using test::machine;

std::string why_no_gpu() { return machine().num_gpus == 0 ? "no GPU can be used: none is made up" : ""; }

std::vector<link_description> list_links() {
  std::vector<link_description> links;
  if (machine().num_gpus > 1) {
    links.push_back({.from = "gpu:0", .to = "gpu:1", .works = true, .why_not = {}, .gigabytes_per_s = 2.5});
    links.push_back({.from = "gpu:1", .to = "gpu:0", .works = false, .why_not = "it is cut"});
  }
  return links;
}

namespace sorting {
namespace {

std::uint64_t bytes_of(const device::record_shape& shape, std::uint64_t num_records) {
  return num_records * shape.bytes();
}

/// A workspace takes one array more where the fastest is asked for, and half of one less where nothing is wished.
std::uint64_t workspace_of(const gpu_sort& sort) {
  const std::uint64_t array = bytes_of(sort.shape, sort.num_records);
  if (!sort.has_wishes) return array / 2;
  return sort.workspace == workspace_size::fastest ? 2 * array : array;
}

direction direction_of(const device::record_shape& shape) {
  return shape.codec.descending ? direction::descending : direction::ascending;
}

/// The host sorts for a GPU on the calling thread.
sorter make_worker() {
  const base::test_hooks_scope no_hooks(base::test_hooks{});
  return sorter({.devices = "cpu", .threads = 1});
}

void sort_range(const device::record_shape& shape, const device::records& data, std::uint64_t count) {
  const key_span keys{shape.codec.type, data.keys, count};
  sorter worker = make_worker();
  if (shape.value_bytes == 0) return worker.sort(keys, direction_of(shape));
  worker.sort_pairs(keys, data.values, shape.value_bytes, direction_of(shape));
}

void order_range(const device::record_shape& shape, const void* keys, void* indices, std::uint64_t count) {
  make_worker().argsort({shape.codec.type, keys, count}, indices, shape.value_bytes, direction_of(shape));
}

void note(test::stream_call call) {
  machine().calls.push_back(std::move(call));
  if (machine().fails_on_stream) throw device_error("gpu:0: a kernel failed", "gpu:0");
}

void note(const char* name, const gpu_sort& sort, const void* keys, const void* stream) {
  note({.name = name,
        .keys = keys,
        .num_keys = sort.num_records,
        .workspace = sort.workspace,
        .has_wishes = sort.has_wishes,
        .stream = stream});
}

void note(const char* name, const gpu_segments_sort& sort, const void* keys, const void* stream) {
  note({.name = name, .keys = keys, .num_keys = sort.num_records, .num_segments = sort.num_segments, .stream = stream});
}

std::uint64_t bound_of(const gpu_segments_sort& sort, std::uint64_t segment) {
  if (sort.offsets == nullptr) return segment * sort.row_length;
  if (sort.offset_bytes == 4) return static_cast<const std::uint32_t*>(sort.offsets)[segment];
  return static_cast<const std::uint64_t*>(sort.offsets)[segment];
}

/// Calls work(begin, count) for every segment.
template <class Work>
void for_each_segment(const gpu_segments_sort& sort, const Work& work) {
  for (std::uint64_t i = 0; i < sort.num_segments; ++i) {
    const std::uint64_t begin = bound_of(sort, i);
    work(begin, bound_of(sort, i + 1) - begin);
  }
}

}  // namespace

int num_gpus() noexcept { return machine().num_gpus; }
bool gpus_are_started() noexcept { return machine().is_started; }

std::uint64_t free_gpu_bytes(int ordinal) {
  if (machine().cannot_be_asked) throw device_error(fmt::format("gpu:{}: does not answer", ordinal));
  return machine().free_bytes;
}

std::string_view local_sort_of(const base::test_hooks&) { return ""; }

std::unique_ptr<device::device> open_gpu(int ordinal, const open_options& options) {
  if (machine().cannot_be_opened) throw device_error(fmt::format("gpu:{}: cannot be opened", ordinal));
  ++machine().num_opened;
  return std::make_unique<test::made_up_gpu>(ordinal, options);
}

struct gpu_call::fault_holder {};
gpu_call::gpu_call(const device_set& devices, const base::test_hooks& hooks) {
  if (!devices.gpus.empty()) begin(hooks);
}
gpu_call::gpu_call(const base::test_hooks& hooks) { begin(hooks); }
gpu_call::~gpu_call() = default;
void gpu_call::begin(const base::test_hooks&) {}

std::uint64_t gpu_sort_bytes(const gpu_sort& sort) { return workspace_of(sort); }
std::uint64_t gpu_argsort_bytes(const gpu_sort& sort) { return workspace_of(sort); }

void enqueue_gpu_sort(const gpu_sort& sort, const device::records& data, void*, void* stream) {
  note("sort", sort, data.keys, stream);
  sort_range(sort.shape, data, sort.num_records);
}

void enqueue_gpu_argsort(const gpu_sort& sort, const void* keys, void* indices, void*, void* stream) {
  note("argsort", sort, keys, stream);
  order_range(sort.shape, keys, indices, sort.num_records);
}

std::uint64_t gpu_segments_sort_bytes(const gpu_segments_sort& sort) { return bytes_of(sort.shape, sort.num_records); }

std::uint64_t gpu_segments_argsort_bytes(const gpu_segments_sort& sort) {
  return bytes_of(sort.shape, sort.num_records);
}

void enqueue_gpu_segments_sort(const gpu_segments_sort& sort, const device::records& data, void*, void* stream) {
  note("segments", sort, data.keys, stream);
  for_each_segment(sort, [&](std::uint64_t begin, std::uint64_t count) {
    sort_range(sort.shape, advance(sort.shape, data, begin), count);
  });
}

void enqueue_gpu_segments_argsort(const gpu_segments_sort& sort, const void* keys, void* indices, void*, void* stream) {
  note("argsort of segments", sort, keys, stream);
  for_each_segment(sort, [&](std::uint64_t begin, std::uint64_t count) {
    const device::records all{const_cast<void*>(keys), indices};
    const device::records segment = advance(sort.shape, all, begin);
    order_range(sort.shape, segment.keys, segment.values, count);
  });
}

void require_gpu_memory(const void* memory, const char* what) {
  if (test::is_gpu_memory(memory)) return;
  throw invalid_argument(fmt::format("{} do not lie in the memory of the current GPU", what));
}

void run_gpu_sort(int, const gpu_sort& sort, const device::records& data, void* workspace, void* stream) {
  enqueue_gpu_sort(sort, data, workspace, stream);
}
void run_gpu_argsort(int, const gpu_sort& sort, const void* keys, void* indices, void* workspace, void* stream) {
  enqueue_gpu_argsort(sort, keys, indices, workspace, stream);
}
std::uint64_t gpu_sort_bytes_on(int, const gpu_sort& sort) { return gpu_sort_bytes(sort); }
std::uint64_t gpu_argsort_bytes_on(int, const gpu_sort& sort) { return gpu_argsort_bytes(sort); }

}  // namespace sorting
}  // namespace spansort
