//===- ElementEmitter.h - elements of values, as code -----------------------===//
//
// Writes the computation of single elements: an element of a stored value is loaded, any other is computed from the
// elements that it needs, at the outermost place where its index is known. What was computed is remembered per block.
//
//===----------------------------------------------------------------------===//

#ifndef DGC_COMPILER_CODEGEN_ELEMENTEMITTER_H
#define DGC_COMPILER_CODEGEN_ELEMENTEMITTER_H

#include "compiler/codegen/KernelGraph.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace dgc {

class ElementEmitter;

/// An element of memory.
struct Place {
  mlir::Value memory;
  mlir::AffineExpr linear;
};

/// How a target accesses memory: what is said here holds where it does not say otherwise.
class MemoryAccess {
public:
  virtual ~MemoryAccess() = default;

  virtual mlir::Value addressOf(ElementEmitter &code, Place place, mlir::Type storage);
  /// What an element's address is known to be a multiple of, in bytes; 0: only what its type asks for.
  virtual unsigned alignmentAt(const ElementEmitter &, Place, mlir::Type) { return 0; }
  /// Where an element is read that is at `place`, and may be elsewhere, too.
  virtual Place readAt(ElementEmitter &, Place place) { return place; }
  /// Scratch memory for `count` elements at the entry of the kernel.
  virtual mlir::Value scratch(ElementEmitter &code, mlir::Type storage, int64_t count) = 0;
};

/// Points of a loop that are written together: `count` from index `first` on, and which one is being written.
struct Steps {
  unsigned dim = 0;
  mlir::Value first;
  int64_t count = 1, current = 0;
};

class ElementEmitter {
public:
  /// `indexBits`: the width of indices and positions, 32 or 64.
  ElementEmitter(const KernelGraph &graph, mlir::ModuleOp module, MemoryAccess &access, unsigned indexBits = 64)
      : graph(graph), module(module), access(access), context(module.getContext()), builder(context),
        loc(graph.func.getLoc()), indexType(builder.getIntegerType(indexBits)),
        pointer(mlir::LLVM::LLVMPointerType::get(context)) {}

  using Key = std::pair<void *, mlir::AffineMap>; // a value and an index in it

  /// A block that is being filled, with the elements that are known in it.
  struct Scope {
    mlir::Block *block;
    mlir::Operation *before = nullptr; // the loop in it that is being filled; null: append
    bool conditional;
    llvm::DenseMap<Key, mlir::Value> values;

    explicit Scope(mlir::Block *block, bool conditional) : block(block), conditional(conditional) {}
  };

  /// The memory of a value that is stored.
  struct Storage {
    llvm::SmallVector<mlir::Value, 1> memory; // pointers; the first one is read
    unsigned rowDims = 0;                     // leading dimensions that have no memory: one row is kept
  };

  // Places in the code.
  void enter(mlir::Block *block, bool conditional = false);
  void leave();
  void moveTo(unsigned level);
  Key keyOf(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index) const;
  mlir::Value lookup(Key key) const;
  void remember(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index, mlir::Value scalar);

  // Loops and conditions (Scopes.cpp).
  /// A loop with the given carried values, entered. `parallel`: no iteration depends on memory that another one writes.
  mlir::scf::ForOp loop(mlir::Value lower, mlir::Value upper, mlir::ValueRange init, bool parallel, int64_t step = 1);
  void closeLoop();
  void bind(unsigned dim, mlir::Value index);
  /// Fills the inside of a condition; null: always.
  void when(mlir::Value condition, llvm::function_ref<void()> inside);

  // Numbers. Positions are not negative, but for what divideDown is for.
  mlir::Value constant(int64_t value);
  mlir::Value plus(mlir::Value a, mlir::Value b);
  mlir::Value times(mlir::Value a, int64_t b);
  mlir::Value divide(mlir::Value value, int64_t by);
  mlir::Value modulo(mlir::Value value, int64_t by);
  mlir::Value divideDown(mlir::Value value, mlir::Value by, bool wantsRest);
  mlir::Value below(mlir::Value a, int64_t b);
  mlir::Value atMost(mlir::Value a, int64_t b);
  mlir::Value position(mlir::AffineExpr expr);
  mlir::AffineExpr symbolFor(mlir::Value value);

  // Memory.
  mlir::Type storageOf(mlir::Type type);
  mlir::Value baseOf(mlir::Value value);
  mlir::AffineExpr positionIn(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index) const;
  mlir::Value addressOf(mlir::Value memory, mlir::Type storage, mlir::AffineExpr linear);
  mlir::Value load(mlir::Value memory, mlir::Type type, mlir::AffineExpr linear);
  mlir::Value scratch(mlir::Type storage, int64_t count) { return access.scratch(*this, storage, count); }
  void store(mlir::Value scalar, mlir::Value memory, mlir::AffineExpr linear, mlir::Type type);
  void storeEverywhere(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index, mlir::Value scalar);

  // Elements.
  /// Element `index` of a value: loaded where it is stored, else computed.
  mlir::Value element(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index);
  /// Element `index` computed from the operands of the op that defines the value, even if the value is stored.
  mlir::Value definition(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index);
  /// What the body of an op computes at a point of its loops: its results, or one value `wanted` in it.
  llvm::SmallVector<mlir::Value> body(mlir::linalg::LinalgOp op, llvm::ArrayRef<mlir::AffineExpr> loops,
                                      mlir::ValueRange accumulators, mlir::Value wanted = {});

  const KernelGraph &graph;
  mlir::ModuleOp module;
  MemoryAccess &access;
  mlir::MLIRContext *context;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::Type indexType, pointer;
  mlir::func::FuncOp kernel; // what is being written
  std::vector<Scope> scopes; // from the function inwards
  unsigned current = 0;      // the scope that is written to
  unsigned floor = 0;        // the scope of a row: what its nests compute is not known outside of it
  llvm::SmallVector<mlir::Value> dims = llvm::SmallVector<mlir::Value>(64);  // the indices of loops
  llvm::SmallVector<unsigned> dimLevel = llvm::SmallVector<unsigned>(64, 0); // and the scopes that they are known in
  llvm::DenseMap<mlir::Value, Storage> storage;
  llvm::SmallVector<mlir::LLVM::AccessGroupAttr> groups; // of the parallel loops around the current scope
  llvm::SmallVector<Bound> within;                       // what is known of indices where code is being written
  Steps steps;
  mlir::Value storeOnlyIf; // where this is false nothing is stored; null: everything is

private:
  unsigned levelOf(llvm::ArrayRef<mlir::AffineExpr> index) const;
  mlir::Value globalOf(mlir::Value constant);
  mlir::Value ofSlice(mlir::tensor::ExtractSliceOp slice, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value ofInsertion(mlir::tensor::InsertSliceOp insert, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value ofPad(mlir::tensor::PadOp pad, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value ofConcatenation(mlir::tensor::ConcatOp concat, llvm::ArrayRef<mlir::AffineExpr> index, unsigned input,
                              int64_t offset);
  mlir::Value ofReshape(mlir::Operation *reshape, llvm::ArrayRef<mlir::AffineExpr> index);
  mlir::Value guarded(llvm::ArrayRef<std::pair<mlir::AffineExpr, int64_t>> bounds, mlir::Type type,
                      llvm::function_ref<mlir::Value()> inside, llvm::function_ref<mlir::Value()> outside);
  mlir::Value scalar(mlir::Value value);
  mlir::Value extract(mlir::tensor::ExtractOp op, mlir::IRMapping &mapping, llvm::ArrayRef<mlir::AffineExpr> loops);

  llvm::SmallVector<mlir::Value> symbols;
  llvm::DenseMap<mlir::Value, unsigned> symbolOf;
  llvm::DenseMap<mlir::Value, mlir::Value> globals;
};

} // namespace dgc

#endif // DGC_COMPILER_CODEGEN_ELEMENTEMITTER_H
