"""Models of ONNX with one node each, of the families that nodes.py has not; used like that."""

import numpy as np

from nodes import case, convolution, f32, i64, main, random, softmax


def windows(x, kernel, stride, dilation):
    """Windows of images without padding: [n, c, rows, columns, kernel, kernel]."""
    span = (kernel - 1) * dilation
    rows, columns = ((size - span - 1) // stride + 1 for size in x.shape[2:])
    parts = [[x[:, :, i * stride:i * stride + span + 1:dilation, j * stride:j * stride + span + 1:dilation]
              for j in range(columns)] for i in range(rows)]
    return np.stack([np.stack(row, 2) for row in parts], 2)


def bilinear(image, y, x):
    """The element of [rows, columns] at a place, with zeros around."""
    total = 0.0
    for i in (int(np.floor(y)), int(np.floor(y)) + 1):
        for j in (int(np.floor(x)), int(np.floor(x)) + 1):
            if 0 <= i < image.shape[0] and 0 <= j < image.shape[1]:
                total += (1 - abs(y - i)) * (1 - abs(x - j)) * image[i, j]
    return total


def sampled(x, grid):
    y = np.zeros((x.shape[0], x.shape[1], *grid.shape[1:3]), np.float32)
    for n, c, i, j in np.ndindex(y.shape):
        column, row = ((g + 1) * size / 2 - 0.5 for g, size in zip(grid[n, i, j], (x.shape[3], x.shape[2])))
        y[n, c, i, j] = bilinear(x[n, c], row, column)
    return y


def regions(x, rois, images, samples):
    """Two by two means of samples within each region, which are inside of the image."""
    y = np.zeros((len(rois), x.shape[1], 2, 2), np.float32)
    for r, c, i, j in np.ndindex(y.shape):
        left, top, right, bottom = rois[r] - 0.5
        places = [(top + (i + (a + 0.5) / samples) * (bottom - top) / 2, left + (j + (b + 0.5) / samples) * (right - left) / 2)
                  for a in range(samples) for b in range(samples)]
        y[r, c, i, j] = np.mean([bilinear(x[images[r], c], *place) for place in places])
    return y


def attention(q, k, v, left, lengths):
    """Causal, over at most `left` keys before a query; queries are the last of the keys that count."""
    scores = np.einsum("bhid,bhjd->bhij", q, k) / np.sqrt(q.shape[3])
    for b, i, j in np.ndindex(q.shape[0], q.shape[2], k.shape[2]):
        at = i + lengths[b] - q.shape[2]
        if not at - left <= j <= at or j >= lengths[b]:
            scores[b, :, i, j] = -np.inf
    return np.einsum("bhij,bhjd->bhid", softmax(scores, 3), v).astype(np.float32)


def rotary(x, cosines, sines):
    a, b = np.split(x, 2, 3)
    return np.concatenate([a * cosines[:, None] - b * sines[:, None], a * sines[:, None] + b * cosines[:, None]], 3)


def linear(q, k, v, decay):
    """Two heads of queries and two of keys."""
    steps = [np.split(x, 2, 2) for x in (q, k, v)]
    y = np.zeros_like(v)
    size = v.shape[2] // 2
    for head, (qh, kh, vh) in enumerate(zip(*steps)):
        state = np.zeros((q.shape[0], qh.shape[2], size))
        for t in range(q.shape[1]):
            state = state * np.exp(decay[:, t, head])[:, None, None] + kh[:, t, :, None] * vh[:, t, None, :]
            y[:, t, head * size:(head + 1) * size] = np.einsum("bd,bdm->bm", qh[:, t], state) / np.sqrt(qh.shape[2])
    return y


def layers():
    a, b, row = f32(6, 5), f32(6, 5), f32(5)
    q, k, v = f32(2, 2, 3, 4), f32(2, 2, 6, 4), f32(2, 2, 6, 4)
    lengths = i64(6, 4)
    yield "attention_window", case("Attention", {"a": q, "b": k, "c": v, "g": lengths}, attention(q, k, v, 2, lengths),
                                   version=28, is_causal=1, left_window_size=2)
    angles = random.uniform(0, 6, (2, 3, 2)).astype(np.float32)
    yield "rotary", case("RotaryEmbedding", {"a": q, "b": np.cos(angles), "c": np.sin(angles)},
                         rotary(q, np.cos(angles), np.sin(angles)), version=23)
    lq, lk, lv, decay = f32(6, 5, 4), f32(6, 5, 4), f32(6, 5, 6), -np.abs(f32(6, 5, 2))
    yield "linear_attention", case("LinearAttention", {"a": lq, "b": lk, "c": lv, "e": decay}, linear(lq, lk, lv, decay), version=27,
                                   q_num_heads=2, kv_num_heads=2, update_rule="gated")
    signal, taps = f32(6, 3, 5), f32(3, 1, 2)
    padded = np.pad(signal, [(0, 0), (0, 0), (1, 0)])
    yield "causal_conv", case("CausalConvWithState", {"a": signal, "b": taps},
                              (padded[:, :, :-1] * taps[:, 0, 0, None] + signal * taps[:, 0, 1, None], signal[:, :, -1:]), version=27)
    yield "swiglu", case("SwiGLU", {"a": a, "b": b}, a / (1 + np.exp(-a)) * b, version=28)
    cache, update = f32(2, 5, 3), f32(2, 2, 3)
    moved = cache.copy()
    moved[0, [4, 0]], moved[1, 1:3] = update[0], update[1]
    yield "tensor_scatter", case("TensorScatter", {"a": cache, "b": update, "c": i64(4, 1)}, moved, version=24, mode="circular")
    x3, y3 = f32(6, 2, 3), f32(6, 3, 2)
    yield "einsum", case("Einsum", {"a": x3, "b": y3, "c": row}, np.einsum("bij,bji,k->kb", x3, y3, row), equation="bij, bji, k -> kb")
    square = f32(6, 3, 3)
    yield "einsum_diagonal", case("Einsum", {"a": square}, np.einsum("...ii->...i", square), equation="...ii->...i")
    yield "det", case("Det", {"a": square}, np.linalg.det(square.astype(np.float64)).astype(np.float32))
    yield "softmax_11", case("Softmax", {"a": x3}, softmax(x3.reshape(6, 6), 1).reshape(6, 2, 3), version=11)
    m, s = np.zeros_like(a), np.abs(b)
    g = b + 0.1 * a
    moments = 0.1 * g, 0.999 * s + 0.001 * g * g
    rate = 0.5 * np.sqrt(1 - 0.999 ** 3) / (1 - 0.9 ** 3)
    yield "adam", case("ai.onnx.preview.training.Adam", {"a": np.float32(0.5).reshape(()), "b": np.array(3), "c": a, "d": b, "e": m, "f": s},
                       (a - rate * moments[0] / (np.sqrt(moments[1]) + 1e-6), *moments), norm_coefficient=0.1)


def images():
    x = f32(2, 3, 7, 8)
    each = windows(x, 2, 1, 2)
    yield "max_pool_dilated", case("MaxPool", {"a": x}, each.max((4, 5)), kernel_shape=[2, 2], dilations=[2, 2])
    yield "average_pool_dilated", case("AveragePool", {"a": x}, each.mean((4, 5)), kernel_shape=[2, 2], dilations=[2, 2])
    cut = windows(x, 2, 2, 1)
    numbers = windows(np.arange(x.size, dtype=np.int64).reshape(x.shape), 2, 2, 1)
    flat = cut.reshape(*cut.shape[:4], 4)
    places = np.take_along_axis(numbers.reshape(flat.shape), flat.argmax(4)[..., None], 4)[..., 0]
    yield "max_pool_indices", case("MaxPool", {"a": x}, (flat.max(4), places), kernel_shape=[2, 2], strides=[2, 2])
    low = np.zeros((1, 1, 4, 4), np.float32)
    low[0, 0, [0, 1, 3, 2], [1, 2, 0, 3]] = [5, 6, 7, 8]
    yield "max_unpool", case("MaxUnpool", {"a": np.array([[[[5, 6], [7, 8]]]], np.float32), "b": np.array([[[[1, 6], [12, 11]]]])}, low,
                             kernel_shape=[2, 2], strides=[2, 2])
    columns = f32(2, 3 * 4, 6)
    image = np.zeros((2, 3, 3, 4), np.float32)
    for tap in range(4):
        i, j = divmod(tap, 2)
        image[:, :, i:i + 2, j:j + 3] += columns.reshape(2, 3, 4, 2, 3)[:, :, tap]
    yield "col2im", case("Col2Im", {"a": columns}, image, {"b": i64(3, 4), "c": i64(2, 2)})
    yield "upsample_9", case("Upsample", {"a": x}, x.repeat(2, 2), {"b": np.array([1, 1, 2, 1], np.float32)}, version=9)
    weights = np.maximum(0, 1 - np.abs(np.arange(8) - (np.arange(4)[:, None] * 2 + 0.5)) / 2)
    yield "resize_antialias", case("Resize", {"a": x}, (x @ (weights / weights.sum(1, keepdims=True)).T).astype(np.float32),
                                   {"c": np.array([1, 1, 1, 0.5], np.float32)}, mode="linear", antialias=1, exclude_outside=1)
    grid = random.uniform(-1.2, 1.2, (2, 3, 4, 2)).astype(np.float32)
    yield "grid_sample", case("GridSample", {"a": x, "b": grid}, sampled(x, grid))
    theta = f32(2, 2, 3)
    gx, gy = np.meshgrid(np.linspace(-1, 1, 4), np.linspace(-1, 1, 3))
    yield "affine_grid", case("AffineGrid", {"a": theta}, np.einsum("nij,hwj->nhwi", theta, np.stack([gx, gy, gx * 0 + 1], 2)).astype(np.float32),
                              {"b": i64(2, 1, 3, 4)}, align_corners=1)
    rois = np.array([[1, 1, 5, 4], [2.5, 1.5, 6, 6]], np.float32)
    yield "roi_align", case("RoiAlign", {"a": x, "b": rois, "c": i64(1, 0)}, regions(x, rois, (1, 0), 2), output_height=2, output_width=2,
                            sampling_ratio=2)
    kernel = f32(4, 3, 2, 2)
    offsets = np.zeros((2, 8, 5, 7), np.float32)
    offsets[:, ::2] = 1  # one row down
    yield "deform_conv", case("DeformConv", {"a": x, "b": kernel, "c": offsets}, convolution(x[:, :, 1:], kernel, np.zeros(4), 1, 0, 0, 1))


def signals():
    x = f32(2, 8, 1)
    spectrum = np.fft.rfft(x[:, :, 0])
    yield "dft", case("DFT", {"a": x}, np.stack([spectrum.real, spectrum.imag], 2).astype(np.float32), onesided=1)
    both = f32(2, 5, 2)
    inverse = np.fft.ifft(both[:, :, 0] + 1j * both[:, :, 1])
    yield "dft_inverse", case("DFT", {"a": both}, np.stack([inverse.real, inverse.imag], 2).astype(np.float32), inverse=1)
    window = np.hanning(5)[:4].astype(np.float32)
    parts = np.fft.rfft(np.stack([x[:, i:i + 4, 0] * window for i in (0, 2, 4)], 1))
    yield "stft", case("STFT", {"a": x, "c": window}, np.stack([parts.real, parts.imag], 3).astype(np.float32), {"b": np.array(2)})
    yield "hann", case("HannWindow", {}, np.hanning(7).astype(np.float32), {"a": np.array(7)}, periodic=0)
    yield "range", case("Range", {}, np.arange(1, 3, 0.75, np.float32),
                        {"a": np.array(1, np.float32), "b": np.array(3, np.float32), "c": np.array(0.75, np.float32)})


def elements():
    a = f32(6, 5)
    reverse = np.cumprod(np.concatenate([a[:, 1:], np.ones((6, 1))], 1)[:, ::-1], 1)[:, ::-1]
    yield "cumprod", case("CumProd", {"a": a}, reverse.astype(np.float32), {"b": np.array(1)}, version=26, exclusive=1, reverse=1)
    yield "compress", case("Compress", {"a": a}, a[:, [0, 3]], {"b": np.array([True, False, False, True])}, axis=1)
    yield "center_crop_pad", case("CenterCropPad", {"a": a}, np.pad(a[1:4], [(0, 0), (1, 1)]), {"b": i64(3, 7)})
    rows = a.copy()
    rows[:3, 0], rows[:2, 1] = a[2::-1, 0], a[1::-1, 1]
    yield "reverse_sequence", case("ReverseSequence", {"a": a, "b": i64(3, 2, 1, 1, 1)}, rows)
    highest = a.copy()
    np.maximum.at(highest, [2, 2, 0], np.zeros((3, 5), np.float32))
    yield "scatter_max", case("ScatterND", {"a": a, "b": np.array([[2], [2], [0]])}, highest, {"c": np.zeros((3, 5), np.float32)}, reduction="max")
    bits = np.array([-8, 7, -1, 100], np.int8)
    yield "shift_signed", case("BitShift", {"a": bits, "b": np.array([1, 2, 9, 1], np.int8)}, np.array([-4, 1, -1, 50], np.int8),
                               version=28, direction="RIGHT")
    yield "bit_cast", case("BitCast", {"a": bits}, bits.view(np.uint8), version=26, to=2)
    yield "clip_10", case("Clip", {"a": a}, np.clip(a, -0.5, 0.25), version=10, min=-0.5, max=0.25)
    yield "slice_9", case("Slice", {"a": a}, a[1:-1, :2], version=9, starts=[1, 0], ends=[-1, 2], axes=[0, 1])
    wide = random.uniform(-3, 3, (6, 5)).astype(np.float32)
    whole = np.clip(np.rint(wide / np.float32(0.02)) + 7, 0, 255).astype(np.uint8)
    scale, zero = np.array(0.02, np.float32), np.array(7, np.uint8)
    yield "quantize", case("QuantizeLinear", {"a": wide, "b": scale}, whole, {"c": zero})
    yield "dequantize", case("DequantizeLinear", {"a": whole, "b": scale}, ((whole.astype(np.float32) - 7) * np.float32(0.02)), {"c": zero})
    other = random.integers(0, 255, (5, 3)).astype(np.uint8)
    yield "matmul_integer", case("MatMulInteger", {"a": whole, "b": other}, (whole.astype(np.int32) - 7) @ other.astype(np.int32), {"c": zero})


if __name__ == "__main__":
    raise SystemExit(main([*layers(), *images(), *signals(), *elements()]))
