// SPDX-License-Identifier: Apache-2.0
// Structs on a GPU in any order: the comparison is a function object with a __device__ call operator.
#include <cstdio>
#include <vector>

#include <spansort/cuda/merge_sort.cuh>

namespace {

struct particle {
  float x, y, z;
  int id;
};

struct nearer_first {
  float x, y, z;
  __device__ float squared_distance(const particle& p) const {
    return (p.x - x) * (p.x - x) + (p.y - y) * (p.y - y) + (p.z - z) * (p.z - z);
  }
  __device__ bool operator()(const particle& a, const particle& b) const {
    return squared_distance(a) < squared_distance(b);
  }
};

}  // namespace

int main() {
  int num_gpus = 0;
  if (cudaGetDeviceCount(&num_gpus) != cudaSuccess || num_gpus == 0) {
    std::printf("no GPU\n");
    return 0;
  }
  std::vector<particle> particles{{3, 0, 0, 1}, {1, 0, 0, 2}, {0, 2, 0, 3}, {0, 0, 1, 4}};
  const std::size_t size_bytes = particles.size() * sizeof(particle);
  particle* on_gpu = nullptr;
  if (cudaMalloc(&on_gpu, size_bytes) != cudaSuccess) return 1;
  if (cudaMemcpy(on_gpu, particles.data(), size_bytes, cudaMemcpyHostToDevice) != cudaSuccess) return 1;
  spansort::cuda::sort(on_gpu, particles.size(), nearer_first{0, 0, 0});
  if (cudaMemcpy(particles.data(), on_gpu, size_bytes, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  if (cudaFree(on_gpu) != cudaSuccess) return 1;
  for (const particle& p : particles) std::printf("%d ", p.id);  // 2 4 3 1: of equal distances the earlier first
  std::printf("\n");
}
