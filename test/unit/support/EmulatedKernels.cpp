#include "test/unit/support/EmulatedKernels.h"
#include "compiler/target/cpu/CpuTarget.h"
#include "compiler/target/cpu/MachineCode.h"
#include "compiler/target/cuda/Grids.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/IR/IRBuilder.h"

using namespace mlir;

namespace dgc::testing {
namespace {

/// Calls a function of the emulator. Threads meet at the same call: there must not be two of one.
Value call(OpBuilder &builder, Operation *at, StringRef name, Type result, ValueRange operands = {}) {
  auto module = at->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(result, llvm::to_vector(operands.getTypes()));
    function = LLVM::LLVMFuncOp::create(top, at->getLoc(), name, type);
    function.setPassthroughAttr(builder.getStrArrayAttr({"convergent", "noduplicate", "nomerge"}));
  }
  auto op = LLVM::CallOp::create(builder, at->getLoc(), function, operands);
  return isa<LLVM::LLVMVoidType>(result) ? Value() : op.getResult();
}

/// The number of a thread or block.
template <typename Op> struct EmulateIndex : OpRewritePattern<Op> {
  EmulateIndex(MLIRContext *context, StringRef function) : OpRewritePattern<Op>(context), function(function) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (op.getDimension() != gpu::Dimension::x)
      return failure();
    Value number = call(rewriter, op, function, rewriter.getI32Type());
    number = LLVM::ZExtOp::create(rewriter, op.getLoc(), rewriter.getI64Type(), number);
    rewriter.replaceOpWithNewOp<UnrealizedConversionCastOp>(op, op.getType(), number);
    return success();
  }

  StringRef function;
};

template <typename Op> struct EmulateBarrier : OpRewritePattern<Op> {
  EmulateBarrier(MLIRContext *context, StringRef function) : OpRewritePattern<Op>(context), function(function) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    call(rewriter, op, function, LLVM::LLVMVoidType::get(op.getContext()));
    rewriter.eraseOp(op);
    return success();
  }

  StringRef function;
};

struct EmulateShuffle : OpRewritePattern<gpu::ShuffleOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(gpu::ShuffleOp op, PatternRewriter &rewriter) const override {
    Type i32 = rewriter.getI32Type(), type = op.getValue().getType();
    if (op.getMode() != gpu::ShuffleMode::XOR || type.getIntOrFloatBitWidth() != 32 || !op.getValid().use_empty())
      return failure();
    Value value = LLVM::BitcastOp::create(rewriter, op.getLoc(), i32, op.getValue());
    value = call(rewriter, op, "dgc_gpu_shuffle_xor", i32, {value, op.getOffset()});
    value = LLVM::BitcastOp::create(rewriter, op.getLoc(), type, value);
    Value isValid = LLVM::ConstantOp::create(rewriter, op.getLoc(), rewriter.getBoolAttr(true));
    rewriter.replaceOp(op, {value, isValid});
    return success();
  }
};

struct EmulateBallot : OpRewritePattern<NVVM::VoteSyncOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(NVVM::VoteSyncOp op, PatternRewriter &rewriter) const override {
    if (op.getKind() != NVVM::VoteSyncKind::ballot)
      return failure();
    Value value = LLVM::ZExtOp::create(rewriter, op.getLoc(), rewriter.getI32Type(), op.getPred());
    rewriter.replaceOp(op, call(rewriter, op, "dgc_gpu_ballot", rewriter.getI32Type(), {value}));
    return success();
  }
};

LogicalResult lowerToEmulator(ModuleOp module, ArrayRef<KernelLaunch>) {
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  patterns.add<EmulateIndex<gpu::ThreadIdOp>>(context, "dgc_gpu_thread");
  patterns.add<EmulateIndex<gpu::BlockIdOp>>(context, "dgc_gpu_block");
  patterns.add<EmulateBarrier<gpu::BarrierOp>>(context, "dgc_gpu_barrier");
  patterns.add<EmulateBarrier<NVVM::SyncWarpOp>>(context, "dgc_gpu_warp_barrier");
  patterns.add<EmulateShuffle, EmulateBallot>(context);
  ConversionTarget target(*context);
  target.addIllegalDialect<gpu::GPUDialect, NVVM::NVVMDialect>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(module, target, std::move(patterns));
}

/// A function for each launch that takes the pointers of its arguments from an array.
void addEntries(llvm::Module &module, ArrayRef<KernelLaunch> launches) {
  for (const KernelLaunch &launch : launches) {
    llvm::Function *function = module.getFunction(launch.symbol);
    for (llvm::Argument &argument : function->args())
      argument.removeAttr(llvm::Attribute::Alignment); // the instructions of a CPU would insist on it
    llvm::IRBuilder<> b(module.getContext());
    auto *type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
    auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, launch.symbol + "_emulated", module);
    b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", entry));
    SmallVector<llvm::Value *> arguments;
    for (unsigned i = 0; i < function->arg_size(); ++i)
      arguments.push_back(b.CreateLoad(b.getPtrTy(), b.CreateConstGEP1_64(b.getPtrTy(), entry->getArg(0), i)));
    b.CreateCall(function, arguments);
    b.CreateRetVoid();
  }
}

/// Other threads write what is shared: nothing may be known about it across a call.
void exposeShared(llvm::Module &module) {
  for (llvm::GlobalVariable &global : module.globals())
    if (global.getAddressSpace() == 3) {
      global.setLinkage(llvm::GlobalValue::ExternalLinkage);
      global.setVisibility(llvm::GlobalValue::HiddenVisibility);
      global.setInitializer(llvm::Constant::getNullValue(global.getValueType()));
    }
}

} // namespace

FailureOr<CompiledKernels> compileForEmulator(ModuleOp kernels) {
  Grids grids;
  std::string wrong;
  std::optional<CpuTarget> cpu = CpuTarget::parse("cpu", wrong);
  if (!cpu)
    return kernels.emitError() << wrong;
  if (failed(lowerToGrids(kernels, MathFunctions::None, lowerToEmulator, grids)))
    return failure();
  grids.kernels.kind = "emulator";
  if (!grids.code)
    return std::move(grids.kernels);
  exposeShared(*grids.code);
  addEntries(*grids.code, grids.launches);
  llvm::Expected<ObjectFile> object = generateObject(*grids.code, *cpu);
  if (!object)
    return kernels.emitError("the kernels could not be compiled: ") << llvm::toString(object.takeError());
  llvm::Expected<std::vector<uint8_t>> library = linkObjects({&*object});
  if (!library)
    return kernels.emitError("the kernels could not be linked: ") << llvm::toString(library.takeError());
  grids.kernels.object = std::move(*library);
  return std::move(grids.kernels);
}

} // namespace dgc::testing
