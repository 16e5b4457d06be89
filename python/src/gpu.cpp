// SPDX-License-Identifier: Apache-2.0
// Sorts of GPU memory on a stream. Addresses, streams and counts are integers in what spansort/_gpu.py calls: it has
// them of arrays that it holds, and the library checks that they lie on the GPU. Few keys of tensors go a short way.
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <spansort/devices.hpp>
#include <spansort/enqueue.hpp>
#include <spansort/errors.hpp>
#include <utility>

#include "arrays.hpp"
#include "binding.hpp"
#include "cuda_context.hpp"
#include "exchange.hpp"
#include "gpu.hpp"
#include "rows.hpp"

namespace python {
namespace {

using spansort::key_type;

void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

key_type type_of(int number) {
  if (number < 0 || number > static_cast<int>(key_type::f64)) throw nb::value_error("unknown key type");
  return static_cast<key_type>(number);
}

/// A call on a stream of a GPU, and the memory that it works in.
struct gpu_call {
  int device = 0;
  std::uintptr_t stream = 0;
  std::uintptr_t workspace = 0;
  std::uint64_t workspace_bytes = 0;

  [[nodiscard]] spansort::gpu_workspace memory() const { return {pointer(workspace), workspace_bytes}; }

  /// Runs work() with the GPU current, and without the interpreter's lock.
  template <class Work>
  auto run(Work work) const {
    const nb::gil_scoped_release unlocked;
    const current_gpu current(device);
    return work();
  }
};

spansort::workspace_size size_of(bool fastest) {
  return fastest ? spansort::workspace_size::fastest : spansort::workspace_size::least;
}

std::uint64_t gpu_sort_bytes(int device, int type, std::uint64_t num_keys, std::uint64_t value_bytes, bool fastest) {
  const key_type key = type_of(type);
  return gpu_call{.device = device}.run([&] {
    return value_bytes == 0 ? spansort::enqueue_sort_bytes(key, num_keys, size_of(fastest))
                            : spansort::enqueue_sort_pairs_bytes(key, num_keys, value_bytes, size_of(fastest));
  });
}

std::uint64_t gpu_argsort_bytes(int device, int type, std::uint64_t num_keys, std::uint64_t index_bytes, bool fastest) {
  const key_type key = type_of(type);
  return gpu_call{.device = device}.run(
      [&] { return spansort::enqueue_argsort_bytes(key, num_keys, index_bytes, size_of(fastest)); });
}

void gpu_sort(const gpu_call& call, int type, std::uintptr_t keys, std::uint64_t num_keys, std::uintptr_t values,
              std::uint64_t value_bytes, bool descending) {
  const spansort::key_span span{type_of(type), pointer(keys), num_keys};
  call.run([&] {
    if (value_bytes == 0) {
      spansort::enqueue_sort(span, call.memory(), pointer(call.stream), direction_of(descending));
    } else {
      spansort::enqueue_sort_pairs(span, pointer(values), value_bytes, call.memory(), pointer(call.stream),
                                   direction_of(descending));
    }
  });
}

void gpu_argsort(const gpu_call& call, int type, std::uintptr_t keys, std::uint64_t num_keys, std::uintptr_t indices,
                 std::uint64_t index_bytes, bool descending) {
  const spansort::const_key_span span{type_of(type), pointer(keys), num_keys};
  call.run([&] {
    spansort::enqueue_argsort(span, pointer(indices), index_bytes, call.memory(), pointer(call.stream),
                              direction_of(descending));
  });
}

/// Parts of an array that are sorted each by itself: rows of one length, or, where that is 0, what offsets in the
/// GPU's memory tell.
struct gpu_segments {
  std::uint64_t num_segments = 0;
  std::uint64_t row_length = 0;
  std::uintptr_t offsets = 0;
  int offsets_type = 0;

  [[nodiscard]] bool are_rows() const { return row_length != 0; }
  [[nodiscard]] spansort::const_key_span bounds() const {
    return {type_of(offsets_type), pointer(offsets), num_segments + 1};
  }
};

std::uint64_t gpu_sort_segments_bytes(int device, int type, std::uint64_t num_keys, const gpu_segments& segments) {
  const key_type key = type_of(type);
  return gpu_call{.device = device}.run([&] {
    return segments.are_rows() ? spansort::enqueue_sort_rows_bytes(key, num_keys, segments.row_length)
                               : spansort::enqueue_sort_segments_bytes(key, num_keys, segments.num_segments);
  });
}

std::uint64_t gpu_argsort_segments_bytes(int device, int type, std::uint64_t num_keys, std::uint64_t index_bytes,
                                         const gpu_segments& segments) {
  const key_type key = type_of(type);
  return gpu_call{.device = device}.run([&] {
    return segments.are_rows()
               ? spansort::enqueue_argsort_rows_bytes(key, num_keys, segments.row_length, index_bytes)
               : spansort::enqueue_argsort_segments_bytes(key, num_keys, segments.num_segments, index_bytes);
  });
}

void gpu_sort_segments(const gpu_call& call, int type, std::uintptr_t keys, std::uint64_t num_keys,
                       const gpu_segments& segments, bool descending) {
  const spansort::key_span span{type_of(type), pointer(keys), num_keys};
  const spansort::direction d = direction_of(descending);
  call.run([&] {
    if (segments.are_rows()) {
      spansort::enqueue_sort_rows(span, segments.row_length, call.memory(), pointer(call.stream), d);
    } else {
      spansort::enqueue_sort_segments(span, segments.bounds(), call.memory(), pointer(call.stream), d);
    }
  });
}

void gpu_argsort_segments(const gpu_call& call, int type, std::uintptr_t keys, std::uint64_t num_keys,
                          std::uintptr_t indices, std::uint64_t index_bytes, const gpu_segments& segments,
                          bool descending) {
  const spansort::const_key_span span{type_of(type), pointer(keys), num_keys};
  const spansort::direction d = direction_of(descending);
  call.run([&] {
    void* const order = pointer(indices);
    void* const stream = pointer(call.stream);
    if (segments.are_rows()) {
      spansort::enqueue_argsort_rows(span, order, index_bytes, segments.row_length, call.memory(), stream, d);
    } else {
      spansort::enqueue_argsort_segments(span, order, index_bytes, segments.bounds(), call.memory(), stream, d);
    }
  });
}

/// Arrays of fewer keys are worth the short way; the others take the ways of the Python sources, which find orders as
/// numbers of 32 bits and ask for less memory where there is little. Orders of 64 bits take, on an H200, 4 us less than
/// those of 32 for 2^20 keys of 4 bytes and 28 more for keys of 8, but 6 and 100 more for 2^21.
constexpr std::uint64_t most_short_sort = std::uint64_t{1} << 24;
constexpr std::uint64_t most_short_argsort = std::uint64_t{1} << 21;

std::optional<exchanged_keys> few_exchanged_keys(nb::handle array, std::uint64_t most) {
  std::optional<exchanged_keys> keys = exchanged_keys::of(array);
  if (keys && (keys->num_keys() < 2 || keys->num_keys() >= most)) return std::nullopt;
  return keys;
}

/// A workspace of the library's, and its stream. Nothing where it lacks one of them.
struct exchanged_call {
  exchanged_memory workspace;
  gpu_call call;

  static std::optional<exchanged_call> of(const exchanged_keys& keys, std::uint64_t workspace_bytes) {
    std::optional<exchanged_memory> workspace = keys.new_bytes(workspace_bytes);
    const std::optional<std::uintptr_t> stream = keys.stream();
    if (!workspace || !stream) return std::nullopt;
    const gpu_call call{keys.device(), *stream, workspace->address(), workspace_bytes};
    return exchanged_call{std::move(*workspace), call};
  }
};

}  // namespace

nb::object sorted_gpu_copy(nb::handle array, bool descending) {
  const std::optional<exchanged_keys> keys = few_exchanged_keys(array, most_short_sort);
  if (!keys) return nb::none();
  const current_gpu current(keys->device());
  const std::uint64_t n = keys->num_keys();
  const std::uint64_t size = spansort::enqueue_sort_bytes(keys->type(), n, spansort::workspace_size::fastest);
  const std::optional<exchanged_call> made = exchanged_call::of(*keys, size);
  if (!made) return nb::none();
  exchanged_result result = keys->new_keys();
  const spansort::key_span span{keys->type(), pointer(result.address), n};
  {
    const nb::gil_scoped_release unlocked;
    void* const stream = pointer(made->call.stream);
    current.copy(result.address, keys->address(), keys->size_bytes(), stream);
    spansort::enqueue_sort(span, made->call.memory(), stream, direction_of(descending));
  }
  return std::move(result.tensor);
}

nb::object stable_gpu_order(nb::handle array, bool descending) {
  const std::optional<exchanged_keys> keys = few_exchanged_keys(array, most_short_argsort);
  if (!keys) return nb::none();
  const current_gpu current(keys->device());
  const std::uint64_t n = keys->num_keys();
  const std::uint64_t index_bytes = sizeof(std::int64_t);
  const std::uint64_t size =
      spansort::enqueue_argsort_bytes(keys->type(), n, index_bytes, spansort::workspace_size::fastest);
  const std::optional<exchanged_call> made = exchanged_call::of(*keys, size);
  if (!made) return nb::none();
  exchanged_result result = keys->new_indices();
  const spansort::const_key_span span{keys->type(), pointer(keys->address()), n};
  {
    const nb::gil_scoped_release unlocked;
    spansort::enqueue_argsort(span, pointer(result.address), index_bytes, made->call.memory(),
                              pointer(made->call.stream), direction_of(descending));
  }
  return std::move(result.tensor);
}

namespace {

/// Memory of a GPU, of which there is none where 0 bytes are asked for.
class gpu_memory {
 public:
  gpu_memory(int device, std::uint64_t size_bytes) : device_(device) {
    const nb::gil_scoped_release unlocked;
    if (size_bytes != 0) address_ = current_gpu(device).allocate(size_bytes);
  }
  ~gpu_memory() {
    if (address_ == 0) return;
    // The driver waits for the GPU, whose work may be waiting for other threads of Python.
    const nb::gil_scoped_release unlocked;
    try {
      current_gpu(device_).free(address_);
    } catch (const spansort::error&) {
      // A driver that is gone, at the end of the process or after a fault, has no memory any more.
    }
  }
  gpu_memory(const gpu_memory&) = delete;
  gpu_memory& operator=(const gpu_memory&) = delete;

  [[nodiscard]] std::uintptr_t address() const { return address_; }

 private:
  int device_;
  std::uintptr_t address_ = 0;
};

}  // namespace

void define_gpu(nb::module_& module) {
  nb::class_<gpu_call>(module, "GpuCall")
      .def(
          "__init__",
          [](gpu_call* call, int device, std::uintptr_t stream, std::uintptr_t workspace,
             std::uint64_t workspace_bytes) {
            new (call) gpu_call{device, stream, workspace, workspace_bytes};
          },
          nb::arg("device"), nb::arg("stream"), nb::arg("workspace"), nb::arg("workspace_bytes"));
  module.def("gpu_sort_bytes", &gpu_sort_bytes, nb::arg("device"), nb::arg("type"), nb::arg("num_keys"),
             nb::arg("value_bytes"), nb::arg("fastest") = false);
  module.def("gpu_argsort_bytes", &gpu_argsort_bytes, nb::arg("device"), nb::arg("type"), nb::arg("num_keys"),
             nb::arg("index_bytes"), nb::arg("fastest") = false);
  module.def("gpu_sort", &gpu_sort, nb::arg("call"), nb::arg("type"), nb::arg("keys"), nb::arg("num_keys"),
             nb::arg("values"), nb::arg("value_bytes"), nb::arg("descending"));
  module.def("gpu_argsort", &gpu_argsort, nb::arg("call"), nb::arg("type"), nb::arg("keys"), nb::arg("num_keys"),
             nb::arg("indices"), nb::arg("index_bytes"), nb::arg("descending"));
  nb::class_<gpu_segments>(module, "GpuSegments")
      .def(
          "__init__",
          [](gpu_segments* segments, std::uint64_t num_segments, std::uint64_t row_length, std::uintptr_t offsets,
             int offsets_type) {
            new (segments) gpu_segments{num_segments, row_length, offsets, offsets_type};
          },
          nb::arg("num_segments"), nb::arg("row_length"), nb::arg("offsets"), nb::arg("offsets_type"));
  module.def("gpu_sort_segments_bytes", &gpu_sort_segments_bytes, nb::arg("device"), nb::arg("type"),
             nb::arg("num_keys"), nb::arg("segments"));
  module.def("gpu_argsort_segments_bytes", &gpu_argsort_segments_bytes, nb::arg("device"), nb::arg("type"),
             nb::arg("num_keys"), nb::arg("index_bytes"), nb::arg("segments"));
  module.def("gpu_sort_segments", &gpu_sort_segments, nb::arg("call"), nb::arg("type"), nb::arg("keys"),
             nb::arg("num_keys"), nb::arg("segments"), nb::arg("descending"));
  module.def("gpu_argsort_segments", &gpu_argsort_segments, nb::arg("call"), nb::arg("type"), nb::arg("keys"),
             nb::arg("num_keys"), nb::arg("indices"), nb::arg("index_bytes"), nb::arg("segments"),
             nb::arg("descending"));
  module.def(
      "gpu_wait",
      [](int device, std::uintptr_t stream) {
        const nb::gil_scoped_release unlocked;
        current_gpu(device).wait_for(pointer(stream));
      },
      nb::arg("device"), nb::arg("stream"));
  nb::class_<gpu_memory>(module, "GpuMemory")
      .def(nb::init<int, std::uint64_t>(), nb::arg("device"), nb::arg("size_bytes"))
      .def_prop_ro("address", &gpu_memory::address);
  module.def(
      "gpu_copy",
      [](int device, std::uintptr_t stream, std::uintptr_t target, std::uintptr_t source, std::uint64_t size_bytes) {
        const nb::gil_scoped_release unlocked;
        current_gpu(device).copy(target, source, size_bytes, pointer(stream));
      },
      nb::arg("device"), nb::arg("stream"), nb::arg("target"), nb::arg("source"), nb::arg("size_bytes"));
  module.def("gpu_of", &gpu_of, nb::arg("address"));
}

}  // namespace python
