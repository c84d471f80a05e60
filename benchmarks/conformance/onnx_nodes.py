#!/usr/bin/env python3
"""Runs the node tests of ONNX: each a model of one node with inputs and expected outputs, which the package `onnx` makes.

usage: onnx_nodes.py [--bin DIR] [--jobs N] [--list FILE] [--refused FILE] [--expect FILE] [--only TEXT] [--ops]
Needs a Python with the package onnx. What says shapes, rounds of loops and branches has to be known when a model is compiled:
where dgc-compile asks for it, and where they have no elements, integer inputs of the test become constants of the model.
Sequences among inputs and outputs become one tensor each: the model makes the sequence of them, and takes it apart. --only
runs the tests whose names match a regular expression. Prints how many passed, were refused and failed; with --ops for each op;
--list writes one line for each test, --refused those that are refused with the reasons, as onnx_refused.txt has them. --expect
compares with such a file. Exits with 0 if none failed, and nothing differs from the file.
"""

import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

import refusals

KINDS = {np.dtype(t) for t in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")}


def is_small(array):
    """Whether an input may say a shape."""
    return array.ndim <= 1 and (array.dtype.kind in "iub" or array.size <= 16)


def frozen(model, inputs, is_constant=is_small):
    """The model with inputs as constants, integers of at most one dimension; and the other inputs."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    rest = {}
    kept = []
    for value in copy.graph.input:
        array = inputs[value.name]
        if is_constant(array):
            copy.graph.initializer.append(numpy_helper.from_array(array, value.name))
        else:
            kept.append(value)
            rest[value.name] = array
    del copy.graph.input[:]
    copy.graph.input.extend(kept)
    return copy, rest


def taken_apart(model, inputs, outputs):
    """The model with the elements of sequences as inputs and outputs, and their values."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    before, after = [], []
    arrays = {}
    values = list(copy.graph.input)
    del copy.graph.input[:]
    for value, given in zip(values, inputs):
        for i, array in enumerate(given if isinstance(given, list) else [given]):
            name = f"{value.name}_{i}" if isinstance(given, list) else value.name
            arrays[name] = array
            kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
            copy.graph.input.append(onnx.helper.make_tensor_value_info(name, kind, array.shape)
                                    if isinstance(given, list) else value)
        if isinstance(given, list):
            before.append(onnx.helper.make_node("SequenceConstruct", [f"{value.name}_{i}" for i in range(len(given))], [value.name]))
    values = list(copy.graph.output)
    del copy.graph.output[:]
    flat = []
    for value, given in zip(values, outputs):
        flat += given if isinstance(given, list) else [given]
        if not isinstance(given, list):
            copy.graph.output.append(value)
            continue
        for i, array in enumerate(given):
            after.append(onnx.helper.make_node("Constant", [], [f"at_{i}"], value_int=i))
            after.append(onnx.helper.make_node("SequenceAt", [value.name, f"at_{i}"], [f"{value.name}_{i}"]))
            kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
            copy.graph.output.append(onnx.helper.make_tensor_value_info(f"{value.name}_{i}", kind, array.shape))
    nodes = before + list(copy.graph.node) + after
    del copy.graph.node[:]
    copy.graph.node.extend(nodes)
    return copy, arrays, flat


def run(options, model, inputs, outputs, folder):
    """What happened: passed, refused or failed; and why."""
    path = os.path.join(folder, "model.onnx")
    plan, feed, fetch = (os.path.join(folder, name) for name in ("plan.dgcx", "in.npz", "out.npz"))
    onnx.save(model, path)
    try:
        compiled = subprocess.run([os.path.join(options.bin, "dgc-compile"), path, "-o", plan],
                                  capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "failed", "compilation took more than 120 s"
    if compiled.returncode != 0:
        reason = next((line for line in compiled.stderr.splitlines() if "error: " in line), compiled.stderr[:200])
        notes = [line.split("note: ")[1] for line in compiled.stderr.splitlines() if "note: " in line]
        reason = reason.split("error: ")[-1] + ("; " + ", ".join(notes) if notes else "")
        return ("refused" if compiled.returncode == 1 and "error: " in compiled.stderr else "failed"), reason
    names = [value.name for value in model.graph.input]
    arrays = [inputs[name] for name in names]
    np.savez(feed, **{f"in{i}": x.view(np.uint16) if x.dtype.name == "bfloat16" else x for i, x in enumerate(arrays)})
    ran = subprocess.run([os.path.join(options.bin, "dgc-run"), plan, "--feed", feed, "--fetch", fetch],
                         capture_output=True, text=True, timeout=120)
    if ran.returncode != 0:
        return "failed", "dgc-run: " + ran.stderr.strip()[:300]
    with np.load(fetch) as found:
        for i, expected in enumerate(outputs):
            actual = found[f"out{i}"]
            is_narrow = expected.dtype.name in ("bfloat16", "float16")  # one unit of these is of the largest element
            if expected.dtype.name == "bfloat16":
                actual = actual.view(expected.dtype).astype(np.float32) if actual.dtype == np.uint16 else actual
                expected = expected.astype(np.float32)
            if actual.shape != expected.shape or actual.dtype != expected.dtype:
                return "failed", f"output {i} is {actual.dtype}{actual.shape}, not {expected.dtype}{expected.shape}"
            finite = np.abs(expected[np.isfinite(expected)].astype(np.float64)) if is_narrow else np.zeros(0)
            atol = 1e-2 * finite.max(initial=0) if is_narrow else 1e-5
            if not np.allclose(actual, expected, rtol=2e-2 if is_narrow else 1e-3, atol=atol, equal_nan=True):
                return "failed", f"output {i} differs"
    return "passed", ""


def arrays_of(value):
    """Tensors as arrays, sequences as lists of them."""
    if isinstance(value, list):
        return [arrays_of(each) for each in value]
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


def is_ours(value):
    return isinstance(value, np.ndarray) and (value.dtype in KINDS or value.dtype.name == "bfloat16")


def check(options, case):
    model = case.model
    inputs, outputs = ([arrays_of(value) for value in values] for values in case.data_sets[0])
    if any(isinstance(value, list) for value in [*inputs, *outputs]):
        if not all(value and all(is_ours(each) for each in value) if isinstance(value, list) else is_ours(value)
                   for value in [*inputs, *outputs]):
            return "refused", "sequences without elements, or of other sequences or types"
        model, named, outputs = taken_apart(model, inputs, outputs)
    else:
        named = dict(zip([value.name for value in model.graph.input], inputs))
    if not all(is_ours(value) for value in [*named.values(), *outputs]):
        return "refused", "inputs or outputs that are no tensors of dgc's types"
    if any(value.size == 0 and value.dtype.kind in "iu" for value in named.values()):
        model, named = frozen(model, named, lambda array: array.size == 0 and array.dtype.kind in "iu")
    if any(value.size == 0 for value in [*named.values(), *outputs]):
        return "refused", "tensors without elements"
    with tempfile.TemporaryDirectory() as folder:
        result = run(options, model, named, outputs, folder)
        if result[0] == "refused" and re.search("is no constant|not known when a model is compiled", result[1]):
            model, rest = frozen(model, named)
            result = run(options, model, rest, outputs, folder)
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list")
    parser.add_argument("--only", default="")
    parser.add_argument("--ops", action="store_true")
    refusals.add_options(parser)
    options = parser.parse_args()
    # Several versions of an op have tests of the same name; the first one is the newest.
    from onnx.backend.test.case.node import collect_testcases
    cases = [case for case in collect_testcases(None) if re.search(options.only, case.name)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda case: check(options, case), cases))
    counts = collections.Counter(result for result, _ in results)
    by_op = collections.defaultdict(collections.Counter)
    reasons = collections.Counter(reason for result, reason in results if result == "refused")
    for case, (result, _) in zip(cases, results):
        for op in {node.op_type for node in case.model.graph.node} if not case.name.endswith("_expanded") else ():
            by_op[op][result] += 1
    if options.list:
        with open(options.list, "w", encoding="utf-8") as file:
            for case, (result, reason) in sorted(zip(cases, results), key=lambda pair: pair[0].name):
                file.write(f"{case.name}: {result}{': ' + reason if reason else ''}\n")
    if options.ops:
        for op, each in sorted(by_op.items()):
            print(f"| {op} | {each['passed']} | {each['refused']} | {each['failed']} |")
    for reason, count in reasons.most_common(40):
        print(f"{count:5} refused: {reason}")
    passing = sum(1 for each in by_op.values() if each["passed"] and not each["failed"])
    print(f"{counts['passed']} passed, {counts['refused']} refused, {counts['failed']} failed; {passing} of {len(by_op)} ops pass")
    named = [(case.name, *result) for case, result in zip(cases, results)]
    is_as_expected = refusals.finish(options, named, lambda name: re.search(options.only, name))
    return 1 if counts["failed"] or not is_as_expected else 0


if __name__ == "__main__":
    raise SystemExit(main())
