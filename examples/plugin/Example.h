// The dialect and the pass of the example plug-in.

#ifndef EXAMPLE_H
#define EXAMPLE_H

#include "dialects/dgc/DGC.h"
#include "mlir/Pass/Pass.h"

#include "ExampleDialect.h.inc"

#define GET_OP_CLASSES
#include "ExampleOps.h.inc"

namespace example {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "ExamplePasses.h.inc"
} // namespace example

#endif // EXAMPLE_H
