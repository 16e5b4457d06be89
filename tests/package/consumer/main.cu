// SPDX-License-Identifier: Apache-2.0
// A CUDA source that uses the installed library. It sorts on the CPU: no GPU is needed to see that nvcc compiles it.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <spansort/spansort.hpp>

__global__ void scale(float* keys, float factor) { keys[threadIdx.x] *= factor; }

int main() {
  std::vector<float> keys{3, 1, 2};
  spansort::sort(keys, {.devices = "host:2"});
  std::printf("Spansort %s in a CUDA source\n", SPANSORT_VERSION);
  return std::is_sorted(keys.begin(), keys.end()) ? 0 : 1;
}
