"""only_weights.py FROM TO: copies a safetensors file without the state of an optimizer and without metadata."""

import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    data = file.read()
kept, out = {}, b""
for name, tensor in header.items():
    if name == "__metadata__" or "." in name:
        continue
    begin, end = tensor["data_offsets"]
    kept[name] = dict(tensor, data_offsets=[len(out), len(out) + end - begin])
    out += data[begin:end]
text = json.dumps(kept).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[2], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + out)
