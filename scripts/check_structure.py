#!/usr/bin/python3
"""Checks what the structure of the sources promises and no compiler checks: which folder includes which, that only
targets know which target they are, that every phase has a verifier, that files have a readable length.

usage: check_structure.py [--counts]
Prints `file:line: what is wrong` for each violation. Exit status 0 when there is none.
--counts prints the number of violations of each rule instead.
"""

import collections
import os
import re
import subprocess
import sys

PHASES = ["model", "place", "gradient", "shard", "partition", "communicate", "kernel", "schedule"]
MAX_LINES = 500

# What the files of a folder may include, beside their own folder. `*` stands for all of a room.
INCLUDES = {
    "dialects": [],
    "passes/analysis": ["dialects"],
    **{f"passes/{phase}": ["dialects", "passes/analysis", "runtime/artifact"] + [f"passes/{p}" for p in PHASES[:i]]
       for i, phase in enumerate(PHASES)},
    "compiler/codegen": ["dialects", "passes", "runtime/base", "runtime/artifact"],
    "compiler/package": ["dialects", "compiler/codegen", "runtime/artifact", "runtime/base"],
    "compiler/target": ["dialects", "passes", "compiler/codegen", "runtime"],
    "compiler/import": ["dialects", "passes", "runtime/base", "runtime/checkpoint", "runtime/data"],
    "compiler/driver": ["dialects", "passes", "compiler", "runtime"],
    "compiler/verify": ["dialects", "passes", "compiler", "runtime"],
    "runtime/base": [],
    "runtime/net": ["runtime/base"],
    "runtime/artifact": ["runtime/base"],
    "runtime/collective": ["runtime/base", "runtime/net", "runtime/artifact"],
    "runtime/cluster": ["runtime/base", "runtime/net", "runtime/collective"],
    "runtime/data": ["runtime/base"],
    "runtime/checkpoint": ["runtime/base", "runtime/data"],
    "runtime/telemetry": ["runtime/base", "runtime/artifact"],
    "runtime/device": ["runtime/base", "runtime/artifact", "runtime/collective"],
    "runtime/executor": ["runtime/base", "runtime/artifact", "runtime/collective", "runtime/data", "runtime/device"],
    "runtime/verify": ["runtime/base", "runtime/artifact", "runtime/collective", "runtime/device", "runtime/executor"],
    "runtime/servers": ["runtime/base", "runtime/net", "runtime/artifact", "runtime/collective", "runtime/executor"],
    "runtime/driver": ["runtime"],
    "runtime/monitor": ["runtime/base", "runtime/net", "runtime/artifact", "runtime/executor", "runtime/telemetry"],
    "tools": ["compiler", "passes", "dialects", "runtime"],
}
ROOMS = ("dialects", "passes", "compiler", "runtime", "tools", "test", "benchmarks")

# A question about the target: only the folders of targets may ask it.
TARGET_QUESTION = re.compile(r'\bisCuda\b|\bisOnGpu\b|== "(cuda|cpu|reference)"')
TARGET_FOLDERS = ("compiler/target/", "runtime/device/", "test/", "benchmarks/", "examples/")

# The one switch over the actions of an artifact is the visitor.
ACTION_CASE = re.compile(r"\bcase (fb::|artifact::)?Action::(?!NONE)")
ACTION_SWITCH = "runtime/artifact/"

OWN_NAMESPACE = re.compile(r"^namespace mlir::(dgc|dist|exec)\b")


def folder_of(path):
    parts = path.split("/")
    for depth in (2, 1):
        if "/".join(parts[:depth]) in INCLUDES:
            return "/".join(parts[:depth])
    return None


def may_include(folder, header):
    own = header == folder or header.startswith(folder + "/")
    return own or any(header == allowed or header.startswith(allowed + "/") for allowed in INCLUDES[folder])


def check_file(path, report):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    if len(lines) - 1 > MAX_LINES:
        report("length", path, len(lines) - 1, f"{len(lines) - 1} lines, of {MAX_LINES} at most: split it by meaning")
    folder = folder_of(path)
    for number, line in enumerate(lines, 1):
        include = re.match(r'#include [<"](([\w.-]+)/[^">]+)[">]', line)
        if include and folder:
            header, room = include.groups()
            if room in ROOMS and not may_include(folder, header):
                report("includes", path, number, f"{folder} does not include {header}: see INCLUDES in {sys.argv[0]}")
            if room in ("mlir", "llvm", "clang", "lld") and folder.startswith("runtime/"):
                report("includes", path, number, f"the runtime includes nothing of {room}")
        if TARGET_QUESTION.search(line) and not path.startswith(TARGET_FOLDERS):
            report("target", path, number, "asks which target it is; make it a property of the target")
        if ACTION_CASE.search(line) and not path.startswith((ACTION_SWITCH, "test/")):
            report("actions", path, number, "a second switch over the actions; use the visitor")
        if OWN_NAMESPACE.search(line):
            report("namespace", path, number, "everything is in namespace dgc")


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    counts = collections.Counter(dict.fromkeys(["includes", "target", "actions", "namespace", "length", "verifier"], 0))
    violations = []

    def report(rule, path, line, text):
        counts[rule] += 1
        violations.append(f"{path}:{line}: {text}")

    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.cpp", "*.h", "*.td", "*.py"],
                            check=True, capture_output=True, text=True).stdout.split()
    for path in listed:
        if os.path.exists(path):
            check_file(path, report)
    for phase in PHASES:
        verifier = f"passes/{phase}/Verify{phase.capitalize()}.cpp"
        if not os.path.exists(verifier):
            report("verifier", f"passes/{phase}", 0, f"the phase has no verifier {verifier}")
    for phase in sorted(os.listdir("passes")):
        if os.path.isdir(f"passes/{phase}") and phase not in PHASES + ["analysis"]:
            report("includes", f"passes/{phase}", 0, "is no phase")

    if sys.argv[1:] == ["--counts"]:
        for rule, count in counts.items():
            print(f"{rule} {count}")
    elif sys.argv[1:]:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    else:
        print("\n".join(violations), end="\n" if violations else "")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
