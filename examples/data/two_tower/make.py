"""Makes the data of examples/two_tower.mlir: who was shown what, and whether it was clicked. Users and items have four
tastes each, nine of ten samples are of the 400 most popular ones, and a click follows how well the tastes agree."""

import numpy as np

rng = np.random.default_rng(0)
count = 20000
user_tastes, item_tastes = rng.standard_normal((2, count, 4))
for split, samples in (("train", 40000), ("test", 4000)):
    popular = rng.random((2, samples)) < 0.9
    user, item = rng.integers(0, np.where(popular, 400, count)).astype(np.int32)
    agreement = 3 * (user_tastes[user] * item_tastes[item]).sum(axis=1)
    np.save(f"{split}-user.npy", user)
    np.save(f"{split}-item.npy", item)
    np.save(f"{split}-clicked.npy", (rng.random(samples) < 1 / (1 + np.exp(-agreement))).astype(np.uint8))
