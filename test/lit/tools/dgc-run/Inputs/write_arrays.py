"""write_arrays.py DIR: folders of arrays for mnist_mlp, one of them right (256 samples), the others wrong in one way."""

import os
import sys

import numpy as np


def folder(name, **arrays):
    path = os.path.join(sys.argv[1], name)
    os.makedirs(path, exist_ok=True)
    for key, array in arrays.items():
        np.save(os.path.join(path, "train-" + key + ".npy"), array)
    return path


image, label = np.zeros((256, 28, 28), np.uint8), np.zeros(256, np.uint8)
right = folder("right", image=image, label=label)
folder("shape", image=image[:, :27], label=label)
folder("type", image=image.astype(np.float32), label=label)
folder("count", image=image, label=label[:200])
folder("nolabel", image=image)
folder("few", image=image[:100], label=label[:100])
folder("fortran", image=np.asfortranarray(image), label=label)
truncated = folder("truncated", label=label)
with open(right + "/train-image.npy", "rb") as whole, open(truncated + "/train-image.npy", "wb") as part:
    part.write(whole.read(1000))
with open(folder("gzip", label=label) + "/train-image.npy.gz", "wb") as file:
    file.write(b"this is no gzip file at all")
os.makedirs(os.path.join(sys.argv[1], "empty"), exist_ok=True)
