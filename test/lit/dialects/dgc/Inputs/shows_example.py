"""Fails unless a document shows the model of an example, comments left out, as it is."""

import sys

document, example = (open(path, encoding="utf-8").read() for path in sys.argv[1:3])
model = "".join(line for line in example.splitlines(keepends=True) if not line.startswith("//")).strip()
if f"```mlir\n{model}\n```" not in document:
    sys.exit(f"{sys.argv[1]} does not show {sys.argv[2]} as it is")
