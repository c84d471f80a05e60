#!/usr/bin/python3
"""Writes the files of golden/: arrays as NumPy writes them, and epoch orders from a plain Philox4x32-10.

Run it by hand when a case is added; the tests only read what it wrote.
"""

import io
import os
import warnings
import zipfile
import numpy as np
from numpy.lib import format as npy

out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")


def save(name, array, version=None):
    with open(os.path.join(out, name + ".npy"), "wb") as f:
        npy.write_array(f, array, version=version)


for kind in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"):
    save(kind, (np.arange(6) % 2 if kind == "b1" else np.arange(6) * 3 + 1).reshape(2, 3).astype(kind))
for version in (1, 2, 3):
    save(f"version{version}", np.arange(5, dtype="<f4"), (version, 0))
save("scalar", np.array(2.5))
save("empty", np.zeros((0, 4), "<i4"))
save("fortran", np.asfortranarray(np.arange(6.0).reshape(2, 3)))
save("big_endian", np.arange(3, dtype=">f4"))
save("complex", np.arange(3, dtype="<c8"))
save("record", np.zeros(2, [("a", "<f4"), ("b", "<i4")]))
save("raw2", np.array([0x3F80, 0xC000, 0x7F80], "<u2").view("V2"))

arrays = {"x": np.arange(6, dtype="<f4").reshape(2, 3), "layer/w": np.arange(3), "scalar": np.array(2.5),
          "empty": np.zeros((0, 4), "<i4")}
np.savez(os.path.join(out, "plain.npz"), **arrays)
np.savez_compressed(os.path.join(out, "compressed.npz"), **arrays, zeros=np.zeros(100000, "<u1"))


def save_zip(name, entries, method=zipfile.ZIP_STORED):
    """A .npz file as NumPy does not write it."""
    with zipfile.ZipFile(os.path.join(out, name + ".npz"), "w", method) as archive:
        for entry, data in entries:
            archive.writestr(zipfile.ZipInfo(entry), data, method)


def npy_bytes(array):
    data = io.BytesIO()
    npy.write_array(data, array)
    return data.getvalue()


x = npy_bytes(arrays["x"])
save_zip("bzip2", [("x.npy", x)], zipfile.ZIP_BZIP2)
save_zip("other", [("x.npy", x), ("readme.txt", b"hello")])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of two entries of one name
    save_zip("twice", [("x.npy", x), ("x.npy", x)])
save_zip("short", [("x.npy", x[:-1])])
save_zip("none", [])
# A header that asks for a terabyte.
huge = b"{'descr': '|u1', 'fortran_order': False, 'shape': (1000000000000,), }\n"
save_zip("huge", [("x.npy", b"\x93NUMPY\x01\0" + len(huge).to_bytes(2, "little") + huge)])


def philox(counter, key):
    c, (k0, k1) = list(counter), key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k1, p0 & 0xFFFFFFFF]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


# Known answers of Random123, philox 4x32 with 10 rounds.
assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert philox([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def order(count, seed, epoch):
    stream = (0xFFFFFF << 40) + epoch
    result = list(range(count))
    for i in range(count - 1, 0, -1):
        b = philox([(i // 2) & 0xFFFFFFFF, (i // 2) >> 32, stream & 0xFFFFFFFF, stream >> 32],
                   [seed & 0xFFFFFFFF, seed >> 32])
        word = b[2 * (i % 2)] | b[2 * (i % 2) + 1] << 32
        j = word * (i + 1) >> 64
        result[i], result[j] = result[j], result[i]
    return result


with open(os.path.join(out, "orders.txt"), "w", encoding="utf-8") as f:
    for count, seed, epoch in ((1, 0, 0), (2, 0, 0), (10, 0, 0), (10, 0, 1), (10, 1, 0), (37, 2**63 + 5, 3)):
        print(count, seed, epoch, *order(count, seed, epoch), file=f)
