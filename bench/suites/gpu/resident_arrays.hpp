// SPDX-License-Identifier: Apache-2.0
// Resident arrays are an input's copies in the memory of one GPU, which contenders sort there in turns.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/suites/input.hpp"
#include "device/cuda/handles.hpp"

namespace bench {

/// Keys and, where they travel, values.
struct device_records {
  spansort::device::cuda::device_memory keys;
  spansort::device::cuda::device_memory values;
};

/// The input as generated, and the arrays that are sorted. Makes its GPU the current one in every call.
class resident_arrays {
 public:
  resident_arrays(int ordinal, input& data);
  /// Returns the input's arrays on a GPU, which all of its contenders share.
  [[nodiscard]] static std::shared_ptr<resident_arrays> of(int ordinal, input& data);

  [[nodiscard]] int ordinal() const { return ordinal_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  [[nodiscard]] const device_records& work() const { return work_; }
  [[nodiscard]] device_records allocate() const;

  /// Brings the input into the arrays that are sorted. Waits.
  void restore() const;
  /// Brings records from the GPU into the input's work arrays on the host. Waits.
  void fetch(const void* keys, const void* values) const;
  void wait() const;

 private:
  int ordinal_;
  input& data_;
  spansort::device::cuda::stream_handle stream_;
  device_records original_;
  device_records work_;
};

}  // namespace bench
