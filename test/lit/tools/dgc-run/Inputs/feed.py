"""feed.py write: a data set for mnist_mlp of two batches of 128, and one of 100 samples; the same as .npz files.
feed.py same RESULTS FED TRAINED LOG LOG: whether a run with --feed has the bits of a run over a data set: the results of its
last call, its checkpoint, and what it logged.
feed.py state RESULTS BATCH FILE: FILE is BATCH with the variables of RESULTS.
feed.py equal FILE FILE: whether two .npz or .npy files have the same arrays.
feed.py positions [RESULTS]: arrays for positions.mlir; whether the results of two calls are right.
feed.py reversed: arrays for reversed.mlir.
feed.py names FILE FILE: whether two .npz files have arrays of the same names and shapes, in the same order.
feed.py damage FILE: broken copies of FILE."""

import json
import os
import sys
import zipfile

import numpy as np


def read_tensors(path):
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    return {
        name: np.frombuffer(data[t["data_offsets"][0] : t["data_offsets"][1]], np.float32).reshape(t["shape"])
        for name, t in header.items()
    }


def write():
    rng = np.random.default_rng(0)
    image, label = rng.integers(0, 256, (256, 28, 28), np.uint8), rng.integers(0, 10, 256, np.uint8)
    for name, count in (("data", 256), ("few", 100)):
        os.makedirs(name, exist_ok=True)
        for split in ("train", "test"):
            np.save(f"{name}/{split}-image.npy", image[:count])
            np.save(f"{name}/{split}-label.npy", label[:count])
    np.savez("first.npz", image=image[:128], label=label[:128])
    np.savez_compressed("second.npz", in1=label[128:], in0=image[128:])
    np.savez("few.npz", image=image[:100], label=label[:100])
    np.savez("images.npz", image=image[:100])
    # Wrong in one way each.
    np.savez("type.npz", image=image[:128].astype(np.float32), label=label[:128])
    np.savez("shape.npz", image=image[:128, :27], label=label[:128])
    np.savez("many.npz", image=image[:129], label=label[:129])
    np.savez("none.npz", image=image[:0], label=label[:0])
    np.savez("differ.npz", image=image[:128], label=label[:100])
    np.savez("missing.npz", image=image[:128])
    np.savez("unknown.npz", image=image[:128], label=label[:128], weight=label)
    np.savez("twice.npz", image=image[:128], label=label[:128], in1=label[:128])
    np.savez("variable.npz", image=image[:128], label=label[:128], w2=np.zeros((10, 128), np.float32))
    np.savez("class.npz", image=image[:128], label=np.full(128, 10, np.uint8))
    np.savez("fortran.npz", image=np.asfortranarray(image[:128]), label=label[:128])


def damage(path):
    with open(path, "rb") as file:
        whole = file.read()
    with open("truncated.npz", "wb") as file:
        file.write(whole[:-1000])
    with open("flipped.npz", "wb") as file:
        file.write(whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:])
    with open("empty.npz", "wb") as file:
        pass
    with zipfile.ZipFile("text.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")


def arrays_of(path):
    if path.endswith(".npy"):
        return {"": np.load(path)}
    with np.load(path) as file:
        return dict(file)


def same(results, fed, trained, fed_log, trained_log):
    results, fed, trained = arrays_of(results), read_tensors(fed), read_tensors(trained)
    assert sorted(fed) == sorted(trained), (sorted(fed), sorted(trained))
    for i, (name, value) in enumerate(trained.items()):
        assert fed[name].tobytes() == value.tobytes(), name
        assert results[name].tobytes() == value.tobytes() and results[name].shape == value.shape, name
    with open(fed_log, encoding="utf-8") as a, open(trained_log, encoding="utf-8") as b:
        calls = [line for line in map(json.loads, a) if line["event"] == "call"]
        steps = [line for line in map(json.loads, b) if line["event"] == "step"]
    assert len(calls) == len(steps) == 2
    for i, (call, step) in enumerate(zip(calls, steps)):
        assert call["call"] == i and call["ms"] > 0
        for key in ("step", "loss", "metrics"):
            assert call[key] == step[key], (key, call, step)
    assert results["out0"].shape == () and results["out0"] == results["loss"] == np.float32(steps[1]["loss"])
    assert results["out1"] == results["accuracy"] == np.float32(steps[1]["metrics"]["accuracy"])
    assert sorted(results) == sorted([f"out{i}" for i in range(2 + len(trained))] + ["loss", "accuracy", *trained])
    variables = {results[f"out{i}"].tobytes() for i in range(2, 2 + len(trained))}
    assert variables == {value.tobytes() for value in trained.values()}


def state(results, batch, path):
    results = arrays_of(results)
    kept = {name: value for name, value in results.items() if not name.startswith("out") and value.shape != ()}
    np.savez(path, **arrays_of(batch), **kept)


def equal(a, b):
    a, b = arrays_of(a), arrays_of(b)
    for name in b:
        key = name if name in a else "out0"
        assert a[key].dtype == b[name].dtype and a[key].shape == b[name].shape, name
        assert a[key].tobytes() == b[name].tobytes(), name


def positions(results=None):
    w, rate = np.arange(12, dtype=np.float32).reshape(6, 2), np.array([0.5, -2], np.float32)
    bits = (rate.view(np.uint32) >> 16).astype(np.uint16)
    x = [np.ones((4, 6), np.float32), np.arange(24, dtype=np.float32).reshape(4, 6)]
    if results is None:
        np.savez("state.npz", in0=w, in1=x[0], in3=bits)
        np.savez("carried.npz", x=x[1], rate=bits.view("V2"))
        return
    results = arrays_of(results)
    y = x[1] @ (w + rate)
    assert sorted(results) == ["out0", "out1", "out2", "sum", "w", "y"]
    for name, value in (("out0", y.sum()), ("out1", w + 2 * rate), ("out2", y), ("sum", y.sum()), ("w", w + 2 * rate)):
        assert results[name].dtype == np.float32 and np.array_equal(results[name], value), name


def names(a, b):
    a, b = ([(name, value.shape) for name, value in arrays_of(path).items()] for path in (a, b))
    assert a == b, (a, b)


def reversed():
    np.savez("pairs.npz", x=np.zeros((3, 2), np.float32), y=np.zeros(3, np.int32))


globals()[sys.argv[1]](*sys.argv[2:])
