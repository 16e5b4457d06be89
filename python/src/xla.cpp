// SPDX-License-Identifier: Apache-2.0
// Sorts as custom calls of XLA, the compiler behind JAX: the programs that it makes call them on host and GPU, with
// buffers, a stream and scratch memory of its own. Source: XLA's foreign function interface, whose headers jaxlib
// brings; without them the module has no targets.
#include <utility>

#include "binding.hpp"

#if defined(SPANSORT_XLA)

#include <xla/ffi/api/ffi.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <spansort/enqueue.hpp>
#include <spansort/errors.hpp>
#include <spansort/segmented.hpp>
#include <spansort/sort.hpp>
#include <string>

#include "cuda_context.hpp"
#include "rows.hpp"

namespace python {
namespace {

namespace ffi = xla::ffi;
using spansort::key_type;

std::optional<key_type> key_type_of(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::PRED:
    case ffi::DataType::U8: return key_type::u8;
    case ffi::DataType::S8: return key_type::i8;
    case ffi::DataType::U16: return key_type::u16;
    case ffi::DataType::S16: return key_type::i16;
    case ffi::DataType::U32: return key_type::u32;
    case ffi::DataType::S32: return key_type::i32;
    case ffi::DataType::U64: return key_type::u64;
    case ffi::DataType::S64: return key_type::i64;
    case ffi::DataType::F16: return key_type::f16;
    case ffi::DataType::BF16: return key_type::bf16;
    case ffi::DataType::F32: return key_type::f32;
    case ffi::DataType::F64: return key_type::f64;
    default: return std::nullopt;
  }
}

/// Keys of a buffer, which are sorted along its last axis.
struct key_rows {
  key_type type;
  void* keys;
  std::uint64_t num_keys;
  std::uint64_t row_length;

  explicit key_rows(const ffi::AnyBuffer& buffer) : keys(buffer.untyped_data()), num_keys(buffer.element_count()) {
    const std::optional<key_type> found = key_type_of(buffer.element_type());
    const auto dimensions = buffer.dimensions();
    if (!found || dimensions.size() == 0)
      throw spansort::invalid_argument("a custom call of Spansort takes rows of keys");
    type = *found;
    row_length = static_cast<std::uint64_t>(dimensions.back());
  }

  [[nodiscard]] bool is_one_row() const { return num_keys == row_length; }
  [[nodiscard]] bool is_sorted() const { return num_keys == 0 || row_length == 1; }
  [[nodiscard]] spansort::key_span span() const { return {type, keys, num_keys}; }
  [[nodiscard]] spansort::const_key_span const_span() const { return {type, keys, num_keys}; }
};

/// Bytes of each of the elements that belong to the keys, one each: values, or indices.
std::uint64_t bytes_each(const key_rows& rows, const ffi::AnyBuffer& others) {
  if (others.element_count() != rows.num_keys) {
    throw spansort::invalid_argument("a custom call of Spansort takes as many values as keys");
  }
  return ffi::ByteWidth(others.element_type());
}

/// Returns what work() has thrown as XLA takes it: no exception leaves a custom call.
template <class Work>
ffi::Error status_of(Work work) {
  try {
    work();
    return ffi::Error::Success();
  } catch (const spansort::out_of_memory& e) {
    return {ffi::ErrorCode::kResourceExhausted, e.what()};
  } catch (const std::bad_alloc& e) {
    return {ffi::ErrorCode::kResourceExhausted, e.what()};
  } catch (const spansort::invalid_argument& e) {
    return ffi::Error::InvalidArgument(e.what());
  } catch (const std::exception& e) {
    return ffi::Error::Internal(e.what());
  }
}

// ---- on the host, where a call returns when the result is there

/// A copy of what is sorted in place, where XLA has not let the result begin as one.
void copy_on_host(const ffi::AnyBuffer& from, const ffi::AnyBuffer& to) {
  if (from.untyped_data() != to.untyped_data() && from.size_bytes() != 0) {
    std::memcpy(to.untyped_data(), from.untyped_data(), from.size_bytes());
  }
}

ffi::Error sort_on_host(ffi::AnyBuffer from, ffi::Result<ffi::AnyBuffer> to, bool descending) {
  return status_of([&] {
    const key_rows rows(*to);
    copy_on_host(from, *to);
    if (rows.is_sorted()) return;
    if (rows.is_one_row()) return spansort::sort(rows.span(), direction_of(descending));
    spansort::sort_rows(rows.span(), rows.row_length, direction_of(descending));
  });
}

ffi::Error sort_pairs_on_host(ffi::AnyBuffer from, ffi::AnyBuffer from_values, ffi::Result<ffi::AnyBuffer> to,
                              ffi::Result<ffi::AnyBuffer> values, bool descending) {
  return status_of([&] {
    const key_rows rows(*to);
    const std::uint64_t bytes = bytes_each(rows, *values);
    copy_on_host(from, *to);
    copy_on_host(from_values, *values);
    if (rows.is_sorted()) return;
    void* const moved = values->untyped_data();
    if (rows.is_one_row()) return spansort::sort_pairs(rows.span(), moved, bytes, direction_of(descending));
    spansort::sort_pairs_rows(rows.span(), moved, bytes, rows.row_length, direction_of(descending));
  });
}

ffi::Error argsort_on_host(ffi::AnyBuffer keys, ffi::Result<ffi::AnyBuffer> order, bool descending) {
  return status_of([&] {
    const key_rows rows(keys);
    const std::uint64_t bytes = bytes_each(rows, *order);
    if (rows.num_keys == 0) return;
    void* const indices = order->untyped_data();
    if (rows.is_one_row()) return spansort::argsort(rows.const_span(), indices, bytes, direction_of(descending));
    spansort::argsort_rows(rows.const_span(), indices, bytes, rows.row_length, direction_of(descending));
  });
}

// ---- on a GPU, where a call puts its work on XLA's stream

/// Scratch memory of XLA, which is its own again when the call returns: it gives it to nothing else before the stream
/// has passed the call. The larger size is a wish, the smaller what a call takes. XLA does not align to 256 bytes.
spansort::gpu_workspace workspace_of(ffi::ScratchAllocator& scratch, std::uint64_t least, std::uint64_t fastest) {
  constexpr std::uint64_t alignment = 256;
  if (fastest == 0) return {};
  for (const std::uint64_t bytes : {fastest, least}) {
    if (const std::optional<void*> memory = scratch.Allocate(bytes + alignment)) {
      const auto address = reinterpret_cast<std::uintptr_t>(*memory);
      return {reinterpret_cast<void*>((address + alignment - 1) / alignment * alignment), bytes};
    }
    if (fastest == least) break;
  }
  throw spansort::out_of_memory("no workspace of " + std::to_string(least) + " bytes", least, 0);
}

void copy_on_gpu(const current_gpu& gpu, const ffi::AnyBuffer& from, const ffi::AnyBuffer& to, void* stream) {
  const auto source = reinterpret_cast<std::uintptr_t>(from.untyped_data());
  const auto target = reinterpret_cast<std::uintptr_t>(to.untyped_data());
  if (source != target && from.size_bytes() != 0) gpu.copy(target, source, from.size_bytes(), stream);
}

current_gpu current_gpu_of(const ffi::AnyBuffer& buffer) {
  return current_gpu(gpu_of(reinterpret_cast<std::uintptr_t>(buffer.untyped_data())));
}

constexpr auto least = spansort::workspace_size::least;
constexpr auto fastest = spansort::workspace_size::fastest;

ffi::Error sort_on_gpu(void* stream, ffi::ScratchAllocator scratch, ffi::AnyBuffer from, ffi::Result<ffi::AnyBuffer> to,
                       bool descending) {
  return status_of([&] {
    const key_rows rows(*to);
    if (rows.num_keys == 0) return;
    const current_gpu gpu = current_gpu_of(*to);
    copy_on_gpu(gpu, from, *to, stream);
    if (rows.is_sorted()) return;
    const auto [type, keys, n, length] = rows;
    const spansort::direction d = direction_of(descending);
    if (rows.is_one_row()) {
      const auto workspace = workspace_of(scratch, spansort::enqueue_sort_bytes(type, n, least),
                                          spansort::enqueue_sort_bytes(type, n, fastest));
      spansort::enqueue_sort(rows.span(), workspace, stream, d);
    } else {
      const std::uint64_t bytes = spansort::enqueue_sort_rows_bytes(type, n, length);
      spansort::enqueue_sort_rows(rows.span(), length, workspace_of(scratch, bytes, bytes), stream, d);
    }
  });
}

ffi::Error sort_pairs_on_gpu(void* stream, ffi::ScratchAllocator scratch, ffi::AnyBuffer from,
                             ffi::AnyBuffer from_values, ffi::Result<ffi::AnyBuffer> to,
                             ffi::Result<ffi::AnyBuffer> values, bool descending) {
  return status_of([&] {
    const key_rows rows(*to);
    const std::uint64_t each = bytes_each(rows, *values);
    if (rows.num_keys == 0) return;
    const current_gpu gpu = current_gpu_of(*to);
    copy_on_gpu(gpu, from, *to, stream);
    copy_on_gpu(gpu, from_values, *values, stream);
    if (rows.is_sorted()) return;
    const auto [type, keys, n, length] = rows;
    const spansort::direction d = direction_of(descending);
    void* const moved = values->untyped_data();
    if (rows.is_one_row()) {
      const auto workspace = workspace_of(scratch, spansort::enqueue_sort_pairs_bytes(type, n, each, least),
                                          spansort::enqueue_sort_pairs_bytes(type, n, each, fastest));
      spansort::enqueue_sort_pairs(rows.span(), moved, each, workspace, stream, d);
    } else {
      const std::uint64_t bytes = spansort::enqueue_sort_pairs_rows_bytes(type, n, length, each);
      spansort::enqueue_sort_pairs_rows(rows.span(), moved, each, length, workspace_of(scratch, bytes, bytes), stream,
                                        d);
    }
  });
}

ffi::Error argsort_on_gpu(void* stream, ffi::ScratchAllocator scratch, ffi::AnyBuffer keys,
                          ffi::Result<ffi::AnyBuffer> order, bool descending) {
  return status_of([&] {
    const key_rows rows(keys);
    const std::uint64_t each = bytes_each(rows, *order);
    if (rows.num_keys == 0) return;
    const current_gpu gpu = current_gpu_of(*order);
    const auto [type, first, n, length] = rows;
    const spansort::direction d = direction_of(descending);
    void* const indices = order->untyped_data();
    if (rows.is_one_row()) {
      const auto workspace = workspace_of(scratch, spansort::enqueue_argsort_bytes(type, n, each, least),
                                          spansort::enqueue_argsort_bytes(type, n, each, fastest));
      spansort::enqueue_argsort(rows.const_span(), indices, each, workspace, stream, d);
    } else {
      const std::uint64_t bytes = spansort::enqueue_argsort_rows_bytes(type, n, length, each);
      spansort::enqueue_argsort_rows(rows.const_span(), indices, each, length, workspace_of(scratch, bytes, bytes),
                                     stream, d);
    }
  });
}

// ---- what XLA calls

auto host_call() { return ffi::Ffi::Bind(); }
auto gpu_call() { return ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().Ctx<ffi::ScratchAllocator>(); }

template <class Call>
auto with_sort(Call call) {
  return std::move(call).template Arg<ffi::AnyBuffer>().template Ret<ffi::AnyBuffer>().template Attr<bool>(
      "descending");
}

template <class Call>
auto with_sort_pairs(Call call) {
  return std::move(call)
      .template Arg<ffi::AnyBuffer>()
      .template Arg<ffi::AnyBuffer>()
      .template Ret<ffi::AnyBuffer>()
      .template Ret<ffi::AnyBuffer>()
      .template Attr<bool>("descending");
}

XLA_FFI_DEFINE_HANDLER(host_sort, sort_on_host, with_sort(host_call()));
XLA_FFI_DEFINE_HANDLER(host_sort_pairs, sort_pairs_on_host, with_sort_pairs(host_call()));
XLA_FFI_DEFINE_HANDLER(host_argsort, argsort_on_host, with_sort(host_call()));
XLA_FFI_DEFINE_HANDLER(gpu_sort, sort_on_gpu, with_sort(gpu_call()));
XLA_FFI_DEFINE_HANDLER(gpu_sort_pairs, sort_pairs_on_gpu, with_sort_pairs(gpu_call()));
XLA_FFI_DEFINE_HANDLER(gpu_argsort, argsort_on_gpu, with_sort(gpu_call()));

void add(nb::list& targets, const char* name, const char* platform, XLA_FFI_Handler* handler) {
  targets.append(
      nb::make_tuple(name, platform, nb::capsule(reinterpret_cast<void*>(handler), "xla._CUSTOM_CALL_TARGET")));
}

}  // namespace

nb::list xla_targets() {
  nb::list targets;
  add(targets, "spansort_sort", "cpu", host_sort);
  add(targets, "spansort_sort_pairs", "cpu", host_sort_pairs);
  add(targets, "spansort_argsort", "cpu", host_argsort);
  add(targets, "spansort_sort", "CUDA", gpu_sort);
  add(targets, "spansort_sort_pairs", "CUDA", gpu_sort_pairs);
  add(targets, "spansort_argsort", "CUDA", gpu_argsort);
  return targets;
}

}  // namespace python

#else

namespace python {

nb::list xla_targets() { return {}; }

}  // namespace python

#endif

namespace python {

void define_xla(nb::module_& module) { module.def("xla_targets", &xla_targets); }

}  // namespace python
