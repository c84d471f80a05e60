// The files that dgc-compile writes: reserved before the work, written as a whole or not at all.

#ifndef DGC_TOOLS_DGC_COMPILE_OUTPUTS_H
#define DGC_TOOLS_DGC_COMPILE_OUTPUTS_H

#include "mlir/IR/BuiltinOps.h"
#include "runtime/artifact/PlanSignature.h"
#include "runtime/artifact/Reader.h"
#include "runtime/base/OutputFile.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dgc::tool {

/// Prints what is wrong, if anything is; whether nothing is.
bool succeeds(const absl::Status &status);

/// What is written, and by whom plans are signed.
struct Outputs {
  std::string path;
  std::optional<rt::OutputFile> file, page;
  std::optional<rt::PlanSigner> signer;
  bool areShrunk = false; // before they are checked

  /// A file that is read, and what it is.
  using Input = std::pair<std::string, const char *>;
  /// Reserves the output and, where a path is given, the page, neither of which may be one of `inputs`. False, with a
  /// message, when one cannot be.
  bool open(const std::string &pagePath, const std::vector<Input> &inputs);
  /// Prints what workers need, and writes the page about a plan. False, with a message, when it cannot.
  bool describe(const rt::Artifact &artifact);
  /// Signs a plan if there is a signer. False, with a message, when it cannot.
  bool sign(std::vector<uint8_t> &plan) const;
  /// Replaces the output by a plan. False, with a message, when it cannot.
  bool write(const std::vector<uint8_t> &plan);
  /// The same with a range of plans, and prints how large they are.
  bool write(const std::vector<std::vector<uint8_t>> &plans, double seconds);
  /// The same with the text of a program.
  bool write(mlir::ModuleOp module);
};

/// Makes the folder of --dump-phases-to. False, with a message, when it cannot.
bool makeDumpFolder(const std::string &folder);

} // namespace dgc::tool

#endif // DGC_TOOLS_DGC_COMPILE_OUTPUTS_H
