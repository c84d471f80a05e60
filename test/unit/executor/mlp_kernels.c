/* What an MLP needs beside matrix products, by the ABI of generated code. Shapes are fixed: 10 classes; the rest comes
 * as sizes in an i64 array, args[0] = {rows, hidden units}. */
#include "runtime/artifact/KernelAbi.h"

typedef const int64_t *sizes;

static float exponential(float x) {
  /* 2^k * e^r, |r| <= ln2 / 2; the polynomial is good to 1e-7. */
  if (x < -80)
    x = -80;
  float k = (float)(int)(x * 1.44269504f + (x < 0 ? -0.5f : 0.5f));
  float r = x - k * 0.693145752f - k * 1.42860677e-6f;
  float p =
      1 +
      r * (1 + r * (0.5f + r * (1.66666667e-1f + r * (4.16666667e-2f + r * (8.33333333e-3f + r * 1.38888889e-3f)))));
  union {
    int i;
    float f;
  } scale = {((int)k + 127) << 23};
  return p * scale.f;
}

static float logarithm(float x) {
  union {
    float f;
    int i;
  } u = {x};
  int e = (u.i >> 23) - 127;
  u.i = (u.i & 0x7fffff) | 0x3f800000;
  float m = (u.f - 1) / (u.f + 1), s = m * m; /* in [0, 1/3] */
  return e * 0.693147181f + 2 * m * (1 + s * (1.0f / 3 + s * (0.2f + s * (1.0f / 7 + s * (1.0f / 9 + s / 11)))));
}

/* x[i] = image[i] / 255: args = sizes, image u8 [rows, 784], x */
void mlp_scale(void *const *args, int64_t begin, int64_t end, const dgc_step *step) {
  const uint8_t *image = args[1];
  float *x = args[2];
  int64_t n = ((sizes)args[0])[0] * 784;
  for (int64_t i = 0; i < n; ++i)
    x[i] = image[i] * (1.0f / 255);
}

/* Mean cross-entropy over the valid rows of the global batch, partial sums.
 * args = sizes, logits, label u8, valid i32, rank i64, d_logits, loss, accuracy */
void mlp_loss(void *const *args, int64_t begin, int64_t end, const dgc_step *step) {
  int64_t rows = ((sizes)args[0])[0], first = *(const int64_t *)args[4] * rows;
  const float *logits = args[1];
  const uint8_t *label = args[2];
  int64_t valid = *(const int32_t *)args[3];
  float *d = args[5], loss = 0, correct = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const float *z = logits + r * 10;
    float most = z[0], sum = 0;
    int best = 0;
    for (int c = 1; c < 10; ++c)
      if (z[c] > most)
        most = z[c], best = c;
    for (int c = 0; c < 10; ++c)
      sum += d[r * 10 + c] = exponential(z[c] - most);
    float weight = first + r < valid ? 1.0f / valid : 0;
    for (int c = 0; c < 10; ++c)
      d[r * 10 + c] = weight * (d[r * 10 + c] / sum - (c == label[r]));
    loss += weight * (logarithm(sum) + most - z[label[r]]);
    correct += best == label[r] ? weight : 0;
  }
  *(float *)args[6] = loss;
  *(float *)args[7] = correct;
}

/* d = 0 where h is not above 0; bias gradient. args = sizes, h, d, d_bias */
void mlp_relu_gradient(void *const *args, int64_t begin, int64_t end, const dgc_step *step) {
  int64_t rows = ((sizes)args[0])[0], n = ((sizes)args[0])[1];
  const float *h = args[1];
  float *restrict d = args[2], *restrict bias = args[3];
  for (int64_t j = 0; j < n; ++j)
    bias[j] = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < n; ++j) {
      float v = h[r * n + j] > 0 ? d[r * n + j] : 0;
      d[r * n + j] = v;
      bias[j] += v;
    }
}

/* args = sizes, d [rows, 10], d_bias [10] */
void mlp_bias_gradient(void *const *args, int64_t begin, int64_t end, const dgc_step *step) {
  int64_t rows = ((sizes)args[0])[0];
  const float *d = args[1];
  float *bias = args[2];
  for (int c = 0; c < 10; ++c)
    bias[c] = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int c = 0; c < 10; ++c)
      bias[c] += d[r * 10 + c];
}

/* Variables and gradients lie in the same order at the same distances: one pass over all.
 * args = count i64, first variable, first gradient */
void mlp_sgd(void *const *args, int64_t begin, int64_t end, const dgc_step *step) {
  int64_t n = *(sizes)args[0];
  float *restrict w = args[1];
  const float *restrict g = args[2];
  for (int64_t i = 0; i < n; ++i)
    w[i] -= 0.1f * g[i];
}
