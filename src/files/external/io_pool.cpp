// SPDX-License-Identifier: Apache-2.0
#include "files/external/io_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/math.hpp"
#include "files/external/spill_plan.hpp"
#include "spansort/errors.hpp"

namespace spansort::external {

aligned_bytes::aligned_bytes(std::uint64_t size_bytes) : size_bytes_(size_bytes) {
  const std::uint64_t whole = base::round_up(std::max<std::uint64_t>(size_bytes, 1), direct_alignment_bytes);
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(direct_alignment_bytes, whole)));
  if (data_ == nullptr) {
    throw out_of_memory(fmt::format("out of memory: {} bytes for reading and writing files", whole), whole, 0);
  }
}

io_pool::io_pool(std::uint64_t batch_bytes) {
  for (unsigned i = 0; i < num_io_threads; ++i) buffers_.emplace_back(batch_bytes);
}

void io_pool::run(std::uint64_t num_tasks,
                  const std::function<void(std::uint64_t task, std::span<std::byte> buffer)>& task) {
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto serve = [&](std::size_t member) {
    try {
      for (std::uint64_t i = next++; i < num_tasks; i = next++) task(i, buffers_[member].bytes());
    } catch (...) {
      next = num_tasks;
      const std::lock_guard lock(mutex);
      if (failure == nullptr) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    others.reserve(buffers_.size());
    for (std::size_t member = 1; member < buffers_.size() && member < num_tasks; ++member) {
      try {
        others.emplace_back(serve, member);
      } catch (const std::system_error&) {
        break;  // no more threads: those that there are do it all
      }
    }
    serve(0);
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace spansort::external
