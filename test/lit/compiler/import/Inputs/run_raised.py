"""Compiles sections of the files of a folder, runs them on one and two workers, and compares with NumPy."""
import subprocess
import sys

import numpy as np

rng = np.random.default_rng(3)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32) * 1.5 + 0.3


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normalize(x, axes, scale, offset, epsilon):
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * scale + offset


def group_norm(x, scale, offset):
    groups = x.reshape(2, 5, 5, 4, 2)
    return normalize(groups, (1, 2, 4), 1, 0, 1e-5).reshape(x.shape) * scale + offset


def batch_norm(x, scale, offset, mean, variance):
    axes = (0, 1, 2)
    return (normalize(x, axes, scale, offset, 1e-5), 0.9 * mean + 0.1 * x.mean(axes),
            0.9 * variance + 0.1 * x.var(axes))


def cross_entropy(logits, labels):
    p = softmax(logits.reshape(-1, logits.shape[-1]))
    rows = np.arange(labels.size)
    hit = np.zeros_like(p)
    hit[rows, labels.reshape(-1)] = 1
    gradient = ((p - hit) / labels.size).reshape(logits.shape)
    return -np.log(p[rows, labels.reshape(-1)]).mean(), gradient


def attention(q, k, v, d, scale, causal=True):
    """All [b, t, h, d]; the gradients of sum(result * d). Heads of the query share those of the key."""
    shared = q.shape[2] // k.shape[2]
    k, v = np.repeat(k, shared, 2), np.repeat(v, shared, 2)
    scores = np.einsum("bthd,bshd->bhts", q, k) * scale
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -1e30)
    w = softmax(scores)
    dw = np.einsum("bthd,bshd->bhts", d, v)
    ds = w * (dw - (dw * w).sum(-1, keepdims=True)) * scale
    share = lambda x: x.reshape(*x.shape[:2], -1, shared, x.shape[3]).sum(3)
    return (np.einsum("bhts,bshd->bthd", w, v), np.einsum("bhts,bshd->bthd", ds, k),
            share(np.einsum("bhts,bthd->bshd", ds, q)), share(np.einsum("bhts,bthd->bshd", w, d)))


def bits(x):
    """Rounded to bfloat16, as NumPy holds it for dgc-run."""
    return (x.view(np.uint32) + 0x7fff + (x.view(np.uint32) >> 16 & 1) >> 16).astype(np.uint16)


def wide(x):
    return (x.astype(np.uint32) << 16).view(np.float32) if x.dtype == np.uint16 else x


def swapped(function):
    """Heads in front of places."""
    move = lambda x: np.swapaxes(x, 1, 2)
    return lambda *x: tuple(move(y) for y in function(*(move(y) for y in x)))


root = 1 / np.sqrt(8)
qkvd = lambda: [normal(2, 6, 3, 8) for _ in range(4)]
labels = lambda *shape: rng.integers(0, 8, shape).astype(np.int32)
image = lambda: [normal(2, 5, 5, 8), normal(8), normal(8)]
CASES = {
    "softmax:0": (lambda: [normal(4, 8)], lambda x: (softmax(x),)),
    "layer-norm:1": (lambda: [normal(4, 8), normal(8), normal(8)], lambda *x: (normalize(x[0], -1, x[1], x[2], 1e-5),)),
    "rms-norm:1": (lambda: [normal(4, 8), normal(8)],
                   lambda x, s: (x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * s,)),
    "group-norm:1": (image, lambda *x: (group_norm(*x),)),
    "group-norm:2": (image, lambda *x: (normalize(x[0], (1, 2), x[1], x[2], 1e-5),)),
    "batch-norm:1": (lambda: image() + [normal(8), abs(normal(8))], batch_norm),
    "cross-entropy-gradient:0": (lambda: [normal(4, 8), labels(4)], cross_entropy),
    "cross-entropy-gradient:1": (lambda: [normal(4, 6, 8), labels(4, 6)], cross_entropy),
    "cross-entropy-gradient:2": (lambda: [normal(4, 8), labels(4)], cross_entropy),
    "cross-entropy-gradient:3": (lambda: [normal(4, 8), labels(4)], lambda *x: (8 * cross_entropy(*x)[1],)),
    "cross-entropy-gradient:5": (lambda: [normal(4, 8), labels(4)], cross_entropy),
    "attention:0": (lambda: qkvd()[:3], lambda q, k, v: attention(q, k, v, v, root, False)[:1]),
    "attention-gradient:0": (qkvd, lambda *x: attention(*x, root)),
    "attention-gradient:1": (qkvd, lambda *x: attention(*x, root)),
    "attention-gradient:2": (lambda: [normal(2, 6, 4, 8), normal(2, 6, 2, 8), normal(2, 6, 2, 8), normal(2, 6, 4, 8)],
                             lambda *x: attention(*x, root)),
    "attention-gradient:3": (lambda: [normal(2, 3, 6, 8) for _ in range(4)],
                             swapped(lambda *x: attention(*x, 0.3))),
    "attention-gradient:5": (lambda: [bits(x) for x in qkvd()], lambda *x: attention(*x, root)),
}

folder, failed = sys.argv[1], False
for name in sys.argv[2:] or CASES:
    file, section = name.split(":")
    with open(f"{folder}/{file}.mlir") as source:
        program = source.read().split("// -----\n")[int(section)]
    with open("program.mlir", "w") as out:
        out.write(program)
    make, function = CASES[name]
    inputs = make()
    np.savez("in.npz", **{f"in{i}": x for i, x in enumerate(inputs)})
    wanted = function(*(x if x.dtype == np.int32 else wide(x).astype(np.float64) for x in inputs))
    tolerance = 1e-2 if inputs[0].dtype == np.uint16 else 3e-6
    for workers in 1, 2:
        subprocess.run(["dgc-compile", "program.mlir", "--mesh", f"data={workers}", "-o", "p.dgcx"], check=True)
        subprocess.run(["dgc-run", "p.dgcx", "--feed", "in.npz", "--fetch", "out.npz", "--threads", "1"], check=True)
        results = np.load("out.npz")
        for i, want in enumerate(wanted):
            difference = abs(wide(results[f"out{i}"]) - want).max() / abs(want).max()
            if not difference < tolerance:
                print(f"{name} on {workers} workers: result {i} is {difference:.1e} from NumPy")
                failed = True
sys.exit(failed)
