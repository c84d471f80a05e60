# check_predictions.py MNIST EVALUATED FILE...: the predictions in all files are the same, and as accurate as the line
# that evaluation printed says.
import gzip
import os
import re
import sys

import numpy as np

folder, evaluated, *files = sys.argv[1:]
path = os.path.join(folder, "t10k-labels-idx1-ubyte")
raw = open(path, "rb").read() if os.path.exists(path) else gzip.open(path + ".gz").read()
labels = np.frombuffer(raw, np.uint8, offset=8)
said = float(re.search(r"accuracy (\d\.\d+)", open(evaluated).read()).group(1))
first = np.load(files[0])
assert first.shape == (10000, 10) and first.dtype == np.float32, (first.shape, first.dtype)
accuracy = (first.argmax(axis=1) == labels).mean()
assert said > 0.3 and abs(accuracy - said) < 1e-3, (accuracy, said)
for name in files[1:]:
    other = np.load(name)
    assert other.shape == first.shape and np.abs(other - first).max() < 1e-4, name
