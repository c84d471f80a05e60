// Reads manifests without building a tree of them, so that a hostile one costs no more than its own size.
#include "runtime/base/ExitCode.h"
#include "runtime/base/Printable.h"
#include "runtime/base/Sha256.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/ManifestText.h"

#include <iterator>
#include <nlohmann/json.hpp>

using namespace dgc::rt;
using nlohmann::json;

namespace {
enum class Place {
  Start,
  Top,
  State,
  Extra,
  Files,
  File,
  Variables,
  Variable,
  Shape,
  Pieces,
  Piece,
  Begins,
  Sizes,
  Done
};

enum class Kind { Text, Number, Object, Array };

/// A member that an object has, and where its value leads.
struct Member {
  Place in;
  std::string_view name;
  Kind kind;
  Place place = Place::Done;
};

constexpr Member members[] = {
    {Place::Top, "format", Kind::Text},
    {Place::Top, "version", Kind::Number},
    {Place::Top, "state", Kind::Object, Place::State},
    {Place::Top, "extra", Kind::Object, Place::Extra},
    {Place::Top, "index.sha256", Kind::Text},
    {Place::Top, "files", Kind::Array, Place::Files},
    {Place::Top, "variables", Kind::Object, Place::Variables},
    {Place::Top, "sha256", Kind::Text},
    {Place::File, "name", Kind::Text},
    {Place::File, "size", Kind::Number},
    {Place::File, digestKey, Kind::Text},
    {Place::Variable, "dtype", Kind::Text},
    {Place::Variable, "shape", Kind::Array, Place::Shape},
    {Place::Variable, "pieces", Kind::Array, Place::Pieces},
    {Place::Piece, "file", Kind::Number},
    {Place::Piece, "tensor", Kind::Text},
    {Place::Piece, "start", Kind::Array, Place::Begins},
    {Place::Piece, "size", Kind::Array, Place::Sizes},
};
static_assert(std::size(members) <= 32);

constexpr Place outside(Place place) {
  switch (place) {
  case Place::State:
  case Place::Extra:
  case Place::Files:
  case Place::Variables:
    return Place::Top;
  case Place::File:
    return Place::Files;
  case Place::Variable:
    return Place::Variables;
  case Place::Shape:
  case Place::Pieces:
    return Place::Variable;
  case Place::Piece:
    return Place::Pieces;
  case Place::Begins:
  case Place::Sizes:
    return Place::Piece;
  case Place::Start:
  case Place::Top:
  case Place::Done:
    break;
  }
  return Place::Done;
}

/// Follows the text event by event. Returning false stops the parser.
class Handler {
public:
  explicit Handler(Manifest &manifest) : manifest(manifest) {}

  std::string error;

  bool start_object(size_t) {
    if (place == Place::Start)
      return enter(Place::Top);
    if (place == Place::Files) {
      manifest.files.emplace_back();
      return enter(Place::File);
    }
    if (place == Place::Variables)
      return enter(Place::Variable);
    if (place == Place::Pieces) {
      variable->pieces.emplace_back();
      return enter(Place::Piece);
    }
    return isMember(Kind::Object) ? enter(member->place) : unexpected("an object");
  }
  bool end_object() {
    for (const Member &needed : members)
      if (needed.in == place && !(seen & bitOf(needed)))
        return fail(str(where(), " lacks '", needed.name, "'"));
    return leave();
  }
  bool start_array(size_t) { return isMember(Kind::Array) ? enter(member->place) : unexpected("an array"); }
  bool end_array() { return leave(); }

  bool key(std::string &text) {
    if (place == Place::State || place == Place::Extra) {
      metaKey = text;
      return !strings().contains(text) || fail(str("it has '", printable(text, 256), "' twice"));
    }
    if (place == Place::Variables) {
      variableName = text;
      auto [it, isNew] = manifest.variables.try_emplace(text);
      variable = &it->second;
      return isNew || fail(str(where(), " is there twice"));
    }
    for (const Member &known : members)
      if (known.in == place && known.name == text) {
        member = &known;
        if (seen & bitOf(known))
          return fail(str(where(), " has '", text, "' twice"));
        seen |= bitOf(known);
        return true;
      }
    return fail(str(where(), " has '", printable(text, 256), "', which this version of dgc does not know"));
  }
  bool string(std::string &text) {
    if (place == Place::State || place == Place::Extra) {
      strings()[metaKey] = text;
      return true;
    }
    return isMember(Kind::Text) ? take(text) : unexpected("a string");
  }
  bool number_unsigned(uint64_t value) {
    if (std::vector<int64_t> *list = numbers(); list && value <= INT64_MAX && list->size() < 64) {
      list->push_back(static_cast<int64_t>(value));
      return true;
    }
    return isMember(Kind::Number) ? take(value) : unexpected("a number");
  }
  bool number_integer(int64_t) { return unexpected("a negative number"); }
  bool number_float(double, const std::string &) { return unexpected("a fraction"); }
  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("a bool"); }
  bool binary(std::vector<uint8_t> &) { return unexpected("binary"); }
  bool parse_error(size_t at, const std::string &, const json::exception &) {
    return fail(str("it is not JSON at byte ", at));
  }

private:
  static uint32_t bitOf(const Member &of) { return uint32_t{1} << (&of - members); }

  /// Whether a value of this kind is what the key asks for.
  bool isMember(Kind kind) const { return member && member->in == place && member->kind == kind; }

  bool enter(Place next) {
    if (next == Place::File || next == Place::Variable || next == Place::Piece)
      for (const Member &of : members) // of this object nothing is known yet
        if (of.in == next)
          seen &= ~bitOf(of);
    place = next;
    return true;
  }
  bool leave() {
    place = outside(place);
    return true;
  }
  Metadata &strings() { return place == Place::State ? manifest.state : manifest.extra; }
  std::vector<int64_t> *numbers() {
    return place == Place::Shape    ? &variable->globalShape
           : place == Place::Begins ? &variable->pieces.back().start
           : place == Place::Sizes  ? &variable->pieces.back().size
                                    : nullptr;
  }

  bool take(uint64_t value) {
    if (place == Place::File)
      manifest.files.back().bytes = value;
    else if (place == Place::Piece)
      variable->pieces.back().file = value;
    else if (value != manifestVersion)
      return fail(str("it is of version ", value, ", and this version of dgc reads version ", manifestVersion,
                      ": load it with the version that wrote it"));
    return true;
  }
  bool take(const std::string &text) {
    if (place == Place::File)
      (member->name == digestKey ? manifest.files.back().digest : manifest.files.back().name) = text;
    else if (place == Place::Piece)
      variable->pieces.back().tensor = text;
    else if (place == Place::Variable)
      return takeDType(text);
    else if (member->name == "index.sha256")
      manifest.indexDigest = text;
    else if (member->name == "format" && text != manifestFormat)
      return fail(str("its format is '", printable(text, 256), "', not '", manifestFormat, "'"));
    return true;
  }
  bool takeDType(const std::string &text) {
    std::optional<DType> dtype = dtypeFromName(text);
    if (!dtype)
      return fail(str(where(), " has elements of type '", printable(text, 256), "', which is not supported"));
    variable->dtype = *dtype;
    return true;
  }

  std::string where() const {
    const bool isOfVariable = place != Place::Top && place != Place::Files && place != Place::File && variable;
    return isOfVariable           ? str("variable '", printable(variableName, 256), "'")
           : place == Place::File ? str("file ", manifest.files.size() - 1)
                                  : std::string("it");
  }
  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }
  bool unexpected(const char *what) { return fail(str(where(), " has ", what, " in an unexpected place")); }

  Manifest &manifest;
  Place place = Place::Start;
  const Member *member = nullptr; // whose value comes
  uint32_t seen = 0;              // bits of the members that the objects around here have
  std::string metaKey, variableName;
  Manifest::Variable *variable = nullptr; // at a variable and in it
};
} // namespace

/// The text that a digest is of.
static absl::StatusOr<std::string_view> checkDigest(std::string_view text) {
  constexpr size_t digits = 64, tail = digestBegin.size() + digits + digestEnd.size();
  std::string_view body = text.substr(0, text.size() - std::min(tail, text.size())), rest = text.substr(body.size());
  if (rest.size() != tail || !rest.starts_with(digestBegin) || !rest.ends_with(digestEnd))
    return badData("it is not the manifest of a checkpoint, or truncated: it does not end in its SHA-256; take another "
                   "checkpoint");
  if (sha256Of(body) != rest.substr(digestBegin.size(), digits))
    return badData("it is damaged: its content does not match its SHA-256; take another checkpoint");
  return body;
}

absl::StatusOr<Manifest> dgc::rt::parseManifest(std::string_view text) {
  DGC_RETURN_IF_ERROR(checkDigest(text).status());
  Manifest manifest;
  Handler handler(manifest);
  if (json::sax_parse(text.begin(), text.end(), &handler))
    return manifest;
  return badData(handler.error);
}
