// The programs of libFuzzer: fuzz_READER runs the reader of its name.
#include "test/unit/readers/Reader.h"

using namespace dgc::rt::test;

static const Reader *reader;

extern "C" int LLVMFuzzerInitialize(int *, char ***argv) {
  const std::string_view program = **argv;
  for (const Reader &each : readers())
    if (program.ends_with("fuzz_" + std::string(each.name)))
      reader = &each;
  require(reader, "the program is called fuzz_READER");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  reader->read({data, size});
  return 0;
}
