"""Writes the model and the data of scan.test, and compares what training gave with NumPy.

The scans have as many rounds as the environment says in ROUNDS; 7 without it."""

import json
import os
import struct
import sys

import numpy

TIME = int(os.environ.get("ROUNDS", "7"))
BATCH, IN, HIDDEN, CLASSES, EXAMPLES = 6, 4, 5, 3, 24
random = numpy.random.default_rng(5)
START = {
    name: numpy.round(random.standard_normal(shape) * 0.5, 3)
    for name, shape in {
        "w": (IN, HIDDEN), "u": (HIDDEN, HIDDEN), "b": (HIDDEN,), "gain": (HIDDEN,),
        "r": (HIDDEN, HIDDEN), "v": (HIDDEN, CLASSES),
    }.items()
}
X = random.standard_normal((EXAMPLES, TIME, IN)).astype("f4")
LABEL = random.integers(0, CLASSES, EXAMPLES).astype("i4")

MODEL = """
dgc.model @rnn {
  %x = dgc.input "x" : tensor<6xTIMEx4xf32>
  %label = dgc.input "label" : tensor<6xi32>
VARIABLES
  %start = dgc.constant dense<0.0> : tensor<6x5xf32>
  %zero = dgc.constant dense<0> : tensor<i32>
  // In every second round the sum is multiplied by the gain.
  %n, %last, %states = dgc.scan (%i = %zero, %h = %start) over (%slice = %x) with (%wi = %w, %ui = %u, %bi = %b, %gi = %gain) dim 1 {
    %p = dgc.matmul %slice, %wi
    %q = dgc.matmul %h, %ui
    %s = dgc.add %p, %q
    %z = dgc.bias_add %s, %bi
    %even = dgc.remainder %i, 2
    %odd = dgc.compare eq %even, 1
    %t = dgc.if %odd (%a = %z, %g = %gi) {
      %rows = dgc.broadcast_in_dim %g dims [1] to [6, 5]
      %c = dgc.multiply %a, %rows
      dgc.yield %c
    } else {
      dgc.yield %a
    }
    %next = dgc.tanh %t
    %j = dgc.add %i, 1
    dgc.yield %j, %next, %next
  }
  // The other way over what the first one gave.
  %back, %others = dgc.scan (%h = %last) over (%state = %states) with (%ri = %r) dim 1 reverse {
    %q = dgc.matmul %h, %ri
    %s = dgc.add %q, %state
    %next = dgc.tanh %s
    dgc.yield %next, %s
  }
  %mean = dgc.mean %others dims [1]
  %sum = dgc.add %back, %mean
  %logits = dgc.matmul %sum, %v
  %loss = dgc.cross_entropy %logits, %label
  dgc.loss %loss
  dgc.output "logits" %logits
  dgc.optimizer sgd learning_rate 0.25
}
"""


def step(p, x, label, rate):
    """The weights after a step."""
    g = {name: numpy.zeros_like(value) for name, value in p.items()}
    h, before, sums, states = numpy.zeros((len(x), HIDDEN)), [], [], []
    for t in range(TIME):
        before.append(h)
        sums.append(x[:, t] @ p["w"] + h @ p["u"] + p["b"])
        h = numpy.tanh(sums[t] * p["gain"] if t % 2 else sums[t])
        states.append(h)
    back, others, previous = h, [None] * TIME, [None] * TIME
    for t in reversed(range(TIME)):
        previous[t] = back
        others[t] = back @ p["r"] + states[t]
        back = numpy.tanh(others[t])
    total = back + sum(others) / TIME
    logits = total @ p["v"]
    e = numpy.exp(logits - logits.max(1, keepdims=True))
    d = e / e.sum(1, keepdims=True)
    d[numpy.arange(len(x)), label] -= 1
    d /= len(x)
    g["v"] = total.T @ d
    dback = d @ p["v"].T
    dmean, dstates = dback / TIME, []
    for t in range(TIME):
        ds = dback * (1 - numpy.tanh(others[t]) ** 2) + dmean
        g["r"] += previous[t].T @ ds
        dstates.append(ds)
        dback = ds @ p["r"].T
    dh = dback
    for t in reversed(range(TIME)):
        dt = (dh + dstates[t]) * (1 - states[t] ** 2)
        if t % 2:
            g["gain"] += (dt * sums[t]).sum(0)
            dt = dt * p["gain"]
        g["w"] += x[:, t].T @ dt
        g["u"] += before[t].T @ dt
        g["b"] += dt.sum(0)
        dh = dt @ p["u"].T
    return {name: value - rate * g[name] for name, value in p.items()}


def tensors(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    return {name: numpy.frombuffer(data[slice(*entry["data_offsets"])], "f4").reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


if sys.argv[1] == "write":
    lines = [f'  %{name} = dgc.variable "{name}" stored dense<{value.tolist()}> : TYPE : TYPE'.replace("TYPE", f'tensor<{"x".join(map(str, value.shape))}xf32>')
             for name, value in START.items()]
    with open("model.mlir", "w") as file:
        file.write(MODEL.replace("VARIABLES", "\n".join(lines)).replace("TIME", str(TIME)))
    numpy.save("train-x.npy", X)
    numpy.save("train-label.npy", LABEL)
else:
    weights = START
    for epoch in range(2):
        for first in range(0, EXAMPLES, BATCH):
            weights = step(weights, X[first:first + BATCH], LABEL[first:first + BATCH], float(sys.argv[2]))
    found = tensors("out.safetensors")
    for name, value in weights.items():
        numpy.testing.assert_allclose(found[name], value, rtol=2e-5, atol=2e-5, err_msg=name)
