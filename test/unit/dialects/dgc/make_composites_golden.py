"""Writes Composites.inc: composite ops, their inputs, and the results that numpy gives, in f64, from the formulas of
the textbooks. Run it in this folder; the output is kept in the repository."""

import math

import numpy as np
from composite_cases import case, gradient_case, normal, wide, write
from composites_formulas import (binary, conv, elu, group_norm, huber, kl, layer_norm, log_softmax, pool, random_bits,
                                 rms_norm, smooth, softmax, to_bf16)

# Layers
x, w, b = normal(3, 5), normal(5, 4), normal(4)
X, W, B = wide(x, w, b)
case("dense", "%r0 = dgc.dense %0, %1, %2 : {0}, {1}, {2}", [x, w, b], [X @ W + B])
a, c = normal(2, 3, 5), normal(2, 5, 4)
case("matmul_batch", "%r0 = dgc.matmul %0, %1 : {0}, {1}", [a, c], [np.matmul(*wide(a, c))])
case("matmul_shared", "%r0 = dgc.matmul %0, %1 : {0}, {1}", [a, w], [np.matmul(*wide(a, w))])
case("scale", "%r0 = dgc.scale %0 by 0.5 plus -1.5 : {0}", [x], [X * 0.5 - 1.5])

# Images: the definition of a convolution, element by element.
image, kernel, bias = normal(2, 6, 5, 4), normal(3, 2, 2, 6), normal(6)
I, K, BI = wide(image, kernel, bias)
case("conv2d_same", "%r0 = dgc.conv2d %0, %1, %2 strides [2, 2] padding same groups 2 : {0}, {1}, {2}",
     [image, kernel, bias], [conv(I, K, (2, 2), ((0, 1), (0, 1)), groups=2) + BI])
case("conv2d_dilation", "%r0 = dgc.conv2d %0, %1 padding [[1, 0], [2, 1]] dilation [2, 1] groups 2 : {0}, {1}",
     [image, kernel], [conv(I, K, pad=((1, 0), (2, 1)), dilation=(2, 1), groups=2)])


case("max_pool", "%r0 = dgc.max_pool %0 window [2, 2] : {0}", [image], [pool(I, (2, 2), (2, 2), ((0, 0), (0, 0)), np.max)])
case("avg_pool", "%r0 = dgc.avg_pool %0 window [3, 2] strides [2, 1] padding same : {0}", [image],
     [pool(I, (3, 2), (2, 1), ((0, 1), (0, 1)), np.mean)])

# Activations
erf = np.vectorize(math.erf)
case("relu", "%r0 = dgc.relu %0 : {0}", [x], [np.maximum(X, 0)])
case("sigmoid", "%r0 = dgc.sigmoid %0 : {0}", [x], [1 / (1 + np.exp(-X))])
case("gelu", "%r0 = dgc.gelu %0 : {0}", [x], [X * (1 + erf(X / np.sqrt(2))) / 2])
case("gelu_tanh", "%r0 = dgc.gelu %0 tanh : {0}", [x],
     [X * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X ** 3))) / 2])
large = (x * 100).astype(np.float32)
L = large.astype(np.float64)
case("softmax", "%r0 = dgc.softmax %0 dim 0 : {0}", [x], [softmax(X, 0)])
case("softmax_large", "%r0 = dgc.softmax %0 : {0}", [large], [softmax(L)], 1e-4)
case("log_softmax", "%r0 = dgc.log_softmax %0 : {0}", [large],
     [L - L.max(-1, keepdims=True) - np.log(np.exp(L - L.max(-1, keepdims=True)).sum(-1, keepdims=True))])

# Normalization
s, o = normal(5), normal(5)
S, O = wide(s, o)
case("layer_norm", "%r0 = dgc.layer_norm %0, %1, %2 epsilon 0.001 : {0}, {1}, {2}", [x, s, o],
     [(X - X.mean(-1, keepdims=True)) / np.sqrt(X.var(-1, keepdims=True) + 0.001) * S + O])
y = normal(4, 3, 5)
Y = y.astype(np.float64)
mean, variance = normal(5), np.abs(normal(5))
M, V = wide(mean, variance)
real = Y[:3].reshape(-1, 5)  # three of four examples
case("batch_norm_training",
     "%r0, %r1, %r2 = dgc.batch_norm %0, %1, %2, %3, %4 momentum 0.75 epsilon 0.001 training valid %5 "
     ": {0}, {1}, {2}, {3}, {4}", [y, s, o, mean, variance, np.array(3, np.int32)],
     [(Y - real.mean(0)) / np.sqrt(real.var(0) + 0.001) * S + O, 0.75 * M + 0.25 * real.mean(0),
      0.75 * V + 0.25 * real.var(0)])
case("batch_norm", "%r0, %r1, %r2 = dgc.batch_norm %0, %1, %2, %3, %4 epsilon 0.001 : {0}, {1}, {2}, {3}, {4}",
     [y, s, o, mean, variance], [(Y - M) / np.sqrt(V + 0.001) * S + O, M, V])

# Losses: three of four examples are real.
z, valid = normal(4, 5), np.array(3, np.int32)
Z = z.astype(np.float64)
labels = np.array([4, 0, 2, 1], np.uint8)
losses = -np.log(softmax(Z))[np.arange(4), labels]
case("cross_entropy", "%r0 = dgc.cross_entropy %0, %1 : {0}, {1}", [z, labels], [losses.mean()])
case("cross_entropy_valid", "%r0 = dgc.cross_entropy %0, %1 valid %2 : {0}, {1}", [z, labels.astype(np.int64), valid],
     [losses[:3].mean()])
p = softmax(normal(4, 5).astype(np.float64)).astype(np.float32)
case("cross_entropy_distribution", "%r0 = dgc.cross_entropy %0, %1 valid %2 : {0}, {1}", [z, p, valid],
     [-(p.astype(np.float64) * np.log(softmax(Z))).sum(-1)[:3].mean()])
tokens, marks = normal(2, 3, 5), np.array([[1, 4, 0], [2, 2, 3]], np.int32)
T = softmax(tokens.astype(np.float64))
case("cross_entropy_tokens", "%r0 = dgc.cross_entropy %0, %1 : {0}, {1}", [tokens, marks],
     [-np.log(np.take_along_axis(T, marks[..., None].astype(np.int64), -1)).mean()])
t = normal(4, 5)
case("mean_squared_error", "%r0 = dgc.mean_squared_error %0, %1 valid %2 : {0}, {1}", [z, t, valid],
     [((Z - t) ** 2)[:3].mean()])
ties = np.array([[1, 3, 3], [2, 2, 1], [0, 0, 5], [7, 1, 1]], np.float32)  # of equal logits the first is the largest
case("accuracy", "%r0 = dgc.accuracy %0, %1 valid %2 : {0}, {1}", [ties, np.array([1, 1, 2, 0], np.int32), valid],
     [2 / 3])

# Optimizers: formulas as in the papers.
w, g, m, v = normal(5), normal(5), normal(5), np.abs(normal(5))
W, G, MO, VO = wide(w, g, m, v)
rate, step = np.array(0.1, np.float32), np.array(6, np.int64)
d = G + 0.01 * W
u = 0.9 * MO + d
case("sgd", "%r0 = dgc.apply_optimizer sgd(%0, %1, %2, %3) : {0}, {1}, {2}", [w, g, rate, step], [W - 0.1 * G])
case("sgd_momentum",
     "%r0, %r1 = dgc.apply_optimizer sgd(%0, %1, %2, %3) state(%4) momentum 0.9 weight_decay 0.01 : {0}, {1}, {2}, {4}",
     [w, g, rate, step, m],
     [W - 0.1 * u, u])
case("sgd_nesterov",
     "%r0, %r1 = dgc.apply_optimizer sgd(%0, %1, %2, %3) state(%4) momentum 0.9 nesterov weight_decay 0.01 "
     ": {0}, {1}, {2}, {4}", [w, g, rate, step, m], [W - 0.1 * (d + 0.9 * u), u])


def adam(W, G, M, V, t, decay=0.0):
    M1, V1 = 0.9 * M + 0.1 * G, 0.999 * V + 0.001 * G * G
    return W - 0.1 * (M1 / (1 - 0.9 ** t)) / (np.sqrt(V1 / (1 - 0.999 ** t)) + 1e-3) - 0.1 * decay * W, M1, V1


fields = "beta1 0.9 beta2 0.999 epsilon 0.001"
case("adam", f"%r0, %r1, %r2 = dgc.apply_optimizer adam(%0, %1, %2, %3) state(%4, %5) {fields} "
     ": {0}, {1}, {2}, {4}, {5}", [w, g, rate, step, m, v], adam(W, G, MO, VO, 7))
case("adam_decay",
     f"%r0, %r1, %r2 = dgc.apply_optimizer adam(%0, %1, %2, %3) state(%4, %5) {fields} weight_decay 0.01 "
     ": {0}, {1}, {2}, {4}, {5}", [w, g, rate, step, m, v], adam(W, d, MO, VO, 7))
case("adamw", f"%r0, %r1, %r2 = dgc.apply_optimizer adamw(%0, %1, %2, %3) state(%4, %5) {fields} weight_decay 0.01 "
     ": {0}, {1}, {2}, {4}, {5}", [w, g, rate, step, m, v], adam(W, G, MO, VO, 7, 0.01))
h = normal(3, 2)
H = h.astype(np.float64)
norm = np.sqrt((G ** 2).sum() + (H ** 2).sum())
case("clip", "%r0, %r1 = dgc.clip_by_global_norm %0, %1 max 0.5 : {0}, {1}", [g, h], [G * 0.5 / norm, H * 0.5 / norm])
case("clip_nothing", "%r0, %r1 = dgc.clip_by_global_norm %0, %1 max 100.0 : {0}, {1}", [g, h], [G, H])
for at in (0, 2, 3, 14, 30):
    now = np.array(at, np.int64)
    cosine = 0.02 + (0.1 - 0.02) * (1 + math.cos(math.pi * min(max(at - 3, 0) / 20, 1))) / 2
    case(f"cosine_{at}", "%r0 = dgc.learning_rate %0 0.1 cosine steps 20 final 0.02 warm_up 3", [now],
         [0.1 * (at + 1) / 3 if at < 3 else cosine])
    case(f"step_{at}", "%r0 = dgc.learning_rate %0 0.1 step every 10 times 0.5", [now], [0.1 * 0.5 ** (at // 10)])

def cross_entropy(z, labels):
    return -np.take_along_axis(log_softmax(z), labels[..., None].astype(np.int64), -1)[..., 0]


s, o = normal(5), normal(5)
w = normal(5, 4)
b = normal(4)
gradient_case("dense", "%y = dgc.dense %0, %1, %2 : {0}, {1}, {2}", [x, w, b], [0, 1, 2], lambda x, w, b: x @ w + b)
gradient_case("matmul_batch", "%y = dgc.matmul %0, %1 : {0}, {1}", [a, c], [0, 1], np.matmul)
gradient_case("scale", "%y = dgc.scale %0 by 0.5 plus 1.0 : {0}", [x], [0], lambda x: 0.5 * x + 1)
gradient_case("conv2d", "%y = dgc.conv2d %0, %1, %2 strides [2, 2] padding same groups 2 : {0}, {1}, {2}",
              [image, kernel, bias], [0, 1, 2], lambda x, k, b: conv(x, k, (2, 2), ((0, 1), (0, 1)), groups=2) + b)
gradient_case("max_pool", "%y = dgc.max_pool %0 window [2, 2] : {0}", [image], [0],
              lambda x: pool(x, (2, 2), (2, 2), ((0, 0), (0, 0)), np.max))
gradient_case("avg_pool", "%y = dgc.avg_pool %0 window [3, 2] strides [2, 1] padding same : {0}", [image], [0],
              lambda x: pool(x, (3, 2), (2, 1), ((0, 1), (0, 1)), np.mean))
gradient_case("relu", "%y = dgc.relu %0 : {0}", [x], [0], lambda x: np.maximum(x, 0))
gradient_case("sigmoid", "%y = dgc.sigmoid %0 : {0}", [x], [0], lambda x: 1 / (1 + np.exp(-x)))
gradient_case("gelu", "%y = dgc.gelu %0 : {0}", [x], [0], lambda x: x * (1 + erf(x / np.sqrt(2))) / 2)
gradient_case("gelu_tanh", "%y = dgc.gelu %0 tanh : {0}", [x], [0],
              lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))) / 2)
gradient_case("softmax", "%y = dgc.softmax %0 dim 0 : {0}", [x], [0], lambda x: softmax(x, 0))
gradient_case("log_softmax", "%y = dgc.log_softmax %0 : {0}", [x], [0], log_softmax)
gradient_case("layer_norm", "%y = dgc.layer_norm %0, %1, %2 epsilon 0.001 : {0}, {1}, {2}", [x, s, o], [0, 1, 2],
              layer_norm)


def batch_norm(y, s, o, m, v, valid):
    real = y[:valid].reshape(-1, 5)
    return (y - real.mean(0)) / np.sqrt(real.var(0) + 0.001) * s + o


y = normal(4, 3, 5)
gradient_case("batch_norm", "%y, %m, %v = dgc.batch_norm %0, %1, %2, %3, %4 epsilon 0.001 training valid %5 "
              ": {0}, {1}, {2}, {3}, {4}", [y, s, o, mean, variance, valid], [0, 1, 2], batch_norm)
gradient_case("cross_entropy", "%y = dgc.cross_entropy %0, %1 : {0}, {1}", [z, labels], [0],
              lambda z, l: cross_entropy(z, l).mean())
gradient_case("cross_entropy_valid", "%y = dgc.cross_entropy %0, %1 valid %2 : {0}, {1}", [z, labels, valid], [0],
              lambda z, l, n: cross_entropy(z, l)[:n].mean())
gradient_case("cross_entropy_tokens", "%y = dgc.cross_entropy %0, %1 : {0}, {1}", [tokens, marks], [0],
              lambda z, l: cross_entropy(z, l).mean())
gradient_case("cross_entropy_distribution", "%y = dgc.cross_entropy %0, %1 valid %2 : {0}, {1}",
              [z, normal(4, 5), valid], [0, 1], lambda z, p, n: -(p * log_softmax(z)).sum(-1)[:n].mean())
gradient_case("mean_squared_error", "%y = dgc.mean_squared_error %0, %1 valid %2 : {0}, {1}", [z, t, valid], [0, 1],
              lambda z, t, n: ((z - t) ** 2)[:n].mean())


# Dropout: Philox4x32-10 written plainly.
x = normal(5, 7)
seed, step = np.array(12345678901, np.int64), np.array(3, np.int64)
kept = random_bits(35, int(seed), 3, 9).reshape(5, 7) >= int(0.4 * 2 ** 32)
assert 10 < kept.sum() < 32
case("dropout", "%r0 = dgc.dropout %0 rate 0.4 keyed %1, %2 rng 9 : {0}", [x, seed, step],
     [np.where(kept, x.astype(np.float64) / 0.6, 0)])
case("dropout_inference", "%r0 = dgc.dropout %0 rate 0.4 : {0}", [x], [x])

# Transformers.
table, numbers = normal(6, 4), np.array([[5, 0, 2], [2, 2, 1]], np.int32)
TA = table.astype(np.float64)
case("embedding", "%r0 = dgc.embedding %0, %1 : {0}, {1}", [table, numbers], [TA[numbers]])
sequence = normal(2, 3, 4)
SE = sequence.astype(np.float64)
case("position_embedding", "%r0 = dgc.position_embedding %0, %1 : {0}, {1}", [sequence, table], [SE + TA[:3]])
case("matmul_transposed", "%r0 = dgc.matmul %0, %1 transposed : {0}, {1}", [sequence, table], [SE @ TA.T])


def attention(q, k, v, heads, causal, scale=None):
    def split(x):
        return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3)
    q, k, v = split(q), split(k), split(v)
    scores = q @ k.transpose(0, 1, 3, 2) * (scale or 1 / math.sqrt(q.shape[-1]))
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:])) > 0, scores, -np.inf)
    return (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(q.shape[0], q.shape[2], -1)


q, k, v = normal(2, 3, 6), normal(2, 5, 6), normal(2, 5, 4)
case("attention", "%r0 = dgc.attention %0, %1, %2 heads 2 : {0}, {1}, {2}", [q, k, v], [attention(*wide(q, k, v), 2, False)])
k, v = normal(2, 3, 6), normal(2, 3, 6)
case("attention_causal", "%r0 = dgc.attention %0, %1, %2 heads 3 causal scale 0.8 : {0}, {1}, {2}", [q, k, v],
     [attention(*wide(q, k, v), 3, True, 0.8)])
gradient_case("embedding", "%y = dgc.embedding %0, %1 : {0}, {1}", [table, numbers], [0], lambda t, n: t[n])
gradient_case("attention_causal", "%y = dgc.attention %0, %1, %2 heads 3 causal : {0}, {1}, {2}", [q, k, v], [0, 1, 2],
              lambda q, k, v: attention(q, k, v, 3, True))

# Without what is optional: padding, bias, momentum, examples that are not real.
case("dense_without_bias", "%r0 = dgc.dense %0, %1 : {0}, {1}", [sequence, table.T.copy()], [SE @ TA.T])
case("bias_add", "%r0 = dgc.bias_add %0, %1 : {0}, {1}", [sequence, m[:4].copy()], [SE + MO[:4]])
case("expand_and_flatten", "%e = dgc.expand_dims %0 at 1 : {0}\n  %r0 = dgc.flatten %e : tensor<2x1x3x4xf32>", [sequence],
     [sequence.reshape(2, 12)])
case("avg_pool_valid", "%r0 = dgc.avg_pool %0 window [2, 2] : {0}", [image],
     [pool(I, (2, 2), (2, 2), ((0, 0), (0, 0)), np.mean)])
case("cross_entropy_distribution_of_all", "%r0 = dgc.cross_entropy %0, %1 : {0}, {1}", [z, p],
     [-(p.astype(np.float64) * np.log(softmax(Z))).sum(-1).mean()])
case("mean_squared_error_of_all", "%r0 = dgc.mean_squared_error %0, %1 : {0}, {1}", [z, t], [((Z - t) ** 2).mean()])
case("accuracy_of_all", "%r0 = dgc.accuracy %0, %1 : {0}, {1}", [ties, np.array([1, 1, 2, 0], np.uint8)], [3 / 4])
case("sgd_decay", "%r0 = dgc.apply_optimizer sgd(%0, %1, %2, %3) weight_decay 0.01 : {0}, {1}, {2}",
     [W.astype(np.float32), g, rate, step],
     [W - 0.1 * (G + 0.01 * W)])
for at in (0, 2, 3, 12, 13, 30):
    now = np.array(at, np.int64)
    case(f"step_warm_up_{at}", "%r0 = dgc.learning_rate %0 0.1 step every 10 times 0.5 warm_up 3", [now],
         [0.1 * (at + 1) / 3 if at < 3 else 0.1 * 0.5 ** ((at - 3) // 10)])
    case(f"constant_{at}", "%r0 = dgc.learning_rate %0 0.1 warm_up 3", [now], [0.1 * min((at + 1) / 3, 1)])


# Half precision: operands and results are rounded to bf16, what is between them is not. Rows are long enough for a sum
# in bf16 to be wrong.
def half_case(name, op, inputs, result):
    """`op` makes %y of %h0, %h1, .., the inputs in bf16."""
    shape = "tensor<" + "".join(f"{n}x" for n in inputs[0].shape) + "bf16>"
    converts = "\n  ".join(f"%h{i} = dgc.convert %{i} to bf16 : {{{i}}}" for i in range(len(inputs)))
    case(name + "_bf16", f"{converts}\n  {op} : {shape}\n  %r0 = dgc.convert %y to f32 : {shape}", inputs,
         [to_bf16(result)], 2 ** -8)


half, half_gradient = to_bf16(normal(2, 300)), to_bf16(normal(2, 300))
HA, HG = wide(half, half_gradient)
root = np.sqrt(2 / np.pi)
slope = np.tanh(root * (HA + 0.044715 * HA ** 3))
half_case("softmax", "%y = dgc.softmax %h0", [half * 4], softmax(HA * 4))
half_case("log_softmax", "%y = dgc.log_softmax %h0", [half], log_softmax(HA))
half_case("gelu", "%y = dgc.gelu %h0", [half], HA * (1 + erf(HA / np.sqrt(2))) / 2)
half_case("gelu_grad", "%y = dgc.gelu_grad %h0, %h1", [half, half_gradient],
          HG * ((1 + erf(HA / np.sqrt(2))) / 2 + HA * np.exp(-HA ** 2 / 2) / np.sqrt(2 * np.pi)))
half_case("gelu_grad_tanh", "%y = dgc.gelu_grad %h0, %h1 tanh", [half, half_gradient],
          HG * ((1 + slope) / 2 + HA / 2 * (1 - slope ** 2) * root * (1 + 3 * 0.044715 * HA ** 2)))


# Further activations, normalizations and losses.
x = normal(3, 6)
X = x.astype(np.float64)


case("silu", "%r0 = dgc.silu %0 : {0}", [x], [X / (1 + np.exp(-X))])
case("leaky_relu", "%r0 = dgc.leaky_relu %0 slope 0.2 : {0}", [x], [np.where(X > 0, X, 0.2 * X)])
case("leaky_relu_default", "%r0 = dgc.leaky_relu %0 : {0}", [x], [np.where(X > 0, X, 0.01 * X)])
case("elu", "%r0 = dgc.elu %0 alpha 0.5 : {0}", [x], [elu(X, 0.5)])
case("elu_large", "%r0 = dgc.elu %0 : {0}", [(x * 100).astype(np.float32)], [elu((x * 100).astype(np.float32).astype(np.float64), 1)])
gradient_case("silu", "%y = dgc.silu %0 : {0}", [x], [0], lambda x: x / (1 + np.exp(-x)))
gradient_case("leaky_relu", "%y = dgc.leaky_relu %0 slope 0.2 : {0}", [x], [0], lambda x: np.where(x > 0, x, 0.2 * x))
gradient_case("elu", "%y = dgc.elu %0 alpha 0.5 : {0}", [x], [0], lambda x: elu(x, 0.5))

s, o = normal(6), normal(6)
image = normal(2, 3, 2, 6)


case("rms_norm", "%r0 = dgc.rms_norm %0, %1 epsilon 0.01 : {0}, {1}", [x, s], [rms_norm(*wide(x, s))])
gradient_case("rms_norm", "%y = dgc.rms_norm %0, %1 epsilon 0.01 : {0}, {1}", [x, s], [0, 1], rms_norm)
for groups in (1, 3, 6):
    case(f"group_norm_{groups}", f"%r0 = dgc.group_norm %0, %1, %2 groups {groups} epsilon 0.01 : {{0}}, {{1}}, {{2}}",
         [image, s, o], [group_norm(*wide(image, s, o), groups)])
case("group_norm_of_rows", "%r0 = dgc.group_norm %0, %1, %2 groups 2 epsilon 0.01 : {0}, {1}, {2}", [x, s, o],
     [group_norm(*wide(x, s, o), 2)])
gradient_case("group_norm", "%y = dgc.group_norm %0, %1, %2 groups 3 epsilon 0.01 : {0}, {1}, {2}", [image, s, o], [0, 1, 2],
              lambda x, s, o: group_norm(x, s, o, 3))

z, t = normal(4, 5), normal(4, 5)
Z, T = wide(z, t)


case("mean_absolute_error", "%r0 = dgc.mean_absolute_error %0, %1 : {0}, {1}", [z, t], [np.abs(Z - T).mean()])
case("mean_absolute_error_valid", "%r0 = dgc.mean_absolute_error %0, %1 valid %2 : {0}, {1}", [z, t, valid],
     [np.abs(Z - T)[:3].mean()])
case("huber_loss", "%r0 = dgc.huber_loss %0, %1 delta 0.7 : {0}, {1}", [z, t], [huber(Z, T, 0.7).mean()])
case("huber_loss_valid", "%r0 = dgc.huber_loss %0, %1 valid %2 : {0}, {1}", [z, t, valid], [huber(Z, T, 1)[:3].mean()])
case("binary_cross_entropy", "%r0 = dgc.binary_cross_entropy %0, %1 : {0}, {1}", [(z * 30).astype(np.float32), t],
     [binary((z * 30).astype(np.float32).astype(np.float64), T).mean()])
case("binary_cross_entropy_valid", "%r0 = dgc.binary_cross_entropy %0, %1 valid %2 : {0}, {1}", [z, t, valid],
     [binary(Z, T)[:3].mean()])
q = np.array([[0.5, 0, 0.5, 0, 0], [0.2] * 5, [0, 0, 0, 0, 1], [0.1, 0.2, 0.3, 0.4, 0]], np.float32)
Q = q.astype(np.float64)
case("kl_divergence", "%r0 = dgc.kl_divergence %0, %1 : {0}, {1}", [z, q], [kl(Z, Q).mean()])
case("kl_divergence_valid", "%r0 = dgc.kl_divergence %0, %1 valid %2 : {0}, {1}", [z, q, valid], [kl(Z, Q)[:3].mean()])
gradient_case("mean_absolute_error", "%y = dgc.mean_absolute_error %0, %1 valid %2 : {0}, {1}", [z, t, valid], [0, 1],
              lambda z, t, n: np.abs(z - t)[:n].mean())
gradient_case("huber_loss", "%y = dgc.huber_loss %0, %1 delta 0.7 : {0}, {1}", [z, t], [0, 1],
              lambda z, t: huber(z, t, 0.7).mean())
gradient_case("binary_cross_entropy", "%y = dgc.binary_cross_entropy %0, %1 valid %2 : {0}, {1}", [z, t, valid], [0, 1],
              lambda z, t, n: binary(z, t)[:n].mean())
gradient_case("kl_divergence", "%y = dgc.kl_divergence %0, %1 : {0}, {1}", [z, np.abs(t) + np.float32(0.1)], [0, 1],
              lambda z, t: kl(z, t).mean())


hot = np.eye(5)[labels]
case("cross_entropy_smoothed", "%r0 = dgc.cross_entropy %0, %1 label_smoothing 0.1 valid %2 : {0}, {1}", [z, labels, valid],
     [-(smooth(hot, 0.1) * log_softmax(Z)).sum(-1)[:3].mean()])
gradient_case("cross_entropy_smoothed", "%y = dgc.cross_entropy %0, %1 label_smoothing 0.1 : {0}, {1}", [z, labels], [0],
              lambda z, l: -(smooth(hot, 0.1) * log_softmax(z)).sum(-1).mean())
gradient_case("cross_entropy_distribution_smoothed", "%y = dgc.cross_entropy %0, %1 label_smoothing 0.1 : {0}, {1}", [z, q],
              [0, 1], lambda z, p: -(smooth(p, 0.1) * log_softmax(z)).sum(-1).mean())

# What summarizes, and what changes shapes.
case("mean", "%r0 = dgc.mean %0 dims [2, 1] : {0}", [image], [image.astype(np.float64).mean((1, 2))])
case("mean_of_all", "%r0 = dgc.mean %0 : {0}", [image], [image.astype(np.float64).mean()])
gradient_case("mean", "%y = dgc.mean %0 dims [1, 3] : {0}", [image], [0], lambda x: x.mean((1, 3)))
case("argmax", "%i = dgc.argmax %0 : {0}\n  %r0 = dgc.convert %i to f32 : tensor<4xi32>", [ties], [ties.argmax(-1)])
case("argmax_dim", "%i = dgc.argmax %0 dim 0 : {0}\n  %r0 = dgc.convert %i to f32 : tensor<3xi32>", [ties],
     [ties.argmax(0)])
case("one_hot", "%r0 = dgc.one_hot %0 classes 3 : {0}", [np.array([[0, 2], [-1, 3]], np.int32)],
     [np.array([[[1, 0, 0], [0, 0, 1]], [[0, 0, 0], [0, 0, 0]]])])
case("one_hot_wide", "%r0 = dgc.one_hot %0 classes 2 : {0}", [np.array([1, 2 ** 32 + 1], np.int64)], [np.array([[0, 1], [0, 0]])])
case("one_hot_narrow", "%r0 = dgc.one_hot %0 classes 300 : {0}", [np.array([255, 1], np.uint8)], [np.eye(300)[[255, 1]]])
case("upsample", "%r0 = dgc.upsample %0 by 2 : {0}", [image], [image.repeat(2, 1).repeat(2, 2)])
gradient_case("upsample", "%y = dgc.upsample %0 by 3 : {0}", [image], [0], lambda x: x.repeat(3, 1).repeat(3, 2))

half_case("silu", "%y = dgc.silu %h0", [half], HA / (1 + np.exp(-HA)))
half_case("elu", "%y = dgc.elu %h0", [half], elu(HA, 1))

write("Composites.inc", "make_composites_golden.py")
