// The summary of a program as text and as JSON.

#include "compiler/import/ProgramSummary.h"
#include "runtime/base/Printable.h"
#include "llvm/ADT/StringExtras.h"
#include <nlohmann/json.hpp>

using namespace mlir;
using Json = nlohmann::ordered_json;

namespace dgc::import {

std::string elementText(Type element) {
  std::string text;
  llvm::raw_string_ostream(text) << element;
  return text.starts_with("ui") ? "u" + text.substr(2) : text;
}

std::string typeText(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return elementText(type);
  std::string text = elementText(tensor.getElementType()) + " [";
  for (auto [i, size] : llvm::enumerate(tensor.getShape()))
    text += (i ? "x" : "") + (ShapedType::isDynamic(size) ? "?" : std::to_string(size));
  return text + "]";
}

namespace {

/// Collects lines `KEY         VALUE`. Names are those of the file.
class Lines {
public:
  void add(StringRef key, const Twine &value) {
    text += (key + std::string(key.size() < 12 ? 12 - key.size() : 1, ' ') + rt::printable(value.str()) + "\n").str();
  }
  std::string text;
};

} // namespace

static std::string counted(int64_t count, StringRef what) {
  return std::to_string(count) + " " + what.str() + (count == 1 ? "" : "s");
}

static std::string describe(const ProgramSummary::Value &value) {
  return value.name + " : " + value.type + (value.sharding.empty() ? "" : ", sharding " + value.sharding);
}

std::string ProgramSummary::text() const {
  Lines lines;
  if (!name.empty())
    lines.add("program", name);
  lines.add("format", format);
  if (!producer.empty())
    lines.add("producer", producer);
  for (const auto &[domain, version] : operatorSets)
    lines.add("operators", domain + ", version " + Twine(version));
  if (!entry.empty())
    lines.add("entry", entry);
  for (const std::string &mesh : meshes)
    lines.add("mesh", mesh);
  for (const Value &input : inputs) {
    if (input.isState)
      lines.add("state", describe(input) + (input.result ? ", its new value is result " + std::to_string(*input.result)
                                                         : ", a weight"));
    else
      lines.add("input", describe(input) +
                             (input.batchDim < 0 ? "" : ", the batch is dimension " + std::to_string(input.batchDim)));
  }
  for (const Value &output : outputs)
    if (!output.isNewValue)
      lines.add("output", describe(output));
  lines.add("parameters",
            counted(stateElements, "element") + " of state, " + std::to_string(constantElements) + " of constants");
  for (const auto &[op, count] : ops)
    lines.add("op", std::to_string(count) + " x " + op);
  for (const Refusal &refusal : refusals)
    lines.add("unsupported", std::to_string(refusal.count) + " x " + refusal.what +
                                 (refusal.place.empty() ? "" : ", first at " + refusal.place));
  lines.add("supported", refusals.empty() ? "yes" : "no");
  return std::move(lines.text);
}

static Json jsonOf(const ProgramSummary::Value &value) {
  Json json = {{"name", value.name}, {"type", value.type}};
  json["sharding"] = value.sharding.empty() ? Json() : Json(value.sharding);
  return json;
}

std::string ProgramSummary::json() const {
  Json result = {{"program", name}, {"format", format}, {"producer", producer}};
  result["operator_sets"] = Json::array();
  for (const auto &[domain, version] : operatorSets)
    result["operator_sets"].push_back({{"domain", domain}, {"version", version}});
  result["entry"] = entry;
  result["meshes"] = meshes;
  for (const char *list : {"inputs", "outputs", "ops", "unsupported"})
    result[list] = Json::array();
  for (const Value &input : inputs) {
    Json json = jsonOf(input);
    json["state"] = input.isState;
    json["new_value"] = input.result ? Json(*input.result) : Json();
    json["batch"] = input.batchDim < 0 ? Json() : Json(input.batchDim);
    result["inputs"].push_back(json);
  }
  for (const Value &output : outputs) {
    Json json = jsonOf(output);
    json["new_value_of_state"] = output.isNewValue;
    result["outputs"].push_back(json);
  }
  result["parameters"] = {{"state", stateElements}, {"constants", constantElements}};
  for (const auto &[op, count] : ops)
    result["ops"].push_back({{"op", op}, {"count", count}});
  for (const Refusal &refusal : refusals)
    result["unsupported"].push_back({{"what", refusal.what}, {"count", refusal.count}, {"first", refusal.place}});
  result["supported"] = refusals.empty();
  return result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace dgc::import
