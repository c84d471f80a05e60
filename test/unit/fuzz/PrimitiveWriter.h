// Writes the body of a function of primitive ops, and knows of each value how exact it is.
#pragma once

#include "test/unit/fuzz/ShapeText.h"

#include <functional>
#include <random>
#include <sstream>

namespace dgc::testing {

/// The parts, one behind the other.
template <typename... Parts> std::string join(const Parts &...parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

bool isFloat(const std::string &element);
inline bool isBool(const std::string &element) { return element == "i1"; }
inline bool isInteger(const std::string &element) { return !isFloat(element) && !isBool(element); }
inline bool isUnsigned(const std::string &element) { return element[0] == 'u'; }
/// Of f32 and i32: 32.
int bitsOf(const std::string &element);
/// The distance of 1 from the next number; 0 for integers.
double epsilonOf(const std::string &element);
/// How far results of two targets may be apart, relative; 0 for integers.
double toleranceOf(const std::string &element);

struct PrimitiveValue {
  std::string name;
  Shape shape;
  std::string element;
  double bound = 0;     // floats: no element is larger
  double error = 0;     // floats: how far an element of two targets may be apart
  double tolerance = 0; // floats: of the least precise type that it was rounded in; 0: all targets give the same number
  bool onGrid = false;  // floats: multiples of 1/8, whose sums are exact
  bool isUsed = false;

  bool isExact() const { return tolerance == 0; }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  std::string type() const { return tensorOf(shape, element); }
};

/// Values and the text that defines them. Values are named by their place in `values`; helpers that give none are not
/// in it.
class PrimitiveWriter {
public:
  using Value = PrimitiveValue;
  using Condition = std::function<bool(const Value &)>;
  static constexpr int none = -1;

  explicit PrimitiveWriter(uint32_t seed) : random(seed) {}

  int64_t draw(int64_t below) { return below > 0 ? static_cast<int64_t>(random() % below) : 0; }
  template <typename T> T choose(const std::vector<T> &list) { return list[draw(list.size())]; }
  std::string choose(std::initializer_list<const char *> list) { return *(list.begin() + draw(list.size())); }

  /// A name that no value has, without "%".
  std::string freshName() { return "v" + std::to_string(++counter); }
  std::string define(const std::string &text);
  /// A value with the properties of `like`, of which `text` moves elements.
  Value define(const std::string &text, const Value &like, Shape shape);
  Value define(const std::string &text, const Value &like) { return define(text, like, like.shape); }
  Value constant(const Shape &shape, const std::string &element, double value);

  void give(Value value) { values.push_back(std::move(value)); }
  /// Several results of one op.
  void giveAll(const std::string &text, std::vector<Value> results);
  /// An integer or boolean, or what is equally exact.
  void giveExact(const std::string &text, Shape shape, const std::string &element, double bound = 0);
  /// Marks a value as one that something is made of.
  void use(const Value &value);

  /// A value that fulfils the condition, later ones and those without use more often. Nothing is wrong where none does.
  bool pick(Value &value, const Condition &condition = [](const Value &) { return true; });

  /// Whether a float of this kind is worth having: in range, and within its tolerance.
  static bool fits(const std::string &element, double bound, double error = 0, double tolerance = 0);
  /// A float that is rounded, of operands whose errors count `slope` times; false where it does not fit.
  bool rounded(Value &result, const std::string &text, const Shape &shape, double bound,
               const std::vector<Value> &operands, double slope, double roundings);
  /// Gives `text`, a sum of `count` elements of `operand`.
  void giveSum(const std::string &text, const Value &operand, const Shape &shape, int64_t count);
  /// The absolute error of functions that are no single rounding.
  static double roundingsOf(const std::string &element) { return bitsOf(element) > 16 ? 2 : 0.6; }

  /// Integers no smaller and no larger.
  Value clamped(const Value &value, int64_t low, int64_t high);
  /// False where a conversion would be one of numbers out of range, or of numbers that are not exact to integers.
  bool cast(Value &value, const std::string &element);
  /// Elements of the value in another shape.
  Value resized(Value value, const Shape &shape);
  /// Another value of that shape and element type.
  Value partner(const Value &of, const Shape &shape, bool isExact = false);
  Value partner(const Value &of, bool isExact = false) { return partner(of, of.shape, isExact); }
  /// Integers from low to high.
  Value indices(const Shape &shape, int64_t low, int64_t high);
  /// An integer scalar from -6 to 6.
  Value scalar();
  /// An i1 scalar.
  Value predicate();

  std::vector<Value> values;
  std::string body;

private:
  std::mt19937 random;
  unsigned counter = 0;
};

/// Of an op with several operands that gives elements of each.
PrimitiveValue worst(PrimitiveValue a, const PrimitiveValue &b);

} // namespace dgc::testing
