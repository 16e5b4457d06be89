// SPDX-License-Identifier: Apache-2.0
#include "files/flowing_sort.hpp"

#include <exception>
#include <system_error>
#include <thread>

#include "base/assert.hpp"
#include "base/byte_buffer.hpp"
#include "base/signals_held.hpp"
#include "base/threads.hpp"
#include "files/external/stage_clock.hpp"
#include "files/external/verifying_writer.hpp"

namespace spansort::files {
namespace {

/// The writer takes so many bytes at a time, where it does not have to wait for more of them.
constexpr std::uint64_t few_bytes = std::uint64_t{4} << 20;

class flowing_sorter {
 public:
  flowing_sorter(element_flow& flow, const flow_ends& ends, external::element_order& order,
                 const flowing_options& options)
      : flow_(flow),
        ends_(ends),
        order_(order),
        options_(options),
        writer_(order, ends.sink, options.writing),
        width_(order.element_bytes()),
        num_elements_(ends.source.num_elements().value()),
        elements_(num_elements_ * width_) {}

  external::external_result sort() {
    side_threads threads{flow_};
    if (!start(threads.reader, [this] { read(); })) read();
    bool writes_along = options_.writes_along;
    if (writes_along) {
      ends_.sink.expect(num_elements_);
      ends_.sink.open();  // on this thread, which takes the signals that would have the file removed
      writes_along = start(threads.writer, [this] { write(); });
    }
    order_.sort_flowing(elements_.data(), num_elements_, flow_);
    flow_.finish_all();
    options_.on_stage({"read", reading_});
    if (writes_along) {
      flow_.wait_for_writer(options_.while_writing);
    } else if (options_.writes_along) {
      writer_.write(elements_.data(), num_elements_);
    } else {
      writer_.write_whole(elements_.data(), num_elements_);
    }
    writer_.finish(expected_, num_elements_);
    options_.on_stage({"verify", writer_.verifying()});
    options_.on_stage({"write", writer_.writing()});
    return {.num_in = num_elements_, .num_out = writer_.num_out()};
  }

 private:
  /// Ends before what its threads work on. Whatever ends the sort ends them.
  struct side_threads {
    element_flow& flow;
    std::jthread reader = {};
    std::jthread writer = {};
    ~side_threads() { flow.abandon(); }
  };

  /// Returns whether the system has a thread for `work`, which takes no signals.
  template <class Work>
  bool start(std::jthread& thread, Work work) {
    const base::signals_held hold;
    try {
      thread = std::jthread([this, work] { base::with_threads(options_.threads, work); });
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }

  void read() noexcept {
    try {
      reading_.run([&] {
        const std::uint64_t count = ends_.source.read(elements_.data(), num_elements_);
        SPANSORT_ASSERT(count == num_elements_);
        if (options_.writing.verify) expected_ = order_.checksum(elements_.data(), count);
        return count;
      });
      flow_.arrive_all();
    } catch (...) {
      flow_.fail_reading(std::current_exception());
    }
  }

  void write() noexcept {
    try {
      for (std::uint64_t taken = 0; taken < num_elements_;) {
        const std::uint64_t few = few_bytes / width_;
        while (!flow_.has_finished(taken, few) && ends_.sink.take_room()) {
        }
        const std::uint64_t end = flow_.wait_for_finished(taken, few);
        writer_.write(elements_.data() + taken * width_, end - taken);
        taken = end;
      }
      flow_.end_writing(nullptr);
    } catch (...) {
      flow_.end_writing(std::current_exception());
    }
  }

  element_flow& flow_;
  const flow_ends& ends_;
  external::element_order& order_;
  const flowing_options& options_;
  external::verifying_writer writer_;
  const std::uint64_t width_;
  const std::uint64_t num_elements_;
  base::byte_buffer elements_;
  // The reader writes these before it says that all have arrived.
  external::stage_clock reading_;
  multiset_checksum expected_;
};

}  // namespace

external::external_result sort_flowing(element_flow& flow, const flow_ends& ends, external::element_order& order,
                                       const flowing_options& options) {
  return flowing_sorter(flow, ends, order, options).sort();
}

}  // namespace spansort::files
