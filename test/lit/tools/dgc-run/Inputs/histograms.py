"""histograms.py DIR WEIGHTS OTHER STEP: whether the histograms of DIR after STEP steps are those of these weights, and the histograms
of OTHER, of another number of workers, those of DIR."""

import json
import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
folder, weights, other, step = sys.argv[1:]


def histograms(name):
    """By variable, after STEP steps."""
    code = (f"import sys; sys.path.insert(0, {here!r}); sys.argv = ['', {name!r}]; import io, contextlib\n"
            "with contextlib.redirect_stdout(io.StringIO()): import tensorboard as t\n"
            f"import json; print(json.dumps({{k: p.value for k, ps in t.shown.items() for p in ps if p.step == {step} "
            "and isinstance(p.value, dict)}))")
    return json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def read(path):
    """The tensors of a file of safetensors."""
    with open(path, "rb") as file:
        data = file.read()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    return {name: np.frombuffer(data[8 + size:][slice(*entry["data_offsets"])], np.float32).astype(np.float64)
            for name, entry in header.items() if name != "__metadata__"}


mine, theirs, tensors = histograms(folder), histograms(other), read(weights)
assert set(mine) == set(theirs) == {"variables/" + name for name in tensors}, set(mine) ^ set(theirs)
for name, tensor in tensors.items():
    found, twin = mine["variables/" + name], theirs["variables/" + name]
    assert found["count"] == twin["count"] == tensor.size, name
    size = np.abs(tensor)
    for key, value, scale in (("min", tensor.min(), size.max()), ("max", tensor.max(), size.max()), ("sum", tensor.sum(), size.sum()),
                              ("squares", (tensor ** 2).sum(), (tensor ** 2).sum())):
        assert abs(found[key] - value) <= 1e-9 * scale, (name, key, found[key], value)
        assert abs(twin[key] - value) <= 1e-3 * scale, (name, key, twin[key], value)
