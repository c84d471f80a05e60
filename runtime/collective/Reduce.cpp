// Chooses among the instruction sets that ReduceKernels.cpp was compiled for.
#include "runtime/collective/Reduce.h"

namespace dgc::rt {

namespace baseline {
ReduceFn select(int dtype, int reduction);
} // namespace baseline
#ifdef __x86_64__
namespace avx2 {
ReduceFn select(int dtype, int reduction);
} // namespace avx2
namespace avx512 {
ReduceFn select(int dtype, int reduction);
} // namespace avx512
#endif

namespace {

using Select = ReduceFn (*)(int, int);

#ifdef __x86_64__
bool hasAvx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
         __builtin_cpu_supports("bmi2");
}
bool hasAvx512() {
  return hasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

Select selectFor(std::string_view isa) {
#ifdef __x86_64__
  if (isa == "avx512")
    return hasAvx512() ? avx512::select : nullptr;
  if (isa == "avx2")
    return hasAvx2() ? avx2::select : nullptr;
#endif
  return isa == "baseline" ? baseline::select : nullptr;
}

} // namespace

ReduceFn selectReduceFor(std::string_view isa, DType dtype, Reduction reduction) {
  Select select = selectFor(isa);
  return select ? select(static_cast<int>(dtype), static_cast<int>(reduction)) : nullptr;
}

ReduceFn selectReduce(DType dtype, Reduction reduction) {
  for (std::string_view isa : {"avx512", "avx2"})
    if (ReduceFn fn = selectReduceFor(isa, dtype, reduction))
      return fn;
  return selectReduceFor("baseline", dtype, reduction);
}

} // namespace dgc::rt
