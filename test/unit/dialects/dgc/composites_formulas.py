"""The formulas of make_composites_golden.py, in numpy and as the textbooks have them."""

import numpy as np


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def conv(x, w, strides=(1, 1), pad=((0, 0), (0, 0)), dilation=(1, 1), groups=1):
    x = np.pad(x, ((0, 0), pad[0], pad[1], (0, 0)))
    n, h, wd, c = x.shape
    kh, kw, ci, f = w.shape
    oh = (h - (kh - 1) * dilation[0] - 1) // strides[0] + 1
    ow = (wd - (kw - 1) * dilation[1] - 1) // strides[1] + 1
    y = np.zeros((n, oh, ow, f))
    for o in range(f):
        g = o // (f // groups)
        for i in range(oh):
            for j in range(ow):
                for p in range(kh):
                    for q in range(kw):
                        patch = x[:, i * strides[0] + p * dilation[0], j * strides[1] + q * dilation[1], g * ci:(g + 1) * ci]
                        y[:, i, j, o] += patch @ w[p, q, :, o]
    return y


def pool(x, window, strides, pad, combine):
    n, h, w, c = x.shape
    oh = (h + sum(pad[0]) - window[0]) // strides[0] + 1
    ow = (w + sum(pad[1]) - window[1]) // strides[1] + 1
    y = np.zeros((n, oh, ow, c))
    for i in range(oh):
        for j in range(ow):
            top, left = i * strides[0] - pad[0][0], j * strides[1] - pad[1][0]
            y[:, i, j] = combine(x[:, max(top, 0):top + window[0], max(left, 0):left + window[1]], (1, 2))
    return y


def layer_norm(x, s, o):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 0.001) * s + o


def log_softmax(x):
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def elu(x, alpha):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def rms_norm(x, s):
    return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 0.01) * s


def group_norm(x, s, o, groups):
    y = x.reshape(x.shape[0], -1, groups, x.shape[-1] // groups)
    y = (y - y.mean((1, 3), keepdims=True)) / np.sqrt(y.var((1, 3), keepdims=True) + 0.01)
    return y.reshape(x.shape) * s + o


def huber(x, t, delta):
    d = np.abs(x - t)
    return np.where(d <= delta, d ** 2 / 2, delta * (d - delta / 2))


def binary(x, t):
    return np.maximum(x, 0) - t * x + np.log1p(np.exp(-np.abs(x)))


def kl(l, t):
    return np.where(t > 0, t * (np.log(np.where(t > 0, t, 1)) - l), 0).sum(-1)


def smooth(labels, share):
    return labels * (1 - share) + share / labels.shape[-1]


def philox(counter, key):
    for _ in range(10):
        a, b = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [(b >> 32) ^ counter[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ counter[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def random_bits(count, seed, step, op):
    words, number = [], op * 2 ** 40 + step
    for block in range((count + 3) // 4):
        words += philox([block & 0xFFFFFFFF, block >> 32, number & 0xFFFFFFFF, number >> 32],
                        [seed & 0xFFFFFFFF, seed >> 32])
    return np.array(words[:count], np.uint64)


def to_bf16(array):
    bits = np.asarray(array, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)
