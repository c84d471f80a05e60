# short_batches.py write: writes folders of 6 examples, of the first 4 and of the last 2 of them.
# short_batches.py losses SIX FIRST LAST: the outputs of dgc-run --entry evaluate; the mean over six examples is that of
#   four and of two by their weights.
# short_batches.py rows SIX FIRST LAST: folders of predictions; those of six examples are those of four, then of two.
import os
import re
import sys

import numpy as np

action, *names = sys.argv[1:]
if action == "write":
    random = np.random.default_rng(3)
    x = random.normal(size=(6, 2)).astype(np.float32)
    y = np.array([0, 3, 1, 2, 1, 0], np.int32)
    for name, part in (("six", slice(6)), ("first", slice(4)), ("last", slice(4, 6))):
        os.makedirs(name)
        for file, array in (("x", x), ("y", y)):
            np.save(f"{name}/{file}.npy", array[part])
elif action == "losses":
    def read(name):
        text = open(name).read()
        return np.array([float(re.search(what + r" +([0-9.]+)", text).group(1)) for what in ("loss", " v")])
    six, first, last = map(read, names)
    assert np.abs(six - (4 * first + 2 * last) / 6).max() < 1e-4, (six, first, last)
elif action == "rows":
    for file, rows in (("p", 6), ("variance", 2)):
        six, first, last = (np.load(f"{name}/{file}.npy") for name in names)
        assert six.shape[0] == rows, six.shape
        assert np.abs(six - np.concatenate([first, last])).max() < 1e-6, (six, first, last)
