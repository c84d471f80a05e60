# write_columns.py FOLDER [FILE...]: writes 70 samples of y = w x, or sees that the files are predictions of their y.
import os
import sys

import numpy as np

folder, *files = sys.argv[1:]
random = np.random.default_rng(0)
x = random.normal(size=(70, 3)).astype(np.float32)
y = x @ random.normal(size=(3, 4)).astype(np.float32)
if not files:
    os.makedirs(folder)
    np.save(folder + "/x.npy", x)
    np.save(folder + "/y.npy", y)
for name in files:
    made = np.load(name)
    assert made.shape == y.shape and np.abs(made - y).max() < 0.01, name
