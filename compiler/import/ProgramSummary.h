// What is in a program of another framework, before it is compiled.

#ifndef DGC_COMPILER_IMPORT_PROGRAMSUMMARY_H
#define DGC_COMPILER_IMPORT_PROGRAMSUMMARY_H

#include "compiler/import/Import.h"
#include "compiler/import/Refusals.h"
#include <map>

namespace dgc::import {

struct ProgramSummary {
  struct Value {
    std::string name;
    std::string type;             // `f32 [8x?]`
    std::string sharding;         // as the program says it; empty: none
    bool isState = false;         // of an input: it is kept from call to call
    std::optional<size_t> result; // of state: the result that is its new value
    int64_t batchDim = -1;        // of an input
    bool isNewValue = false;      // of a result: of state
  };
  std::string name, format, producer;
  std::vector<std::pair<std::string, int64_t>> operatorSets; // of ONNX, each with its version
  std::string entry;
  std::vector<Value> inputs, outputs;
  int64_t stateElements = 0, constantElements = 0; // of floats: in state, and in constants of at least one dimension
  std::map<std::string, int64_t> ops;              // as written: those of functions and regions once
  std::vector<std::string> meshes;
  llvm::SmallVector<Refusal> refusals;

  /// One line for each thing.
  std::string text() const;
  std::string json() const;
};

/// Describes the program in the main buffer, and reads it with the options as far as that goes: what is not supported is
/// in `refusals`, and nothing is printed. A model of dgc is refused.
ProgramSummary describeProgram(llvm::SourceMgr &sources, mlir::MLIRContext *context, const ImportOptions &options);

/// `f32`, `u8`, `complex<f32>`; and of a tensor with its shape `f32 [8x?]`.
std::string elementText(mlir::Type element);
std::string typeText(mlir::Type type);

} // namespace dgc::import

#endif // DGC_COMPILER_IMPORT_PROGRAMSUMMARY_H
