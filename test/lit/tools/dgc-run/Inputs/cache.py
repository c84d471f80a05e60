"""cache.py write: the places of sequences, one in each of x0.npz to x4.npz.
cache.py check RESULTS PLACE: whether the result of a place is that of causal attention over the sequences up to there."""

import sys

import numpy as np

SEQUENCES = np.random.default_rng(5).standard_normal((6, 5, 8)).astype(np.float32)


def turned(x, place):
    """Features i and i + 2 of each head of four are the parts of a complex number."""
    heads = x.reshape(6, 2, 4).astype(np.float64)
    number = (heads[..., :2] + 1j * heads[..., 2:]) * np.exp(1j * place * 10000.0 ** (-np.arange(2) / 2))
    return np.concatenate([number.real, number.imag], -1)


def expected(place):
    query = turned(2 * SEQUENCES[:, place], place)
    keys = np.stack([turned(SEQUENCES[:, p], p) for p in range(place + 1)], 2)
    values = (SEQUENCES[:, : place + 1] * 0.5 + 1.0).reshape(6, place + 1, 2, 4).transpose(0, 2, 1, 3)
    scores = np.einsum("bhd,bhsd->bhs", query, keys) / 2
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bhs,bhsd->bhd", weights, values).reshape(6, 1, 8)


if sys.argv[1] == "write":
    for at in range(5):
        np.savez(f"x{at}.npz", x=SEQUENCES[:, at : at + 1])
else:
    found = np.load(sys.argv[2])
    np.testing.assert_allclose(found["y"], expected(int(sys.argv[3])), rtol=1e-5, atol=1e-5)
    assert found["n"] == int(sys.argv[3]) + 1
