/* Kernels for the executor's tests, by the ABI of generated code. */
#include "runtime/artifact/KernelAbi.h"

/* out[i] = a[i] + b[i] for the 64 elements of part p, from 64 p on. */
void add_parts(void *const *args, int64_t begin, int64_t end, const dgc_step *step) {
  const float *a = args[0], *b = args[1];
  float *out = args[2];
  for (int64_t i = begin * 64; i < end * 64; ++i)
    out[i] = a[i] + b[i];
}

/* out = sum of the 8 elements of x. */
void sum8(void *const *args, int64_t begin, int64_t end, const dgc_step *step) {
  const float *x = args[0];
  float sum = 0;
  for (int i = 0; i < 8; ++i)
    sum += x[i];
  *(float *)args[1] = sum;
}

/* w -= 0.5 * x, in place on a variable of 8; seed and step to out. */
void update(void *const *args, int64_t begin, int64_t end, const dgc_step *step) {
  float *w = args[0];
  const float *x = args[1];
  int64_t *out = args[2];
  for (int i = 0; i < 8; ++i)
    w[i] -= 0.5f * x[i];
  out[0] = (int64_t)step->seed;
  out[1] = (int64_t)step->step;
}
