"""bytes.py SCHEDULE [BASE FACTOR]: what a worker holds, from the text after the phase `schedule`.

Prints the bytes of weights, of the optimizer's state, and of the planned peak. With the text of another plan it fails
unless the peak is at most FACTOR of that one's."""

import re
import sys

SIZES = {"f32": 4, "i32": 4, "i64": 8, "ui8": 1}


def read(path):
    held = {"weight": 0, "slot": 0, "statistic": 0}
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for shape, role in re.findall(r"exec\.variable @\S+ at \d+ : memref<([^>]*)>.*role = #dgc<role ?(\w+)>", text):
        *dims, element = shape.split("x")
        count = SIZES[element]
        for dim in dims:
            count *= int(dim)
        held[role] += count
    peak = sum(int(n) for n in re.findall(r"exec\.(?:private|shared)_bytes = (\d+)", text))
    return held, peak


held, peak = read(sys.argv[1])
print(f"weights {held['weight']} slots {held['slot']} peak {peak}")
if len(sys.argv) > 2:
    base = read(sys.argv[2])[1]
    if peak > float(sys.argv[3]) * base:
        sys.exit(f"the peak of {peak} bytes is more than {sys.argv[3]} of {base}")
