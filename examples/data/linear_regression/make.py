"""Makes the data of examples/linear_regression.mlir: y = 2 a - 3 b + 0.5 c + 1 and noise of 0.01."""

import numpy as np

rng = np.random.default_rng(0)
for split, count in (("train", 960), ("test", 200)):
    x = rng.standard_normal((count, 3))
    y = x @ [[2.0], [-3.0], [0.5]] + 1 + 0.01 * rng.standard_normal((count, 1))
    np.save(f"{split}-x.npy", x.astype(np.float32))
    np.save(f"{split}-y.npy", y.astype(np.float32))
