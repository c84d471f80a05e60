#!/usr/bin/env python3
"""Times training steps that JAX wrote against the same models written for dgc, both run by dgc.

usage: jax_steps.py [MODEL...] [--bin DIR] [--rounds N] [--work DIR]

Needs jax and optax. Each model is exported as it would be by a user: the whole step, with the optimizer inside. Both sides
run in turn, on one thread; printed are the smallest and the median step of each, and the ratio of the smallest ones.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import optax

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RANDOM = np.random.default_rng(0)


def normal(*shape, scale=0.05):
    return jnp.asarray(RANDOM.standard_normal(shape) * scale, jnp.float32)


def perceptron():
    params = [(normal(m, n), jnp.zeros(n)) for m, n in ((784, 512), (512, 512), (512, 10))]

    def forward(params, x):
        for w, b in params[:-1]:
            x = jax.nn.relu(x @ w + b)
        w, b = params[-1]
        return x @ w + b

    return params, forward, images(128).reshape(128, 784), labels(128), optax.sgd(1e-2)


def convolution(x, k, b):
    y = jax.lax.conv_general_dilated(x, k, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.nn.relu(y + b)


def pool(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def two_convolutions():
    params = {"k1": normal(3, 3, 1, 32), "c1": jnp.zeros(32), "k2": normal(3, 3, 32, 64), "c2": jnp.zeros(64),
              "w3": normal(9216, 128), "b3": jnp.zeros(128), "w4": normal(128, 10), "b4": jnp.zeros(10)}

    def forward(p, x):
        x = pool(convolution(convolution(x, p["k1"], p["c1"]), p["k2"], p["c2"]))
        return jax.nn.relu(x.reshape(x.shape[0], -1) @ p["w3"] + p["b3"]) @ p["w4"] + p["b4"]

    return params, forward, images(64), labels(64), optax.sgd(1e-2)


def one_convolution():
    params = {"k": normal(3, 3, 1, 32), "c": jnp.zeros(32), "w": normal(5408, 10), "b": jnp.zeros(10)}

    def forward(p, x):
        x = pool(convolution(x, p["k"], p["c"]))
        return x.reshape(x.shape[0], -1) @ p["w"] + p["b"]

    return params, forward, images(32), labels(32), optax.adam(1e-3)


def layer_norm(x, scale, offset):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + offset


def transformer(layers=4, width=128, heads=4, length=64, symbols=65, batch=12):
    def layer():
        dense = {name: (normal(m, n), jnp.zeros(n)) for name, m, n in (
            ("query", width, width), ("key", width, width), ("value", width, width), ("output", width, width),
            ("up", width, 4 * width), ("down", 4 * width, width))}
        return dense | {name: (jnp.ones(width), jnp.zeros(width)) for name in ("norm1", "norm2")}

    params = {"tokens": normal(symbols, width, scale=0.02), "positions": normal(length, width, scale=0.02),
              "layers": [layer() for _ in range(layers)], "norm": (jnp.ones(width), jnp.zeros(width))}
    causal = jnp.tril(jnp.ones((length, length), bool))

    def split(x):
        return x.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)

    def forward(params, tokens):
        x = params["tokens"][tokens] + params["positions"]
        for p in params["layers"]:
            n = layer_norm(x, *p["norm1"])
            q, k, v = (split(n @ w + b) for w, b in (p["query"], p["key"], p["value"]))
            scores = jnp.where(causal, q @ k.swapaxes(-1, -2) / np.sqrt(width // heads), -jnp.inf)
            mixed = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(batch, length, width)
            x = x + mixed @ p["output"][0] + p["output"][1]
            up = jax.nn.gelu(layer_norm(x, *p["norm2"]) @ p["up"][0] + p["up"][1])
            x = x + up @ p["down"][0] + p["down"][1]
        return layer_norm(x, *params["norm"]) @ params["tokens"].T

    tokens = RANDOM.integers(0, symbols, (2, batch, length)).astype("i4")
    return params, forward, tokens[0], tokens[1], optax.adamw(1e-3, b2=0.99, weight_decay=0.01)


def images(batch):
    return RANDOM.random((batch, 28, 28, 1)).astype("f4")


def labels(batch):
    return RANDOM.integers(0, 10, batch).astype("i4")


# The model in JAX, the same one for dgc, its data, and the steps of a run.
MODELS = {
    "mlp": (perceptron, "benchmarks/models/mlp.mlir", "mnist", 400),
    "seedcnn": (one_convolution, "benchmarks/models/seedcnn.mlir", "mnist", 200),
    "cnn": (two_convolutions, "benchmarks/models/cnn.mlir", "mnist", 40),
    "gpt_char": (transformer, "examples/gpt_char.mlir", "tinyshakespeare", 40),
}


def export(make, folder):
    """Writes step.mlirbc, first.npz with all arguments of the first call, and batch.npz with those of the later ones."""
    params, forward, x, y, optimizer = make()
    state = optimizer.init(params)

    def step(params, state, x, y):
        def loss(params):
            return optax.softmax_cross_entropy_with_integer_labels(forward(params, x), y).mean()

        value, gradients = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value

    exported = jax.export.export(jax.jit(step, donate_argnums=(0, 1)))(params, state, x, y)
    with open(os.path.join(folder, "step.mlirbc"), "wb") as file:
        file.write(exported.mlir_module_serialized)
    arguments = [np.asarray(leaf) for leaf in jax.tree.leaves((params, state, x, y))]
    named = {f"in{i}": value for i, value in enumerate(arguments)}
    np.savez(os.path.join(folder, "first.npz"), **named)
    np.savez(os.path.join(folder, "batch.npz"), **dict(list(named.items())[-2:]))


def times(command, folder):
    done = subprocess.run(command + ["--threads", "1", "--log-json", "-"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:2])}: {done.stderr.strip()}")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return [event["ms"] for event in events if event.get("event") in ("step", "call")][3:]


def measure(name, options, folder):
    make, model, data, steps = MODELS[name]
    export(make, folder)
    compiler, runner = (os.path.join(options.bin, tool) for tool in ("dgc-compile", "dgc-run"))
    for source, plan in (("step.mlirbc", "jax.dgcx"), (os.path.join(ROOT, model), "own.dgcx")):
        subprocess.run([compiler, source, "-o", plan, "--worker-threads", "1"], cwd=folder, check=True,
                       stderr=subprocess.DEVNULL)
    jax_steps = [runner, "jax.dgcx", "--feed", "first.npz"] + ["batch.npz"] * steps
    own_steps = [runner, "own.dgcx", "--data", os.path.join(ROOT, "examples/data", data), "--steps", str(steps), "--evaluate", "off"]
    taken = {"jax": [], "own": []}
    for _ in range(options.rounds):
        taken["jax"] += times(jax_steps, folder)
        taken["own"] += times(own_steps, folder)
    least = {side: min(values) for side, values in taken.items()}
    middle = {side: statistics.median(values) for side, values in taken.items()}
    print(f"{name:10} {least['jax']:9.3f} {least['own']:9.3f} {middle['jax']:9.3f} {middle['own']:9.3f} "
          f"{least['jax'] / least['own']:7.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(MODELS), metavar="MODEL", help="of " + ", ".join(MODELS))
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"), help="where dgc-compile and dgc-run are")
    parser.add_argument("--rounds", type=int, default=3, help="how often each side runs (default 3)")
    parser.add_argument("--work", metavar="DIR", help="keep programs, plans and arrays in folders of this one")
    options = parser.parse_args()
    options.bin = os.path.abspath(options.bin)
    for name in options.models:
        if name not in MODELS:
            parser.error(f"no model {name}; there are {', '.join(MODELS)}")
    print(f"{'ms':10} {'JAX min':>9} {'own min':>9} {'median':>9} {'median':>9} {'ratio':>7}")
    for name in options.models:
        if options.work:
            folder = os.path.join(options.work, name)
            os.makedirs(folder, exist_ok=True)
            measure(name, options, folder)
        else:
            with tempfile.TemporaryDirectory() as folder:
                measure(name, options, folder)


if __name__ == "__main__":
    main()
