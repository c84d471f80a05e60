"""Arrays for step.mlir, and what NumPy computes of them.

usage: check_step.py write CALLS | compare RESULTS.npz LOG
"""

import json
import sys

import numpy as np


def batch(call):
    random = np.random.default_rng(call)
    return random.standard_normal((8, 3)).astype(np.float32), random.integers(0, 4, 8).astype(np.int32)


def weights():
    return np.random.default_rng(99).standard_normal((3, 4)).astype(np.float32)


def step(w, x, label):
    logits = x.astype(np.float64) @ w
    logits -= logits.max(axis=1, keepdims=True)
    p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    hot = np.eye(4)[label]
    return w - x.T @ (np.exp(p) - hot) * 0.0625, -(p * hot).sum() / 8


def write(calls):
    for call in range(int(calls)):
        x, label = batch(call)
        state = {"in0": weights()} if call == 0 else {}
        np.savez(f"call{call}.npz", in1=x, in2=label, **state)
    key = np.array([3, 4], np.uint32)
    np.savez("key.npz", in0=key, in1=np.int32(4), in2=np.int32(5))


def compare(results, log):
    w, losses = weights().astype(np.float64), []
    with open(log, encoding="utf-8") as file:
        logged = [event["metrics"]["out1"] for event in map(json.loads, file) if event["event"] == "call"]
    for call in range(len(logged)):
        w, loss = step(w, *batch(call))
        losses.append(loss)
    assert len(logged) == 3 and np.allclose(logged, losses, rtol=1e-6), (logged, losses)
    out = np.load(results)
    assert np.allclose(out["out0"], w, rtol=0, atol=1e-6), abs(out["out0"] - w).max()
    assert np.allclose(out["out1"], losses[-1], rtol=1e-6)


globals()[sys.argv[1]](*sys.argv[2:])
