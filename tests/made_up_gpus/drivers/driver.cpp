// SPDX-License-Identifier: Apache-2.0
// A library in the place of the NVIDIA driver's: with the functions that are asked for, or without some of them. Tests
// set what it answers.
#include "made_up_gpus/driver.hpp"

extern "C" {

spansort::test::driver_answers made_up_answers;

int cuInit(unsigned) { return made_up_answers.start_status; }

int cuDriverGetVersion(int* version) {
  *version = made_up_answers.version;
  return made_up_answers.version_status;
}

#ifndef SPANSORT_WITHOUT_COUNT
int cuDeviceGetCount(int* count) {
  *count = made_up_answers.num_gpus;
  return made_up_answers.count_status;
}
#endif

#ifndef SPANSORT_WITHOUT_TEXTS
int cuGetErrorString(int, const char** text) {
  *text = made_up_answers.text;
  return made_up_answers.text_status;
}
#endif
}
