// Attributes of definitions: the parameters of optimizers and schedules, the state of optimizers, and the fields of weights
// by name.

#ifndef DGC_OPTIMIZER_ATTRS_TD
#define DGC_OPTIMIZER_ATTRS_TD

include "dialects/dgc/Base.td"

def DGC_IntervalAttr : DGC_Attr<"Interval", "interval"> {
  let summary = "a range of numbers";
  let description = [{
    `[0.0, 1.0)` in a definition: a bracket is an end that belongs to the range, a parenthesis one that does not, and `inf` is
    no end. The attribute is written `#dgc.interval<at_least 0.0 below 1.0>`.
  }];
  let parameters = (ins "::mlir::FloatAttr":$lower, "::mlir::FloatAttr":$upper, "bool":$hasLower, "bool":$hasUpper);
  let extraClassDeclaration = [{
    bool contains(double number) const;
    /// `at least 0 and below 1`
    std::string describe() const;
  }];
  let hasCustomAssemblyFormat = 1;
}

def DGC_ParameterAttr : DGC_Attr<"Parameter", "parameter"> {
  let summary = "a parameter of an optimizer or of a schedule";
  let description = [{
    `value`, an f64, a bool, or an i64 where the parameter is an `integer`, holds where a model gives no other; without it a
    model must give one. It must be in `range`. Where the parameter is not 0, the one that it `needs` must not be, either.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, OptionalParameter<"::mlir::TypedAttr">:$value,
                        OptionalParameter<"::dgc::IntervalAttr">:$range,
                        OptionalParameter<"::mlir::StringAttr">:$needs,
                        OptionalParameter<"::mlir::UnitAttr">:$integer);
  let assemblyFormat = "`<` struct(params) `>`";
}

def DGC_OptimizerStateAttr : DGC_Attr<"OptimizerState", "optimizer_state"> {
  let summary = "what an optimizer keeps for each weight";
  let description = [{
    The tensor `WEIGHT.name` has the shape of the weight; the dimensions `reduced`, counted from the last one as -1, have the
    size 1. It begins with `init` everywhere: a number, or the value of the parameter of this name. Where the parameter that it
    `needs` is 0, there is no such tensor, and zeros take its place.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::Attribute":$init,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$reduced,
                        OptionalParameter<"::mlir::StringAttr">:$needs);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// The type of the state of a weight of this type.
    ::mlir::RankedTensorType typeFor(::mlir::RankedTensorType weight) const;
  }];
}

def DGC_WeightGroupAttr : DGC_Attr<"WeightGroup", "weight_group"> {
  let summary = "how weights of some names are trained";
  let description = [{
    Variables whose name one of `patterns` matches have other `fields`, a learning rate multiplied by `rateFactor`, or are
    `frozen`.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$patterns, "::mlir::DictionaryAttr":$fields,
                        OptionalParameter<"::mlir::FloatAttr">:$rateFactor,
                        OptionalParameter<"::mlir::UnitAttr">:$frozen);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{ bool matches(::llvm::StringRef name) const; }];
}

// A built-in optimizer by its name, or a dgc.optimizer_def of the module by its symbol.
def DGC_OptimizerReference : Attr<CPred<"::llvm::isa<::mlir::StringAttr, ::mlir::FlatSymbolRefAttr>($_self)">,
                                  "the name of an optimizer, or the symbol of a dgc.optimizer_def"> {
  let storageType = "::mlir::Attribute";
  let returnType = storageType;
  let convertFromStorage = "$_self";
}

#endif // DGC_OPTIMIZER_ATTRS_TD
