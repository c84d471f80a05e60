//===- ThreadGroup.cpp - what the threads of a group do together ------------===//

#include "compiler/target/cuda/ThreadGroup.h"
#include "compiler/codegen/Combiner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace dgc {

/// All lanes of a warp.
static constexpr int64_t kAllLanes = 0xffffffff;

Value ThreadGroup::index(Value value) {
  if (value.getType().isIndex())
    return arith::IndexCastUIOp::create(builder, loc, code.indexType, value);
  return value.getType() == code.indexType ? value
                                           : arith::ExtUIOp::create(builder, loc, code.indexType, value).getResult();
}

Value ThreadGroup::shared(StringRef what, Type storage, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(code.module.getBody());
  std::string name = (code.kernel.getName() + "_" + what + Twine(arrays++)).str();
  auto global = LLVM::GlobalOp::create(builder, loc, LLVM::LLVMArrayType::get(storage, count), /*isConstant=*/false,
                                       LLVM::Linkage::Internal, name, Attribute(), /*alignment=*/16, /*addrSpace=*/3);
  builder.setInsertionPointToStart(&code.kernel.getBody().front());
  Value address = LLVM::AddressOfOp::create(builder, loc, global);
  return LLVM::AddrSpaceCastOp::create(builder, loc, code.pointer, address);
}

void ThreadGroup::blockBarrier() { gpu::BarrierOp::create(builder, loc); }

Value ThreadGroup::allLanes() { return arith::ConstantIntOp::create(builder, loc, builder.getI32Type(), kAllLanes); }

Value ThreadGroup::ballot(Value isTrue) {
  return NVVM::VoteSyncOp::create(builder, loc, builder.getI32Type(), allLanes(), isTrue, NVVM::VoteSyncKind::ballot);
}

Value ThreadGroup::threadOfBlock() { return index(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x)); }

Value ThreadGroup::blockOfGrid() { return index(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x)); }

void ThreadGroup::barrier() {
  if (geometry.groupSize != kWarp)
    return blockBarrier();
  NVVM::SyncWarpOp::create(builder, loc, allLanes());
}

/// The value of another lane of the warp, in words of 32 bits. gpu.shuffle takes f32, too, but then a kernel of GPT-2
/// has 3262 instructions of PTX for sm_90 and not 3258, and none of 753 kernels has fewer.
Value ThreadGroup::shuffle(Value value, int64_t mask) {
  Type type = value.getType(), i32 = builder.getI32Type();
  unsigned width = type.getIntOrFloatBitWidth();
  Type bits = builder.getIntegerType(width);
  if (isa<FloatType>(type))
    value = arith::BitcastOp::create(builder, loc, bits, value);
  auto word = [&](Value w) -> Value {
    return gpu::ShuffleOp::create(builder, loc, w, mask, kWarp, gpu::ShuffleMode::XOR).getShuffleResult();
  };
  if (width < 32) {
    value = arith::TruncIOp::create(builder, loc, bits, word(arith::ExtUIOp::create(builder, loc, i32, value)));
  } else if (width == 32) {
    value = word(value);
  } else {
    Value half = arith::ConstantIntOp::create(builder, loc, bits, 32);
    Value low = word(arith::TruncIOp::create(builder, loc, i32, value));
    Value shifted = arith::ShRUIOp::create(builder, loc, value, half);
    Value high = word(arith::TruncIOp::create(builder, loc, i32, shifted));
    high = arith::ShLIOp::create(builder, loc, arith::ExtUIOp::create(builder, loc, bits, high), half);
    value = arith::OrIOp::create(builder, loc, high, arith::ExtUIOp::create(builder, loc, bits, low));
  }
  return isa<FloatType>(type) ? arith::BitcastOp::create(builder, loc, type, value).getResult() : value;
}

Value ThreadGroup::reduce(linalg::LinalgOp op, unsigned number, Value value) {
  for (int64_t mask = kWarp / 2; mask > 0; mask /= 2)
    value = combine(builder, op, number, value, shuffle(value, mask));
  return geometry.groupSize == kWarp ? value : acrossWarps(op, number, value);
}

/// The values of the warps of a block, joined by every thread in the order of the warps.
Value ThreadGroup::acrossWarps(linalg::LinalgOp op, unsigned number, Value value) {
  int64_t warps = geometry.groupSize / kWarp;
  Type type = value.getType();
  Value memory = shared("warps", code.storageOf(type), warps);
  Value warp = code.divide(lane, kWarp);
  Value leads =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, code.modulo(lane, kWarp), code.constant(0));
  code.when(leads, [&] { code.store(value, memory, code.symbolFor(warp), type); });
  blockBarrier();
  Value total = code.load(memory, type, getAffineConstantExpr(0, code.context));
  for (int64_t i = 1; i < warps; ++i)
    total = combine(builder, op, number, total, code.load(memory, type, getAffineConstantExpr(i, code.context)));
  return total;
}

} // namespace dgc
