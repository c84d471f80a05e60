// Why ops of ONNX that have no rule are not supported.

#include "compiler/import/onnx/Node.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace dgc::import {

std::string unsupported(StringRef op) {
  const StringRef why =
      llvm::StringSwitch<StringRef>(op)
          .Cases({"NonZero", "Unique", "NonMaxSuppression"}, "the shapes of its results depend on elements")
          .Cases({"RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"}, "strings")
          .Cases({"Optional", "OptionalGetElement", "OptionalHasElement"}, "values that may be absent")
          .Cases({"TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"}, "decision trees")
          .Cases({"Bernoulli", "Multinomial", "RandomNormalLike", "RandomUniformLike"},
                 "random numbers that are drawn anew in each run")
          .Case("ImageDecoder", "files of images")
          .Default("");
  return ("'" + op + "'" + (why.empty() ? "" : ": ") + why).str();
}

} // namespace dgc::import
