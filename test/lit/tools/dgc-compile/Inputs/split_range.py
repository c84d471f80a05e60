"""split_range.py RANGE PREFIX: writes each plan of a range to a file PREFIX and its workers."""

import struct
import sys

with open(sys.argv[1], "rb") as f:
    data = f.read()
magic, version, count = struct.unpack_from("<8sII", data)
assert (magic, version) == (b"DGCRANGE", 1)
end = 0
for i in range(count):
    workers, zero, offset, size = struct.unpack_from("<IIQQ", data, 16 + 56 * i)
    assert zero == 0 and offset % 64 == 0
    end = offset + size
    with open(sys.argv[2] + str(workers), "wb") as f:
        f.write(data[offset:end])
assert end == len(data)
