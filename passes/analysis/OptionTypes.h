// The types of what options of passes, of phases and of dgc-compile say: each with its text form, parsed in one place.

#ifndef DGC_PASSES_ANALYSIS_OPTIONTYPES_H
#define DGC_PASSES_ANALYSIS_OPTIONTYPES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dgc {

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

template <class E> struct EnumValue {
  E value;
  llvm::StringLiteral name;
};

/// The names of an enumeration, in its order: `static constexpr EnumValue<E> all[]`. Specialised next to each enumeration.
template <class E> struct EnumNames;

template <class E>
concept NamedEnum = requires { EnumNames<E>::all; };

template <NamedEnum E> llvm::StringRef nameOf(E value) { return EnumNames<E>::all[static_cast<int>(value)].name; }

template <NamedEnum E> std::optional<E> fromName(llvm::StringRef name) {
  for (const EnumValue<E> &each : EnumNames<E>::all)
    if (each.name == name)
      return each.value;
  return std::nullopt;
}

/// "f32, tf32, bf16 or f16": for messages.
template <NamedEnum E> std::string listNames() {
  std::string text;
  const size_t count = std::size(EnumNames<E>::all);
  for (size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : i + 1 == count ? " or " : ", ") + EnumNames<E>::all[i].name.str();
  return text;
}

/// What products are computed in.
enum class Precision { F32, TF32, BF16, F16 };
template <> struct EnumNames<Precision> {
  static constexpr EnumValue<Precision> all[] = {
      {Precision::F32, "f32"}, {Precision::TF32, "tf32"}, {Precision::BF16, "bf16"}, {Precision::F16, "f16"}};
};

/// Whether attention is one op up to the phase kernel. Auto: where the target has it.
enum class AttentionForm { Auto, Fused, Expanded };
template <> struct EnumNames<AttentionForm> {
  static constexpr EnumValue<AttentionForm> all[] = {
      {AttentionForm::Auto, "auto"}, {AttentionForm::Fused, "fused"}, {AttentionForm::Expanded, "expanded"}};
};

/// Whether the rounds of a dgc.repeat are those of a loop. Auto: where there are many.
enum class RepeatForm { Auto, Loop, Unroll };
template <> struct EnumNames<RepeatForm> {
  static constexpr EnumValue<RepeatForm> all[] = {
      {RepeatForm::Auto, "auto"}, {RepeatForm::Loop, "loop"}, {RepeatForm::Unroll, "unroll"}};
};

/// What library calls compute with products on GPUs: all that the library has; a bias followed by a relu; or, as measured
/// on an H200 (docs/gpu-results.md), all but the derivatives of activations.
enum class Epilogues { Auto, All, Bias };
template <> struct EnumNames<Epilogues> {
  static constexpr EnumValue<Epilogues> all[] = {
      {Epilogues::Auto, "auto"}, {Epilogues::All, "all"}, {Epilogues::Bias, "bias"}};
};

/// The order in which the stages of a pipeline work; PipelineSchedule.h.
enum class PipelineScheduleKind { GPipe, OneForwardOneBackward, Interleaved, ZeroBubbleH1 };
template <> struct EnumNames<PipelineScheduleKind> {
  static constexpr EnumValue<PipelineScheduleKind> all[] = {{PipelineScheduleKind::GPipe, "gpipe"},
                                                            {PipelineScheduleKind::OneForwardOneBackward, "1f1b"},
                                                            {PipelineScheduleKind::Interleaved, "interleaved"},
                                                            {PipelineScheduleKind::ZeroBubbleH1, "zb-h1"}};
};

/// The device of a worker, as dist.device spells it.
enum class DeviceKind { Cpu, Gpu };
template <> struct EnumNames<DeviceKind> {
  static constexpr EnumValue<DeviceKind> all[] = {{DeviceKind::Cpu, "cpu"}, {DeviceKind::Gpu, "gpu"}};
};

/// How stages are chosen; Placement.h.
enum class StageSolver { Chain, Greedy, Exact };
template <> struct EnumNames<StageSolver> {
  static constexpr EnumValue<StageSolver> all[] = {
      {StageSolver::Chain, "chain"}, {StageSolver::Greedy, "greedy"}, {StageSolver::Exact, "exact"}};
};

/// Element types of floating-point numbers.
enum class FloatKind { F32, F64, BF16, F16 };
template <> struct EnumNames<FloatKind> {
  static constexpr EnumValue<FloatKind> all[] = {
      {FloatKind::F32, "f32"}, {FloatKind::F64, "f64"}, {FloatKind::BF16, "bf16"}, {FloatKind::F16, "f16"}};
};

//===----------------------------------------------------------------------===//
// Values with a text form
//===----------------------------------------------------------------------===//

/// A value with `static std::optional<T> T::parse(StringRef text, std::string &error)` and `std::string text() const`,
/// which is parsed to the same value. An error says what is expected.
template <class T>
concept TextValue = requires(const T &value, std::string &error) {
  { T::parse(llvm::StringRef(), error) } -> std::same_as<std::optional<T>>;
  { value.text() } -> std::same_as<std::string>;
};

/// The axes of a mesh, major first: "data=4,model=2". Without axes: no mesh.
struct MeshShape {
  struct Axis {
    std::string name;
    int64_t size;
    bool operator==(const Axis &) const = default;
  };
  std::vector<Axis> axes;

  bool empty() const { return axes.empty(); }
  bool has(llvm::StringRef name) const;
  /// The size of an axis; 0 where there is none of that name.
  int64_t sizeOf(llvm::StringRef name) const;
  bool operator==(const MeshShape &) const = default;

  static std::optional<MeshShape> parse(llvm::StringRef text, std::string &error);
  std::string text() const;
};

/// Patterns of names, of which one must match: "layer.*+embed". `*` and `?` as in file names. Empty text: none.
struct NamePatterns {
  std::vector<std::string> patterns;

  static std::optional<NamePatterns> parse(llvm::StringRef text, std::string &error);
  std::string text() const;
};

/// Which dimensions of weights are cut: "w1:1,*.w2:0" by a pattern of names and a number (negative: from the last), or
/// by the names that dimensions have, as in "heads,mlp". `+` separates as well. Empty text: none.
struct WeightCuts {
  struct Cut {
    std::string name; // a pattern of variables or, without `dim`, the name of a dimension
    std::optional<int64_t> dim;
    std::string text() const { return dim ? name + ":" + std::to_string(*dim) : name; }
  };
  std::vector<Cut> cuts;

  static std::optional<WeightCuts> parse(llvm::StringRef text, std::string &error);
  std::string text() const;
};

template <TextValue T> llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const T &value) {
  return os << value.text();
}
template <NamedEnum E> llvm::raw_ostream &operator<<(llvm::raw_ostream &os, E value) { return os << nameOf(value); }

} // namespace dgc

namespace llvm::cl {

/// Parses an enumeration by name.
template <dgc::NamedEnum E> class parser<E> : public basic_parser<E> {
public:
  using basic_parser<E>::basic_parser;
  bool parse(Option &option, StringRef, StringRef text, E &value) {
    std::optional<E> parsed = dgc::fromName<E>(text);
    if (!parsed)
      return option.error("'" + text + "': " + dgc::listNames<E>() + " is expected");
    value = *parsed;
    return false;
  }
  void printOptionDiff(const Option &, E, OptionValue<E>, size_t) const {}
  StringRef getValueName() const override { return "name"; }
  void anchor() override {}
};

/// Parses a value with a text form.
template <dgc::TextValue T> class parser<T> : public basic_parser<T> {
public:
  using basic_parser<T>::basic_parser;
  bool parse(Option &option, StringRef, StringRef text, T &value) {
    std::string error;
    std::optional<T> parsed = T::parse(text, error);
    if (!parsed)
      return option.error(error);
    value = *std::move(parsed);
    return false;
  }
  void printOptionDiff(const Option &, const T &, const OptionValue<T> &, size_t) const {}
  void anchor() override {}
};

} // namespace llvm::cl

#endif // DGC_PASSES_ANALYSIS_OPTIONTYPES_H
