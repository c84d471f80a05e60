"""Makes step.mlirbc: a portable artifact of a small step of training, with jax 0.10.2.

usage: make_step.py FILE

Convolution, pooling, an embedding, the largest two, and a classifier by gradient descent on state that is donated.
"""

import sys

import jax
import jax.numpy as jnp
from jax import lax


def loss(weights, image, word, label):
    x = lax.conv_general_dilated(image, weights["kernel"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = jnp.tanh(x).reshape(x.shape[0], -1) + weights["table"][word]
    best, _ = lax.top_k(x, 2)
    logits = jnp.concatenate([x, best], axis=1) @ weights["w"]
    logits = jnp.where(jnp.array([True, True, False]), logits, -5.0)
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), label[:, None], axis=1))


def step(state, batch):
    value, gradient = jax.value_and_grad(loss)(state["weights"], batch["image"], batch["word"], batch["label"])
    weights = jax.tree.map(lambda w, g: w - 0.125 * g, state["weights"], gradient)
    return {"weights": weights, "count": state["count"] + 1}, value


def main():
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # no paths of this machine
    of = jax.ShapeDtypeStruct
    state = {"weights": {"kernel": of((3, 3, 1, 2), jnp.float32), "table": of((5, 8), jnp.float32),
                         "w": of((10, 3), jnp.float32)}, "count": of((), jnp.int32)}
    batch = {"image": of((4, 4, 4, 1), jnp.float32), "word": of((4,), jnp.int32), "label": of((4,), jnp.int32)}
    exported = jax.export.export(jax.jit(step, donate_argnums=(0,)))(state, batch)
    with open(sys.argv[1], "wb") as file:
        file.write(exported.mlir_module_serialized)


main()
