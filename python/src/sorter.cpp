// SPDX-License-Identifier: Apache-2.0
// The sorter, which keeps devices, threads and workspace from call to call.
#include <atomic>
#include <optional>
#include <spansort/sort.hpp>

#include "arrays.hpp"
#include "calls.hpp"
#include "rows.hpp"

namespace python {
namespace {

using spansort::direction;

/// A sorter of the library, and who is to be asked for progress during the call that it is in.
class sorter {
 public:
  explicit sorter(const call_options& options) : given_(options) {
    spansort::sort_options sorting = options.sorting;
    sorting.on_progress = [this](const spansort::progress& state) {
      return asking_ == nullptr || asking_->ask(state.phase, state.fraction);
    };
    sorter_.emplace(std::move(sorting));
    const auto devices = given_.sorting.devices.what();
    may_be_short_ = given_.progress.is_none() && given_.sorting.memory_limit_bytes == 0 &&
                    given_.sorting.device_memory_bytes == 0 &&
                    given_.sorting.algorithm == spansort::algorithm::automatic &&
                    (devices == spansort::device_list::kind::automatic || devices == spansort::device_list::kind::cpu);
  }

  /// Returns whether the library's way for small arrays does for this call, which needs neither workspace nor progress.
  [[nodiscard]] bool is_short(const array_memory& memory) const {
    return may_be_short_ && memory.size_bytes() <= most_short_bytes;
  }
  [[nodiscard]] const spansort::sort_options& options() const { return given_.sorting; }

  /// Runs work(sorter) without the interpreter's lock. Throws where another thread is at it.
  template <class Work>
  void run(Work work) {
    if (is_busy_.exchange(true)) throw std::runtime_error("this Sorter is in use by another thread");
    interruption asking(given_.progress);
    bool is_cancelled = false;
    asking_ = &asking;
    struct end_of_call {
      sorter& self;
      ~end_of_call() {
        self.asking_ = nullptr;
        self.is_busy_ = false;
      }
    };
    {
      const end_of_call at_end{*this};
      const nb::gil_scoped_release unlocked;
      try {
        work(*sorter_);
      } catch (const spansort::cancelled&) {
        is_cancelled = true;
      }
    }
    asking.raise_error();
    if (is_cancelled) throw spansort::cancelled("the function of progress= returned False");
  }

 private:
  call_options given_;
  std::optional<spansort::sorter> sorter_;
  interruption* asking_ = nullptr;
  std::atomic<bool> is_busy_ = false;
  bool may_be_short_ = false;
};

void sort_rows(sorter& self, nb::handle array, int type, bool has_nat, bool descending) {
  const array_keys keys = keys_of(writeable(array), type, has_nat);
  const direction d = direction_of(descending);
  self.run([&](spansort::sorter& native) {
    for (std::uint64_t row = 0; row < keys.memory.num_rows(); ++row) {
      if (self.is_short(keys.memory)) {
        spansort::sort(keys.row(row), d, self.options());
      } else {
        native.sort(keys.row(row), d);
      }
      put_nat_last(keys, keys.row(row), d);
    }
  });
}

void order_rows(sorter& self, nb::handle array, int type, bool has_nat, nb::handle order, bool descending) {
  const array_keys keys = keys_of(readable(array), type, has_nat);
  auto* row_order = indices_of(writeable(order), keys);
  const direction d = direction_of(descending);
  self.run([&](spansort::sorter& native) {
    for (std::uint64_t row = 0; row < keys.memory.num_rows(); ++row, row_order += keys.memory.row_elements) {
      if (self.is_short(keys.memory)) {
        spansort::argsort(keys.row(row), row_order, sizeof(*row_order), d, self.options());
      } else {
        native.argsort(keys.row(row), row_order, sizeof(*row_order), d);
      }
      put_nat_positions_last(keys, keys.row(row), row_order, d);
    }
  });
}

void sort_pairs(sorter& self, nb::handle key_array, int type, bool has_nat, nb::handle value_array, bool descending) {
  const array_keys keys = keys_of(writeable(key_array), type, has_nat);
  const array_values values = values_of(writeable(value_array), keys);
  const direction d = direction_of(descending);
  self.run([&](spansort::sorter& native) {
    if (self.is_short(keys.memory)) {
      spansort::sort_pairs(keys.all(), values.data, values.value_bytes, d, self.options());
    } else {
      native.sort_pairs(keys.all(), values.data, values.value_bytes, d);
    }
    put_nat_pairs_last(keys, values.data, values.value_bytes, d);
  });
}

std::uint64_t workspace_bytes(sorter& self) {
  std::uint64_t bytes = 0;
  self.run([&](spansort::sorter& native) { bytes = native.workspace_bytes(); });
  return bytes;
}

void release_workspace(sorter& self) {
  self.run([](spansort::sorter& native) { native.release_workspace(); });
}

}  // namespace

void define_sorter(nb::module_& module) {
  nb::class_<sorter>(module, "Sorter")
      .def(nb::init<const call_options&>(), nb::arg("options"))
      .def("sort_rows", &sort_rows, nb::arg("array"), nb::arg("type"), nb::arg("has_nat"), nb::arg("descending"))
      .def("order_rows", &order_rows, nb::arg("array"), nb::arg("type"), nb::arg("has_nat"), nb::arg("order"),
           nb::arg("descending"))
      .def("sort_pairs", &sort_pairs, nb::arg("keys"), nb::arg("type"), nb::arg("has_nat"), nb::arg("values"),
           nb::arg("descending"))
      .def("workspace_bytes", &workspace_bytes)
      .def("release_workspace", &release_workspace);
}

}  // namespace python
