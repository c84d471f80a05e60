// The classes of elementwise ops, for this dialect and for others: an op of another dialect sets `opDialect` and
// `cppNamespace`.

#ifndef DGC_ELEMENTWISE_TD
#define DGC_ELEMENTWISE_TD

include "dialects/dgc/Attrs.td"

// `ulps` bounds the error of an element that is a float, in units of the last place of the result, or of 1 where the result
// is below 1; 0: exact. `flops` is the cost of an element; `linear` a C++ expression over `index`,
// as for ShardingRuleOpInterface::isLinearIn. An op that `simplifies` defines
//   OpFoldResult simplify(ArrayRef<Attribute> constants);
// which is tried before constants are folded. The result type is that of the
// operands, which must be equal, unless the op has its `ownInference`.
//
// An op of several operands has their number as `listed`. It is written
//   dgc.add %x, %y : tensor<4x8xf32>
// and in a model an operand may be a number. An attribute of the op is written
// before the operands: parseClause and printClause of the op, for those that have one.
class DGC_ElementwiseOp<string mnemonic, int ulps, list<Trait> traits = [],
                        int flops = 1, string linear = "false",
                        bit simplifies = 0, bit ownInference = 0,
                        int listed = 0>
    : DGC_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<ElementwiseOpInterface>,
        DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["isLinearIn"]>,
        DeclareOpInterfaceMethods<CostOpInterface, ["getCost"]>])> {
  int maxUlps = ulps;
  let hasFolder = 1;
  let extraClassDeclaration = inferredDeclaration # !if(simplifies, [{
    ::mlir::OpFoldResult simplify(::llvm::ArrayRef<::mlir::Attribute> constants);
  }], "");
  code elementwiseDefinition = inferredDefinition # [{
    unsigned $cppClass::getMaxUlps() { return }] # !cast<string>(ulps) # [{; }
  }] # !if(ownInference, "", [{
    ::llvm::LogicalResult $cppClass::inferTypes(
        std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::dgc::inferSameType(location, getOperationName(),
                                        adaptor.getOperands(), types);
    }
  }]) # !if(listed, [{
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser, ::mlir::OperationState &state) {
      return ::dgc::parseElementwise<$cppClass>(parser, state, }] # !cast<string>(listed) # [{);
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) { ::dgc::printElementwise(printer, *this); }
  }], "") # [{
    ::mlir::OpFoldResult $cppClass::fold(FoldAdaptor adaptor) {
  }] # !if(simplifies, [{
      if (::mlir::OpFoldResult simple = simplify(adaptor.getOperands()))
        return simple;
  }], "") # [{
      return ::dgc::foldElementwise(*this, adaptor.getOperands());
    }
    ::dgc::ShardingRule $cppClass::getShardingRule() {
      return ::dgc::ShardingRuleBuilder(*this).elementwise().build();
    }
    bool $cppClass::isLinearIn(int index) { return }] # linear # [{; }
    ::dgc::OpCost $cppClass::getCost() {
      return ::dgc::costPerElement(*this, }] # !cast<string>(flops) # [{);
    }
  }];
  let extraClassDefinition = elementwiseDefinition;
}

class DGC_UnaryOp<string mnemonic, Type operandType, int ulps,
                  list<Trait> traits = [], int flops = 1,
                  string linear = "false", bit simplifies = 0,
                  bit ownInference = 0>
    : DGC_ElementwiseOp<mnemonic, ulps, traits, flops, linear, simplifies,
                        ownInference> {
  let arguments = (ins operandType:$operand);
  let results = (outs operandType:$result);
  let assemblyFormat = "$operand attr-dict custom<OperandTypes>(type($operand))";
}

class DGC_BinaryOp<string mnemonic, Type operandType, int ulps,
                   list<Trait> traits = [], int flops = 1,
                   string linear = "false", bit simplifies = 0>
    : DGC_ElementwiseOp<mnemonic, ulps, traits, flops, linear, simplifies, 0,
                        2> {
  let arguments = (ins operandType:$lhs, operandType:$rhs);
  let results = (outs operandType:$result);
  let hasCustomAssemblyFormat = 1;
}

// A function of one float: all there is to say of it is here. `scalar` is the body of buildScalar, in which `x` is the
// operand, `b` an ImplicitLocOpBuilder and `number(v)` a constant of the type of `x`. `gradient` is an expression for the
// gradient of the operand, in which `g` is the gradient of the result `z` and `b` a CompositeBuilder; Value() for none. The
// file that includes the definitions includes ElementwiseFunctions.h.
class DGC_FunctionOp<string mnemonic, int ulps, int flops, code scalar,
                     code gradient>
    : DGC_UnaryOp<mnemonic, DGC_FloatTensor, ulps, [DGC_Differentiable],
                  flops> {
  let extraClassDefinition = elementwiseDefinition # [{
    ::mlir::Value $cppClass::buildScalar(::mlir::OpBuilder &builder, ::mlir::Location location,
                                         ::mlir::ValueRange scalars) {
      using namespace ::mlir;
      ImplicitLocOpBuilder b(location, builder);
      Value x = scalars[0];
      [[maybe_unused]] auto number = [&](double value) -> Value {
        return arith::ConstantOp::create(b, b.getFloatAttr(x.getType(), value));
      };
      }] # scalar # [{
    }
    ::llvm::SmallVector<::mlir::Value> $cppClass::buildGradients(
        ::mlir::OpBuilder &builder, ::mlir::ValueRange resultGradients, const ::llvm::BitVector &) {
      using namespace ::mlir;
      [[maybe_unused]] ::dgc::CompositeBuilder b(builder, getLoc());
      [[maybe_unused]] Value g = resultGradients[0], x = getOperand(), z = getResult();
      return {}] # gradient # [{};
    }
  }];
}

#endif // DGC_ELEMENTWISE_TD
