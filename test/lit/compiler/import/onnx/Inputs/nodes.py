"""Models of ONNX with one node each: writes them, and compares what dgc computes with NumPy.

nodes.py write FOLDER: a folder NAME for each case, with model.txt (protobuf as text) and in.npz
nodes.py compare FOLDER: FOLDER/NAME/out.npz of every case against NumPy
nodes.py names
"""

import os
import sys

import numpy as np

TYPES = {np.dtype("f4"): 1, np.dtype("u1"): 2, np.dtype("i1"): 3, np.dtype("i8"): 7, np.dtype("?"): 9, np.dtype("i4"): 6,
         np.dtype("u4"): 12}
random = np.random.default_rng(3)


def f32(*shape):
    return random.uniform(-1, 1, shape).astype(np.float32)


def i64(*values):
    return np.array(values, np.int64)


def text_of(name, value):
    """A field of an attribute."""
    if isinstance(value, str):
        return f'attribute {{ name: "{name}" type: STRING s: "{value}" }}'
    if isinstance(value, float):
        return f'attribute {{ name: "{name}" type: FLOAT f: {value} }}'
    if isinstance(value, int):
        return f'attribute {{ name: "{name}" type: INT i: {value} }}'
    return f'attribute {{ name: "{name}" type: INTS ' + " ".join(f"ints: {v}" for v in value) + " }"


def info(kind, name, array):
    dims = " ".join(f"dim {{ dim_value: {size} }}" for size in array.shape)
    return f'{kind} {{ name: "{name}" type {{ tensor_type {{ elem_type: {TYPES[array.dtype]} shape {{ {dims} }} }} }} }}'


def model(op, inputs, constants, outputs, attributes):
    """One node. Operands that are left out between others are absent; the name of an op has its domain before it."""
    attributes = dict(attributes)
    version = attributes.pop("version", 20)
    domain, _, op = op.rpartition(".")
    given = {**inputs, **constants}
    letters = [chr(c) for c in range(ord("a"), ord(max(given)) + 1)] if given else []
    node = f'op_type: "{op}" domain: "{domain}" name: "the_node" '
    node += " ".join(f'input: "{name if name in given else ""}"' for name in letters)
    node += "".join(f' output: "y{i}"' for i in range(len(outputs)))
    node += " " + " ".join(text_of(name, value) for name, value in attributes.items())
    lines = ["ir_version: 9", f'opset_import {{ domain: "" version: {version} }}']
    if domain:
        lines.append(f'opset_import {{ domain: "{domain}" version: 1 }}')
    lines += ["graph {", '  name: "g"', f"  node {{ {node} }}"]
    for name, array in constants.items():
        kind = "float_data" if array.dtype.kind == "f" else "int64_data" if array.dtype.itemsize == 8 else "int32_data"
        values = " ".join(f"{kind}: {v + 0}" for v in array.ravel())
        dims = " ".join(f"dims: {size}" for size in array.shape)
        lines.append(f'  initializer {{ name: "{name}" data_type: {TYPES[array.dtype]} {dims} {values} }}')
    lines += ["  " + info("input", name, array) for name, array in inputs.items()]
    lines += ["  " + info("output", f"y{i}", array) for i, array in enumerate(outputs)]
    return "\n".join(lines + ["}"]) + "\n"


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def convolution(x, w, b, stride, low, high, groups):
    x = np.pad(x, [(0, 0), (0, 0), (low, high), (low, high)])
    rows, columns = ((size - k) // stride + 1 for size, k in zip(x.shape[2:], w.shape[2:]))
    y = np.zeros((x.shape[0], w.shape[0], rows, columns), np.float32)
    width = w.shape[1]
    for o in range(w.shape[0]):
        first = o // (w.shape[0] // groups) * width
        for i in range(rows):
            for j in range(columns):
                part = x[:, first:first + width, i * stride:i * stride + w.shape[2], j * stride:j * stride + w.shape[3]]
                y[:, o, i, j] = (part * w[o]).sum((1, 2, 3)) + b[o]
    return y


def transposed(x, w, stride, pad):
    """Every element of x adds its multiple of the kernel."""
    n, c, h, k = x.shape[0], w.shape[1], x.shape[2], w.shape[2]
    full = np.zeros((n, c, (h - 1) * stride + k, (x.shape[3] - 1) * stride + k), np.float32)
    for i in range(h):
        for j in range(x.shape[3]):
            full[:, :, i * stride:i * stride + k, j * stride:j * stride + k] += np.einsum("nc,cokl->nokl", x[:, :, i, j], w)
    return full[:, :, pad:full.shape[2] - pad, pad:full.shape[3] - pad]


def pooled(x, k, stride, function):
    rows, columns = (x.shape[2] - k) // stride + 1, (x.shape[3] - k) // stride + 1
    return np.stack([np.stack([function(x[:, :, i * stride:i * stride + k, j * stride:j * stride + k], (2, 3))
                               for j in range(columns)], -1) for i in range(rows)], 2)


def lstm(x, w, r, b):
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    h = c = np.zeros((x.shape[1], r.shape[2]), np.float32)
    size, steps = r.shape[2], []
    for step in x:
        i, o, f, g = np.split(step @ w[0].T + h @ r[0].T + b[0, :4 * size] + b[0, 4 * size:], 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        steps.append(h)
    return np.stack(steps)[:, None], h[None], c[None]


def case(op, inputs, outputs, constants=None, **attributes):
    """Inputs and constants are named a, b, c .. in the order of the node's operands."""
    return op, inputs, constants or {}, outputs if isinstance(outputs, tuple) else (outputs,), attributes


def cases():
    a, b, row = f32(6, 5), f32(6, 5), f32(5)
    image, kernel, bias = f32(6, 4, 7, 8), f32(6, 2, 3, 3), f32(6)
    up, x3, tokens = f32(4, 3, 3, 3), f32(6, 3, 4), np.array([[1, -1], [0, 3], [2, 2]], np.int64)
    w, r, lb = f32(1, 12, 4), f32(1, 12, 3), f32(1, 24)
    table = f32(6, 4)
    yield "add_broadcast", case("Add", {"a": a, "b": row}, a + row)
    yield "greater", case("Greater", {"a": a, "b": b}, a > b)
    yield "where", case("Where", {"a": a > 0, "b": a, "c": b}, np.where(a > 0, a, b))
    yield "clip", case("Clip", {"a": a}, np.clip(a, -0.5, 0.25), {"b": np.float32(-0.5).reshape(()), "c": np.float32(0.25).reshape(())})
    for op, function in (("Sinh", np.sinh), ("Asinh", np.arcsinh), ("Atan", np.arctan)):
        yield op.lower(), case(op, {"a": a * 80}, function((a * 80).astype(np.float64)).astype(np.float32))
    yield "mod", case("Mod", {"a": i64(-5, 5, 7, -7), "b": i64(3, -3, 4, 4)}, np.mod(i64(-5, 5, 7, -7), i64(3, -3, 4, 4)))
    yield "elu", case("Elu", {"a": a}, np.where(a > 0, a, 0.5 * np.expm1(a)), alpha=0.5)
    yield "cast_to_bool", case("Cast", {"a": i64(0, 2, -1)}, np.array([False, True, True]), to=9)
    yield "gemm", case("Gemm", {"a": a, "b": b, "c": f32(6)}, None, transB=1, alpha=0.5, beta=2.0)
    yield "matmul_batched", case("MatMul", {"a": x3, "b": f32(4, 2)}, None)
    yield "softmax", case("Softmax", {"a": x3}, softmax(x3, 1), axis=1)
    yield "layer_norm", case("LayerNormalization", {"a": a, "b": row, "c": f32(5)}, None, epsilon=1e-3)
    yield "reduce_mean", case("ReduceMean", {"a": x3}, x3.mean((0, 2)), {"b": i64(0, -1)}, keepdims=0)
    yield "argmax", case("ArgMax", {"a": x3}, x3.argmax(1)[:, None], axis=1)
    yield "cumsum", case("CumSum", {"a": x3}, np.cumsum(x3[:, ::-1], 1)[:, ::-1], {"b": i64(1)}, reverse=1)
    yield "reshape", case("Reshape", {"a": x3}, x3.reshape(6, 2, 6), {"b": i64(0, 2, -1)})
    yield "transpose", case("Transpose", {"a": x3}, x3.transpose(1, 2, 0), perm=[1, 2, 0])
    yield "slice", case("Slice", {"a": x3}, x3[:, ::-2, 1:3], {"b": i64(-1, 1), "c": i64(-99, 3), "d": i64(1, 2), "e": i64(-2, 1)})
    yield "split", case("Split", {"a": x3}, tuple(np.split(x3, [1], 1)), {"b": i64(1, 2)}, axis=1)
    yield "pad_reflect", case("Pad", {"a": a}, np.pad(a, [(0, 0), (2, 1)], "reflect"), {"b": i64(0, 2, 0, 1)}, mode="reflect")
    yield "expand", case("Expand", {"a": f32(6, 1)}, None, {"b": i64(2, 1, 3)})
    yield "gather", case("Gather", {"a": table, "b": tokens}, table[tokens])
    yield "gather_elements", case("GatherElements", {"a": table, "b": tokens}, np.take_along_axis(table[:3], np.mod(tokens, 4), 1), axis=1)
    yield "gather_nd", case("GatherND", {"a": table, "b": tokens}, table[tuple(tokens.T)])
    yield "one_hot", case("OneHot", {"a": i64(1, -1, 7), "c": np.array([0.5, 2], np.float32)}, None, {"b": i64(4)})
    yield "conv_grouped", case("Conv", {"a": image, "b": kernel, "c": bias}, convolution(image, kernel, bias, 2, 1, 0, 2),
                               strides=[2, 2], pads=[1, 1, 0, 0], group=2)
    yield "conv_transpose", case("ConvTranspose", {"a": image[:, :, :4, :5], "b": up}, transposed(image[:, :, :4, :5], up, 2, 1),
                                 strides=[2, 2], pads=[1, 1, 1, 1])
    yield "max_pool", case("MaxPool", {"a": image}, pooled(image, 3, 2, np.max), kernel_shape=[3, 3], strides=[2, 2])
    yield "average_pool", case("AveragePool", {"a": image}, pooled(image, 2, 1, np.mean), kernel_shape=[2, 2])
    yield "resize_nearest", case("Resize", {"a": image}, image.repeat(2, 2).repeat(3, 3),
                                 {"c": np.array([1, 1, 2, 3], np.float32)}, nearest_mode="floor",
                                 coordinate_transformation_mode="asymmetric")
    yield "lstm", case("LSTM", {"a": x3, "b": w, "c": r, "d": lb}, lstm(x3, w, r, lb), hidden_size=3)


def computed(name, inputs, constants):
    """Where the expected values need those that were drawn."""
    x = {**inputs, **constants}
    if name == "gemm":
        return (0.5 * x["a"] @ x["b"].T + 2 * x["c"],)
    if name == "matmul_batched":
        return (x["a"] @ x["b"],)
    if name == "layer_norm":
        a = x["a"]
        return ((a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-3) * x["b"] + x["c"],)
    if name == "expand":
        return (np.broadcast_to(x["a"], (2, 6, 3)),)
    if name == "one_hot":
        y = np.full((3, 4), x["c"][0], np.float32)
        y[0, 1] = y[1, 3] = x["c"][1]
        return (y,)
    raise KeyError(name)


def main(cases, computed=None):
    verb, folder = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    wrong = 0
    for name, (op, inputs, constants, outputs, attributes) in cases:
        if outputs[0] is None:
            outputs = computed(name, inputs, constants)
        path = os.path.join(folder, name)
        if verb == "names":
            print(name)
        elif verb == "write":
            os.makedirs(path)
            text = model(op, inputs, constants, outputs, attributes)
            with open(os.path.join(path, "model.txt"), "w", encoding="utf-8") as file:
                file.write(text)
            np.savez(os.path.join(path, "in.npz"), **inputs)
        else:
            with np.load(os.path.join(path, "out.npz")) as found:
                for i, expected in enumerate(outputs):
                    actual = found[f"y{i}"]
                    if actual.dtype != expected.dtype and expected.dtype != np.float64 or actual.shape != expected.shape or \
                            not np.allclose(actual, expected, rtol=1e-5, atol=1e-5):
                        print(f"{name}: result {i} differs")
                        wrong = 1
    return wrong


if __name__ == "__main__":
    raise SystemExit(main(cases(), computed))
