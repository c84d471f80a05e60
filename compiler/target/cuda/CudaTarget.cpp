//===- CudaTarget.cpp - the GPUs that kernels are compiled for --------------===//

#include "compiler/target/cuda/CudaTarget.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace dgc {

static constexpr unsigned kKnown[] = {80, 86, 89, 90, 100};

std::optional<CudaTarget> CudaTarget::parse(llvm::StringRef name, std::string &error) {
  CudaTarget target;
  llvm::StringRef list = name;
  list.consume_front("cuda:");
  for (llvm::StringRef part : llvm::split(list, ',')) {
    llvm::StringRef number = part.trim();
    number.consume_front("cuda:");
    unsigned architecture = 0;
    if (!number.consume_front("sm_") || number.getAsInteger(10, architecture) ||
        !llvm::is_contained(kKnown, architecture)) {
      error =
          "target '" + name.str() + "': '" + part.trim().str() +
          "' is no architecture of GPUs that is known; give one or several of sm_80, sm_86, sm_89, sm_90 and sm_100, "
          "as in cuda:sm_80,sm_90";
      return std::nullopt;
    }
    target.architectures.push_back(architecture);
  }
  llvm::sort(target.architectures);
  target.architectures.erase(llvm::unique(target.architectures), target.architectures.end());
  return target;
}

} // namespace dgc
