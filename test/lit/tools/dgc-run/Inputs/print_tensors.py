"""Prints the f32 tensors of a safetensors file, each element rounded to two digits."""

import json
import sys

import numpy as np

with open(sys.argv[1], "rb") as f:
    data = f.read()
size = int.from_bytes(data[:8], "little")
for name, entry in sorted(json.loads(data[8:8 + size]).items()):
    if name != "__metadata__" and entry["dtype"] == "F32":
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        print(name + ":", *(round(float(v), 2) for v in np.frombuffer(data[begin:end], np.float32)))
