// A small transformer, and texts for it.
#pragma once

#include "test/unit/oracle/Oracle.h"
#include "test/unit/support/TransformerText.h"

namespace dgc::testing {

/// 2 layers, 2 heads, 12 wide, 7 tokens of 11 symbols.
inline const std::string smallTransformer = transformerText();

/// The windows of step i.
inline NamedArrays windowsOfStep(int i) {
  std::mt19937 rng(2000 + i);
  std::vector<int32_t> tokens(batch * 7), next(tokens.size());
  for (size_t at = 0; at < tokens.size(); ++at) {
    tokens[at] = int32_t(rng() % 11);
    next[at] = int32_t((tokens[at] * 3 + rng() % 2) % 11);
  }
  return {{"tokens", HostArray::of<int32_t>({batch, 7}, tokens, rt::DType::I32)},
          {"next_tokens", HostArray::of<int32_t>({batch, 7}, next, rt::DType::I32)}};
}

} // namespace dgc::testing
