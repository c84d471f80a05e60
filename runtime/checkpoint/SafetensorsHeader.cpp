// Reads and writes the header of safetensors without building a tree of it, so
// that a hostile header costs no more than its own size.
#include "runtime/checkpoint/SafetensorsHeader.h"

#include <nlohmann/json.hpp>
#include <utility>

using namespace dgc::rt;
using nlohmann::json;

static constexpr std::pair<std::string_view, DType> dtypeNames[] = {
    {"BOOL", DType::I1},   {"I8", DType::I8},   {"I16", DType::I16}, {"I32", DType::I32}, {"I64", DType::I64},
    {"U8", DType::U8},     {"U16", DType::U16}, {"U32", DType::U32}, {"U64", DType::U64}, {"F16", DType::F16},
    {"BF16", DType::BF16}, {"F32", DType::F32}, {"F64", DType::F64}};

std::string dgc::rt::formatSafetensorsHeader(std::span<const Tensor> tensors, const Metadata &metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const Tensor &tensor : tensors) {
    auto &entry = header[tensor.name];
    for (auto [name, dtype] : dtypeNames)
      if (dtype == tensor.dtype)
        entry["dtype"] = std::string(name);
    entry["shape"] = tensor.globalShape;
    entry["data_offsets"] = {offset, offset + tensor.bytes.size()};
    offset += tensor.bytes.size();
  }
  // Names that are not UTF-8 are written with replacements, never thrown at.
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

namespace {
/// Follows the header event by event. Returning false stops the parser.
class Handler {
public:
  Handler(std::map<std::string, SafetensorsFile::Entry> &entries, Metadata &metadata)
      : entries(entries), metadata(metadata) {}

  std::string error;

  bool start_object(size_t) {
    if (state == Start)
      return enter(Top);
    if (state == Top)
      return enter(name == "__metadata__" ? Meta : InEntry);
    return unexpected("an object");
  }
  bool end_object() {
    if (state == InEntry) {
      if (seen != 7)
        return fail(where() + " lacks dtype, shape or data_offsets");
      if (offsets.size() != 2 || offsets[0] > offsets[1])
        return fail(where() + ": data_offsets are not [begin, end]");
      entry.offset = offsets[0];
      entry.bytes = offsets[1] - offsets[0];
      entries[name] = std::move(entry);
      return enter(Top);
    }
    return enter(state == Meta ? Top : Done);
  }
  bool key(std::string &text) {
    if (state == InEntry)
      return entryKey(text);
    if (state == Meta) {
      metaKey = text;
      return !metadata.contains(text) || fail("__metadata__ has '" + text + "' twice");
    }
    if (entries.contains(text) || (text == "__metadata__" && metaSeen))
      return fail("'" + text + "' is there twice");
    metaSeen |= text == "__metadata__";
    name = text;
    entry = {};
    offsets.clear();
    seen = 0;
    return true;
  }
  bool string(std::string &text) {
    if (state == Meta) {
      metadata[metaKey] = text;
      return true;
    }
    if (state != InEntry || field != Dtype)
      return unexpected("a string");
    for (auto [known, dtype] : dtypeNames)
      if (text == known) {
        entry.dtype = dtype;
        return true;
      }
    return fail(where() + " has elements of type '" + text + "', which is not supported");
  }
  bool start_array(size_t) {
    if (state == InEntry && field == Shape)
      return enter(InShape);
    if (state == InEntry && field == Offsets)
      return enter(InOffsets);
    return unexpected("an array");
  }
  bool end_array() { return enter(InEntry); }
  bool number_unsigned(uint64_t value) {
    if (state == InShape && value <= INT64_MAX && entry.shape.size() < 64) {
      entry.shape.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (state == InOffsets && offsets.size() < 2) {
      offsets.push_back(value);
      return true;
    }
    return unexpected("a number");
  }
  bool number_integer(int64_t) { return unexpected("a negative number"); }
  bool number_float(double, const std::string &) { return unexpected("a fraction"); }
  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("a bool"); }
  bool binary(std::vector<uint8_t> &) { return unexpected("binary"); }
  bool parse_error(size_t at, const std::string &, const json::exception &) {
    return fail("it is not JSON at byte " + std::to_string(at));
  }

private:
  enum State { Start, Top, Meta, InEntry, InShape, InOffsets, Done };
  enum Field { Dtype = 1, Shape = 2, Offsets = 4 };

  bool entryKey(const std::string &text) {
    field = text == "dtype" ? Dtype : text == "shape" ? Shape : text == "data_offsets" ? Offsets : 0;
    if (!field || (seen & field))
      return fail(where() + " has '" + text + "'" + (field ? " twice" : ""));
    seen |= field;
    return true;
  }
  bool enter(State next) {
    state = next;
    return true;
  }
  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }
  std::string where() const { return "tensor '" + name + "'"; }
  bool unexpected(const char *what) {
    return fail(name.empty() ? std::string("it has ") + what + " at the top"
                             : "'" + name + "' has " + what + " in an unexpected place");
  }

  std::map<std::string, SafetensorsFile::Entry> &entries;
  Metadata &metadata;
  State state = Start;
  int field = 0, seen = 0;
  bool metaSeen = false;
  std::string name, metaKey;
  SafetensorsFile::Entry entry;
  std::vector<uint64_t> offsets;
};
} // namespace

absl::Status dgc::rt::parseSafetensorsHeader(std::string_view text,
                                             std::map<std::string, SafetensorsFile::Entry> &entries,
                                             Metadata &metadata) {
  Handler handler(entries, metadata);
  if (json::sax_parse(text.begin(), text.end(), &handler))
    return absl::OkStatus();
  return absl::InvalidArgumentError(handler.error);
}
