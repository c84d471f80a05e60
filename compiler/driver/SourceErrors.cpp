// Errors of MLIR's parser in words of the language.

#include "compiler/driver/SourceErrors.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;

namespace dgc {
namespace {

/// A place in the text with an error.
struct ErrorPlace {
  StringRef source;
  size_t offset;
  StringRef message;
  ArrayRef<StringRef> ops;

  /// The text from the place on, and up to it.
  StringRef after() const { return source.drop_front(offset); }
  StringRef before() const { return source.take_front(offset); }
  /// What is wrong, there or at some text of the source.
  SourceError say(const Twine &text) const { return {text.str(), offset}; }
  SourceError say(const Twine &text, StringRef where) const {
    return {text.str(), static_cast<size_t>(where.begin() - source.begin())};
  }
};

using Explanation = std::optional<SourceError>;

bool isWordCharacter(char c) { return isAlnum(c) || c == '_' || c == '.' || c == '$' || c == '-'; }

/// What is in quotes: the first 'X' of a message.
StringRef quoted(StringRef message) { return message.split('\'').second.split('\'').first; }

/// The line that the first bytes of the text end on, from 1.
size_t lineAt(StringRef source, size_t offset) { return source.take_front(offset).count('\n') + 1; }

/// The text with comments and strings blanked, so that what is left is syntax.
std::string withoutComments(StringRef source) {
  std::string text = source.str();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        text[i] = ' ';
    } else if (text[i] == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      for (; i < text.size() && text[i] != '\n'; ++i)
        text[i] = ' ';
    }
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// The nearest of `names` to one that is misspelt; empty when none is near.
StringRef nearestName(StringRef name, ArrayRef<StringRef> names) {
  StringRef best;
  unsigned least = std::max<unsigned>(1, name.size() / 3) + 1;
  for (StringRef other : names)
    if (unsigned distance = name.edit_distance_insensitive(other, /*AllowReplacements=*/true, least);
        distance < least) {
      least = distance;
      best = other;
    }
  return best;
}

/// The longest of `names` that is a part of `name`: relu in leaky_relu.
StringRef nameInside(StringRef name, ArrayRef<StringRef> names) {
  StringRef best;
  for (StringRef other : names)
    if (other.size() >= 3 && name.contains(other) && other.size() > best.size())
      best = other;
  return best;
}

/// Each value that the text defines, with its place: what a '=' or a type follows, and those in a list before it.
SmallVector<std::pair<StringRef, size_t>> definedValues(StringRef syntax) {
  SmallVector<std::pair<StringRef, size_t>> values, list;
  char last = 0; // that is not a space
  for (size_t i = 0; i < syntax.size();) {
    if (syntax[i] != '%') {
      char c = syntax[i++];
      if (c == '=') // also %p:2 = ..
        values.append(list.begin(), list.end());
      if (!isSpace(c) && c != ',' && c != ':' && !isDigit(c))
        list.clear();
      last = isSpace(c) ? last : c;
      continue;
    }
    if (last != ',')
      list.clear();
    last = '%';
    size_t end = i + 1;
    while (end < syntax.size() && isWordCharacter(syntax[end]))
      ++end;
    list.push_back({syntax.slice(i, end), i});
    i = end;
    StringRef rest = syntax.drop_front(end).ltrim(" ");
    if (rest.starts_with(": tensor<") || rest.starts_with(": !"))
      values.push_back(list.back());
  }
  return values;
}

Explanation explainUnknownValue(const ErrorPlace &at) {
  if (at.message != "use of undeclared SSA value name" || !at.after().starts_with("%"))
    return std::nullopt;
  StringRef name = at.after().take_front(1 + at.after().drop_front().find_if_not(isWordCharacter));
  std::string syntax = withoutComments(at.source), text = "there is no value '" + name.str() + "' here";
  auto values = definedValues(syntax);
  for (auto [value, offset] : values)
    if (value == name)
      return at.say(text + ": the one of line " + Twine(lineAt(syntax, offset)) +
                    " is inside other braces, and what leaves them is what their dgc.next, dgc.return or dist.return "
                    "gives");
  SmallVector<StringRef> names = map_to_vector(values, [](const auto &value) { return value.first; });
  StringRef near = nearestName(name, names);
  if (near.empty())
    return at.say(text + ": an op or dgc.input defines it, as in '" + name + " = dgc.relu %x'");
  return at.say(text + "; did you mean '" + near + "'?");
}

/// What other frameworks call an op of dgc that is named in another way; empty for other names.
StringRef nameOfOthers(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"where", "cond"}, "select")
      .Cases({"linear", "fully_connected"}, "dense")
      .Cases({"l1_loss", "mae"}, "mean_absolute_error")
      .Case("mse", "mean_squared_error")
      .Cases({"nll_loss", "softmax_cross_entropy"}, "cross_entropy")
      .Case("bce", "binary_cross_entropy")
      .Case("swish", "silu")
      .Cases({"sum", "max", "min", "prod"}, "reduce")
      .Cases({"exp", "expm1"}, "exponential")
      .Case("sub", "subtract")
      .Case("mul", "multiply")
      .Case("div", "divide")
      .Case("neg", "negate")
      .Case("pow", "power")
      .Cases({"cat", "concat"}, "concatenate")
      .Cases({"permute", "t"}, "transpose")
      .Cases({"view", "squeeze", "unsqueeze"}, "reshape")
      .Cases({"cast", "to", "astype"}, "convert")
      .Cases({"randn", "normal"}, "random_normal")
      .Cases({"rand", "uniform"}, "random_uniform")
      .Default("");
}

/// A clause of the op before it on the line, which the op has at another place.
Explanation explainClause(const ErrorPlace &at, StringRef name) {
  StringRef line = at.before().substr(at.before().rfind('\n') + 1);
  const size_t start = line.rfind("dgc.");
  if (name.contains('.') || start == StringRef::npos)
    return std::nullopt;
  StringRef op = line.drop_front(start).take_while(isWordCharacter);
  if (!is_contained(at.ops, op))
    return std::nullopt;
  return at.say("'" + name + "' cannot be here, behind what '" + op +
                "' has: docs/reference/dgc.md has its clauses, and their order");
}

Explanation explainUnknownOp(const ErrorPlace &at) {
  if (!at.message.contains("' is unknown") && !at.message.contains("not found for custom op"))
    return std::nullopt;
  StringRef name = quoted(at.message.drop_front(at.message.find("custom op")));
  if (Explanation clause = explainClause(at, name))
    return clause;
  if (name.starts_with("stablehlo.") || name.starts_with("chlo."))
    return at.say("dgc has no equivalent for '" + name +
                  (name.contains("set_dimension_size")
                       ? "': all shapes have to be known when a program is compiled; export it for "
                         "arguments of fixed sizes"
                       : "'; docs/import.md lists what is supported"));
  auto [dialect, own] = name.contains('.') ? name.split('.') : std::pair<StringRef, StringRef>{"dgc", name};
  SmallVector<StringRef> names;
  for (StringRef op : at.ops)
    if (op.split('.').first == dialect)
      names.push_back(op.split('.').second);
  StringRef near = is_contained(names, own) ? own : nameOfOthers(own);
  if (near.empty())
    near = nearestName(own, names);
  if (near.empty())
    near = nameInside(own, names);
  std::string text = "there is no op '" + name.str() + "'";
  return near.empty() ? at.say(text + "; docs/reference/dgc.md lists all ops")
                      : at.say(text + "; did you mean '" + dialect + "." + near + "'?");
}

Explanation explainUnknownType(const ErrorPlace &at) {
  if (at.message != "expected non-function type")
    return std::nullopt;
  size_t begin = at.offset, end = at.offset;
  while (end < at.source.size() && at.source[end] == ' ') // the error may be before the space
    begin = ++end;
  while (begin > 0 && isAlnum(at.source[begin - 1]))
    --begin;
  while (end < at.source.size() && isAlnum(at.source[end]))
    ++end;
  StringRef word = at.source.slice(begin, end);
  const bool isElement = at.source.take_front(begin).ends_with("<") || at.source.take_front(begin).ends_with("?");
  if (at.source.take_front(begin).ends_with("?"))
    word.consume_front("x");
  while (!word.empty() && isDigit(word.front())) { // 6x4x
    word = word.drop_while([](char c) { return isDigit(c); });
    word.consume_front("x");
  }
  if (word.empty() || !isAlpha(word.front()))
    return std::nullopt;
  StringRef known = llvm::StringSwitch<StringRef>(word.lower())
                        .Cases({"float32", "float", "fp32"}, "f32")
                        .Cases({"float64", "double", "fp64"}, "f64")
                        .Cases({"float16", "half", "fp16"}, "f16")
                        .Case("bfloat16", "bf16")
                        .Case("int8", "i8")
                        .Case("int16", "i16")
                        .Cases({"int32", "int"}, "i32")
                        .Cases({"int64", "long"}, "i64")
                        .Cases({"uint8", "byte", "u8"}, "ui8")
                        .Cases({"uint16", "u16"}, "ui16")
                        .Cases({"uint32", "u32"}, "ui32")
                        .Cases({"uint64", "u64"}, "ui64")
                        .Cases({"bool", "boolean"}, "i1")
                        .Default("");
  if (!isElement)
    return at.say("there is no type '" + word + "': write a tensor" + (known.empty() ? "" : " of ") + known +
                      ", as in tensor<?x4x" + (known.empty() ? "f32" : known) + ">",
                  word);
  return at.say("there is no element type '" + word + "'" + (known.empty() ? "" : ": write ") + known +
                "; there are f16, bf16, f32, f64, i8 to i64, ui8 to ui64 and i1");
}

//===----------------------------------------------------------------------===//
// Characters
//===----------------------------------------------------------------------===//

/// True for an attribute of a dialect, such as #dist.sharding<...>.
bool startsAttribute(StringRef text, ArrayRef<StringRef> ops) {
  if (!text.consume_front("#"))
    return false;
  StringRef dialect = text.take_while(isAlnum);
  return text.drop_front(dialect.size()).starts_with(".") &&
         any_of(ops, [&](StringRef op) { return op.split('.').first == dialect; });
}

Explanation explainComment(const ErrorPlace &at) {
  // An attribute may begin with #, an op cannot.
  StringRef next = at.message == "expected operation name in quotes" ? at.after().ltrim() : at.after();
  if (!next.starts_with("#") || at.message.contains("alias") || startsAttribute(next, at.ops))
    return std::nullopt;
  return at.say("a comment begins with //, not with #", next);
}

Explanation explainNumber(const ErrorPlace &at) {
  if (!at.message.contains("for an ellipsis") || !at.before().ends_with(".") || at.after().empty() ||
      !isDigit(at.after().front()))
    return std::nullopt;
  StringRef digits = at.after().take_while([](char c) { return isDigit(c); });
  return at.say("a number begins with a digit: write 0." + digits + " in place of ." + digits);
}

/// The '{' that are open after the text, innermost last; nothing when there was a '}' too many.
std::optional<SmallVector<size_t>> openBraces(StringRef syntax) {
  SmallVector<size_t> open;
  for (auto [i, c] : enumerate(syntax)) {
    if (c == '{')
      open.push_back(i);
    if (c == '}' && open.empty())
      return std::nullopt;
    if (c == '}')
      open.pop_back();
  }
  return open;
}

Explanation explainBraces(const ErrorPlace &at) {
  if (!at.message.starts_with("expected"))
    return std::nullopt;
  std::string syntax = withoutComments(at.source);
  StringRef rest = StringRef(syntax).drop_front(at.offset).ltrim();
  auto open = openBraces(StringRef(syntax).drop_back(rest.size()));
  if (rest.empty() && open && !open->empty()) {
    size_t brace = open->back();
    StringRef line = at.source.take_front(brace).rsplit('\n').second;
    line = (line.empty() ? at.source.take_front(brace) : line).trim();
    return at.say("the file ends, and the '{' of line " + Twine(lineAt(syntax, brace)) + " ('" + line +
                  " {') is not closed: write '}' after what belongs to it");
  }
  if (rest.starts_with("}") && open && open->empty())
    return at.say("this '}' closes nothing: there is one more than there are '{'", at.source.take_back(rest.size()));
  return std::nullopt;
}

Explanation explainList(const ErrorPlace &at) {
  if (at.message != "expected '['")
    return std::nullopt;
  StringRef number = at.after().ltrim(), before = at.before().rtrim();
  StringRef word = before.drop_front(before.find_last_not_of("abcdefghijklmnopqrstuvwxyz_") + 1);
  if (word.empty() || number.empty() || (!isDigit(number.front()) && number.front() != '-'))
    return std::nullopt;
  number = number.take_while([](char c) { return isDigit(c) || c == '-'; });
  // Numbers of dimensions differ from each other; sizes and strides are often equal.
  const bool namesDims = is_contained({"dims", "permutation", "contract", "batch", "x"}, word);
  return at.say("'" + word + "' takes a list, with a number for each dimension that it is about: write " + word + " [" +
                number + (namesDims ? "" : ", " + number) + "]");
}

Explanation explainCall(const ErrorPlace &at) {
  if (at.message != "expected SSA operand" || !(at.after().starts_with("(") || at.before().ends_with("(")))
    return std::nullopt;
  return at.say("operands follow the op without parentheses, as in 'dgc.relu %x'");
}

} // namespace

std::optional<SourceError> explainSourceError(StringRef source, size_t offset, StringRef message,
                                              ArrayRef<StringRef> ops) {
  ErrorPlace at{source, offset, message, ops};
  for (auto explain : {explainUnknownOp, explainUnknownValue, explainUnknownType, explainComment, explainNumber,
                       explainList, explainCall, explainBraces})
    if (Explanation text = explain(at))
      return text;
  return std::nullopt;
}

static StringRef nameOf(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Note:
    return "note";
  case mlir::DiagnosticSeverity::Warning:
    return "warning";
  case mlir::DiagnosticSeverity::Error:
    return "error";
  case mlir::DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("a severity that there is not");
}

SourceErrorHandler::SourceErrorHandler(SourceMgr &sources, mlir::MLIRContext *context)
    : SourceMgrDiagnosticHandler(sources, context), context(context) {
  setHandler([this](mlir::Diagnostic &diagnostic) { report(diagnostic); });
}

/// Prints a diagnostic of a whole file, which has no line, and its notes, which may have one.
void SourceErrorHandler::reportOfFile(StringRef file, mlir::Diagnostic &diagnostic) {
  os << file << ": " << nameOf(diagnostic.getSeverity()) << ": " << diagnostic << "\n";
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    emitDiagnostic(note);
}

void SourceErrorHandler::report(mlir::Diagnostic &diagnostic) {
  auto location = dyn_cast<mlir::FileLineColLoc>(diagnostic.getLocation());
  if (location && location.getLine() == 0)
    return reportOfFile(location.getFilename(), diagnostic);
  StringRef source = mgr.getMemoryBuffer(mgr.getMainFileID())->getBuffer();
  const bool isError = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
  SMLoc place = isError && location
                    ? mgr.FindLocForLineAndColumn(mgr.getMainFileID(), location.getLine(), location.getColumn())
                    : SMLoc();
  if (place.isValid()) {
    SmallVector<StringRef> ops;
    for (mlir::RegisteredOperationName op : context->getRegisteredOperations())
      if (is_contained({"dgc", "dist", "func"}, op.getDialectNamespace()))
        ops.push_back(op.getStringRef());
    auto offset = static_cast<size_t>(place.getPointer() - source.begin());
    if (std::optional<SourceError> error = explainSourceError(source, offset, diagnostic.str(), ops)) {
      auto [line, column] = mgr.getLineAndColumn(SMLoc::getFromPointer(source.begin() + error->offset));
      return emitDiagnostic(mlir::FileLineColLoc::get(context, location.getFilename(), line, column), error->message,
                            mlir::DiagnosticSeverity::Error);
    }
  }
  emitDiagnostic(diagnostic);
}

} // namespace dgc
