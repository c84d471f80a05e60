"""The formulas of make_layers_golden.py, in numpy, element by element as the papers and textbooks have them."""

import math

import numpy as np
from composites_formulas import softmax


def conv_any(x, w, strides, pad, dilation, groups=1):
    """A convolution of any number of spatial dimensions: x [n, .., c], w [.., c / groups, f]."""
    x = np.pad(x, [(0, 0), *pad, (0, 0)])
    window, (ci, f) = w.shape[:-2], w.shape[-2:]
    out = [(s - (k - 1) * d - 1) // t + 1 for s, k, d, t in zip(x.shape[1:-1], window, dilation, strides)]
    y = np.zeros((x.shape[0], *out, f))
    for o in range(f):
        g = o // (f // groups)
        for at in np.ndindex(*out):
            for k in np.ndindex(*window):
                place = tuple(a * s + i * d for a, s, i, d in zip(at, strides, k, dilation))
                y[(slice(None), *at, o)] += x[(slice(None), *place, slice(g * ci, (g + 1) * ci))] @ w[(*k, slice(None), o)]
    return y


def conv_transpose(x, w, strides, pad, more=(0, 0), dilation=(1, 1), groups=1):
    """Each pixel adds the weights, times itself, to a window: x [n, h, w, c], weights [kh, kw, f / groups, c]."""
    n, h, wd, c = x.shape
    kh, kw, fg, _ = w.shape
    whole = np.zeros((n, (h - 1) * strides[0] + (kh - 1) * dilation[0] + 1 + more[0],
                      (wd - 1) * strides[1] + (kw - 1) * dilation[1] + 1 + more[1], fg * groups))
    for i in range(h):
        for j in range(wd):
            for p in range(kh):
                for q in range(kw):
                    for ch in range(c):
                        g = ch // (c // groups)
                        whole[:, i * strides[0] + p * dilation[0], j * strides[1] + q * dilation[1],
                              g * fg:(g + 1) * fg] += x[:, i, j, ch, None] * w[p, q, :, ch]
    return whole[:, pad[0][0]:whole.shape[1] - pad[0][1], pad[1][0]:whole.shape[2] - pad[1][1]]


def attention(q, k, v, heads, kv_heads=None, mask=None, causal=False, scale=None):
    """Place by place: q [b, t, h d], k [b, s, g d], v [b, s, g e]; the mask is of scores [b, h, t, s]."""
    b, t, _ = q.shape
    s, kv_heads = k.shape[1], kv_heads or heads
    d, e = q.shape[2] // heads, v.shape[2] // kv_heads
    scale = scale or 1 / math.sqrt(d)
    y = np.zeros((b, t, heads * e))
    mask = None if mask is None else np.broadcast_to(mask, (b, heads, t, s))
    for n, h, i in np.ndindex(b, heads, t):
        g = h // (heads // kv_heads)
        scores = k[n, :, g * d:(g + 1) * d] @ q[n, i, h * d:(h + 1) * d] * scale
        seen = np.ones(s, bool)
        if causal:
            seen &= np.arange(s) <= i + s - t
        if mask is not None and mask.dtype == bool:
            seen &= mask[n, h, i]
        elif mask is not None:
            scores = scores + mask[n, h, i]
        if seen.any():
            y[n, i, h * e:(h + 1) * e] = softmax(scores[seen]) @ v[n, seen, g * e:(g + 1) * e]
    return y


def rotary(x, places, heads=1, base=10000.0, interleaved=False):
    """Pairs as complex numbers, turned."""
    t, d = x.shape[-2], x.shape[-1] // heads
    y = x.reshape(*x.shape[:-1], heads, d).copy()
    for p in np.ndindex(*y.shape[:-2]):
        at = places[p] if places.ndim > 1 else places[p[-1]]
        for h in range(heads):
            for i in range(d // 2):
                a, b = (2 * i, 2 * i + 1) if interleaved else (i, i + d // 2)
                turned = (y[p][h, a] + 1j * y[p][h, b]) * np.exp(1j * at * base ** (-2 * i / d))
                y[p][h, a], y[p][h, b] = turned.real, turned.imag
    return y.reshape(x.shape)


def silu(x):
    return x / (1 + np.exp(-x))


def instance_norm(x, s, o):
    axes = tuple(range(1, x.ndim - 1))
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 0.01) * s + o


def top_k(x, k):
    order = np.argsort(-x, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(x, order, -1), order


def bag(table, numbers, mean):
    y = np.zeros((*numbers.shape[:-1], table.shape[1]))
    for at in np.ndindex(*numbers.shape[:-1]):
        rows = [table[n] for n in numbers[at].astype(np.int64) if 0 <= n < len(table)]
        if rows:
            y[at] = np.mean(rows, 0) if mean else np.sum(rows, 0)
    return y


def experts(x, router, w1, b1, w2, b2, top, capacity, activation=lambda h: np.maximum(h, 0)):
    """Token by token, the first choices of all before the second ones. Gives the result and the balance."""
    tokens = x.reshape(-1, x.shape[-1])
    n = router.shape[1]
    probabilities = softmax(tokens @ router)
    _, chosen = top_k(probabilities, top)
    limit = math.ceil(capacity * top * len(tokens) / n)
    taken, y = np.zeros(n, int), np.zeros((len(tokens), w2.shape[2]))
    for r in range(top):
        for i, token in enumerate(tokens):
            e = chosen[i, r]
            weight = probabilities[i, e] / (probabilities[i, chosen[i]].sum() if top > 1 else 1)
            if taken[e] < limit:
                y[i] += weight * (activation(token @ w1[e] + b1[e]) @ w2[e] + b2[e])
            taken[e] += 1
    first = np.bincount(chosen[:, 0], minlength=n) / len(tokens)
    return y.reshape(*x.shape[:-1], -1), n * (first * probabilities.mean(0)).sum()
