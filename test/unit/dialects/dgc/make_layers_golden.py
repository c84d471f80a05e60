"""Writes Layers.inc: convolutions of other ranks, masked and grouped attention, rotary embeddings, mixtures of experts and
others, as Composites.inc has other ops. Run it in this folder; the output is kept in the repository."""

import math

import numpy as np
from composite_cases import case, gradient_case, normal, wide, write
from composites_formulas import to_bf16
from layers_formulas import (attention, bag, conv_any, conv_transpose, experts, instance_norm, rotary, silu, top_k)


def widened(inputs):
    return [a.astype(np.float64) if a.dtype == np.float32 else a for a in inputs]


def both(name, op, inputs, wanted, formula):
    """The value and the gradients of one op, whose operands are the inputs in order."""
    types = ", ".join("{%d}" % i for i in range(len(inputs)))
    case(name, f"%r0 = {op} : {types}", inputs, [formula(*widened(inputs))])
    gradient_case(name, f"%y = {op} : {types}", inputs, wanted, formula)


# Convolutions.
line, kernel, bias = normal(2, 7, 4), normal(3, 2, 6), normal(6)
both("conv1d", "dgc.conv1d %0, %1, %2 strides 2 padding same groups 2", [line, kernel, bias], [0, 1, 2],
     lambda x, w, b: conv_any(x, w, (2,), ((1, 1),), (1,), 2) + b)
both("conv1d_dilation", "dgc.conv1d %0, %1 padding [[2, 0]] dilation 2", [line, normal(2, 4, 3)], [0, 1],
     lambda x, w: conv_any(x, w, (1,), ((2, 0),), (2,)))
room, kernel, bias = normal(1, 3, 5, 3, 2), normal(2, 3, 2, 2, 3), normal(3)
both("conv3d", "dgc.conv3d %0, %1, %2 strides [1, 2, 1] padding same", [room, kernel, bias], [0, 1, 2],
     lambda x, w, b: conv_any(x, w, (1, 2, 1), ((0, 1), (1, 1), (0, 1)), (1, 1, 1)) + b)
both("conv3d_groups", "dgc.conv3d %0, %1 dilation [2, 1, 1] groups 2", [room, normal(2, 2, 3, 1, 4)], [0, 1],
     lambda x, w: conv_any(x, w, (1, 1, 1), ((0, 0),) * 3, (2, 1, 1), 2))
image = normal(2, 4, 3, 6)
both("depthwise", "dgc.conv2d %0, %1 padding same groups 6", [image, normal(3, 3, 1, 6)], [0, 1],
     lambda x, w: conv_any(x, w, (1, 1), ((1, 1), (1, 1)), (1, 1), 6))
both("depthwise_multiplier", "dgc.conv2d %0, %1 strides 2 groups 6", [image, normal(2, 3, 1, 12)], [0, 1],
     lambda x, w: conv_any(x, w, (2, 2), ((0, 0), (0, 0)), (1, 1), 6))
small = normal(1, 3, 3, 4)
both("conv_transpose2d", "dgc.conv_transpose2d %0, %1, %2 strides [2, 3] padding [[1, 1], [0, 2]] output_padding [1, 2]",
     [small, normal(3, 4, 2, 4), normal(2)], [0, 1, 2],
     lambda x, w, b: conv_transpose(x, w, (2, 3), ((1, 1), (0, 2)), (1, 2)) + b)
both("conv_transpose2d_plain", "dgc.conv_transpose2d %0, %1", [small, normal(2, 3, 5, 4)], [0, 1],
     lambda x, w: conv_transpose(x, w, (1, 1), ((0, 0), (0, 0))))
both("conv_transpose2d_groups", "dgc.conv_transpose2d %0, %1 strides 2 dilation [1, 2] groups 2", [small, normal(3, 2, 3, 4)],
     [0, 1], lambda x, w: conv_transpose(x, w, (2, 2), ((0, 0), (0, 0)), (0, 0), (1, 2), 2))
both("conv_transpose2d_same", "dgc.conv_transpose2d %0, %1 strides [2, 3] padding same", [small, normal(3, 2, 3, 4)], [0, 1],
     lambda x, w: np.pad(conv_transpose(x, w, (2, 3), ((0, 1), (0, 0))), ((0, 0), (0, 0), (0, 1), (0, 0))))

# Normalization, pools, activations.
s, o = normal(6), normal(6)
both("instance_norm", "dgc.instance_norm %0, %1, %2 epsilon 0.01", [image, s, o], [0, 1, 2], instance_norm)
both("instance_norm_line", "dgc.instance_norm %0, %1, %2 epsilon 0.01", [normal(3, 7, 6), s, o], [0, 1, 2], instance_norm)
both("global_avg_pool", "dgc.global_avg_pool %0", [room], [0], lambda x: x.mean((1, 2, 3)))
both("global_max_pool", "dgc.global_max_pool %0", [image], [0], lambda x: x.max((1, 2)))
both("swiglu", "dgc.swiglu %0, %1", [normal(3, 4), normal(3, 4)], [0, 1], lambda g, x: silu(g) * x)
both("swiglu_halves", "dgc.swiglu %0", [normal(3, 8)], [0], lambda x: silu(x[:, :4]) * x[:, 4:])

# Attention.
q, k, v = normal(2, 3, 8), normal(2, 5, 8), normal(2, 5, 4)
sees = np.array([[1, 1, 0, 1, 0], [1, 0, 0, 1, 1], [0, 0, 1, 1, 1]], np.uint8)
late = np.array([[[[1, 1, 1, 0, 0]]], [[[1, 0, 0, 0, 0]]]], np.uint8)  # of each example, the places that are there
blind = sees.copy()
blind[1] = 0
added = normal(4, 3, 5)
both("attention_cross", "dgc.attention %0, %1, %2 heads 4", [q, k, v], [0, 1, 2], lambda q, k, v: attention(q, k, v, 4))
both("attention_last_places", "dgc.attention %0, %1, %2 heads 2 causal", [q, k, v], [0, 1, 2],
     lambda q, k, v: attention(q, k, v, 2, causal=True))


def masked(name, clauses, inputs, mask, formula):
    """The mask is the last input: bytes are made i1."""
    inputs = [*inputs, mask]
    types = ", ".join("{%d}" % i for i in range(3))
    shape = "x".join(str(n) for n in mask.shape)
    is_bytes = mask.dtype == np.uint8
    given = "%m" if is_bytes else "%3"
    of_mask = f"tensor<{shape}xi1>" if is_bytes else "{3}"
    convert = "%m = dgc.convert %3 to i1 : {3}\n  " if is_bytes else ""
    op = f"dgc.attention %0, %1, %2 mask {given} {clauses} : {types}, {of_mask}"
    case("attention_" + name, f"{convert}%r0 = {op}", inputs, [formula(*widened(inputs))])
    gradient_case("attention_" + name, f"{convert}%y = {op}", inputs, [0, 1, 2] if is_bytes else [0, 1, 2, 3], formula)


masked("masked", "heads 4", [q, k, v], sees, lambda q, k, v, m: attention(q, k, v, 4, mask=m > 0))
masked("masked_examples", "heads 4 scale 0.7", [q, k, v], late,
       lambda q, k, v, m: attention(q, k, v, 4, mask=m > 0, scale=0.7))
masked("blind", "heads 2", [q, k, v], blind, lambda q, k, v, m: attention(q, k, v, 2, mask=m > 0))
masked("added", "heads 4", [q, k, v], added, lambda q, k, v, m: attention(q, k, v, 4, mask=m))
few = normal(2, 5, 4), normal(2, 5, 6)  # two heads of keys and of values
both("attention_grouped", "dgc.attention %0, %1, %2 heads 4 kv_heads 2", [q, *few], [0, 1, 2],
     lambda q, k, v: attention(q, k, v, 4, 2))
both("attention_one_key_head", "dgc.attention %0, %1, %2 heads 4 kv_heads 1 causal", [q, normal(2, 5, 2), normal(2, 5, 3)],
     [0, 1, 2], lambda q, k, v: attention(q, k, v, 4, 1, causal=True))
masked("grouped_masked", "heads 4 kv_heads 2 causal", [q, *few], sees,
       lambda q, k, v, m: attention(q, k, v, 4, 2, m > 0, causal=True))
masked("grouped_added", "heads 4 kv_heads 2", [q, *few], added, lambda q, k, v, m: attention(q, k, v, 4, 2, m))
masked("grouped_examples", "heads 4 kv_heads 2", [q, *few], late, lambda q, k, v, m: attention(q, k, v, 4, 2, m > 0))

# Embeddings.
x, steps = normal(2, 5, 8), np.arange(5)
both("rotary", "dgc.rotary_embedding %0 heads 2", [x], [0], lambda x: rotary(x, steps, 2))
both("rotary_interleaved", "dgc.rotary_embedding %0 base 100 interleaved", [x], [0],
     lambda x: rotary(x, steps, base=100, interleaved=True))
places = np.array([7, 0, 100, 3, 2000], np.int32)
each = np.array([[0, 1, 2, 3, 4], [5, 6, 7, 0, 1]], np.int64)
types = "{0}, {1}"
case("rotary_places", f"%r0 = dgc.rotary_embedding %0 at %1 heads 4 : {types}", [x, places], [rotary(*wide(x), places, 4)], 1e-4)
case("rotary_places_of_examples", f"%r0 = dgc.rotary_embedding %0 at %1 heads 2 interleaved : {types}", [x, each],
     [rotary(*wide(x), each, 2, interleaved=True)])
gradient_case("rotary_places", f"%y = dgc.rotary_embedding %0 at %1 heads 4 : {types}", [x, each], [0],
              lambda x, p: rotary(x, p, 4))
table = normal(6, 3)
numbers = np.array([[[0, 5, -1], [2, 2, 6]], [[-1, -1, -1], [1, -7, 4]]], np.int32)
for kind in ("", " mean"):
    both("embedding_bag" + kind.replace(" ", "_"), "dgc.embedding_bag %0, %1" + kind, [table, numbers], [0],
         lambda t, n, mean=bool(kind): bag(t, n, mean))
large, octets = normal(300, 1), np.array([[255, 0, 7], [3, 3, 254]], np.uint8)
case("embedding_bag_of_bytes", "%r0 = dgc.embedding_bag %0, %1 mean : {0}, {1}", [large, octets],
     [bag(*widened([large, octets]), True)])

# The largest elements.
ties = np.array([[1, 3, 3, 2], [2, 2, 2, 2], [-np.inf, 0, -np.inf, -np.inf]], np.float32)
rows = normal(2, 3, 7)
for name, given, count in (("top_k", rows, 3), ("top_k_one", rows, 1), ("top_k_all", rows, 7)):
    values, indices = top_k(*wide(given), count)
    shape = "x".join(str(n) for n in indices.shape)
    case(name, f"%r0, %i = dgc.top_k %0 k {count} : {{0}}\n  %r1 = dgc.convert %i to f32 : tensor<{shape}xi32>", [given],
         [values, indices])
case("top_k_ties", "%v, %i = dgc.top_k %0 k 3 : {0}\n  %r0 = dgc.convert %i to f32 : tensor<3x3xi32>", [ties],
     [np.array([[1, 2, 3], [0, 1, 2], [1, 0, 2]])])
gradient_case("top_k", "%y, %i = dgc.top_k %0 k 3 : {0}", [rows], [0], lambda x: top_k(x, 3)[0])

# Half precision: operands and results are rounded to bf16, what is between them is not.
half, gate = to_bf16(normal(2, 16)), to_bf16(normal(2, 16))
HA, GA = wide(half, gate)
narrow = "tensor<2x16xbf16>"
case("swiglu_bf16", f"%g = dgc.convert %0 to bf16 : {{0}}\n  %x = dgc.convert %1 to bf16 : {{1}}\n"
     f"  %y = dgc.swiglu %g, %x : {narrow}\n  %r0 = dgc.convert %y to f32 : {narrow}", [gate, half],
     [to_bf16(silu(GA) * HA)], 2 ** -8)
case("rotary_bf16", f"%x = dgc.convert %0 to bf16 : {{0}}\n  %y = dgc.rotary_embedding %x : {narrow}\n"
     f"  %r0 = dgc.convert %y to f32 : {narrow}", [half], [to_bf16(rotary(HA, np.arange(2)))], 2 ** -8)

# Experts. With little capacity tokens are left out.
for name, top, capacity, gelu in (("switch", 1, 1.0, False), ("two", 2, 0.6, False), ("roomy", 2, 4.0, True)):
    inputs = [normal(3, 4, 5), normal(5, 3) * np.float32(2), normal(3, 5, 6), normal(3, 6), normal(3, 6, 2), normal(3, 2)]
    erf = np.vectorize(math.erf)

    def formula(*operands, top=top, capacity=capacity, gelu=gelu):
        if not gelu:
            return experts(*operands, top, capacity)
        return experts(*operands, top, capacity, lambda h: h * (1 + erf(h / math.sqrt(2))) / 2)

    clauses = f"top {top} capacity {capacity}" + (" gelu" if gelu else "")
    op = f"dgc.mixture_of_experts %0, %1, %2, %3, %4, %5 {clauses} : {{0}}, {{1}}, {{2}}, {{3}}, {{4}}, {{5}}"
    case("experts_" + name, "%r0, %r1 = " + op, inputs, formula(*wide(*inputs)), 1e-4)
    gradient_case("experts_" + name, "%y, %z = " + op, inputs, [0, 1, 2, 3, 4, 5], lambda *a, f=formula: f(*a)[0])
    gradient_case("experts_balance_" + name, "%z, %y = " + op, inputs, [0, 1], lambda *a, f=formula: f(*a)[1])

write("Layers.inc", "make_layers_golden.py")
