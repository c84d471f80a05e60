// write_mlp_plan OUT WORLD BATCH HIDDEN: writes the plan of MlpPlan.h, for tests of dgc-run without the compiler.
#include "runtime/base/OutputFile.h"
#include "test/unit/executor/MlpPlan.h"

#include <cstdio>
#include <string>

using namespace dgc::rt;

int main(int argc, char **argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: write_mlp_plan OUT WORLD BATCH HIDDEN\n");
    return 2;
  }
  test::MlpOptions options{static_cast<uint32_t>(std::stoul(argv[2])), std::stoi(argv[3]), std::stoi(argv[4])};
  auto bytes = finishPlan(test::mlpPlan(options, DGC_MLP_KERNELS));
  if (!bytes.ok())
    return 1;
  std::string_view text(reinterpret_cast<const char *>(bytes->data()), bytes->size());
  return writeFileAtomically(realDisk(), argv[1], text).ok() ? 0 : 1;
}
