#!/usr/bin/python3
"""Gradients of convolutions, as automatic differentiation writes them in StableHLO, against the definition in NumPy.

usage: convolution_gradients.py write     programs 0.mlir, 1.mlir .. and their inputs 0.npz, 1.npz ..
       convolution_gradients.py compare SUFFIX [--wrong]
                                          what N.SUFFIX.npz has against the definition; --wrong: of other inputs, which must differ
"""

import sys

import numpy

# Of the convolution: batch, height, width, channels, filters, groups, kernel, strides, dilation, low and high padding.
CASES = [
    (6, 7, 5, 3, 4, 1, (3, 2), (1, 1), (1, 1), ((1, 1), (0, 1))),
    (6, 8, 9, 2, 3, 1, (3, 3), (2, 2), (1, 1), ((0, 1), (1, 1))),
    (6, 9, 8, 2, 3, 1, (2, 3), (3, 2), (1, 2), ((0, 0), (2, 2))),  # rows that no window reaches
    (6, 6, 7, 3, 2, 1, (1, 1), (2, 2), (1, 1), ((0, 0), (0, 0))),  # one pixel, which nothing reverses
    (6, 5, 6, 4, 6, 2, (2, 2), (1, 2), (1, 1), ((1, 0), (0, 0))),
]


def convolve(x, w, groups, strides, dilation, padding):
    """[n, h, w, c] and [kh, kw, c / groups, f], by the definition."""
    x = numpy.pad(x, ((0, 0), *padding, (0, 0)))
    (kh, kw, depth, filters), (n, height, width, _) = w.shape, x.shape
    rows = (height - (kh - 1) * dilation[0] - 1) // strides[0] + 1
    columns = (width - (kw - 1) * dilation[1] - 1) // strides[1] + 1
    out = numpy.zeros((n, rows, columns, filters))
    per_group = filters // groups
    for i in range(kh):
        for j in range(kw):
            part = x[:, i * dilation[0]:, j * dilation[1]:][:, ::strides[0], ::strides[1]][:, :rows, :columns]
            for g in range(groups):
                columns_of = slice(g * per_group, (g + 1) * per_group)
                out[..., columns_of] += part[..., g * depth:(g + 1) * depth] @ w[i, j][:, columns_of]
    return out


def arrays(number):
    n, height, width, channels, filters, groups, kernel, strides, dilation, padding = CASES[number]
    random = numpy.random.default_rng(number)
    x = random.standard_normal((n, height, width, channels)).astype(numpy.float32)
    w = random.standard_normal((*kernel, channels // groups, filters)).astype(numpy.float32)
    y = convolve(x, w, groups, strides, dilation, padding)
    return x, w, random.standard_normal(y.shape).astype(numpy.float32)


def tensor(array):
    return f"tensor<{'x'.join(map(str, array.shape))}xf32>"


def program(number):
    """The gradients of the input (without groups) and of the weights. Paddings are those for which sizes come out."""
    _, height, width, _, _, groups, kernel, strides, dilation, padding = CASES[number]
    x, w, dy = arrays(number)
    weight_pads, input_pads = [], []
    for i, size in enumerate((height, width)):
        low, reach = padding[i][0], (kernel[i] - 1) * dilation[i]
        spread = (dy.shape[i + 1] - 1) * strides[i] + 1
        weight_pads.append([low, spread + reach - size - low])
        input_pads.append([reach - low, size + low - spread])
    tail = f"precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}}"
    lines = [f"  func.func public @main(%x: {tensor(x)}, %w: {tensor(w)}, %dy: {tensor(dy)}) -> (RESULTS) {{",
             f"    %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = "
             f"{{stride = {list(dilation)}, pad = {weight_pads}, rhs_dilate = {list(strides)}}} {{batch_group_count = {groups} : i64, "
             f"feature_group_count = 1 : i64, {tail} : ({tensor(x)}, {tensor(dy)}) -> {tensor(w)}"]
    results = [("%dw", tensor(w))]
    if groups == 1:
        lines += [f"    %r = stablehlo.reverse %w, dims = [0, 1] : {tensor(w)}",
                  f"    %dx = stablehlo.convolution(%dy, %r) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = "
                  f"{{pad = {input_pads}, lhs_dilate = {list(strides)}, rhs_dilate = {list(dilation)}}} {{batch_group_count = 1 : i64, "
                  f"feature_group_count = 1 : i64, {tail} : ({tensor(dy)}, {tensor(w)}) -> {tensor(x)}"]
        results.append(("%dx", tensor(x)))
    names, types = (", ".join(each) for each in zip(*results))
    lines.append(f"    return {names} : {types}\n  }}")
    return "module @gradients {\n" + "\n".join(lines).replace("RESULTS", types) + "\n}\n"


def expected(number, scale):
    """The gradients of sum(dy * convolve(x, w)), which is linear in x and in w: its value for each unit vector."""
    _, _, _, _, _, groups, _, strides, dilation, padding = CASES[number]
    x, w, dy = (each.astype(numpy.float64) for each in arrays(number))
    dy = dy * scale
    dw = numpy.zeros_like(w)
    for at in numpy.ndindex(w.shape):
        unit = numpy.zeros_like(w)
        unit[at] = 1
        dw[at] = (dy * convolve(x, unit, groups, strides, dilation, padding)).sum()
    if groups > 1:
        return [dw]
    dx = numpy.zeros_like(x)
    for at in numpy.ndindex(x.shape[1:]):
        unit = numpy.zeros_like(x)
        unit[(slice(None), *at)] = 1
        dx[(slice(None), *at)] = (dy * convolve(unit, w, groups, strides, dilation, padding)).sum(axis=(1, 2, 3))
    return [dw, dx]


def main():
    if sys.argv[1] == "write":
        for number in range(len(CASES)):
            with open(f"{number}.mlir", "w", encoding="utf-8") as out:
                out.write(program(number))
            numpy.savez(f"{number}.npz", **dict(zip(("in0", "in1", "in2"), arrays(number))))
        return 0
    scale = 1.001 if "--wrong" in sys.argv else 1
    wrong = 0
    for number in range(len(CASES)):
        got = numpy.load(f"{number}.{sys.argv[2]}.npz")
        for i, value in enumerate(expected(number, scale)):
            error = abs(got[f"out{i}"] - value).max() / abs(value).max()
            if not error < 1e-5:
                wrong += 1
                print(f"case {number}, out{i}: {error}")
    return 1 if wrong else 0


sys.exit(main())
