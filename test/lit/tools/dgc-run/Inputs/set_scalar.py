"""set_scalar.py FILE NAME [VALUE]: prints an f32 scalar of a safetensors file, or gives it another value; then the file has
no digest any more."""

import json
import struct
import sys

path, name = sys.argv[1:3]
with open(path, "rb") as file:
    content = file.read()
size = struct.unpack("<Q", content[:8])[0]
header, data = json.loads(content[8:8 + size]), bytearray(content[8 + size:])
begin, end = header[name]["data_offsets"]
assert header[name]["dtype"] == "F32" and end - begin == 4, header[name]
if len(sys.argv) == 3:
    print(name, "%g" % struct.unpack("<f", data[begin:end])[0])
else:
    data[begin:end] = struct.pack("<f", float(sys.argv[3]))
    del header["__metadata__"]["dgc.sha256"]
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
