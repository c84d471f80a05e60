"""numerics.py write FOLDER [EXAMPLE COLUMN VALUE]: writes 64 examples x, in one of them such a number, and y.
numerics.py same FILE FILE..: sees that the checkpoints have the same bits."""

import json
import os
import struct
import sys

import numpy as np


def tensors(name):
    with open(name, "rb") as file:
        content = file.read()
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:begin])
    ranges = {name: entry["data_offsets"] for name, entry in header.items() if name != "__metadata__"}
    return {name: content[begin + first : begin + last] for name, (first, last) in ranges.items()}


command, name, *more = sys.argv[1:]
if command == "same":
    expected = tensors(name)
    assert expected and any(any(value) for value in expected.values())
    for other in more:
        assert tensors(other) == expected, other
else:
    x = (1 + np.arange(64 * 4).reshape(64, 4) % 7 / 8).astype(np.float32)
    y = x[:, :1].copy()
    if more:
        x[int(more[0]), int(more[1])] = float(more[2])
    os.makedirs(name)
    np.save(name + "/x.npy", x)
    np.save(name + "/y.npy", y)
