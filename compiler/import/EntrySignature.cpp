// The arguments and results of an imported function.

#include "compiler/import/EntrySignature.h"
#include "dialects/dgc/AttributeNames.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dgc::import {

namespace {

/// Fills a signature from the attributes of a function.
class SignatureBuilder {
public:
  explicit SignatureBuilder(func::FuncOp function) : function(function) {}
  FailureOr<EntrySignature> run();

private:
  LogicalResult pairState();
  LogicalResult pair(unsigned argument, int64_t result);
  void pairDonors();
  LogicalResult nameAll();
  LogicalResult findGivenBatch(bool &isGiven);
  void findCommonBatch();
  RankedTensorType typeOf(unsigned argument) {
    return dyn_cast<RankedTensorType>(function.getArgumentTypes()[argument]);
  }

  func::FuncOp function;
  EntrySignature signature;
};

} // namespace

LogicalResult SignatureBuilder::pair(unsigned argument, int64_t result) {
  if (result < 0 || result >= static_cast<int64_t>(function.getNumResults()))
    return function.emitError() << "argument " << argument << " becomes result " << result << ", which there is not";
  if (signature.argumentOf[result] >= 0)
    return function.emitError() << "result " << result << " is the next value of two arguments, "
                                << signature.argumentOf[result] << " and " << argument;
  if (function.getArgumentTypes()[argument] != function.getResultTypes()[result])
    return function.emitError() << "argument " << argument << " has the type " << function.getArgumentTypes()[argument]
                                << ", and the result " << result << " that is its next value has "
                                << function.getResultTypes()[result];
  signature.resultOf[argument] = result;
  signature.argumentOf[result] = argument;
  return success();
}

LogicalResult SignatureBuilder::pairState() {
  signature.resultOf.assign(function.getNumArguments(), -1);
  signature.argumentOf.assign(function.getNumResults(), -1);
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto result = function.getArgAttrOfType<IntegerAttr>(i, kAliasingAttr))
      if (failed(pair(i, result.getValue().getLimitedValue(std::numeric_limits<int32_t>::max()))))
        return failure();
  pairDonors();
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    signature.isState.push_back(signature.resultOf[i] >= 0 || function.getArgAttr(i, kStateAttr));
  return success();
}

/// A donated argument without a result of its own becomes the first result of its type that is left.
void SignatureBuilder::pairDonors() {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto donor = function.getArgAttrOfType<BoolAttr>(i, kDonorAttr);
    if (!donor || !donor.getValue() || signature.resultOf[i] >= 0)
      continue;
    for (unsigned result = 0; result < function.getNumResults(); ++result)
      if (signature.argumentOf[result] < 0 && function.getResultTypes()[result] == function.getArgumentTypes()[i]) {
        signature.resultOf[i] = result;
        signature.argumentOf[result] = i;
        break;
      }
  }
}

StringRef nameOf(Location location) {
  auto named = dyn_cast<NameLoc>(location);
  return named ? named.getName().getValue() : StringRef();
}

/// Names that are given, and for the others those that are wanted where each is there and different, else by position.
static FailureOr<SmallVector<std::string>> uniqueNames(func::FuncOp function, ArrayRef<StringRef> given,
                                                       ArrayRef<StringRef> wanted, StringRef prefix) {
  llvm::StringSet<> seen;
  bool areUnique = true;
  for (auto [own, other] : llvm::zip_equal(given, wanted))
    areUnique &= !(own.empty() ? other : own).empty() && seen.insert(own.empty() ? other : own).second;
  SmallVector<std::string> names;
  seen.clear();
  for (auto [i, own] : llvm::enumerate(given)) {
    names.push_back(!own.empty() ? own.str() : areUnique ? wanted[i].str() : (prefix + Twine(i)).str());
    if (!seen.insert(names.back()).second)
      return function.emitError() << "two " << (prefix == "in" ? "arguments" : "results") << " are called '"
                                  << names.back() << "'";
  }
  return names;
}

LogicalResult SignatureBuilder::nameAll() {
  SmallVector<StringRef> given, wanted;
  for (BlockArgument argument : function.getArguments()) {
    const unsigned i = argument.getArgNumber();
    auto input = function.getArgAttrOfType<StringAttr>(i, kInputAttr);
    auto state = function.getArgAttrOfType<FlatSymbolRefAttr>(i, kStateAttr);
    given.push_back(input ? input.getValue() : state ? state.getValue() : StringRef());
    wanted.push_back(nameOf(argument.getLoc()));
  }
  auto arguments = uniqueNames(function, given, wanted, "in");
  given.clear(), wanted.clear();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto output = function.getResultAttrOfType<StringAttr>(i, kOutputAttr);
    auto info = function.getResultAttrOfType<StringAttr>(i, kResultInfoAttr);
    given.push_back(output ? output.getValue() : StringRef());
    wanted.push_back(info ? info.getValue() : StringRef());
  }
  auto results = uniqueNames(function, given, wanted, "out");
  if (failed(arguments) || failed(results))
    return failure();
  signature.argumentNames = *std::move(arguments);
  signature.resultNames = *std::move(results);
  return success();
}

/// The dimensions that are named as that of the examples, and their one size.
LogicalResult SignatureBuilder::findGivenBatch(bool &isGiven) {
  isGiven = false;
  signature.batchDims.assign(function.getNumArguments(), -1);
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto dim = function.getArgAttrOfType<IntegerAttr>(i, kBatchDimAttr);
    if (!dim)
      continue;
    RankedTensorType type = typeOf(i);
    if (!type || dim.getInt() < 0 || dim.getInt() >= type.getRank())
      return function.emitError() << "argument " << i << " has the batch as its dimension " << dim.getInt()
                                  << ", which " << function.getArgumentTypes()[i] << " does not have";
    const int64_t size = type.getDimSize(dim.getInt());
    if (signature.batch && *signature.batch != size)
      return function.emitError() << "the batch has " << *signature.batch << " examples by one input, and " << size
                                  << " by '" << signature.argumentNames[i] << "'";
    signature.batch = size;
    signature.batchDims[i] = dim.getInt();
    isGiven = true;
  }
  return success();
}

/// Dimension 0 of all inputs that have one, where it is of the same size.
void SignatureBuilder::findCommonBatch() {
  std::optional<int64_t> batch;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    RankedTensorType type = typeOf(i);
    if (signature.isState[i] || !type || type.getRank() == 0)
      continue;
    if (batch && *batch != type.getDimSize(0))
      return;
    batch = type.getDimSize(0);
  }
  for (unsigned i = 0; batch && i < function.getNumArguments(); ++i)
    if (!signature.isState[i] && typeOf(i) && typeOf(i).getRank() > 0)
      signature.batchDims[i] = 0;
  signature.batch = batch;
}

FailureOr<EntrySignature> SignatureBuilder::run() {
  bool isBatchGiven = false;
  if (failed(pairState()) || failed(nameAll()) || failed(findGivenBatch(isBatchGiven)))
    return failure();
  if (!isBatchGiven)
    findCommonBatch();
  return std::move(signature);
}

FailureOr<EntrySignature> signatureOf(func::FuncOp function) { return SignatureBuilder(function).run(); }

FailureOr<func::FuncOp> findEntry(ModuleOp module) {
  SmallVector<func::FuncOp> candidates;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      candidates.push_back(function);
  if (candidates.size() == 1)
    return candidates.front();
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal())
    return module.emitError() << "has " << candidates.size()
                              << " public functions, and none is @main: it is not clear where the program begins";
  return main;
}

} // namespace dgc::import
