// Attributes of the model language: initializers, roles of state, learning-rate schedules, padding of windows.

#ifndef DGC_MODEL_ATTRS_TD
#define DGC_MODEL_ATTRS_TD

include "dialects/dgc/Base.td"

class DGC_Enum<string name, string summary, list<I32EnumCase> cases> : I32Enum<name, summary, cases> {
  let cppNamespace = "::dgc";
}

def DGC_InitKind : DGC_Enum<"InitKind", "how a variable begins", [
    I32EnumCase<"Zeros", 0, "zeros">,
    I32EnumCase<"Constant", 1, "constant">,
    I32EnumCase<"Uniform", 2, "uniform">,
    I32EnumCase<"Normal", 3, "normal">,
    I32EnumCase<"TruncatedNormal", 4, "truncated_normal">,
    I32EnumCase<"GlorotUniform", 5, "glorot_uniform">,
    I32EnumCase<"GlorotNormal", 6, "glorot_normal">,
    I32EnumCase<"HeUniform", 7, "he_uniform">,
    I32EnumCase<"HeNormal", 8, "he_normal">,
    I32EnumCase<"File", 9, "file">,
    I32EnumCase<"Stored", 10, "stored">]>;

def DGC_InitAttr : DGC_Attr<"Init", "init"> {
  let summary = "the initial value of a variable";
  let description = [{
    One of

    | initializer | value of an element |
    |---|---|
    | `zeros` | 0 |
    | `constant V` | V |
    | `uniform A B` | uniform in [A, B) |
    | `normal MEAN STD` | normal |
    | `truncated_normal MEAN STD` | normal, cut at two standard deviations |
    | `glorot_uniform` | uniform in ±sqrt(6 / (fan in + fan out)) |
    | `glorot_normal` | truncated normal of variance 2 / (fan in + fan out) |
    | `he_uniform` | uniform in ±sqrt(6 / fan in) |
    | `he_normal` | truncated normal of variance 2 / fan in |
    | `file "PATH"` | read from a .npy or .safetensors file |
    | `stored dense<..> : TYPE` | that of these elements, which the artifact has |

    For weights `[.., in, out]` the fans are `in` and `out` times the product of the leading dimensions. A file's
    path is relative to the data folder. Random values depend on the seed, the variable and the element alone.
  }];
  let parameters = (ins EnumParameter<DGC_InitKind>:$kind, OptionalParameter<"::mlir::DenseF64ArrayAttr">:$values,
                        OptionalParameter<"::mlir::StringAttr">:$file,
                        OptionalParameter<"::mlir::ElementsAttr">:$elements);
  let extraClassDeclaration = [{
    static InitAttr get(::mlir::MLIRContext *context, InitKind kind) { return get(context, kind, {}, {}, {}); }
    static InitAttr constant(::mlir::MLIRContext *context, double value);
    static InitAttr stored(::mlir::ElementsAttr elements);
    /// The first and second number of `constant`, `uniform` and the normals; 0 where there is none.
    double getA() const { return getValues() && getValues().size() > 0 ? getValues()[0] : 0.0; }
    double getB() const { return getValues() && getValues().size() > 1 ? getValues()[1] : 0.0; }
  }];
  let hasCustomAssemblyFormat = 1;
}

def DGC_StateRole : DGC_Enum<"StateRole", "what a state is for", [
    I32EnumCase<"Weight", 0, "weight">,
    I32EnumCase<"Slot", 1, "slot">,
    I32EnumCase<"Statistic", 2, "statistic">,
    I32EnumCase<"Total", 3, "total">]>;
def DGC_StateRoleAttr : EnumAttr<DGC_Dialect, DGC_StateRole, "role"> { let assemblyFormat = "$value"; }

def DGC_ScheduleAttr : DGC_Attr<"Schedule", "schedule"> {
  let summary = "a learning rate as a function of the training step";
  let description = [{
    | schedule | learning rate after t steps |
    |---|---|
    | `RATE` | RATE |
    | `RATE linear steps N final F` | from RATE to F in N steps along a line, and F from there on |
    | `RATE cosine steps N final F` | from RATE to F in N steps along half a cosine, and F from there on |
    | `RATE polynomial steps N final F power P` | F + (RATE - F) * (1 - t / N)^P, and F from N on |
    | `RATE step every N times F` | RATE * F^floor(t / N) |
    | `RATE exponential every N times F` | RATE * F^(t / N) |
    | `RATE @NAME(FIELD VALUE ..)` | what the `dgc.schedule_def @NAME` of the module gives, with these values of its parameters |

    `warm_up N` after any of them rises to RATE linearly in the first N steps, from which the schedule is counted then.
  }];
  let parameters = (ins "::mlir::Attribute":$definition, "::mlir::FloatAttr":$base, "::mlir::DictionaryAttr":$fields,
                        "int64_t":$warmUp);
  let extraClassDeclaration = [{ static ScheduleAttr constant(::mlir::MLIRContext *context, double rate); }];
  let hasCustomAssemblyFormat = 1;
}

def DGC_PaddingKind : DGC_Enum<"PaddingKind", "how a window meets the edges", [
    I32EnumCase<"Valid", 0, "valid">,
    I32EnumCase<"Same", 1, "same">,
    I32EnumCase<"Explicit", 2, "explicit">]>;

def DGC_PaddingAttr : DGC_Attr<"Padding", "padding"> {
  let summary = "padding of the spatial dimensions of a window op";
  let description = [{
    `valid`: none. `same`: as much as makes the result ceil(size / stride) large, the odd element at the end.
    `[[LOW, HIGH], ..]`: that much, per spatial dimension.
  }];
  let parameters = (ins EnumParameter<DGC_PaddingKind>:$kind,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$amounts);
  let hasCustomAssemblyFormat = 1;
}

// The scalars that the runtime hands to every step.
class DGC_IntScalar<int width>
    : Type<CPred<"$_self == ::mlir::RankedTensorType::get({}, ::mlir::IntegerType::get($_self.getContext(), "
                 # width # "))">, "tensor<i" # width # ">">,
      BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getIntegerType(" # width # "))">;
def DGC_CountScalar : DGC_IntScalar<32>;
def DGC_StepScalar : DGC_IntScalar<64>;

// The place of a part in the whole, along one dimension.
def DGC_Offset : Type<CPred<[{::llvm::isa<::mlir::RankedTensorType>($_self) &&
        ::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0 &&
        ::llvm::cast<::mlir::RankedTensorType>($_self).getElementType().isInteger(64)}]>, "a scalar tensor<i64>">,
    BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI64Type())">;

#endif // DGC_MODEL_ATTRS_TD
