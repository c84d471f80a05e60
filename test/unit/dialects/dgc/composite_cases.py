"""Cases of CompositesTest.cpp: a composite op, its inputs, and the results or gradients that numpy gives in f64."""

import numpy as np

rng = np.random.default_rng(7)
cases = []
TYPES = {"float32": ("float", "F32", "f32"), "float64": ("double", "F64", "f64"), "int32": ("int32_t", "I32", "i32"),
         "int64": ("int64_t", "I64", "i64"), "uint8": ("uint8_t", "U8", "ui8")}


def tensor(array):
    name = TYPES[str(array.dtype)][2]
    return "tensor<" + "".join(f"{n}x" for n in array.shape) + name + ">"


def literal(array):
    kind, dtype, _ = TYPES[str(array.dtype)]
    shape = ", ".join(str(n) for n in array.shape)
    values = ", ".join(repr(v).replace("inf", "INFINITY") for v in array.reshape(-1).tolist())
    return f"HostArray::of({{{shape}}}, std::vector<{kind}>{{{values}}}, DType::{dtype})"


def case(name, body, inputs, results, tolerance=2e-5):
    """`body` has %0, %1, .. for the inputs, {0}, {1}, .. for their types, and %r0, %r1, .. for the results."""
    results = [np.asarray(r, np.float32) for r in results]
    types = [tensor(a) for a in inputs]
    for i, t in enumerate(types):
        body = body.replace("{%d}" % i, t)
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
    for i in range(len(inputs)):
        body = body.replace(f"%{i}", f"%a{i}")
    outs = ", ".join(tensor(r) for r in results)
    values = ", ".join(f"%r{i}" for i in range(len(results)))
    text = f"func.func @f({arguments}) -> ({outs}) {{\n  {body}\n  return {values} : {outs}\n}}\n"
    given = ", ".join(f'{{"arg{i}", {literal(a)}}}' for i, a in enumerate(inputs))
    expected = ", ".join(f'{{"result{i}", {literal(r)}}}' for i, r in enumerate(results))
    cases.append(f'{{"{name}",\n R"({text})",\n {{{given}}},\n {{{expected}}}, {tolerance}}},\n')


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def wide(*arrays):
    return [a.astype(np.float64) for a in arrays]


# Gradients: central differences of the formulas, in f64, of the sum of the results times fixed numbers.
def gradient_case(name, op, inputs, wanted, formula):
    """`op` computes %y of the inputs; `formula` does so in numpy; `wanted` are the numbers of the inputs to derive by."""
    values = wide(*inputs) if all(a.dtype == np.float32 for a in inputs) else [
        a.astype(np.float64) if a.dtype == np.float32 else a for a in inputs]
    y = np.asarray(formula(*values))
    weights = normal(*y.shape)

    def loss(values):
        return (np.asarray(formula(*values)) * weights.astype(np.float64)).sum()

    gradients = []
    for k in wanted:
        gradient = np.zeros(values[k].shape)
        for at in np.ndindex(*values[k].shape):
            ends = []
            for h in (1e-5, -1e-5):
                moved = [v.copy() for v in values]
                moved[k][at] += h
                ends.append(loss(moved))
            gradient[at] = (ends[0] - ends[1]) / 2e-5
        gradients.append(gradient)
    type_y = "tensor<" + "".join(f"{n}x" for n in y.shape) + "f32>"
    given = list(inputs) + [weights]
    dims = ", ".join(str(d) for d in range(y.ndim))
    body = f"{op}\n  %p = dgc.multiply %y, %{len(inputs)} : {type_y}\n"
    body += f"  %l = dgc.reduce sum %p dims [{dims}] : {type_y}\n" if y.ndim else ""
    results = ", ".join(f"%r{i}" for i in range(len(wanted)))
    by = ", ".join(f"%{k}" for k in wanted)
    types = ", ".join("{%d}" % k for k in wanted)
    body += f"  {results} = dgc.gradient {'%l' if y.ndim else '%p'} wrt {by} : tensor<f32>, {types}"
    case("gradient_" + name, body, given, gradients, 2e-4)


def write(path, script):
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"// Written by {script}.\n// clang-format off\n")
        f.writelines(cases)
