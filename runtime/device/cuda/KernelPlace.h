// How the threads of a grid share work, in kernels that are written in C++: they are compiled for GPUs when dgc is built, and
// for this CPU, as one thread, to compare with. There are no headers for GPUs but those of the compiler itself.
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
#else
#define DGC_KERNEL(name) extern "C" void name
static uint64_t firstPlace() { return 0; }
static uint64_t places() { return 1; }
#endif
