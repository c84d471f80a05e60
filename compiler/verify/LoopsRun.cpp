#include "compiler/verify/LoopsRun.h"
#include "compiler/target/reference/NestWriter.h"
#include "dialects/dgc/AttributeNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "runtime/base/Status.h"
#include "runtime/verify/ElementOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <deque>

using namespace mlir;

namespace dgc {

using reference::Opcode;
using reference::Type;
using verify::Planes;
using verify::Tensor;

namespace {
/// A value: a number, or a place in a buffer.
struct Cell {
  uint64_t p = 0, q = 0;
  reference::Value v = {0};
  Tensor *buffer = nullptr;
  int64_t element = 0;

  Planes planes() { return {&p, &q, &v}; }
};

class LoopsRun {
public:
  LoopsRun(func::FuncOp body, const verify::InterpreterOptions &options) : body(body), elements(options) {}

  absl::Status run(std::span<Tensor *const> buffers, int64_t begin, int64_t end);

private:
  absl::Status runBlock(Block &block);
  absl::Status runOp(Operation *op);
  absl::Status runFor(scf::ForOp loop);
  absl::Status runIf(scf::IfOp op);
  absl::Status allocate(LLVM::AllocaOp op);
  absl::Status constant(LLVM::AddressOfOp op);
  absl::Status offset(LLVM::GEPOp op);
  absl::Status load(LLVM::LoadOp op);
  absl::Status store(LLVM::StoreOp op);
  absl::Status scalar(Operation *op);
  absl::Status evaluate(Operation *op, Opcode opcode, Type type, Type from, Cell &to, Cell *a, Cell *b, Cell *c);
  absl::Status compareIntegers(arith::CmpIOp op);
  absl::Status compareFloats(arith::CmpFOp op);

  Cell &at(Value value) { return cells[value]; }
  int64_t integer(Value value) { return at(value).v.i; }
  void copy(Value to, const Cell &from) {
    const Cell value = from; // `from` may move when `to` is new
    cells[to] = value;
  }
  absl::Status place(Operation *op, Value address, mlir::Type type, Tensor *&buffer, size_t &element);
  std::string message(Operation *op, absl::string_view what) {
    return rt::str("loops of kernel '", body.getName().str(), "': ", op->getName().getStringRef().str(), " ", what);
  }
  /// It is not known what the op does.
  absl::Status failed(Operation *op, absl::string_view what) { return absl::UnimplementedError(message(op, what)); }

  func::FuncOp body;
  verify::ElementOps elements;
  DenseMap<Value, Cell> cells;
  std::deque<Tensor> own; // what the function allocates
};
} // namespace

absl::Status LoopsRun::run(std::span<Tensor *const> buffers, int64_t begin, int64_t end) {
  for (auto [argument, buffer] : llvm::zip(body.getArguments(), buffers))
    at(argument).buffer = buffer;
  at(body.getArgument(body.getNumArguments() - 2)).v.i = begin;
  at(body.getArgument(body.getNumArguments() - 1)).v.i = end;
  return runBlock(body.front());
}

absl::Status LoopsRun::runBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (absl::Status status = runOp(&op); !status.ok())
      return status;
  return absl::OkStatus();
}

absl::Status LoopsRun::runOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, absl::Status>(op)
      .Case([&](scf::ForOp loop) { return runFor(loop); })
      .Case([&](scf::IfOp branch) { return runIf(branch); })
      .Case([&](LLVM::AllocaOp alloca) { return allocate(alloca); })
      .Case([&](LLVM::GEPOp address) { return offset(address); })
      .Case([&](LLVM::LoadOp access) { return load(access); })
      .Case([&](LLVM::StoreOp access) { return store(access); })
      .Case<LLVM::BitcastOp, LLVM::FreezeOp>([&](Operation *same) { // bits of what was moved as an integer
        copy(same->getResult(0), at(same->getOperand(0)));
        return absl::OkStatus();
      })
      .Case([&](LLVM::AddressOfOp address) { return constant(address); })
      .Case([&](arith::CmpIOp compare) { return compareIntegers(compare); })
      .Case([&](arith::CmpFOp compare) { return compareFloats(compare); })
      .Default([&](Operation *other) { return scalar(other); });
}

absl::Status LoopsRun::runFor(scf::ForOp loop) {
  const int64_t end = integer(loop.getUpperBound()), step = integer(loop.getStep());
  if (step <= 0)
    return failed(loop, rt::str("has a step of ", step));
  for (auto [argument, init] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
    copy(argument, at(init));
  for (int64_t i = integer(loop.getLowerBound()); i < end; i += step) {
    at(loop.getInductionVar()).v.i = i;
    if (absl::Status status = runBlock(*loop.getBody()); !status.ok())
      return status;
    SmallVector<Cell> yielded; // one may be an argument
    for (Value value : loop.getYieldedValues())
      yielded.push_back(at(value));
    for (auto [argument, cell] : llvm::zip_equal(loop.getRegionIterArgs(), yielded))
      copy(argument, cell);
  }
  for (auto [result, argument] : llvm::zip_equal(loop.getResults(), loop.getRegionIterArgs()))
    copy(result, at(argument));
  return absl::OkStatus();
}

absl::Status LoopsRun::runIf(scf::IfOp op) {
  Block *block = integer(op.getCondition()) ? op.thenBlock() : op.elseBlock();
  if (!block)
    return absl::OkStatus();
  absl::Status status = runBlock(*block);
  for (auto [result, value] : llvm::zip_equal(op.getResults(), block->getTerminator()->getOperands()))
    copy(result, at(value));
  return status;
}

absl::Status LoopsRun::allocate(LLVM::AllocaOp op) {
  std::optional<Type> type = bytecodeType(op.getElemType());
  if (!type)
    return failed(op, "is of no type of elements");
  Tensor &tensor = own.emplace_back(*type, static_cast<size_t>(integer(op.getArraySize())));
  verify::makeUndefined(tensor, verify::Undefined::High);
  at(op.getResult()).buffer = &tensor;
  return absl::OkStatus();
}

absl::Status LoopsRun::constant(LLVM::AddressOfOp op) {
  auto global = SymbolTable::lookupNearestSymbolFrom<LLVM::GlobalOp>(op, op.getGlobalNameAttr());
  auto elements = global ? dyn_cast_or_null<DenseElementsAttr>(global.getValueOrNull()) : DenseElementsAttr();
  std::optional<Type> type = elements ? bytecodeType(elements.getElementType()) : std::nullopt;
  if (!type)
    return failed(op, "is of no constant");
  Tensor &tensor = own.emplace_back(*type, static_cast<size_t>(elements.getNumElements()));
  for (size_t i = 0; i < tensor.count; ++i)
    if (tensor.isFloat())
      tensor.set(i, verify::fromDouble(elements.getValues<APFloat>()[i].convertToDouble()));
    else
      tensor.i[i] = elements.getValues<APInt>()[i].getSExtValue();
  at(op.getResult()).buffer = &tensor;
  return absl::OkStatus();
}

absl::Status LoopsRun::offset(LLVM::GEPOp op) {
  if (op.getIndices().size() != 1)
    return failed(op, "has several indices");
  LLVM::GEPIndicesAdaptor<ValueRange>::value_type index = op.getIndices()[0];
  Cell cell = at(op.getBase());
  cell.element += isa<IntegerAttr>(index) ? cast<IntegerAttr>(index).getInt() : integer(cast<Value>(index));
  copy(op.getResult(), cell);
  return absl::OkStatus();
}

/// The element of a buffer that an address is, whose type is that of the access. Truth is a byte in memory; the bits of a
/// 16-bit float may be moved as an integer.
absl::Status LoopsRun::place(Operation *op, Value address, mlir::Type type, Tensor *&buffer, size_t &element) {
  const Cell &cell = at(address);
  buffer = cell.buffer;
  if (!buffer || cell.element < 0 || cell.element >= static_cast<int64_t>(buffer->count))
    return absl::OutOfRangeError(
        message(op, rt::str("uses element ", cell.element, " of a buffer of ", buffer ? buffer->count : 0)));
  element = static_cast<size_t>(cell.element);
  Type expected = buffer->type;
  if (expected == Type::I1)
    expected = Type::I8;
  else if (isa<IntegerType>(type) && (expected == Type::BF16 || expected == Type::F16))
    expected = Type::I16;
  return bytecodeType(type) == expected ? absl::OkStatus() : failed(op, "uses a buffer of another type");
}

absl::Status LoopsRun::load(LLVM::LoadOp op) {
  Tensor *buffer = nullptr;
  size_t element = 0;
  if (absl::Status status = place(op, op.getAddr(), op.getType(), buffer, element); !status.ok())
    return status;
  Cell &cell = at(op.getResult());
  if (buffer->isFloat())
    cell.planes().set(0, buffer->number(element));
  else
    cell.v.i = buffer->type == Type::I1 ? buffer->i[element] & 1 : buffer->i[element];
  return absl::OkStatus();
}

absl::Status LoopsRun::store(LLVM::StoreOp op) {
  Tensor *buffer = nullptr;
  size_t element = 0;
  if (absl::Status status = place(op, op.getAddr(), op.getValue().getType(), buffer, element); !status.ok())
    return status;
  Cell &cell = at(op.getValue());
  if (buffer->isFloat())
    buffer->set(element, cell.planes().number(0));
  else
    buffer->i[element] = reference::wrapped(buffer->type, static_cast<uint64_t>(cell.v.i));
  return absl::OkStatus();
}

absl::Status LoopsRun::evaluate(Operation *op, Opcode opcode, Type type, Type from, Cell &to, Cell *a, Cell *b,
                                Cell *c) {
  auto planes = [](Cell *cell) { return cell ? cell->planes() : Planes{}; };
  absl::Status status = elements.run({opcode, type, from}, 1, to.planes(), planes(a), planes(b), planes(c));
  return status.ok() ? status : failed(op, status.message());
}

/// An op on numbers that the bytecode has as well, or a constant.
absl::Status LoopsRun::scalar(Operation *op) {
  const std::optional<Type> type = op->getNumResults() == 1 ? bytecodeType(op->getResult(0).getType()) : std::nullopt;
  TypedAttr constant;
  if (type && matchPattern(op, m_Constant(&constant))) {
    Cell &cell = at(op->getResult(0));
    if (auto number = dyn_cast<FloatAttr>(constant))
      cell.planes().set(0, verify::fromDouble(number.getValue().convertToDouble()));
    else
      cell.v.i = cast<IntegerAttr>(constant).getValue().getSExtValue();
    return absl::OkStatus();
  }
  std::optional<Opcode> opcode = opcodeOf(op);
  if (!type || !opcode || op->getNumOperands() > 3)
    return failed(op, "has no meaning in the fields");
  const Type from = *bytecodeType(op->getOperand(0).getType());
  if (isa<arith::IndexCastOp>(op) && reference::widthOf(*type) < reference::widthOf(from))
    opcode = Opcode::Narrow;
  Cell result;
  SmallVector<Cell *> operands(3, nullptr);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    operands[i] = &at(operand);
  absl::Status status = absl::OkStatus();
  if (*opcode == Opcode::ConvertFloat) // rounds nothing here
    result = *operands[0];
  else
    status = evaluate(op, *opcode, *type, from, result, operands[0], operands[1], operands[2]);
  copy(op->getResult(0), result);
  return status;
}

/// Values are sign-extended, which keeps the order of unsigned ones, too.
absl::Status LoopsRun::compareIntegers(arith::CmpIOp op) {
  auto extended = [&](Value value) { return APInt(64, static_cast<uint64_t>(integer(value))); };
  const bool holds = arith::applyCmpPredicate(op.getPredicate(), extended(op.getLhs()), extended(op.getRhs()));
  at(op.getResult()).v.i = holds ? -1 : 0;
  return absl::OkStatus();
}

absl::Status LoopsRun::compareFloats(arith::CmpFOp op) {
  const Outcomes outcomes = outcomesOf(op.getPredicate());
  const Type type = *bytecodeType(op.getLhs().getType());
  Cell a = at(op.getLhs()), b = at(op.getRhs()), equal, greater, less;
  absl::Status status = evaluate(op, Opcode::EqualF, Type::I1, type, equal, &a, &b, nullptr);
  if (status.ok())
    status = evaluate(op, Opcode::LessF, Type::I1, type, greater, &b, &a, nullptr);
  if (status.ok())
    status = evaluate(op, Opcode::LessF, Type::I1, type, less, &a, &b, nullptr);
  const bool holds =
      std::isnan(a.v.f) || std::isnan(b.v.f)
          ? outcomes.unordered
          : (outcomes.equal && equal.v.i) || (outcomes.greater && greater.v.i) || (outcomes.less && less.v.i);
  at(op.getResult()).v.i = holds ? -1 : 0;
  return status;
}

absl::Status runLoops(func::FuncOp body, std::span<Tensor *const> buffers, int64_t begin, int64_t end,
                      const verify::InterpreterOptions &options) {
  return LoopsRun(body, options).run(buffers, begin, end);
}

/// An attribute of the entry point of a kernel.
static int64_t numberOf(ModuleOp loops, StringRef kernel, StringRef name, int64_t none) {
  auto entry = loops.lookupSymbol<LLVM::LLVMFuncOp>(kernel);
  auto number = entry ? entry->getAttrOfType<IntegerAttr>(name) : IntegerAttr();
  return number ? number.getInt() : none;
}

int64_t partsOf(ModuleOp loops, StringRef kernel) { return numberOf(loops, kernel, kExtentAttr, 1); }

int64_t flopsOf(ModuleOp loops, StringRef kernel) { return numberOf(loops, kernel, kFlopsAttr, 0); }

} // namespace dgc
