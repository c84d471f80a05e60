// The bytecode of the reference: its operations, and the check before it runs.
#pragma once

#include "runtime/base/DType.h"
#include "runtime/device/reference/Bytecode_generated.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace dgc::reference {

enum class Opcode : uint8_t {
#define DGC_OPCODE(Name, signature) Name,
#include "runtime/device/reference/Opcodes.def"
};

struct OpcodeInfo {
  std::string_view name, signature; // as in Opcodes.def
};

inline constexpr OpcodeInfo opcodeTable[] = {
#define DGC_OPCODE(Name, signature) {#Name, signature},
#include "runtime/device/reference/Opcodes.def"
};
inline constexpr size_t numOpcodes = std::size(opcodeTable);

constexpr bool isFloat(Type type) { return type >= Type::F16; }

/// Bytes of one element in memory; an i1 takes a byte that is 0 or 1.
constexpr uint64_t sizeOf(Type type) {
  constexpr uint8_t sizes[] = {1, 1, 2, 4, 8, 2, 2, 4, 8};
  return sizes[static_cast<int>(type)];
}

/// Width in bits.
constexpr unsigned widthOf(Type type) { return type == Type::I1 ? 1 : static_cast<unsigned>(8 * sizeOf(type)); }

/// The type of the elements of a buffer of a plan.
constexpr Type typeOf(rt::DType type) {
  constexpr Type types[rt::numDTypes] = {Type::I1,  Type::I8,  Type::I16, Type::I32,  Type::I64, Type::I8, Type::I16,
                                         Type::I32, Type::I64, Type::F16, Type::BF16, Type::F32, Type::F64};
  return types[static_cast<int>(type)];
}

/// The kernels in a section of an artifact, after all checks: an interpreter may trust every number and every place but
/// those of LoadAt. `bytes` outlives the result.
absl::StatusOr<const Kernels *> readKernels(std::span<const std::byte> bytes);

/// Whether a buffer of `count` elements of `type` is as a checked kernel takes it for an argument: an input, or then a result.
bool takes(const Kernel &kernel, uint32_t argument, Type type, uint64_t count);

} // namespace dgc::reference
