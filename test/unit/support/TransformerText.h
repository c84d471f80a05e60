// The text of a transformer with everything that examples/gpt_char.mlir has, in any size.
#pragma once

#include <cstdint>
#include <regex>
#include <string>

namespace dgc::testing {

struct TransformerSizes {
  int64_t layers = 2, heads = 2, hidden = 12, wide = 24;
  int64_t sequence = 7, positions = 9, vocabulary = 11;
  int stages = 1;   // of equally many layers; where there are several, the layers say on which they are
  bool tied = true; // the table of tokens computes the logits, too; else there is a "head"
  std::string optimizer = "sgd learning_rate 0.1";
};

/// Layers of `stage`, from %`in` to %`out`.
inline std::string layersOf(const TransformerSizes &sizes, int stage, const std::string &in, const std::string &out) {
  const std::string number = sizes.stages > 1 ? std::to_string(stage) : "";
  return "  %" + out + " = dgc.repeat " + std::to_string(sizes.layers / sizes.stages) + " \"layer" + number +
         "\" (%x = %" + in + R"() {
    %s1 = dgc.variable "norm1/scale" constant 1 : tensor<HIDDENxf32>
    %o1 = dgc.variable "norm1/offset" zeros : tensor<HIDDENxf32>
    %wq = dgc.variable "query/kernel" normal 0 0.3 : tensor<HIDDENxHIDDENxf32>
    %bq = dgc.variable "query/bias" zeros : tensor<HIDDENxf32>
    %wk = dgc.variable "key/kernel" normal 0 0.3 : tensor<HIDDENxHIDDENxf32>
    %bk = dgc.variable "key/bias" zeros : tensor<HIDDENxf32>
    %wv = dgc.variable "value/kernel" normal 0 0.3 : tensor<HIDDENxHIDDENxf32>
    %bv = dgc.variable "value/bias" zeros : tensor<HIDDENxf32>
    %wo = dgc.variable "output/kernel" normal 0 0.2 : tensor<HIDDENxHIDDENxf32>
    %bo = dgc.variable "output/bias" zeros : tensor<HIDDENxf32>
    %s2 = dgc.variable "norm2/scale" constant 1 : tensor<HIDDENxf32>
    %o2 = dgc.variable "norm2/offset" zeros : tensor<HIDDENxf32>
    %wu = dgc.variable "up/kernel" normal 0 0.3 : tensor<HIDDENxWIDExf32>
    %bu = dgc.variable "up/bias" zeros : tensor<WIDExf32>
    %wd = dgc.variable "down/kernel" normal 0 0.2 : tensor<WIDExHIDDENxf32>
    %bd = dgc.variable "down/bias" zeros : tensor<HIDDENxf32>
    %n1 = dgc.layer_norm %x, %s1, %o1)" +
         (sizes.stages > 1 ? " {dist.stage = " + number + "}" : "") + R"(
    %q = dgc.dense %n1, %wq, %bq
    %k = dgc.dense %n1, %wk, %bk
    %v = dgc.dense %n1, %wv, %bv
    %mixed = dgc.attention %q, %k, %v heads HEADS causal
    %attended = dgc.dense %mixed, %wo, %bo
    %y = dgc.add %x, %attended
    %n2 = dgc.layer_norm %y, %s2, %o2
    %up = dgc.dense %n2, %wu, %bu
    %bent = dgc.gelu %up tanh
    %down = dgc.dense %bent, %wd, %bd
    %z = dgc.add %y, %down
    dgc.next %z
  }
)";
}

inline std::string transformerText(const TransformerSizes &sizes = {}) {
  std::string text = R"(
dgc.model @small_transformer {
  %tokens = dgc.input "tokens" : tensor<?xSEQUENCExi32>
  %next_tokens = dgc.input "next_tokens" : tensor<?xSEQUENCExi32>
  %token_table = dgc.variable "token_table" normal 0 0.3 : tensor<VOCABULARYxHIDDENxf32>
  %position_table = dgc.variable "position_table" normal 0 0.3 : tensor<POSITIONSxHIDDENxf32>
  %symbols = dgc.embedding %token_table, %tokens
  %embedded = dgc.position_embedding %symbols, %position_table
)";
  std::string in = "embedded";
  for (int stage = 0; stage < sizes.stages; ++stage) {
    std::string out = stage + 1 < sizes.stages ? "features" + std::to_string(stage) : "features";
    text += layersOf(sizes, stage, in, out);
    in = out;
  }
  text += R"(  %sf = dgc.variable "norm/scale" constant 1 : tensor<HIDDENxf32>
  %of = dgc.variable "norm/offset" zeros : tensor<HIDDENxf32>
  %normalized = dgc.layer_norm %features, %sf, %of
)";
  if (!sizes.tied)
    text += "  %head = dgc.variable \"head\" normal 0 0.3 : tensor<VOCABULARYxHIDDENxf32>\n";
  text += "  %logits = dgc.matmul %normalized, %" + std::string(sizes.tied ? "token_table" : "head") + R"( transposed
  %loss = dgc.cross_entropy %logits, %next_tokens
  dgc.loss %loss
  dgc.output "logits" %logits
  dgc.optimizer )" +
          sizes.optimizer + "\n}\n";
  for (auto [name, size] : {std::pair{"HIDDEN", sizes.hidden},
                            {"WIDE", sizes.wide},
                            {"HEADS", sizes.heads},
                            {"SEQUENCE", sizes.sequence},
                            {"POSITIONS", sizes.positions},
                            {"VOCABULARY", sizes.vocabulary}})
    text = std::regex_replace(text, std::regex(name), std::to_string(size));
  return text;
}

} // namespace dgc::testing
