// How the threads of a grid share work, in kernels that are written in C++: they are compiled for GPUs when dgc is built, and
// for this CPU, as one thread, to compare with. There are no headers for GPUs but those of the compiler itself.
//
// A kernel whose threads meet is a loop over blocks, forBlocks(), whose body is a sequence of phases with a barrier after
// each. No thread reads what another one writes in the same phase. What threads keep from one phase to the next is in shared
// memory.
#pragma once

// NOLINTBEGIN(modernize-deprecated-headers): of the compiler itself
#include <stddef.h>
#include <stdint.h>
// NOLINTEND(modernize-deprecated-headers)

#ifdef __NVPTX__
#define DGC_KERNEL(name) extern "C" __attribute__((nvptx_kernel)) void name
static uint64_t times(int a, int b) { return static_cast<uint64_t>(a) * static_cast<uint64_t>(b); }
/// The first piece of work of this thread, and how many further the next one is.
static uint64_t firstPlace() {
  return times(__nvvm_read_ptx_sreg_ctaid_x(), __nvvm_read_ptx_sreg_ntid_x()) +
         static_cast<uint64_t>(__nvvm_read_ptx_sreg_tid_x());
}
static uint64_t places() { return times(__nvvm_read_ptx_sreg_nctaid_x(), __nvvm_read_ptx_sreg_ntid_x()); }

/// Memory of the GPU, and of a block. Shared variables are those of kernels, and have no value at first.
#define DGC_GLOBAL __attribute__((address_space(1)))
#define DGC_SHARED __attribute__((address_space(3)))
#define DGC_SHARED_VARIABLE [[clang::loader_uninitialized]] static DGC_SHARED
/// Calls body(block) for each of so many blocks. All threads of a block call it for the same ones.
template <class Body> static void forBlocks(uint64_t blocks, Body body) {
  for (auto block = static_cast<uint64_t>(__nvvm_read_ptx_sreg_ctaid_x()); block < blocks;
       block += static_cast<uint64_t>(__nvvm_read_ptx_sreg_nctaid_x()))
    body(block);
}
/// Calls body(thread) for each thread of a block, of which there are so many, and waits for all.
template <class Body> static void phase(uint32_t, Body body) {
  body(static_cast<uint32_t>(__nvvm_read_ptx_sreg_tid_x()));
  __syncthreads();
}
#else
#define DGC_KERNEL(name) extern "C" void name
static uint64_t firstPlace() { return 0; }
static uint64_t places() { return 1; }

#define DGC_GLOBAL
#define DGC_SHARED
#define DGC_SHARED_VARIABLE
/// Blocks, and the threads of a phase, in the opposite order, which must make no difference.
[[maybe_unused]] static thread_local bool runsBackwards = false;
template <class Body> static void forBlocks(uint64_t blocks, Body body) {
  for (uint64_t i = 0; i < blocks; ++i)
    body(runsBackwards ? blocks - 1 - i : i);
}
template <class Body> static void phase(uint32_t threads, Body body) {
  for (uint32_t i = 0; i < threads; ++i)
    body(runsBackwards ? threads - 1 - i : i);
}
#endif

/// What is at an address of the GPU's memory.
template <class T> static DGC_GLOBAL T *at(uint64_t address) { return reinterpret_cast<DGC_GLOBAL T *>(address); }
