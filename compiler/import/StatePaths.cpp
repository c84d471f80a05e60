// Which result is the new value of a donated argument, by where both are in the values of the program in Python.
//
// `tf.aliasing_output` says in whose memory a result may be, which is that of the first donated argument of its type: the next
// value of another one, where arguments are left out or results come in another order. JAX also says where an argument and a
// result are: `state['w']` and `result[0]['w']`.

#include "compiler/import/EntrySignature.h"
#include "llvm/ADT/SetVector.h"
#include <map>

using namespace mlir;

namespace dgc::import {

namespace {
/// A donated argument, and where in a parameter it is.
struct Donated {
  unsigned argument;
  StringRef path;
};

class PathPairs {
public:
  explicit PathPairs(func::FuncOp function) : function(function), builder(function.getContext()) {}

  void run() {
    collectArguments();
    collectResults();
    // Parameters with the most parts first: what they have is surest.
    SmallVector<StringRef> order;
    for (const auto &[parameter, parts] : parameters)
      order.push_back(parameter);
    llvm::stable_sort(order, [&](StringRef a, StringRef b) { return parameters[a].size() > parameters[b].size(); });
    for (StringRef parameter : order)
      pair(parameters[parameter]);
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (std::optional<unsigned> result = aliasOf(i);
          result && !pairs.contains(i) && llvm::is_contained(taken, *result))
        function.removeArgAttr(i, kAliasingAttr);
  }

  /// Without names the order of aliases counts, which is that of the state where all of it is donated and comes back.
  void warnOfGuesses() {
    if (!parameters.empty() || llvm::any_of(function.getArguments(),
                                            [](BlockArgument argument) { return !nameOf(argument.getLoc()).empty(); }))
      return;
    for (Type type : llvm::SetVector<Type>(llvm::from_range, function.getArgumentTypes())) {
      const auto donated = llvm::count_if(function.getArguments(), [&](BlockArgument argument) {
        return argument.getType() == type && aliasOf(argument.getArgNumber());
      });
      const auto given = llvm::count(function.getResultTypes(), type);
      if (donated == 0 || donated >= given)
        continue;
      function.emitWarning()
          << "it is a guess which of the " << given << " results of the type " << type << " are the next values of the "
          << donated << " donated arguments of this type: arguments have no names, and tf.aliasing_output "
          << "names the first results. Export with jax.export, or as_text(debug_info=True), or give their "
          << "\"new_value\" in --signature";
      return;
    }
  }

private:
  std::optional<unsigned> aliasOf(unsigned argument) {
    auto alias = function.getArgAttrOfType<IntegerAttr>(argument, kAliasingAttr);
    return alias ? std::optional(static_cast<unsigned>(alias.getValue().getLimitedValue(UINT32_MAX))) : std::nullopt;
  }

  void collectArguments() {
    for (BlockArgument argument : function.getArguments()) {
      const unsigned i = argument.getArgNumber();
      auto donor = function.getArgAttrOfType<BoolAttr>(i, kDonorAttr);
      if (!aliasOf(i) && !(donor && donor.getValue()))
        continue;
      StringRef name = nameOf(argument.getLoc());
      if (const size_t end = name.find_first_of("[."); end != StringRef::npos)
        parameters[name.take_front(end)].push_back({i, name.drop_front(end)});
    }
  }

  /// Notes each result by every beginning of its path, as in `result`, `result[0]` and `result[0].mu`.
  void collectResults() {
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto info = function.getResultAttrOfType<StringAttr>(i, kResultInfoAttr);
      if (!info)
        continue;
      StringRef path = info.getValue();
      for (size_t end = path.find_first_of("[."); end != StringRef::npos; end = path.find_first_of("[.", end + 1))
        results[path.take_front(end)][path.drop_front(end)] = i;
    }
  }

  std::optional<unsigned> find(const std::map<StringRef, unsigned> &paths, const Donated &part) {
    auto found = paths.find(part.path);
    const bool isFree = found != paths.end() && !llvm::is_contained(taken, found->second) &&
                        function.getArgumentTypes()[part.argument] == function.getResultTypes()[found->second];
    return isFree ? std::optional(found->second) : std::nullopt;
  }

  /// The parts of a parameter are those of the results with whose paths most of them end; of several such, those that more of
  /// them have as an alias.
  void pair(ArrayRef<Donated> parts) {
    const std::map<StringRef, unsigned> *best = nullptr;
    std::pair<size_t, size_t> most(0, 0);
    for (const auto &[beginning, paths] : results) {
      std::pair<size_t, size_t> count(0, 0);
      for (const Donated &part : parts)
        if (std::optional<unsigned> result = find(paths, part)) {
          ++count.first;
          count.second += aliasOf(part.argument) == result;
        }
      if (count > most) {
        most = count;
        best = &paths;
      }
    }
    if (!best)
      return;
    for (const Donated &part : parts) {
      std::optional<unsigned> result = find(*best, part);
      function.removeArgAttr(part.argument, kDonorAttr);
      function.removeArgAttr(part.argument, kAliasingAttr);
      if (!result)
        continue;
      function.setArgAttr(part.argument, kAliasingAttr, builder.getI32IntegerAttr(static_cast<int32_t>(*result)));
      taken.push_back(*result);
      pairs.insert(part.argument);
    }
  }

  func::FuncOp function;
  Builder builder;
  std::map<StringRef, SmallVector<Donated>> parameters;
  std::map<StringRef, std::map<StringRef, unsigned>> results; // by the beginning and the rest of their paths
  SmallVector<unsigned> taken;
  llvm::SmallDenseSet<unsigned> pairs;
};
} // namespace

void pairStateByPaths(func::FuncOp function, bool warns) {
  PathPairs pairs(function);
  pairs.run();
  if (warns)
    pairs.warnOfGuesses();
}

} // namespace dgc::import
