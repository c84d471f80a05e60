//===- ThreadGroupEmitter.cpp - code that the threads of a group share ------------------===//

#include "compiler/target/cuda/ThreadGroupEmitter.h"
#include "compiler/target/cuda/GridEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dgc {

Value ThreadGroupEmitter::call(StringRef function, Type result, ValueRange operands) {
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(function);
  if (!callee) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    SmallVector<Type> types(operands.getTypes());
    Type type = result ? result : LLVM::LLVMVoidType::get(context);
    callee = LLVM::LLVMFuncOp::create(top, loc, function, LLVM::LLVMFunctionType::get(type, types));
  }
  auto op = LLVM::CallOp::create(builder, loc, callee, operands);
  return result ? op.getResult() : Value();
}

/// A number of 32 bits that is not negative, as an index.
Value ThreadGroupEmitter::index(Value number) {
  return number.getType() == indexType ? number : arith::ExtUIOp::create(builder, loc, indexType, number).getResult();
}

Value ThreadGroupEmitter::divide(Value value, int64_t by) {
  return by == 1 ? value : arith::DivUIOp::create(builder, loc, value, constant(by)).getResult();
}

Value ThreadGroupEmitter::modulo(Value value, int64_t by) {
  return by == 1 ? constant(0) : arith::RemUIOp::create(builder, loc, value, constant(by)).getResult();
}

/// Fills the inside of a condition; null: always.
void ThreadGroupEmitter::when(Value condition, llvm::function_ref<void()> inside) {
  if (!condition)
    return inside();
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  branch.thenBlock()->getTerminator()->erase();
  Operation *outer = scopes[current].before;
  scopes[current].before = branch;
  enter(branch.thenBlock(), /*conditional=*/true);
  inside();
  scf::YieldOp::create(builder, loc);
  closeLoop();
  scopes[current].before = outer;
  moveTo(current);
}

/// Memory of the block.
Value ThreadGroupEmitter::shared(StringRef what, Type storage, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(module.getBody());
  std::string name = (kernel.getName() + "_" + what + Twine(arrays++)).str();
  auto global = LLVM::GlobalOp::create(builder, loc, LLVM::LLVMArrayType::get(storage, count), /*isConstant=*/false,
                                       LLVM::Linkage::Internal, name, Attribute(), /*alignment=*/16, /*addrSpace=*/3);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  Value address = LLVM::AddressOfOp::create(builder, loc, global);
  return LLVM::AddrSpaceCastOp::create(builder, loc, pointer, address);
}

void ThreadGroupEmitter::groupBarrier() {
  call(geometry.groupSize == kWarp ? device_function::warpBarrier : device_function::barrier, {});
}

/// The value of another lane of the warp.
Value ThreadGroupEmitter::shuffle(Value value, int64_t mask) {
  Type type = value.getType(), i32 = builder.getI32Type();
  unsigned width = type.getIntOrFloatBitWidth();
  Type bits = builder.getIntegerType(width);
  if (isa<FloatType>(type))
    value = arith::BitcastOp::create(builder, loc, bits, value);
  Value distance = arith::ConstantIntOp::create(builder, loc, i32, mask);
  auto word = [&](Value w) { return call(device_function::shuffle, i32, {w, distance}); };
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

/// Memory of the thread.
Value ThreadGroupEmitter::scratch(Type storage, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  return LLVM::AllocaOp::create(builder, loc, pointer, storage, constant(count), 16);
}

Value ThreadGroupEmitter::reduceAcrossGroup(linalg::LinalgOp op, unsigned number, Value value) {
  if (geometry.columns)
    return acrossColumns(op, number, value);
  for (int64_t mask = kWarp / 2; mask > 0; mask /= 2)
    value = combine(op, number, value, shuffle(value, mask));
  return geometry.groupSize == kWarp ? value : acrossWarps(op, number, value);
}

/// The values of the warps of a block, joined by every thread in the order of the warps.
Value ThreadGroupEmitter::acrossWarps(linalg::LinalgOp op, unsigned number, Value value) {
  int64_t warps = geometry.groupSize / kWarp;
  Type type = value.getType();
  Value memory = shared("warps", storageOf(type), warps);
  Value warp = divide(lane, kWarp);
  Value leads = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, modulo(lane, kWarp), constant(0));
  when(leads, [&] { store(value, memory, symbolFor(warp), type); });
  call(device_function::barrier, {});
  Value total = load(memory, type, getAffineConstantExpr(0, context));
  for (int64_t i = 1; i < warps; ++i)
    total = combine(op, number, total, load(memory, type, getAffineConstantExpr(i, context)));
  return total;
}

/// The values of the threads of a column, joined by each of them in the order of the lanes.
Value ThreadGroupEmitter::acrossColumns(linalg::LinalgOp op, unsigned number, Value value) {
  Type type = value.getType();
  Value memory = shared("columns", storageOf(type), kWarp * geometry.groupSize);
  store(value, memory, symbolFor(thread), type);
  call(device_function::barrier, {});
  AffineExpr column = symbolFor(threadGroup);
  Value total = load(memory, type, column);
  for (int64_t i = 1; i < geometry.groupSize; ++i)
    total = combine(op, number, total, load(memory, type, column + i * kWarp));
  return total;
}

} // namespace dgc
