// SPDX-License-Identifier: Apache-2.0
// A driver of one GPU whose memory is the host's, as far as python/src/cuda_context.cpp calls it. It refuses what needs
// a current context where there is none, and prints what is allocated and freed.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { success = 0, out_of_memory = 2, invalid_value = 1, invalid_device = 101, no_context = 201 };
static int num_contexts = 0;

int cuInit(unsigned flags) { return flags == 0 ? success : invalid_value; }
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? success : invalid_device;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &num_contexts;
  return device == 0 ? success : invalid_device;
}
int cuDevicePrimaryCtxRelease_v2(int device) { return device == 0 ? success : invalid_device; }
int cuCtxGetDevice(int* device) {
  *device = 0;
  return num_contexts > 0 ? success : no_context;
}
int cuCtxPushCurrent_v2(void* context) {
  ++num_contexts;
  return context == &num_contexts ? success : invalid_value;
}
int cuCtxPopCurrent_v2(void** context) {
  *context = &num_contexts;
  return --num_contexts >= 0 ? success : no_context;
}
int cuStreamSynchronize(void* stream) {
  fprintf(stderr, "wait %lu\n", (unsigned long)(uintptr_t)stream);
  return num_contexts > 0 ? success : no_context;
}
int cuMemAlloc_v2(uintptr_t* memory, size_t size_bytes) {
  if (num_contexts == 0) return no_context;
  if (size_bytes > 1000000) return out_of_memory;
  *memory = (uintptr_t)aligned_alloc(256, (size_bytes + 255) / 256 * 256);
  fprintf(stderr, "allocate %lu\n", (unsigned long)size_bytes);
  return success;
}
int cuMemFree_v2(uintptr_t memory) {
  if (num_contexts == 0) return no_context;
  free((void*)memory);
  fprintf(stderr, "free\n");
  return success;
}
int cuMemcpyAsync(uintptr_t target, uintptr_t source, size_t size_bytes, void* stream) {
  (void)stream;
  memcpy((void*)target, (const void*)source, size_bytes);
  return num_contexts > 0 ? success : no_context;
}
int cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  *free_bytes = 1000;
  *total_bytes = 2000;
  return success;
}
int cuPointerGetAttribute(void* value, int attribute, uintptr_t address) {
  *(int*)value = 0;
  return attribute == 9 && address > 4096 ? success : invalid_value;
}
int cuGetErrorString(int status, const char** text) {
  *text = status == invalid_device ? "invalid device ordinal" : "another error";
  return success;
}
