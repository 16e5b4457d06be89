// SPDX-License-Identifier: Apache-2.0
// This header says what the made-up driver answers. 0 is success, as of the driver itself.
#pragma once

namespace spansort::test {

struct driver_answers {
  int start_status = 0;
  int version_status = 0;
  int version = 12040;
  int count_status = 0;
  int num_gpus = 2;
  int text_status = 0;
  const char* text = "no CUDA-capable device is detected";
};

}  // namespace spansort::test
