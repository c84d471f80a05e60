// Headers that many files of the passes and of the compiler include; precompiled once. Each file includes what it needs all the
// same.
#include "cmake/MLIRPch.h"
#include "dialects/dgc/DGC.h"
#include "dialects/dist/Dist.h"
#include "dialects/exec/Exec.h"
