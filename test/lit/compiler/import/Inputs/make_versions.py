"""Makes step-VERSION.mlirbc: portable artifacts of the program of ../step.mlir, in the oldest, an early and a late version of
the format, with jaxlib 0.10.2.

usage: make_versions.py FOLDER
"""

import os
import sys

from jax._src.interpreters import mlir
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import stablehlo

HERE = os.path.dirname(os.path.abspath(__file__))

with mlir.make_ir_context(), open(os.path.join(HERE, "..", "step.mlir"), encoding="utf-8") as text:
    module = ir.Module.parse(text.read())
    passmanager.PassManager.parse("builtin.module(strip-debuginfo)").run(module.operation)
    for version in ("0.9.0", "1.0.0", "1.17.0"):
        with open(os.path.join(sys.argv[1], f"step-{version}.mlirbc"), "wb") as file:
            file.write(stablehlo.serialize_portable_artifact(module, version))
