#!/usr/bin/python3
"""Imports, compiles and runs StableHLO programs that carry their expected values, and compares.

usage: stablehlo.py FOLDER.. [--bin DIR] [--jobs N] [--filter REGEX] [--list FILE] [--refused FILE] [--expect FILE]
                    [--target KIND]

Each file of a folder holds programs in the generic form, with `// -----` between them. A function without arguments checks its
values: `@main` by calls of check.expect_close, check.expect_almost_eq or check.expect_eq on a value and the expected one, or
any function by ops of the name check.expect_eq_const or check.expect_almost_eq_const with the expected value. Both values become
outputs, of an entry for each function. A program is called FOLDER/FILE, FOLDER/FILE:FUNCTION or FOLDER/FILE:FUNCTION#NUMBER.

Prints how many programs are right, refused and wrong; --list writes a line for each that is not right, --refused the programs
that are refused with the reasons, as stablehlo_refused.txt has them. --expect compares with such a file, as far as it is about
the folders and the programs of --filter. Exit status 1 when a program is wrong, or anything differs from the file.
"""

import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import numpy

import refusals

CHECK = re.compile(r'^ *"stablehlo\.custom_call"\((%[\w#:]+), (%[\w#:]+)\) <\{.*?call_target_name = "check\.(\w+)".*\}> : '
                   r'\((.+), (.+)\) -> \(\)\n', re.M)
ULPS = 3  # of check.expect_close, where the program does not say how many
SUMS = re.compile(r'"stablehlo\.(convolution|dot_general|dot|reduce|reduce_window|scatter)"')


CONSTANT_CHECK = re.compile(r'^ *"check\.(expect\w*)_const"\((%[\w#:]+)\) <\{(value = .+)\}> : \((.+)\) -> \(\)\n', re.M)
FUNCTION = re.compile(r'^  "func\.func"\(\) <\{.*?^  \}\) : \(\) -> \(\)\n', re.M | re.S)


def with_constant_outputs(text):
    """For each function that checks values by ops: its name, and the program with it as the entry, as with_outputs."""
    functions = FUNCTION.findall(text)
    for function in functions:
        checks = CONSTANT_CHECK.findall(function)
        if not checks or "function_type = () -> ()" not in function or "check.expect_serialized" in function:
            continue
        name = re.search(r'sym_name = "([^"]+)"', function).group(1)
        number = iter(range(len(checks)))
        entry = CONSTANT_CHECK.sub(lambda check: f'    %expected{next(number)} = "stablehlo.constant"() <{{{check[3]}}}> : () -> '
                                                 f"{check[4]}\n", function)
        values = ", ".join(f"{value}, %expected{i}" for i, (_, value, *_) in enumerate(checks))
        types = ", ".join(f"{type}, {type}" for *_, type in checks)
        entry = entry.replace('"func.return"() : () -> ()', f'"func.return"({values}) : ({types}) -> ()')
        entry = entry.replace("function_type = () -> ()", f"function_type = () -> ({types})")
        entry = entry.replace(f'sym_name = "{name}"', 'sym_name = "main"')
        others = "".join(each for each in functions if not CONSTANT_CHECK.search(each))
        yield name, f'"builtin.module"() ({{\n{others}{entry}}}) : () -> ()\n', [
            (kind, "bf16" in type) for kind, *_, type in checks]


def programs_of(path):
    """Name, text and kinds of checks of each program in a file."""
    name = os.path.join(*path.split(os.sep)[-2:])
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if CONSTANT_CHECK.search(text):
        seen = collections.Counter()
        for chunk in text.split("// -----"):
            for function, program, kinds in with_constant_outputs(chunk):
                seen[function] += 1
                number = f"#{seen[function]}" if seen[function] > 1 else ""
                yield f"{name}:{function}{number}", program, kinds
    else:
        yield name, *with_outputs(text)


def with_outputs(text):
    """The program with the values that it checks as results, and the kinds of checks."""
    begin = text.find('sym_name = "main"')
    if begin < 0:
        return None, []
    begin = text.rindex('"func.func"', 0, begin)
    end = text.index("\n  }) : () -> ()", begin)
    main = text[begin:end]
    checks = CHECK.findall(main)
    if not checks:
        return None, []
    main = CHECK.sub("", main)
    values = ", ".join(f"{a}, {b}" for a, b, *_ in checks)
    types = ", ".join(f"{s}, {t}" for *_, s, t in checks)
    main = re.sub(r'"func\.return"\(.*', f'"func.return"({values}) : ({types}) -> ()', main)
    main = re.sub(r"function_type = \(\) -> .*?(?=, (res_attrs|sym_name))", f"function_type = () -> ({types})", main)
    main = re.sub(r"res_attrs = \[.*?\], (?=sym_name)", "", main)
    return text[:begin] + main + text[end:], [(kind, "bf16" in type) for _, _, kind, type, _ in checks]


def is_equal(kind, actual, expected, bf16, sums):
    """bf16: the type in the program, which is f32 in the files. sums: it adds up, whose order is free, so that what is left
    of large terms is as exact as the largest element."""
    if actual.dtype.kind != "f":
        return bool((actual == expected).all())
    if kind == "expect_eq":
        return bool(((actual == expected) | (numpy.isnan(actual) & numpy.isnan(expected))).all())
    same = (actual == expected) | (numpy.isnan(actual) & numpy.isnan(expected))
    eps = 2.0 ** -7 if bf16 else numpy.finfo(actual.dtype).eps
    wide, wanted = actual.astype(numpy.float64), expected.astype(numpy.float64)
    with numpy.errstate(invalid="ignore"):
        size = numpy.maximum(abs(wanted), numpy.finfo(actual.dtype).tiny)
        if sums:
            size = numpy.maximum(size, numpy.max(abs(wanted), where=numpy.isfinite(wanted), initial=0))
        near = abs(wide - wanted) <= ULPS * eps * size
        if kind == "expect_almost_eq":
            near |= abs(wide - wanted) <= 1e-3 * numpy.maximum(abs(wanted), 1)
    return bool((same | near).all())


def run(name, text, kinds, options):
    if text is None:
        return name, "no check", ""
    with tempfile.TemporaryDirectory() as folder:
        model, plan, feed, out = (os.path.join(folder, each) for each in ("m.mlir", "m.dgcx", "in.npz", "out.npz"))
        with open(model, "w", encoding="utf-8") as file:
            file.write(text)
        numpy.savez(feed)
        command = [os.path.join(options.bin, "dgc-compile"), model, "-o", plan]
        if options.target:
            command += ["--target", options.target]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            if done.returncode != 0:
                kind = "refused" if done.returncode == 1 and "error:" in done.stderr else "crashed"
                reasons = re.findall(r"note: \d+ x (.*?)(?:; the first is here)?$", done.stderr, re.M)
                return name, kind, "; ".join(reasons) or (done.stderr.strip().split("\n") or [""])[0]
            done = subprocess.run([os.path.join(options.bin, "dgc-run"), plan, "--feed", feed, "--fetch", out],
                                  capture_output=True, text=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            return name, "hung", ""
        if done.returncode != 0:
            return name, "not run", (done.stderr.strip().split("\n") or [""])[-1]
        results = numpy.load(out)
        for i, (kind, bf16) in enumerate(kinds):
            actual, expected = results[f"out{2 * i}"], results[f"out{2 * i + 1}"]
            if not is_equal(kind, actual, expected, bf16, SUMS.search(text)):
                return name, "wrong", f"{kind} of result {i}"
    return name, "right", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", metavar="folder", nargs="+")
    parser.add_argument("--bin", default="build/dev/bin")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--filter", default="")
    parser.add_argument("--list")
    parser.add_argument("--target")
    refusals.add_options(parser)
    options = parser.parse_args()
    folders = [os.path.abspath(folder) for folder in options.folders]
    files = sorted(os.path.join(folder, name) for folder in folders for name in os.listdir(folder) if name.endswith(".mlir"))
    programs = [each for file in files for each in programs_of(file) if re.search(options.filter, each[0])]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda program: run(*program, options), programs))
    counts = collections.Counter(kind for _, kind, _ in results)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    if options.list:
        with open(options.list, "w", encoding="utf-8") as file:
            for name, kind, reason in results:
                if kind != "right":
                    file.write(f"{name}: {kind}: {reason}\n")
    names = {os.path.basename(folder) for folder in folders}
    is_as_expected = refusals.finish(options, results,
                                     lambda name: name.split("/")[0] in names and re.search(options.filter, name))
    return 1 if not is_as_expected or set(counts) - {"right", "refused", "no check"} else 0


if __name__ == "__main__":
    sys.exit(main())
