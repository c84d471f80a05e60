// What an op declares of itself, so that no pass needs to know ops by name.

#ifndef DGC_INTERFACES_TD
#define DGC_INTERFACES_TD

include "mlir/IR/OpBase.td"

class DGC_Interface<string name> : OpInterface<name> { let cppNamespace = "::dgc"; }

def ShardingRuleOpInterface : DGC_Interface<"ShardingRuleOpInterface"> {
  let description = "How the dimensions of operands and results belong together.";
  let methods = [
    InterfaceMethod<
      "The rule of this op: its dimensions as factors. All operands and results have tensor types.",
      "::dgc::ShardingRule", "getShardingRule">,
    InterfaceMethod<[{
      True when the op may be applied to partial sums as they are: applying it to the addends of its operand
      `index` and adding the results is the same as applying it to the sum, whatever the other operands are,
      which must not be partial sums themselves (`index` -1: all operands of the element type of the result together, as
      for an addition).
    }], "bool", "isLinearIn", (ins "int":$index), [{}], [{ return false; }]>,
  ];
}

def CostOpInterface : DGC_Interface<"CostOpInterface"> {
  let description = "What an op costs; estimates for placement and scheduling.";
  let methods = [
    InterfaceMethod<
      "Floating-point operations, and bytes read and written when nothing is fused.",
      "::dgc::OpCost", "getCost", (ins), [{}],
      [{ return ::dgc::costPerElement($_op, 1); }]>,
  ];
}

def DifferentiableOpInterface : DGC_Interface<"DifferentiableOpInterface"> {
  let description = "Reverse-mode derivative.";
  let methods = [
    InterfaceMethod<[{
      Builds the vector-Jacobian product, in dgc ops. `resultGradients` has one value per result, null where
      nothing depends on that result. Returns one value per operand, null where the operand has no gradient
      (integers, or no dependence). Only operands for which `wanted` is set need one.
    }], "::llvm::SmallVector<::mlir::Value>", "buildGradients",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients,
           "const ::llvm::BitVector &":$wanted)>,
  ];
}

def DecomposableOpInterface : DGC_Interface<"DecomposableOpInterface"> {
  let description = "A composite op knows its meaning in smaller dgc ops.";
  let methods = [
    InterfaceMethod<[{
      Builds the decomposition and returns a value for each result. Fails, with a diagnostic on the op, only
      where the op cannot be expressed for these types.
    }], "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose",
      (ins "::mlir::OpBuilder &":$builder)>,
    InterfaceMethod<[{
      True when the op should be differentiated as it is (it is a DifferentiableOpInterface with a better
      gradient than that of its decomposition) and decomposed only afterwards.
    }], "bool", "keepForGradient", (ins), [{}], [{ return false; }]>,
  ];
}

def ElementwiseOpInterface : DGC_Interface<"ElementwiseOpInterface"> {
  let description = [{
    Each element of the result depends on the elements of the operands at the same place. All operands and
    the one result have the same shape.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the scalar body with arith and math ops. `scalars` has one value per operand: floats as they are,
      integers signless (unsigned element types too: the op looks at its own types for signedness).
    }], "::mlir::Value", "buildScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$location, "::mlir::ValueRange":$scalars)>,
    StaticInterfaceMethod<[{
      A bound of the error of an element that is a float, in units of the last place of the result, or of 1 where the
      result is below 1; 0: exact.
    }], "unsigned", "getMaxUlps">,
    InterfaceMethod<"The operands from this one on have one element type; those before it are i1.",
      "unsigned", "getFirstOfOneElementType", (ins), [{}], [{ return 0; }]>,
  ];
}

def LinalgLowerableOpInterface : DGC_Interface<"LinalgLowerableOpInterface"> {
  let description = [{
    Lowering to linalg and tensor ops on signless tensors, for what is neither elementwise nor left to a library.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the lowering. `operands` are the lowered operands (signless elements, no encodings); returns one
      value per result, of the lowered types.
    }], "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "lowerToLinalg",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands)>,
  ];
}

def PositionalOpInterface : DGC_Interface<"PositionalOpInterface"> {
  let description = [{
    The value of an element depends on its place in the whole tensor (iota, random numbers), or the op looks for places
    of a whole tensor (gather). When that tensor, the result or an operand, is cut, the op must know the position of its part.
  }];
  let methods = [
    InterfaceMethod<"The operand whose place is meant; -1: the result.",
      "int", "getPositionedOperand", (ins), [{}], [{ return -1; }]>,
    InterfaceMethod<"False when the place along a dimension of that tensor does not matter.",
      "bool", "isPositionedAlong", (ins "int64_t":$dim), [{}], [{ return true; }]>,
    InterfaceMethod<[{
      Makes the op work on the part of `globalShape` that begins at `offsets` (one scalar i64 tensor per
      dimension; null: 0). Its result type is then set to the local type by the caller.
    }], "void", "setGlobalPosition",
      (ins "::llvm::ArrayRef<int64_t>":$globalShape, "::mlir::ValueRange":$offsets)>,
  ];
}

def MovingOpInterface : DGC_Interface<"MovingOpInterface"> {
  let description = [{
    An op whose sharding rule has factors along which elements move between the parts: the partitioner fetches what a
    part needs from its neighbours, and the op computes the part from that.
  }];
  let methods = [
    InterfaceMethod<[{
      What the op needs of its operands to compute each of `parts` blocks of factor `factor` of its rule, which moves.
      There is a window for every operand that has the factor.
    }], "::dgc::PartNeeds", "getNeeds", (ins "unsigned":$factor, "int64_t":$parts)>,
    InterfaceMethod<[{
      Called on a copy of the op whose operands are these windows along the dimensions of `factor`: adapts the
      attributes to them.
    }], "void", "takeWindows", (ins "unsigned":$factor, "const ::dgc::PartNeeds &":$needs), [{}],
      [{ /* no attribute says anything of the dimension */ }]>,
  ];
}

def WindowAttributeOpInterface : DGC_Interface<"WindowAttributeOpInterface"> {
  let description = "A window over the first operand that is an attribute.";
  let methods = [
    InterfaceMethod<[{
      Called on a copy of the op whose first operand has other sizes than `original`: a window that is a whole dimension of
      that, without padding, becomes one of the operand.
    }], "void", "keepWhole", (ins "::mlir::RankedTensorType":$original)>,
  ];
}

def ChoosingOpInterface : DGC_Interface<"ChoosingOpInterface"> {
  let description = [{
    An op that chooses by number: rows of a table, or classes. Numbers from outside must be among them.
  }];
  let methods = [
    InterfaceMethod<"The operand whose elements are the numbers; null: what they are does not matter.",
      "::mlir::Value", "getChoosingNumbers">,
    InterfaceMethod<"How many there are to choose from, numbered from 0.", "int64_t", "getNumChoices">,
  ];
}

def RegionTiesOpInterface : DGC_Interface<"RegionTiesOpInterface"> {
  let description = [{
    A loop or branch whose regions are parts of the program: shardings go into them, and each op in them is cut, and may
    communicate, as one outside. A value that is tied to another is cut as that is.
  }];
  let methods = [
    InterfaceMethod<"Which values outside and in the regions are the same.", "::dgc::RegionTies", "getRegionTies">,
    InterfaceMethod<[{
      Adds an operand that is the same in all rounds, and an argument for it behind the others of each region. False for an op
      that has no rounds.
    }], "bool", "addInvariant", (ins "::mlir::Value":$value), [{}], [{ return false; }]>,
    InterfaceMethod<"How often the region runs, if that is known; those of a branch count as once.",
      "std::optional<int64_t>", "getNumRuns", (ins "::mlir::Region &":$region), [{}], [{ return 1; }]>,
  ];
}

def LocalizableOpInterface : DGC_Interface<"LocalizableOpInterface"> {
  let description = [{
    Attributes of the op depend on the shapes of its operands or results (the limits of a slice, the shape of a
    broadcast). The partitioner has such an op adjust them; one without this interface is copied as it is.
  }];
  let methods = [
    InterfaceMethod<[{
      Called on a copy of the op in a partitioned program: operands and results have local types already, and
      `globalOperands`, `globalResults` are the types of the original. Only dimensions that the sharding rule allows
      to be cut differ. Fails with a diagnostic on the op where it cannot work on these parts.
    }], "::llvm::LogicalResult", "localize",
      (ins "::mlir::TypeRange":$globalOperands, "::mlir::TypeRange":$globalResults)>,
  ];
}

def BatchMeanOpInterface : DGC_Interface<"BatchMeanOpInterface"> {
  let description = "A mean over the examples of the global batch, some of which may be padding.";
  let methods = [
    InterfaceMethod<"Tells the op how many examples are real (an i32 scalar tensor): the first ones of the batch.",
      "void", "setValidCount", (ins "::mlir::Value":$count)>,
  ];
}

def SizeDependentOpInterface : DGC_Interface<"SizeDependentOpInterface"> {
  let description = [{
    A composite that computes with the number of elements along some dimensions of its operands, as a mean does. Where
    some of these are padding, the number of the others takes its place.
  }];
  let methods = [
    InterfaceMethod<[{
      The dimensions of operand `index` whose sizes multiply to that number: the same, with the same sizes, for all
      operands that have any.
    }], "::llvm::SmallVector<int64_t>", "getCountedDims", (ins "unsigned":$index)>,
    InterfaceMethod<[{
      Builds the decomposition with `count`, an i64 scalar, for that number; null: the number itself. Fails, without a
      diagnostic, where the op cannot be told.
    }], "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decomposeWithCount",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$count), [{}], [{ return ::mlir::failure(); }]>,
  ];
}

def RearrangingOpInterface : DGC_Interface<"RearrangingOpInterface"> {
  let description = [{
    An op whose one result has elements of its operands, and fixed ones. Operands with dimensions have those of the
    result; along each of them elements keep or change their index, whatever their indices along the others are.
  }];
  let methods = [
    InterfaceMethod<[{
      Where element `index` along dimension `dim` of the result comes from: the number of the operand, -1 for a fixed
      element, and the index along `dim` there. Called for dimensions that the sharding rule does not pass through.
    }], "std::pair<int64_t, int64_t>", "getSource", (ins "int64_t":$dim, "int64_t":$index)>,
  ];
}

def ModeOpInterface : DGC_Interface<"ModeOpInterface"> {
  let description = "An op that does one thing in training and another otherwise (dropout, batch normalization).";
  let methods = [
    InterfaceMethod<[{
      Called once for every entry point. `seed` and `step` are i64 scalar tensors, for ops that draw random numbers here;
      `rngId` tells the op from all others that do.
    }], "void", "setMode", (ins "bool":$training, "::mlir::Value":$seed, "::mlir::Value":$step, "int64_t":$rngId)>,
    InterfaceMethod<"True when the op needs `seed`, `step` and an rngId of its own.",
      "bool", "drawsRandomNumbers", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
      The running statistics that are used outside of training: each operand with the number of the result that is its
      next value. A model with a loss assigns them, or says that they are frozen.
    }], "::llvm::SmallVector<std::pair<::mlir::Value, unsigned>>", "getRunningStatistics", (ins), [{}],
      [{ return {}; }]>,
  ];
}

def DeclaredTypeOpInterface : DGC_Interface<"DeclaredTypeOpInterface"> {
  let description = [{
    An op of a model whose result type is written with it (an input, a constant). Its result is untyped, as every value
    of a model, until dgc-infer-types gives it the declared type.
  }];
  let methods = [
    InterfaceMethod<"The type as it is written; null after resolveType in ops that keep it as an attribute until then.",
      "::mlir::RankedTensorType", "getDeclared">,
    InterfaceMethod<"The dimension that is the batch, if there is one: by default the one that is written `?`.",
      "std::optional<int64_t>", "getBatchDim", (ins), [{}], [{
        for (int64_t dim = 0, rank = $_op.getDeclared().getRank(); dim < rank; ++dim)
          if ($_op.getDeclared().isDynamicDim(dim))
            return dim;
        return std::nullopt;
      }]>,
    InterfaceMethod<[{
      Declares the same with other sizes; those that are open stay so. Fails, without a diagnostic, where the op says more of
      its elements than their type.
    }], "::llvm::LogicalResult", "declareShape", (ins "::llvm::ArrayRef<int64_t>":$shape), [{}], [{
        ::mlir::RankedTensorType declared = $_op.getDeclared();
        ::llvm::SmallVector<int64_t> sizes(shape);
        for (int64_t dim = 0, rank = declared.getRank(); dim < rank; ++dim)
          if (declared.isDynamicDim(dim))
            sizes[dim] = ::mlir::ShapedType::kDynamic;
        $_op->setAttr("declared_type", ::mlir::TypeAttr::get(declared.clone(sizes)));
        return ::mlir::success();
      }]>,
    InterfaceMethod<"Gives the result its type.", "void", "resolveType", (ins "::mlir::RankedTensorType":$type), [{}],
      [{ $_op->getResult(0).setType(type); }]>,
  ];
}

def TypesFromContextOpInterface : DGC_Interface<"TypesFromContextOpInterface"> {
  let description = [{
    An op of a model whose types follow from what is around it (a mesh) or from what is inside of it, not from operands
    and attributes alone. dgc-infer-types calls both methods, with the ops inside typed in between.
  }];
  let methods = [
    InterfaceMethod<"Gives the arguments of regions their types; the operands have theirs. Fails with a diagnostic.",
      "::llvm::LogicalResult", "inferTypesInside", (ins), [{}], [{ return ::mlir::success(); }]>,
    InterfaceMethod<"Gives the results their types. Fails with a diagnostic.",
      "::llvm::LogicalResult", "inferResultTypes">,
  ];
}

#endif // DGC_INTERFACES_TD
