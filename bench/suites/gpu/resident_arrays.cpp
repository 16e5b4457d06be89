// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/gpu/resident_arrays.hpp"

namespace bench {
namespace {

namespace cuda = spansort::device::cuda;

void copy(void* to, const void* from, std::uint64_t size_bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (size_bytes != 0) cuda::check(cudaMemcpyAsync(to, from, size_bytes, kind, stream), "cudaMemcpyAsync");
}

cuda::stream_handle stream_on(int ordinal) {
  const cuda::device_guard guard(ordinal);
  return cuda::make_stream();
}

}  // namespace

resident_arrays::resident_arrays(int ordinal, input& data)
    : ordinal_(ordinal), data_(data), stream_(stream_on(ordinal)), original_(allocate()), work_(allocate()) {
  const cuda::device_guard guard(ordinal_);
  data.restore();  // the input's work arrays are pinned, and its original is not
  const char* const from = static_cast<const char*>(data.work());
  const std::uint64_t keys_bytes = data.num_keys() * data.key_bytes();
  copy(original_.keys.get(), from, keys_bytes, cudaMemcpyHostToDevice, stream());
  copy(original_.values.get(), from + keys_bytes, data.num_keys() * data.value_bytes(), cudaMemcpyHostToDevice,
       stream());
  wait();
}

std::shared_ptr<resident_arrays> resident_arrays::of(int ordinal, input& data) {
  std::shared_ptr<resident_arrays>& found = data.on_gpus()[ordinal];
  if (found == nullptr) found = std::make_shared<resident_arrays>(ordinal, data);
  return found;
}

device_records resident_arrays::allocate() const {
  const cuda::device_guard guard(ordinal_);
  device_records made;
  made.keys = cuda::allocate_device_memory(data_.num_keys() * data_.key_bytes());
  if (data_.value_bytes() != 0) made.values = cuda::allocate_device_memory(data_.num_keys() * data_.value_bytes());
  return made;
}

void resident_arrays::restore() const {
  const cuda::device_guard guard(ordinal_);
  copy(work_.keys.get(), original_.keys.get(), data_.num_keys() * data_.key_bytes(), cudaMemcpyDeviceToDevice,
       stream());
  copy(work_.values.get(), original_.values.get(), data_.num_keys() * data_.value_bytes(), cudaMemcpyDeviceToDevice,
       stream());
  wait();
}

void resident_arrays::fetch(const void* keys, const void* values) const {
  const cuda::device_guard guard(ordinal_);
  copy(data_.work(), keys, data_.num_keys() * data_.key_bytes(), cudaMemcpyDeviceToHost, stream());
  copy(data_.values_in(data_.work()), values, data_.num_keys() * data_.value_bytes(), cudaMemcpyDeviceToHost, stream());
  wait();
}

void resident_arrays::wait() const { cuda::check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize"); }

}  // namespace bench
