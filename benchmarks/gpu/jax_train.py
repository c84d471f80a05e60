#!/usr/bin/env python3
"""Times training steps of GPT-2 small in JAX, in bf16 with weights in f32: one line of JSON.

  jax_train.py                          batch 16, on the GPU
  jax_train.py --batch 1 --tokens 64    to look at the script without one
"""

import argparse
import json
import time

import jax
import jax.numpy as jnp

VOCABULARY, FEATURES, LAYERS, HEADS = 50257, 768, 12, 12


def initial(key):
    keys = iter(jax.random.split(key, 64))

    def dense(inputs, outputs, deviation=0.02):
        return {"kernel": deviation * jax.random.normal(next(keys), (inputs, outputs)), "bias": jnp.zeros(outputs)}

    def norm():
        return {"scale": jnp.ones(FEATURES), "offset": jnp.zeros(FEATURES)}

    layers = [{"norm1": norm(), "inputs": dense(FEATURES, 3 * FEATURES), "output": dense(FEATURES, FEATURES, 0.004),
               "norm2": norm(), "up": dense(FEATURES, 4 * FEATURES), "down": dense(4 * FEATURES, FEATURES, 0.004)}
              for _ in range(LAYERS)]
    return {"symbols": 0.02 * jax.random.normal(next(keys), (VOCABULARY, FEATURES)),
            "positions": 0.01 * jax.random.normal(next(keys), (1024, FEATURES)), "layers": layers, "norm": norm()}


def normalize(x, p):
    wide = x.astype(jnp.float32)
    centered = wide - wide.mean(-1, keepdims=True)
    scaled = centered * jax.lax.rsqrt(jnp.square(centered).mean(-1, keepdims=True) + 1e-5)
    return (scaled * p["scale"] + p["offset"]).astype(x.dtype)


def apply(x, p):
    return x @ p["kernel"].astype(x.dtype) + p["bias"].astype(x.dtype)


def forward(p, tokens, attention):
    batch, length = tokens.shape
    x = (p["symbols"][tokens] + p["positions"][:length]).astype(jnp.bfloat16)
    for layer in p["layers"]:
        parts = apply(normalize(x, layer["norm1"]), layer["inputs"]).reshape(batch, length, 3, HEADS, -1)
        mixed = jax.nn.dot_product_attention(parts[:, :, 0], parts[:, :, 1], parts[:, :, 2], is_causal=True,
                                             implementation=attention)
        x = x + apply(mixed.reshape(batch, length, FEATURES), layer["output"])
        x = x + apply(jax.nn.gelu(apply(normalize(x, layer["norm2"]), layer["up"])), layer["down"])
    return (normalize(x, p["norm"]) @ p["symbols"].T.astype(x.dtype)).astype(jnp.float32)


def make_step(attention):
    def loss_of(p, tokens, wanted):
        logits = forward(p, tokens, attention)
        taken = jnp.take_along_axis(logits, wanted[..., None], -1)[..., 0]
        return (jax.nn.logsumexp(logits, -1) - taken).mean()

    def step(state, tokens, wanted):
        p, m, v, count = state
        loss, g = jax.value_and_grad(loss_of)(p, tokens, wanted)
        norm = jnp.sqrt(sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(g)))
        g = jax.tree.map(lambda leaf: leaf * jnp.minimum(1.0, 1.0 / norm), g)
        count = count + 1
        m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = jax.tree.map(lambda a, b: 0.95 * a + 0.05 * jnp.square(b), v, g)
        first, second = 1 - 0.9**count, 1 - 0.95**count
        p = jax.tree.map(lambda w, a, b: w - 6e-4 * (a / first / (jnp.sqrt(b / second) + 1e-8) + 0.1 * w), p, m, v)
        return (p, m, v, count), loss

    return jax.jit(step, donate_argnums=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=5, help="of steps (default 5)")
    options = parser.parse_args()
    is_gpu = jax.default_backend() == "gpu"
    step = make_step("cudnn" if is_gpu else "xla")
    p = initial(jax.random.key(0))
    state = (p, jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p), jnp.zeros(()))
    text = jax.random.randint(jax.random.key(1), (options.batch, options.tokens + 1), 0, VOCABULARY)
    tokens, wanted = text[:, :-1], text[:, 1:]

    def time_steps(count):
        nonlocal state
        begin = time.perf_counter()
        for _ in range(count):
            state, loss = step(state, tokens, wanted)
        loss.block_until_ready()
        return time.perf_counter() - begin

    time_steps(3)
    count = max(1, int(options.seconds / 5 / (time_steps(3) / 3)))
    seconds = min(time_steps(count) for _ in range(5)) / count
    print(json.dumps({"case": "gpt2", "peer": f"JAX {jax.__version__}", "device": jax.devices()[0].device_kind,
                      "microseconds": seconds * 1e6, "samples_per_second": options.batch / seconds}), flush=True)


if __name__ == "__main__":
    main()
