// SPDX-License-Identifier: Apache-2.0
// Included by all other headers: says what is wrong where a compiler is set to an older C++.
#pragma once

#if __cplusplus < 202002L
#error "Spansort needs C++20: compile with -std=c++20 or later, CUDA sources too (nvcc -std=c++20)"
#endif
