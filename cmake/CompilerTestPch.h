// What the unit tests of the compiler include; precompiled once.
#include "cmake/CompilerPch.h"
#include "cmake/TestPch.h"
