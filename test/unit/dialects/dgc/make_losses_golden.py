"""Writes Losses.inc: losses, metrics, cumulative sums and random numbers, as Composites.inc has other ops. The probability of
labels of dgc.ctc_loss is the sum over all paths, each written out. Run it in this folder; the output is kept in the
repository."""

import itertools
import math

import numpy as np
from composite_cases import case, gradient_case, normal, wide, write
from composites_formulas import huber, kl, log_softmax, random_bits, smooth, softmax

valid = np.array(3, np.int32)
z, t = normal(4, 5), normal(4, 5)
Z, T = wide(z, t)
labels = np.array([4, 0, 2, 1], np.uint8)
tokens = normal(3, 4, 5)
marks = np.array([[1, -100, 4, 0], [2, 2, -100, -100], [3, 0, 1, 2]], np.int32)
class_weights = np.array([0.5, 2.0, 1.0, 0.25, 3.0], np.float32)
example_weights = np.array([2.0, 0.0, 0.5, 1.0], np.float32)
token_weights = np.abs(normal(3, 4))


def widened(inputs):
    return [a.astype(np.float64) if a.dtype == np.float32 else a for a in inputs]


# Cross-entropy, place by place.
def cross_entropy(z, labels, ignored=None, weights=None, samples=None, smoothing=0.0, valid=None):
    logs, total, divisor = log_softmax(z), 0.0, 0.0
    classes = z.shape[-1]
    weights = np.ones(classes) if weights is None else weights
    for place in np.ndindex(*z.shape[:-1]):
        label = labels[place]
        if label == ignored or (valid is not None and place[0] >= valid):
            continue
        label = int(label)
        loss = -weights[label] * logs[place][label] * (1 - smoothing)
        loss -= (weights * logs[place]).sum() * smoothing / classes
        sample = 1.0 if samples is None else samples[place[:samples.ndim]]
        total += sample * loss
        divisor += sample * weights[label]
    return total / divisor if divisor else 0.0


def entropy_case(name, clauses, inputs, wanted, formula):
    types = ", ".join("{%d}" % i for i, a in enumerate(inputs) if a.ndim)
    op = f"dgc.cross_entropy %0, %1 {clauses} : {types}"
    case("cross_entropy_" + name, "%r0 = " + op, inputs, [formula(*widened(inputs))])
    gradient_case("cross_entropy_" + name, "%y = " + op, inputs, wanted, formula)


entropy_case("ignored", "ignore_index -100", [tokens, marks], [0], lambda z, l: cross_entropy(z, l, -100))
entropy_case("ignored_valid", "label_smoothing 0.1 ignore_index -100 valid %2", [tokens, marks, np.array(2, np.int32)], [0],
             lambda z, l, n: cross_entropy(z, l, -100, smoothing=0.1, valid=n))
entropy_case("ignored_class", "ignore_index 2", [z, labels], [0], lambda z, l: cross_entropy(z, l, 2))
entropy_case("all_ignored", "ignore_index 255", [z, np.full(4, 255, np.uint8)], [0], lambda z, l: cross_entropy(z, l, 255))
entropy_case("weighted", "weights %2 valid %3", [z, labels, class_weights, valid], [0, 2],
             lambda z, l, w, n: cross_entropy(z, l, weights=w, valid=n))
entropy_case("weighted_smoothed", "label_smoothing 0.2 weights %2", [z, labels, class_weights], [0, 2],
             lambda z, l, w: cross_entropy(z, l, weights=w, smoothing=0.2))
entropy_case("samples", "sample_weights %2", [z, labels, example_weights], [0, 2],
             lambda z, l, s: cross_entropy(z, l, samples=s))
entropy_case("everything", "label_smoothing 0.1 ignore_index -100 weights %2 sample_weights %3 valid %4",
             [tokens, marks, class_weights, token_weights, np.array(2, np.int32)], [0, 2, 3],
             lambda z, l, w, s, n: cross_entropy(z, l, -100, w, s, 0.1, n))
p = softmax(normal(4, 5).astype(np.float64)).astype(np.float32)
entropy_case("weighted_distribution", "weights %2 valid %3", [z, p, class_weights, valid], [0, 1, 2],
             lambda z, p, w, n: -(w * p * log_softmax(z)).sum(-1)[:n].mean())
entropy_case("sampled_distribution", "label_smoothing 0.1 sample_weights %2", [z, p, example_weights], [0],
             lambda z, p, s: -(s * (smooth(p, 0.1) * log_softmax(z)).sum(-1)).sum() / s.sum())


# Weights of examples, and of elements.
def weighted(losses, weights):
    wide = np.broadcast_to(weights.reshape(weights.shape + (1,) * (losses.ndim - weights.ndim)), losses.shape)
    return (wide * losses).sum() / wide.sum()


def sampled(name, op, inputs, wanted, formula):
    case(name + "_samples", "%r0 = " + op, inputs, [formula(*widened(inputs))])
    gradient_case(name + "_samples", "%y = " + op, inputs, wanted, formula)


sampled("mean_squared_error", "dgc.mean_squared_error %0, %1 sample_weights %2 : {0}, {1}, {2}", [z, t, example_weights],
        [0, 1, 2], lambda z, t, s: weighted((z - t) ** 2, s))
sampled("mean_absolute_error", "dgc.mean_absolute_error %0, %1 sample_weights %2 : {0}, {1}, {2}",
        [z, t, np.abs(normal(4, 5))], [0, 2], lambda z, t, s: weighted(np.abs(z - t), s))
sampled("huber_loss", "dgc.huber_loss %0, %1 delta 0.7 sample_weights %2 valid %3 : {0}, {1}, {2}",
        [z, t, example_weights, valid], [0], lambda z, t, s, n: weighted(huber(z, t, 0.7)[:n], s[:n]))
q = np.array([[0.5, 0, 0.5, 0, 0], [0.2] * 5, [0, 0, 0, 0, 1], [0.1, 0.2, 0.3, 0.4, 0]], np.float32)
sampled("kl_divergence", "dgc.kl_divergence %0, %1 sample_weights %2 : {0}, {1}, {2}", [z, q, example_weights], [0],
        lambda z, q, s: weighted(kl(z, q), s))
case("mean_squared_error_no_weight", "%r0 = dgc.mean_squared_error %0, %1 sample_weights %2 : {0}, {1}, {2}",
     [z, t, np.zeros(4, np.float32)], [0])


# Contrastive: the cross-entropy of each row, and of each column, against its own number.
def contrastive(a, b, temperature, one_way=False):
    s = a @ b.T / temperature
    rows, columns = -np.diag(log_softmax(s)).mean(), -np.diag(log_softmax(s.T)).mean()
    return rows if one_way else (rows + columns) / 2


for name, clause, formula in [("both", "temperature 0.3", lambda a, b: contrastive(a, b, 0.3)),
                              ("one_way", "one_way", lambda a, b: contrastive(a, b, 1, True))]:
    op = f"dgc.contrastive_loss %0, %1 {clause} : {{0}}"
    case("contrastive_" + name, "%r0 = " + op, [z, t], [formula(Z, T)])
    gradient_case("contrastive_" + name, "%y = " + op, [z, t], [0, 1], formula)
case("contrastive_large", "%r0 = dgc.contrastive_loss %0, %1 temperature 0.01 : {0}", [z, t], [contrastive(Z, T, 0.01)], 1e-4)


# CTC: the sum of the probabilities of all paths that become the labels.
def joined(path, blank):
    return [c for i, c in enumerate(path) if c != blank and (i == 0 or c != path[i - 1])]


def ctc(z, labels, blank=0, lengths=None):
    losses = []
    for i in range(z.shape[0]):
        n = z.shape[1] if lengths is None else int(lengths[i])
        logs, wanted = log_softmax(z[i]), [int(c) for c in labels[i] if c != blank]
        total = sum(math.exp(sum(logs[t, c] for t, c in enumerate(path)))
                    for path in itertools.product(range(z.shape[2]), repeat=n) if joined(path, blank) == wanted)
        losses.append(-math.log(total) if total else math.inf)
    return np.mean(losses)


speech = normal(3, 5, 3)
words = np.array([[1, 2, 0], [2, 2, 1], [0, 0, 0]], np.int32)
case("ctc", "%r0 = dgc.ctc_loss %0, %1 : {0}, {1}", [speech, words], [ctc(speech.astype(np.float64), words)])
gradient_case("ctc", "%y = dgc.ctc_loss %0, %1 : {0}, {1}", [speech, words], [0], ctc)
ends = np.array([4, 5, 2], np.int32)
last = np.where(words == 0, 2, words - 1).astype(np.uint8)  # with the last class as the blank
case("ctc_lengths", "%r0 = dgc.ctc_loss %0, %1 blank 2 lengths %2 : {0}, {1}, {2}", [speech, last, ends],
     [ctc(speech.astype(np.float64), last, 2, ends)])
gradient_case("ctc_lengths", "%y = dgc.ctc_loss %0, %1 blank 2 lengths %2 : {0}, {1}, {2}", [speech, last, ends], [0],
              lambda z, l, n: ctc(z, l, 2, n))
# [2, 2, 1] takes four times, for the blank between the two.
case("ctc_enough", "%r0 = dgc.ctc_loss %0, %1 lengths %2 : {0}, {1}, {2}", [speech, words, np.array([2, 4, 1], np.int64)],
     [ctc(speech.astype(np.float64), words, 0, [2, 4, 1])])
assert ctc(speech.astype(np.float64), words, 0, [5, 3, 5]) == math.inf
case("ctc_impossible",
     "%l = dgc.ctc_loss %0, %1 lengths %2 : {0}, {1}, {2}\n  %f = dgc.is_finite %l : tensor<f32>\n"
     "  %r0 = dgc.convert %f to f32 : tensor<i1>", [speech, words, np.array([5, 3, 5], np.int32)], [0])

# Metrics. Of equal logits the first is the largest.
ties = np.array([[1, 3, 3, 0], [2, 2, 1, 2], [0, 0, 5, 7], [7, 1, 1, 1]], np.float32)
classes = np.array([2, 3, 0, 1], np.int32)
order = [sorted(range(4), key=lambda c: (-row[c], c)) for row in ties]
for k in (1, 2, 3, 4):
    case(f"top_{k}", f"%r0 = dgc.top_k_accuracy %0, %1 k {k} valid %2 : {{0}}, {{1}}", [ties, classes, valid],
         [np.mean([classes[i] in order[i][:k] for i in range(3)])])
case("top_k_of_all", "%r0 = dgc.top_k_accuracy %0, %1 k 2 : {0}, {1}", [ties, classes],
     [np.mean([classes[i] in order[i][:2] for i in range(4)])])


def counted(predicted, positive):
    right = (predicted & positive).sum()
    return {"precision": [right, predicted.sum()], "recall": [right, positive.sum()],
            "f1_score": [2 * right, predicted.sum() + positive.sum()]}


scores, truth = normal(6, 3), (normal(6, 3) > 0)
many = np.array([2, 0, 2, 1, 2, 0], np.int32)
for metric in ("precision", "recall", "f1_score"):
    op = f"%r0, %r1 = dgc.{metric} %0, %1"
    case(metric, op + " : {0}, {1}", [scores, truth.astype(np.float32)], counted(scores > 0, truth)[metric])
    case(metric + "_integers", op + " threshold 0.4 : {0}, {1}", [scores, truth.astype(np.int32)],
         counted(scores > 0.4, truth)[metric])
    case(metric + "_class", op + " class 2 : {0}, {1}", [scores, many],
         counted(scores.argmax(-1) == 2, many == 2)[metric])


# Sums up to each place.
def cumulative(x, dim, reverse=False, exclusive=False):
    x = np.flip(x, dim) if reverse else x
    y = np.cumsum(x, dim) - (x if exclusive else 0)
    return np.flip(y, dim) if reverse else y


cube = normal(2, 5, 3)
for name, clauses, arguments in [("", "dim 1", (1,)), ("_last", "", (-1,)), ("_reverse", "dim -2 reverse", (1, True)),
                                 ("_exclusive", "dim 1 exclusive", (1, False, True)),
                                 ("_reverse_exclusive", "dim 0 reverse exclusive", (0, True, True))]:
    op = f"dgc.cumulative_sum %0 {clauses} : {{0}}"
    case("cumulative_sum" + name, "%r0 = " + op, [cube], [cumulative(cube.astype(np.float64), *arguments)])
    gradient_case("cumulative_sum" + name, "%y = " + op, [cube], [0], lambda x, a=arguments: cumulative(x, *a))
long = np.abs(normal(1000))
case("cumulative_sum_long", "%r0 = dgc.cumulative_sum %0 : {0}", [long], [np.cumsum(long.astype(np.float64))], 4 * 10 * 2 ** -24)
whole = np.array([[3, -1, 4], [1, 5, -9]], np.int32)
case("cumulative_sum_integers", "%s = dgc.cumulative_sum %0 : {0}\n  %r0 = dgc.convert %s to f32 : {0}", [whole],
     [np.cumsum(whole, -1)])

# Random numbers: Philox4x32-10 written plainly, Box-Muller in f64.
seed, step = np.array(12345678901, np.int64), np.array(3, np.int64)
words = random_bits(70, int(seed), 3, 9)
u, v = (words[0::2] >> 8) * 2.0 ** -24, (words[1::2] >> 8) * 2.0 ** -24
box_muller = (np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v)).reshape(5, 7)
case("random_normal", "%r0 = dgc.random_normal keyed %0, %1 rng 9 : tensor<5x7xf32>", [seed, step], [box_muller], 2e-6)
case("random_normal_scaled", "%r0 = dgc.random_normal -1.5 0.25 keyed %0, %1 rng 9 : tensor<5x7xf32>", [seed, step],
     [box_muller / 4 - 1.5], 2e-6)
case("random_normal_f64", "%d = dgc.random_normal keyed %0, %1 rng 9 : tensor<5x7xf64>\n"
     "  %r0 = dgc.convert %d to f32 : tensor<5x7xf64>", [seed, step], [box_muller], 1e-7)
uniform = ((random_bits(35, int(seed), 3, 9) >> 8) * 2.0 ** -24).reshape(5, 7)
case("random_uniform", "%r0 = dgc.random_uniform keyed %0, %1 rng 9 : tensor<5x7xf32>", [seed, step], [uniform], 1e-9)
case("random_uniform_scaled", "%r0 = dgc.random_uniform -2 3.0 keyed %0, %1 rng 9 : tensor<5x7xf32>", [seed, step],
     [uniform * 5 - 2], 5e-7)
double = ((words[0::2] + (words[1::2] << np.uint64(32))) >> np.uint64(11)).astype(np.float64) * 2.0 ** -53
case("random_uniform_f64", "%d = dgc.random_uniform keyed %0, %1 rng 9 : tensor<5x7xf64>\n"
     "  %r0 = dgc.convert %d to f32 : tensor<5x7xf64>", [seed, step], [double.reshape(5, 7)], 1e-9)
case("random_means", "%r0 = dgc.random_normal 2.5 4.0 : tensor<3xf32>\n  %r1 = dgc.random_uniform 1.0 2.0 : tensor<3xf32>",
     [seed], [np.full(3, 2.5), np.full(3, 1.5)], 0)

write("Losses.inc", "make_losses_golden.py")
