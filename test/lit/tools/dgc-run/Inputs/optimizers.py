"""Writes the models and the data of optimizers.test, and compares what training gave with NumPy.

Each rule below is written from the paper or the documentation that Optimizers.mlir names, in f64.
"""

import json
import struct
import sys

import numpy

BATCH, IN, HIDDEN, CLASSES, EXAMPLES, EPOCHS = 6, 4, 7, 3, 24, 2
random = numpy.random.default_rng(5)
START = {
    name: numpy.round(random.standard_normal(shape) * 0.5, 3)
    for name, shape in {
        "in.w": (IN, HIDDEN), "in.bias": (HIDDEN,), "mid.w": (HIDDEN, HIDDEN), "out.w": (HIDDEN, CLASSES), "out.bias": (CLASSES,),
    }.items()
}
X = random.standard_normal((EXAMPLES, IN)).astype("f4")
LABEL = random.integers(0, CLASSES, EXAMPLES).astype("i4")

MODEL = """
dgc.model @mlp {
  %x = dgc.input "x" : tensor<6x4xf32>
  %label = dgc.input "label" : tensor<6xi32>
VARIABLES
  %h0 = dgc.dense %x, %in.w, %in.bias
  %h1 = dgc.tanh %h0
  %h2 = dgc.matmul %h1, %mid.w
  %h3 = dgc.tanh %h2
  %logits = dgc.dense %h3, %out.w, %out.bias
  %loss = dgc.cross_entropy %logits, %label
  dgc.loss %loss
  dgc.output "logits" %logits
  dgc.optimizer OPTIMIZER
}
"""

# The sign of the gradient's mean for matrices, with a state for each row; plain steps for other weights.
SIGNUM = """
dgc.block @mean_of(%old, %new, %beta) {
  %part = dgc.subtract 1, %beta
  %a = dgc.multiply %old, %beta
  %b = dgc.multiply %new, %part
  %sum = dgc.add %a, %b
  dgc.return %sum
}
dgc.optimizer_def @signum(%w, %g, %rate, %step) rank in [2, inf) else @plain
    parameters ("beta" %beta = 0.5 in [0, 1), "scaled" %scaled = false)
    state ("mean" %m, "row" %r = 1.0 reduced [-1] needs "scaled") {
  %mean = dgc.call @mean_of "mean" (%m, %g, %beta)
  %sign = dgc.sign %mean
  %squares = dgc.multiply %g, %g
  %row_mean = dgc.mean %squares dims [-1] keep
  %row = dgc.call @mean_of "row" (%r, %row_mean, %beta)
  %root = dgc.sqrt %row
  %in_rows = dgc.multiply %sign, %root
  %direction = dgc.select %scaled, %in_rows, %sign
  %columns = dgc.size %w dim -1
  %fewer = dgc.divide %rate, %columns
  %move = dgc.multiply %direction, %fewer
  %w1 = dgc.subtract %w, %move
  dgc.return %w1, %mean, %row
}
dgc.optimizer_def @plain(%w, %g, %rate, %step) {
  %move = dgc.multiply %g, %rate
  %w1 = dgc.subtract %w, %move
  dgc.return %w1
}
"""


def gradients(p, x, label):
    h1 = numpy.tanh(x @ p["in.w"] + p["in.bias"])
    h3 = numpy.tanh(h1 @ p["mid.w"])
    logits = h3 @ p["out.w"] + p["out.bias"]
    e = numpy.exp(logits - logits.max(1, keepdims=True))
    d = e / e.sum(1, keepdims=True)
    d[numpy.arange(len(x)), label] -= 1
    d /= len(x)
    d2 = (d @ p["out.w"].T) * (1 - h3**2)
    d0 = (d2 @ p["mid.w"].T) * (1 - h1**2)
    return {"in.w": x.T @ d0, "in.bias": d0.sum(0), "mid.w": h1.T @ d2, "out.w": h3.T @ d, "out.bias": d.sum(0)}


# Rules: (weight, gradient, rate, t counted from 1, state) -> weight. A state begins as what `get` says.


def sgd(momentum=0.0, nesterov=False, decay=0.0):
    def rule(w, g, rate, t, s):
        g = g + decay * w
        if not momentum:
            return w - rate * g
        s["v"] = momentum * s.get("v", 0) + g
        return w - rate * (g + momentum * s["v"] if nesterov else s["v"])
    return rule


def moments(g, t, s, beta1, beta2):
    s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * g
    s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * g * g
    return s["m"] / (1 - beta1**t), s["v"] / (1 - beta2**t)


def adam(beta1=0.9, beta2=0.999, epsilon=1e-8, decay=0.0):
    def rule(w, g, rate, t, s):
        m, v = moments(g + decay * w, t, s, beta1, beta2)
        return w - rate * m / (numpy.sqrt(v) + epsilon)
    return rule


def adamw(beta1=0.9, beta2=0.999, epsilon=1e-8, decay=0.0):
    def rule(w, g, rate, t, s):
        m, v = moments(g, t, s, beta1, beta2)
        return w - rate * decay * w - rate * m / (numpy.sqrt(v) + epsilon)
    return rule


def rmsprop(alpha=0.99, epsilon=1e-8, decay=0.0, momentum=0.0, centered=False):
    def rule(w, g, rate, t, s):
        g = g + decay * w
        s["s"] = alpha * s.get("s", 0) + (1 - alpha) * g * g
        s["m"] = alpha * s.get("m", 0) + (1 - alpha) * g
        q = g / (numpy.sqrt(s["s"] - s["m"] ** 2 if centered else s["s"]) + epsilon)
        s["b"] = momentum * s.get("b", 0) + q
        return w - rate * s["b"]
    return rule


def adagrad(slower=0.0, epsilon=1e-10, decay=0.0, initial=0.0):
    def rule(w, g, rate, t, s):
        g = g + decay * w
        s["s"] = s.get("s", initial) + g * g
        return w - rate / (1 + (t - 1) * slower) * g / (numpy.sqrt(s["s"]) + epsilon)
    return rule


def rms(x):
    return numpy.sqrt((x * x).mean())


def adafactor(power=-0.8, epsilon1=2.0**-23, epsilon2=1e-3, threshold=1.0, decay=0.0):
    def rule(w, g, rate, t, s):
        new = t**power
        if w.ndim > 1:
            s["r"] = (1 - new) * s.get("r", 0) + new * (g * g).mean(-1, keepdims=True)
            s["c"] = (1 - new) * s.get("c", 0) + new * (g * g).mean(-2, keepdims=True)
            square = s["r"] @ s["c"] / numpy.maximum(s["r"].mean(-2, keepdims=True), epsilon1)
        else:
            s["v"] = (1 - new) * s.get("v", 0) + new * g * g
            square = s["v"]
        update = g / numpy.sqrt(numpy.maximum(square, epsilon1**2))
        step = max(epsilon2, rms(w)) * min(rate, t**-0.5)
        return w * (1 - rate * decay) - step / max(1.0, rms(update) / threshold) * update
    return rule


def lamb(beta1=0.9, beta2=0.999, epsilon=1e-6, decay=0.0):
    def rule(w, g, rate, t, s):
        m, v = moments(g, t, s, beta1, beta2)
        update = m / (numpy.sqrt(v) + epsilon) + decay * w
        norms = numpy.linalg.norm(w), numpy.linalg.norm(update)
        return w - rate * (norms[0] / norms[1] if min(norms) > 0 else 1) * update
    return rule


def lion(beta1=0.9, beta2=0.99, decay=0.0):
    def rule(w, g, rate, t, s):
        m = s.get("m", numpy.zeros_like(w))
        s["m"] = beta2 * m + (1 - beta2) * g
        return w - rate * (numpy.sign(beta1 * m + (1 - beta1) * g) + decay * w)
    return rule


def muon(momentum=0.95, nesterov=True, decay=0.0, epsilon=1e-7):
    other = adamw(decay=decay)

    def rule(w, g, rate, t, s):
        if w.ndim != 2:
            return other(w, g, rate, t, s)
        s["b"] = momentum * s.get("b", 0) + (1 - momentum) * g
        x = momentum * s["b"] + (1 - momentum) * g if nesterov else s["b"]
        tall = x.shape[0] > x.shape[1]
        x = x.T if tall else x
        x = x / max(numpy.linalg.norm(x), epsilon)
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        x = x.T if tall else x
        return w * (1 - rate * decay) - rate * 0.2 * numpy.sqrt(max(w.shape)) * x
    return rule


def signum(beta=0.5, scaled=False):
    def rule(w, g, rate, t, s):
        if w.ndim < 2:
            return w - rate * g
        s["m"] = beta * s.get("m", 0) + (1 - beta) * g
        s["r"] = beta * s.get("r", 1) + (1 - beta) * (g * g).mean(-1, keepdims=True)
        return w - rate / w.shape[1] * numpy.sign(s["m"]) * (numpy.sqrt(s["r"]) if scaled else 1)
    return rule


def constant(rate):
    return lambda t: rate


def grouped(name):
    """adamw of the model `groups`: the rule, the factor of the rate."""
    if name == "mid.w":
        return None, 0
    return adamw(decay=0.0 if name.endswith("bias") else 0.1), 0.5 if name.startswith("out.") else 1


# The optimizer, the rule for a variable with the factor of its rate, and the rate of each step.
CONFIGS = {
    "sgd": ("sgd learning_rate 0.3 momentum 0.9 nesterov weight_decay 0.01", sgd(0.9, True, 0.01), constant(0.3)),
    "adam": ("adam learning_rate 0.03 weight_decay 0.02", adam(decay=0.02), constant(0.03)),
    "adamw": ("adamw learning_rate 0.03 beta1 0.8 weight_decay 0.1", adamw(0.8, decay=0.1), constant(0.03)),
    "rmsprop": ("rmsprop learning_rate 0.02 alpha 0.9 weight_decay 0.01", rmsprop(0.9, decay=0.01), constant(0.02)),
    "centered": ("rmsprop learning_rate 0.01 alpha 0.9 momentum 0.5 centered epsilon 1e-3",
                 rmsprop(0.9, 1e-3, 0, 0.5, True), constant(0.01)),
    "adagrad": ("adagrad learning_rate 0.1 initial_accumulator 0.1 learning_rate_decay 0.2 weight_decay 0.01",
                adagrad(0.2, decay=0.01, initial=0.1), constant(0.1)),
    "adafactor": ("adafactor learning_rate 0.1 weight_decay 0.02", adafactor(decay=0.02), constant(0.1)),
    "lamb": ("lamb learning_rate 0.05 weight_decay 0.1", lamb(decay=0.1), constant(0.05)),
    "lion": ("lion learning_rate 0.02 beta1 0.8 weight_decay 0.1", lion(0.8, decay=0.1), constant(0.02)),
    "muon": ("muon learning_rate 0.05 weight_decay 0.1", muon(decay=0.1), constant(0.05)),
    "signum": ("@signum learning_rate 0.1 scaled", signum(scaled=True), constant(0.1)),
    "groups": ('adamw learning_rate 0.03 weight_decay 0.1 for "*.bias" weight_decay 0.0 for "out.w" learning_rate_factor 0.5 '
               'for "out.bias" weight_decay 0.0 learning_rate_factor 0.5 for "mid.*" frozen', grouped, constant(0.03)),
    "linear": ("sgd learning_rate 0.4 linear steps 5 final 0.1 warm_up 2", sgd(),
               lambda t: 0.4 * t / 2 if t <= 2 else 0.1 + 0.3 * (1 - min((t - 3) / 5, 1))),
    "polynomial": ("sgd learning_rate 0.4 polynomial steps 6 final 0.1 power 2.0", sgd(),
                   lambda t: 0.1 + 0.3 * (1 - min((t - 1) / 6, 1)) ** 2),
    "exponential": ("sgd learning_rate 0.4 exponential every 3 times 0.5", sgd(), lambda t: 0.4 * 0.5 ** ((t - 1) / 3)),
}


def tensors(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    return {name: numpy.frombuffer(data[slice(*entry["data_offsets"])], "f4").reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


def write():
    lines = []
    for name, value in START.items():
        kind = f'tensor<{"x".join(map(str, value.shape))}xf32>'
        lines.append(f'  %{name} = dgc.variable "{name}" stored dense<{value.tolist()}> : {kind} : {kind}')
    for name, (optimizer, _, _) in CONFIGS.items():
        with open(f"{name}.mlir", "w") as file:
            text = MODEL.replace("VARIABLES", "\n".join(lines)).replace("OPTIMIZER", optimizer)
            file.write((SIGNUM if name == "signum" else "") + text)
    numpy.save("train-x.npy", X)
    numpy.save("train-label.npy", LABEL)


def compare(name, factor):
    _, rule, schedule = CONFIGS[name]
    weights, states, t = dict(START), {each: {} for each in START}, 0
    for _ in range(EPOCHS):
        for first in range(0, EXAMPLES, BATCH):
            t += 1
            g = gradients(weights, X[first:first + BATCH], LABEL[first:first + BATCH])
            for each, w in weights.items():
                own, part = rule(each) if rule is grouped else (rule, 1)
                if own:
                    weights[each] = own(w, g[each], factor * part * schedule(t), t, states[each])
    found = tensors("out.safetensors")
    for each, value in weights.items():
        numpy.testing.assert_allclose(found[each], value, rtol=2e-4, atol=2e-5, err_msg=each)


if sys.argv[1] == "write":
    write()
else:
    compare(sys.argv[2], float(sys.argv[3]) if len(sys.argv) > 3 else 1.0)
