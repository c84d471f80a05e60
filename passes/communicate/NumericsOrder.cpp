#include "passes/communicate/NumericsOrder.h"

#include <map>

using namespace mlir;

namespace dgc {

namespace {
/// The ops of a function, and how many of them have a number.
struct Sequence {
  SmallVector<Operation *> ops;
  size_t next = 0;
};
} // namespace

llvm::DenseMap<Operation *, int64_t> numberOps(ArrayRef<func::FuncOp> functions) {
  SmallVector<Sequence> sequences(functions.size());
  for (auto [function, sequence] : llvm::zip_equal(functions, sequences))
    for (Operation &op : func::FuncOp(function).getBody().front())
      op.walk<WalkOrder::PreOrder>([&](Operation *each) { sequence.ops.push_back(each); });
  llvm::DenseMap<Operation *, int64_t> numbers;
  std::map<std::tuple<uint64_t, std::string, std::string>, std::pair<int64_t, int64_t>> transfers; // sent, received
  auto countsOf = [&](dist::TransferOpInterface op) -> std::pair<int64_t, int64_t> & {
    return transfers[{op.getChannel(), op.getSourceAttr().getValue().str(), op.getTargetAttr().getValue().str()}];
  };
  auto advance = [&](Sequence &sequence, bool waits) {
    const size_t before = sequence.next;
    for (; sequence.next < sequence.ops.size(); ++sequence.next) {
      Operation *op = sequence.ops[sequence.next];
      if (auto transfer = dyn_cast<dist::TransferOpInterface>(op)) {
        auto &[sent, received] = countsOf(transfer);
        if (!transfer.isSend() && waits && received >= sent)
          break;
        ++(transfer.isSend() ? sent : received);
        waits = true;
      }
      numbers[op] = static_cast<int64_t>(numbers.size()) + 1;
    }
    return sequence.next != before;
  };
  for (bool isLeft = true; isLeft;) {
    bool moved = false;
    for (Sequence &sequence : sequences)
      moved |= advance(sequence, /*waits=*/true);
    // In loops a round may receive what the round before has sent.
    auto stuck = llvm::find_if(sequences, [](const Sequence &each) { return each.next < each.ops.size(); });
    isLeft = stuck != sequences.end();
    if (isLeft && !moved)
      advance(*stuck, /*waits=*/false);
  }
  return numbers;
}

} // namespace dgc
