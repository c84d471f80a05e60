/* What generated kernels and the executor agree on. Plain C: included by both
 * sides and by tests.
 *
 * A kernel is `void f(void *const *args, int64_t begin, int64_t end, const
 * dgc_step *step)` with C linkage. It does the parts [begin, end) of
 * Kernel.extent equal, independent parts of its work. args[i] points to the
 * first element of the i-th buffer of the call, aligned to 64 bytes. It
 * allocates nothing and reports nothing. */
#ifndef DGC_RUNTIME_ARTIFACT_KERNELABI_H
#define DGC_RUNTIME_ARTIFACT_KERNELABI_H

#include <stdint.h> // NOLINT(modernize-deprecated-headers): C includes this, too

#ifdef __cplusplus
extern "C" {
#endif

/* What is the same for the whole step. */
// NOLINTBEGIN(modernize-use-using)
typedef struct dgc_step {
  uint64_t seed; /* of the run */
  uint64_t step; /* number of the training step, from 0 */
} dgc_step;

typedef void (*dgc_kernel)(void *const *args, int64_t begin, int64_t end, const dgc_step *step);
// NOLINTEND(modernize-use-using)

#ifdef __cplusplus
}
#endif

#endif
