//===- CpuTarget.cpp ------------------------------------------------------===//

#include "compiler/target/cpu/CpuTarget.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

namespace dgc {

// Features that generated code can profit from. Others of the host are left out, so that an artifact asks for no more
// than it may use.
static const char *const kRelevant[] = {"avx",      "avx2",    "avx512bf16", "avx512bitalg", "avx512bw", "avx512cd",
                                        "avx512dq", "avx512f", "avx512fp16", "avx512vbmi",   "avx512vl", "avx512vnni",
                                        "bmi",      "bmi2",    "f16c",       "fma",          "lzcnt",    "movbe",
                                        "popcnt",   "sse3",    "sse4.1",     "sse4.2",       "ssse3"};
static const char *const kLevel3[] = {"avx",   "avx2",   "bmi",  "bmi2", "cx16",   "f16c",   "fma",  "lzcnt",
                                      "movbe", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"};
static const char *const kLevel4[] = {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"};

bool CpuTarget::has(llvm::StringRef feature) const { return llvm::is_contained(features, feature); }

std::string CpuTarget::featureString() const {
  return llvm::join(llvm::map_range(features, [](const std::string &feature) { return "+" + feature; }), ",");
}

std::optional<CpuTarget> CpuTarget::parse(llvm::StringRef name, std::string &error) {
  CpuTarget target;
  target.triple = "x86_64-unknown-linux-gnu";
  if (name == "cpu") {
#ifndef __x86_64__
    error = "target 'cpu': this machine is not an x86-64; give x86-64-v3 or x86-64-v4";
    return std::nullopt;
#endif
    target.cpu = llvm::sys::getHostCPUName().str();
    llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
    for (const char *feature : kRelevant)
      if (host.lookup(feature))
        target.features.emplace_back(feature);
    return target;
  }
  if (name != "x86-64-v3" && name != "x86-64-v4") {
    error = "unknown target '" + name.str() + "'; for CPUs there are cpu (this machine), x86-64-v3 and x86-64-v4";
    return std::nullopt;
  }
  target.cpu = name.str();
  target.features.assign(std::begin(kLevel3), std::end(kLevel3));
  if (name == "x86-64-v4")
    target.features.insert(target.features.end(), std::begin(kLevel4), std::end(kLevel4));
  llvm::sort(target.features);
  return target;
}

} // namespace dgc
