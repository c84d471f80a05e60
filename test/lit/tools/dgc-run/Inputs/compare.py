"""compare.py A B LIMIT: exits 0 when the weights of two safetensors files differ by at most LIMIT, relative (L2)."""

import json
import struct
import sys

import numpy as np


def read(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    kinds = {"F32": np.float32, "F64": np.float64, "I64": np.int64, "I32": np.int32}
    return {
        name: np.frombuffer(data[t["data_offsets"][0] : t["data_offsets"][1]], kinds[t["dtype"]]).astype(np.float64)
        for name, t in header.items()
    }


a, b = read(sys.argv[1]), read(sys.argv[2])
assert sorted(a) == sorted(b), (sorted(a), sorted(b))
difference = np.sqrt(sum(((a[n] - b[n]) ** 2).sum() for n in b) / sum((b[n] ** 2).sum() for n in b))
print("relative difference", difference)
sys.exit(0 if difference <= float(sys.argv[3]) else 1)
