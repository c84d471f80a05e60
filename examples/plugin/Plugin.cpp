// What the plug-in consists of.

#include "compiler/driver/Plugin.h"
#include "Example.h"

DGC_PLUGIN({.name = "example",
            .passes = {"example-report-replicated"},
            .registerPasses = example::registerExamplePasses,
            .registerDialects = [](mlir::DialectRegistry &registry) { registry.insert<example::ExampleDialect>(); }})
