// The enums of the exec dialect. Those of collectives are the ones of the dist dialect.

#ifndef DGC_EXEC_ENUMS_TD
#define DGC_EXEC_ENUMS_TD

include "mlir/IR/EnumAttr.td"

class Exec_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::dgc::exec";
}

def Exec_Space : Exec_Enum<"Space", "the memory of a buffer", [
  I32EnumAttrCase<"Private", 0, "private">, I32EnumAttrCase<"Shared", 1, "shared">,
  I32EnumAttrCase<"Constant", 2, "constant">]>;

def Exec_PostOpKind : Exec_Enum<"PostOpKind", "what a library call does to its result", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Relu", 1, "relu">, I32EnumAttrCase<"Tanh", 2, "tanh">,
  I32EnumAttrCase<"Sigmoid", 3, "sigmoid">, I32EnumAttrCase<"GeluTanh", 4, "gelu_tanh">,
  I32EnumAttrCase<"GeluErf", 5, "gelu_erf">, I32EnumAttrCase<"Multiply", 6, "multiply">,
  I32EnumAttrCase<"ReluGrad", 8, "relu_grad">, I32EnumAttrCase<"GeluTanhGrad", 9, "gelu_tanh_grad">]>;

def Exec_MatmulValue : Exec_Enum<"MatmulValue", "one of the matrices of a product", [
  I32EnumAttrCase<"Result", 0, "result">, I32EnumAttrCase<"A", 1, "a">, I32EnumAttrCase<"B", 2, "b">]>;

def Exec_ConvKind : Exec_Enum<"ConvKind", "direction of a convolution", [
  I32EnumAttrCase<"Forward", 0, "forward">, I32EnumAttrCase<"BackwardData", 1, "backward_data">,
  I32EnumAttrCase<"BackwardWeights", 2, "backward_weights">]>;

def Exec_PoolKind : Exec_Enum<"PoolKind", "kind and direction of a pooling", [
  I32EnumAttrCase<"MaxForward", 0, "max_forward">, I32EnumAttrCase<"MaxBackward", 1, "max_backward">,
  I32EnumAttrCase<"AvgForward", 2, "avg_forward">, I32EnumAttrCase<"AvgBackward", 3, "avg_backward">]>;

#endif // DGC_EXEC_ENUMS_TD
