// --signature: what a program's arguments and results are, as JSON.

#include "compiler/import/SignatureFile.h"
#include "compiler/import/EntrySignature.h"
#include "compiler/import/InitialValues.h"
#include "compiler/import/ProgramSummary.h"
#include "dialects/dgc/AttributeNames.h"
#include "dialects/dgc/DGC.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

using namespace mlir;
using Json = nlohmann::ordered_json;

namespace dgc::import {
namespace {

/// Finds what the tree of JSON does not show: where the text is wrong, and keys that are there twice.
struct TextCheck : nlohmann::json_sax<Json> {
  std::string error;
  std::vector<std::set<std::string>> keys;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool start_object(size_t) override { return keys.emplace_back(), true; }
  bool end_object() override { return keys.pop_back(), true; }
  bool key(string_t &key) override {
    const bool isNew = keys.back().insert(key).second;
    error = isNew ? "" : "'" + key + "' is there twice";
    return isNew;
  }
  bool parse_error(size_t at, const std::string &, const nlohmann::detail::exception &) override {
    error = "it is not JSON at byte " + std::to_string(at);
    return false;
  }
};

/// Where an initial value is.
struct Source {
  std::string file, array;      // no array: that of the name of the argument, or of its position
  std::string entry;            // of the file, for messages
  std::optional<double> number; // of each element, without a file
};

/// Applies a file to a function.
class Signature {
public:
  Signature(func::FuncOp function, StringRef path)
      : function(function), path(path), builder(function), files(llvm::sys::path::parent_path(path).str()),
        sources(function.getNumArguments()) {}
  LogicalResult run();

private:
  InFlightDiagnostic fail(const Twine &where) {
    InFlightDiagnostic error = emitError(FileLineColLoc::get(builder.getContext(), path, 0, 0));
    return std::move(error << where << ": ");
  }
  LogicalResult readText(Json &root);
  LogicalResult checkObject(const Json &json, const Twine &where, ArrayRef<StringRef> keys);
  FailureOr<std::string> textIn(const Json &json, const Twine &where);
  FailureOr<int64_t> find(StringRef key, bool isArgument, const Twine &where);
  FailureOr<std::pair<int64_t, int64_t>> rangeOf(StringRef key, bool isArgument, const Twine &where);
  FailureOr<int64_t> resultOf(const Json &json, const Twine &where);
  LogicalResult readArgument(int64_t first, int64_t last, const Json &json, const std::string &where);
  LogicalResult readNewValue(int64_t first, int64_t last, const Json &json, const std::string &where);
  LogicalResult readBatch(int64_t argument, const Json &json, const std::string &where);
  LogicalResult readSource(int64_t argument, bool isOne, const Json &json, const std::string &where);
  LogicalResult readResult(const std::string &key, const Json &json);
  LogicalResult readInitialFile(const Json &json);
  InitAttr initialOf(unsigned argument, StringRef name, RankedTensorType type);
  LogicalResult addState(unsigned argument, StringRef name, bool hasNewValue);
  StringRef nameOfArgument(unsigned i) { return nameOf(function.getArgument(i).getLoc()); }
  StringRef nameOfResult(unsigned i) {
    auto info = function.getResultAttrOfType<StringAttr>(i, kResultInfoAttr);
    return info ? info.getValue() : StringRef();
  }

  func::FuncOp function;
  StringRef path;
  OpBuilder builder;
  ArrayFiles files;
  std::vector<std::optional<Source>> sources;     // of the initial value of each argument
  std::set<std::pair<int64_t, std::string>> seen; // what was said of each argument
  std::set<int64_t> seenResults;
};

} // namespace

LogicalResult Signature::readText(Json &root) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return fail("--signature") << "cannot read it: " << file.getError().message();
  StringRef text = (*file)->getBuffer();
  TextCheck check;
  if (!Json::sax_parse(text.begin(), text.end(), &check))
    return fail("--signature") << check.error;
  root = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  return success();
}

/// Whether it is an object with keys of these alone.
LogicalResult Signature::checkObject(const Json &json, const Twine &where, ArrayRef<StringRef> keys) {
  if (!json.is_object())
    return fail(where) << "an object is expected, with " << llvm::join(keys, ", ");
  for (const auto &[key, value] : json.items())
    if (!llvm::is_contained(keys, key))
      return fail(where) << "there is no key '" << key << "'; expected " << llvm::join(keys, ", ");
  return success();
}

FailureOr<std::string> Signature::textIn(const Json &json, const Twine &where) {
  if (json.is_string() && !json.get<std::string>().empty())
    return json.get<std::string>();
  return fail(where) << "a text in quotes is expected";
}

/// The argument or result of this position or of this name in the program.
FailureOr<int64_t> Signature::find(StringRef key, bool isArgument, const Twine &where) {
  const unsigned count = isArgument ? function.getNumArguments() : function.getNumResults();
  auto nameOf = [&](unsigned i) { return isArgument ? nameOfArgument(i) : nameOfResult(i); };
  // By position, also as what has no name is called: in3, out0.
  StringRef number = key;
  (void)number.consume_front(isArgument ? "in" : "out");
  if (int64_t position; !number.getAsInteger(10, position) && position >= 0 && position < count &&
                        (number == key || nameOf(position).empty()))
    return position;
  std::string names;
  for (unsigned i = 0; i < count; ++i) {
    if (nameOf(i) == key && !key.empty())
      return i;
    names += (i ? ", " : "") + Twine(i).str() + (nameOf(i).empty() ? "" : " '" + nameOf(i).str() + "'");
  }
  return fail(where) << "the program has no " << (isArgument ? "argument" : "result") << " '" << key
                     << "'; there are: " << names;
}

/// `3`, `0-7` or a name.
FailureOr<std::pair<int64_t, int64_t>> Signature::rangeOf(StringRef key, bool isArgument, const Twine &where) {
  auto [from, to] = key.split('-');
  int64_t ends[2];
  const bool isRange = !from.getAsInteger(10, ends[0]) && !to.getAsInteger(10, ends[1]);
  FailureOr<int64_t> first = find(isRange ? from : key, isArgument, where);
  FailureOr<int64_t> last = isRange && succeeded(first) ? find(to, isArgument, where) : first;
  if (failed(first) || failed(last))
    return failure();
  if (*first > *last)
    return fail(where) << "the last one comes before the first";
  return std::pair(*first, *last);
}

/// A result by its position, as a number, or by its name.
FailureOr<int64_t> Signature::resultOf(const Json &json, const Twine &where) {
  if (!json.is_string() && !json.is_number_integer())
    return fail(where) << "a result is expected: its position, or its name in quotes";
  return find(json.is_string() ? json.get<std::string>() : json.dump(), /*isArgument=*/false, where);
}

LogicalResult Signature::readNewValue(int64_t first, int64_t last, const Json &json, const std::string &where) {
  FailureOr<int64_t> result = resultOf(json, where);
  if (failed(result))
    return failure();
  if (*result + last - first >= function.getNumResults())
    return fail(where) << last - first + 1 << " results from " << *result << " on, and the program has "
                       << function.getNumResults();
  for (int64_t i = first; i <= last; ++i)
    function.setArgAttr(i, kAliasingAttr, builder.getI64IntegerAttr(*result + i - first));
  return success();
}

LogicalResult Signature::readBatch(int64_t argument, const Json &json, const std::string &where) {
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[argument]);
  const int64_t rank = type ? type.getRank() : 0;
  if (rank == 0)
    return fail(where) << "argument " << argument << " has no dimensions";
  if (!json.is_number_integer() || json.get<int64_t>() < 0 || json.get<int64_t>() >= rank)
    return fail(where) << "a dimension of " << type << " is expected, from 0 to " << rank - 1;
  function.setArgAttr(argument, kBatchDimAttr, builder.getI64IntegerAttr(json.get<int64_t>()));
  return success();
}

/// A number, `"FILE"`, or of one argument `{"file": "FILE", "array": "NAME"}`.
LogicalResult Signature::readSource(int64_t argument, bool isOne, const Json &json, const std::string &where) {
  Source source{"", "", where, {}};
  FailureOr<std::string> file = failure();
  if (json.is_number()) {
    source.number = json.get<double>();
    sources[argument] = source;
    return success();
  }
  if (json.is_string()) {
    file = textIn(json, where);
  } else {
    if (!json.is_object())
      return fail(where) << "a number, a file or an object with 'file' and 'array' is expected";
    if (failed(checkObject(json, where, {"file", "array"})))
      return failure();
    if (!json.contains("file") || !json.contains("array"))
      return fail(where) << "'file' and 'array' are expected";
    if (!isOne)
      return fail(where) << "one array for several arguments; name the file alone: its arrays have the names of the "
                            "arguments, or in0, in1 ..";
    FailureOr<std::string> array = textIn(json["array"], where + ": 'array'");
    file = textIn(json["file"], where + ": 'file'");
    if (failed(array))
      return failure();
    source.array = *array;
  }
  if (failed(file))
    return failure();
  source.file = *file;
  sources[argument] = source;
  return success();
}

LogicalResult Signature::readArgument(int64_t first, int64_t last, const Json &json, const std::string &where) {
  if (failed(checkObject(json, where, {"name", "new_value", "initial", "batch"})))
    return failure();
  for (const auto &[key, value] : json.items())
    for (int64_t i = first; i <= last; ++i)
      if (!seen.insert({i, key}).second)
        return fail(where) << "'" << key << "' of argument " << i << " is there twice";
  if (auto name = json.find("name"); name != json.end()) {
    FailureOr<std::string> text = textIn(*name, where + ": 'name'");
    if (failed(text))
      return failure();
    if (first != last)
      return fail(where) << "one name for several arguments";
    function.setArgAttr(first, kInputAttr, builder.getStringAttr(*text));
  }
  if (json.contains("new_value") && failed(readNewValue(first, last, json["new_value"], where + ": 'new_value'")))
    return failure();
  for (int64_t i = first; i <= last; ++i) {
    if (json.contains("batch") && failed(readBatch(i, json["batch"], where + ": 'batch'")))
      return failure();
    if (json.contains("initial") && failed(readSource(i, first == last, json["initial"], where + ": 'initial'")))
      return failure();
  }
  return success();
}

LogicalResult Signature::readResult(const std::string &key, const Json &json) {
  const std::string where = "results: '" + key + "'";
  FailureOr<int64_t> result = find(key, /*isArgument=*/false, where);
  if (failed(result) || failed(checkObject(json, where, {"name"})))
    return failure();
  if (!seenResults.insert(*result).second)
    return fail(where) << "result " << *result << " is there twice";
  if (!json.contains("name"))
    return success();
  FailureOr<std::string> name = textIn(json["name"], where + ": 'name'");
  if (failed(name))
    return failure();
  function.setResultAttr(*result, kOutputAttr, builder.getStringAttr(*name));
  return success();
}

/// A file each of whose arrays is the initial value of an argument.
LogicalResult Signature::readInitialFile(const Json &json) {
  FailureOr<std::string> path = textIn(json, "initial");
  if (failed(path))
    return failure();
  std::string error;
  const ArrayFile *file = files.open(*path, error);
  if (!file)
    return fail("initial") << error;
  for (const std::string &name : file->names()) {
    std::optional<unsigned> found;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto given = function.getArgAttrOfType<StringAttr>(i, kInputAttr);
      if (nameOfArgument(i) == name || name == ("in" + Twine(i)).str() || (given && given.getValue() == name))
        found = i;
    }
    if (!found)
      return fail("initial") << "'" << *path << "' has an array '" << name
                             << "', and no argument is called so; those without a name are in0, in1 ..";
    if (!sources[*found])
      sources[*found] = Source{*path, name, "initial", {}};
  }
  return success();
}

/// Whether elements of the type can have the value.
static bool fits(double value, Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return std::isfinite(value);
  const double ends = std::ldexp(1.0, static_cast<int>(integer.getWidth()) - (integer.isSignless() ? 1 : 0));
  const bool isBool = integer.getWidth() == 1;
  return std::trunc(value) == value && value < (isBool ? 2 : ends) &&
         value >= (integer.isSignless() && !isBool ? -ends : 0);
}

/// The initializer of an argument that has a source; null, with a diagnostic.
InitAttr Signature::initialOf(unsigned argument, StringRef name, RankedTensorType type) {
  const Source &source = *sources[argument];
  std::string error;
  if (source.number) {
    if (fits(*source.number, type.getElementType()))
      return InitAttr::constant(builder.getContext(), *source.number);
    return fail(source.entry) << Json(*source.number).dump() << " is no value of " << typeText(type), nullptr;
  }
  const ArrayFile *file = files.open(source.file, error);
  if (!file)
    return fail(source.entry) << error, nullptr;
  const std::vector<std::string> names = file->names();
  std::string array = source.array;
  for (const std::string &each : {name.str(), nameOfArgument(argument).str(), ("in" + Twine(argument)).str()})
    if (array.empty() && llvm::is_contained(names, each))
      array = each;
  if (array.empty() || !llvm::is_contained(names, array))
    return fail(source.entry) << "'" << source.file << "' has no array '" << (array.empty() ? name.str() : array)
                              << "'; it has " << llvm::join(names, ", "),
           nullptr;
  DenseElementsAttr elements = file->read(array, type, error);
  if (!elements)
    return fail(source.entry) << "array '" << array << "' of '" << source.file << "': " << error, nullptr;
  return InitAttr::stored(elements);
}

/// Declares the state that an argument is, with its initial value.
LogicalResult Signature::addState(unsigned argument, StringRef name, bool hasNewValue) {
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[argument]);
  if (!type || !type.hasStaticShape() || isa<ComplexType>(type.getElementType()))
    return fail(sources[argument]->entry)
           << "argument '" << name << "' is " << typeText(function.getArgumentTypes()[argument])
           << ": initial values are of tensors of real numbers, integers and booleans";
  InitAttr initial = initialOf(argument, name, type);
  if (!initial)
    return failure();
  const StateRole role = hasNewValue ? StateRole::Statistic : StateRole::Weight;
  StateOp::create(builder, function.getArgument(argument).getLoc(), name, role, initial, /*rng_id=*/argument, type,
                  /*begins_as=*/StringAttr());
  function.setArgAttr(argument, kStateAttr, FlatSymbolRefAttr::get(builder.getContext(), name));
  function.removeArgAttr(argument, builder.getStringAttr(kInputAttr));
  return success();
}

LogicalResult Signature::run() {
  Json root;
  if (failed(readText(root)) || failed(checkObject(root, "--signature", {"arguments", "results", "initial"})))
    return failure();
  for (StringRef part : {"arguments", "results"})
    if (root.contains(part.str()) && !root[part.str()].is_object())
      return fail(part) << "an object is expected, whose keys are positions or names";
  const Json arguments = root.value("arguments", Json::object()), results = root.value("results", Json::object());
  for (const auto &[key, json] : arguments.items()) {
    const std::string where = "arguments: '" + key + "'";
    auto range = rangeOf(key, /*isArgument=*/true, where);
    if (failed(range) || failed(readArgument(range->first, range->second, json, where)))
      return failure();
  }
  for (const auto &[key, json] : results.items())
    if (failed(readResult(key, json)))
      return failure();
  if (root.contains("initial") && failed(readInitialFile(root["initial"])))
    return failure();
  FailureOr<EntrySignature> signature = signatureOf(function);
  if (failed(signature))
    return failure();
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (function.getArgAttr(i, kBatchDimAttr) && (sources[i] || signature->isState[i]))
      return fail("arguments") << "argument " << i
                               << " has a batch, and is state: it has a new value or an initial one";
    function.setArgAttr(i, kInputAttr, builder.getStringAttr(signature->argumentNames[i]));
    if (sources[i] && failed(addState(i, signature->argumentNames[i], signature->resultOf[i] >= 0)))
      return failure();
  }
  return success();
}

LogicalResult applySignature(func::FuncOp function, StringRef path) {
  function.getContext()->loadDialect<DGCDialect>();
  return Signature(function, path).run();
}

} // namespace dgc::import
