// Loads an artifact with an installed runtime.

#include "runtime/artifact/Reader.h"
#include "runtime/base/Version.h"
#include <cstdio>

int main(int, char **argv) {
  auto artifact = dgc::rt::load(argv[1]);
  if (!artifact.ok()) {
    std::puts(std::string(artifact.status().message()).c_str());
    return 1;
  }
  std::printf("dgc %s: %u programs\n", DGC_VERSION, (*artifact)->plan().programs()->size());
}
