// SPDX-License-Identifier: Apache-2.0
// This header includes all others but those that need MPI or a compiler of CUDA.
#pragma once

#include "spansort/check.hpp"
#include "spansort/devices.hpp"
#include "spansort/errors.hpp"
#include "spansort/file_statistics.hpp"
#include "spansort/files.hpp"
#include "spansort/generate.hpp"
#include "spansort/merge_sort.hpp"
#include "spansort/options.hpp"
#include "spansort/plan.hpp"
#include "spansort/ranges.hpp"
#include "spansort/records.hpp"
#include "spansort/report.hpp"
#include "spansort/resident.hpp"
#include "spansort/resident_statistics.hpp"
#include "spansort/sort.hpp"
#include "spansort/sort_by.hpp"
#include "spansort/statistics.hpp"
#include "spansort/top_k.hpp"
#include "spansort/types.hpp"
#include "spansort/version.hpp"
