# SPDX-License-Identifier: Apache-2.0
# A toolchain file: compiles for aarch64 with Debian's cross compiler, against the libraries of the folder
# SPANSORT_SYSROOT (of the environment), and runs what it has compiled by qemu.
# scripts/try_aarch64.sh makes such a folder.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_SYSROOT "$ENV{SPANSORT_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH "$ENV{SPANSORT_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L "$ENV{SPANSORT_SYSROOT}")
