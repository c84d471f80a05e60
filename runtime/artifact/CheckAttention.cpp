// Semantic check of attention: shapes that fit, and results that share no memory with anything.
#include "runtime/artifact/ActionCheck.h"

#include <cmath>
#include <string>
#include <vector>

using namespace dgc::rt;
namespace a = dgc::artifact;

namespace {
/// A buffer that an attention names.
struct Named {
  std::string_view name;
  int64_t index;
  a::DType dtype;
  std::vector<int64_t> shape;
  bool isWritten;
};

class AttentionCheck {
public:
  AttentionCheck(const a::Program &program, const a::Attention &op) : program(program), op(op) {}

  absl::Status run() const {
    const a::Buffer *query = buffer(op.query()), *key = buffer(op.key()), *value = buffer(op.value());
    for (auto [name, each] : {std::pair("query", query), std::pair("key", key), std::pair("value", value)})
      if (!each->shape() || each->shape()->size() != 3)
        return bad(str("the ", name, " is no buffer of rank 3"));
    a::DType type = query->dtype();
    if (type != a::DType::F16 && type != a::DType::BF16)
      return bad("the query must be of f16 or bf16");
    auto size = [](const a::Buffer *b, uint32_t dim) { return b->shape()->Get(dim); };
    int64_t batch = size(query, 0), to = size(query, 1), from = size(key, 1), features = size(query, 2),
            mixed = size(value, 2);
    int64_t most = int64_t{1} << 31;
    for (int64_t each : {batch, to, from, features, mixed})
      if (each < 1 || each >= most)
        return bad("sizes must be at least 1 and below 2^31");
    uint64_t heads = op.heads();
    if (heads < 1 || heads >= static_cast<uint64_t>(most) || features % static_cast<int64_t>(heads) ||
        mixed % static_cast<int64_t>(heads))
      return bad(str(heads, " heads do not divide ", features, " and ", mixed, " features"));
    if (op.causal() && to != from)
      return bad(str("it is causal, but has ", to, " places that see ", from));
    if (!std::isfinite(op.scale()))
      return bad("the scale is not finite");
    bool backward = op.backward();
    std::vector<int64_t> ofResult{batch, to, mixed}, ofKey{batch, from, features}, ofValue{batch, from, mixed};
    std::vector<Named> all{
        {"query", op.query(), type, {batch, to, features}, false},
        {"key", op.key(), type, ofKey, false},
        {"value", op.value(), type, ofValue, false},
        {"result", op.result(), type, ofResult, !backward},
        {"log_sum", op.log_sum(), a::DType::F32, {batch, static_cast<int64_t>(heads), to}, !backward}};
    if (backward) {
      all.push_back({"result_gradient", op.result_gradient(), type, ofResult, false});
      all.push_back({"query_gradient", op.query_gradient(), type, {batch, to, features}, true});
      all.push_back({"key_gradient", op.key_gradient(), type, ofKey, true});
      all.push_back({"value_gradient", op.value_gradient(), type, ofValue, true});
    } else if (op.result_gradient() != -1 || op.query_gradient() != -1 || op.key_gradient() != -1 ||
               op.value_gradient() != -1) {
      return bad("only `backward` has gradients");
    }
    for (const Named &each : all)
      DGC_RETURN_IF_ERROR(check(each));
    for (const Named &written : all)
      for (const Named &other : all)
        if (written.isWritten && &written != &other && overlap(*buffer(written.index), *buffer(other.index)))
          return bad(str("the ", written.name, " overlaps the ", other.name, " in memory"));
    return absl::OkStatus();
  }

private:
  const a::Buffer *buffer(int64_t index) const {
    return index >= 0 && index < program.buffers()->size() ? program.buffers()->Get(static_cast<uint32_t>(index))
                                                           : nullptr;
  }
  static bool overlap(const a::Buffer &x, const a::Buffer &y) {
    auto end = [](const a::Buffer &b) { return b.offset() + *checkedBytes(b.shape(), b.dtype()); };
    return x.space() == y.space() && x.offset() < end(y) && y.offset() < end(x);
  }
  absl::Status check(const Named &each) const {
    const a::Buffer *b = buffer(each.index);
    if (!b)
      return bad(str("the ", each.name, " is buffer ", each.index, ", which does not exist"));
    if (b->dtype() != each.dtype || !b->shape() ||
        std::vector<int64_t>(b->shape()->begin(), b->shape()->end()) != each.shape)
      return bad(str("the ", each.name, ", buffer ", each.index, ", does not have the type and shape that belong to ",
                     "this query, key and value"));
    return absl::OkStatus();
  }

  const a::Program &program;
  const a::Attention &op;
};
} // namespace

absl::Status ActionCheck::check(const a::Attention &op) const { return AttentionCheck(context.program, op).run(); }
