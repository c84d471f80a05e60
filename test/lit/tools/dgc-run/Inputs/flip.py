"""flip.py FILE OFFSET OUT: copies a file with one bit of the byte at OFFSET changed; negative: from the end."""

import sys

with open(sys.argv[1], "rb") as f:
    data = bytearray(f.read())
data[int(sys.argv[2])] ^= 0x10
with open(sys.argv[3], "wb") as f:
    f.write(data)
