// Branches and loops of StableHLO in random programs. What is known of a loop decides what the import makes of it: loops are
// written out, become scans, or stay loops.
#include "test/unit/fuzz/PrimitiveLoops.h"

namespace dgc::testing {

namespace {

struct ImportedControl : PrimitiveLoopMaker {
  std::string fresh() { return "%" + w.freshName(); }
  static std::string constantOf(const std::string &name, int64_t number, const std::string &type) {
    return join("    ", name, " = stablehlo.constant dense<", number, "> : ", type, "\n");
  }

  /// An integer scalar from `low` to `high`, of that type.
  Value number(const std::string &element, int64_t low, int64_t high) {
    Value value = w.scalar();
    w.cast(value, element);
    return w.clamped(value, low, high);
  }

  //===-- Loops -----------------------------------------------------------===//

  /// A loop that counts from `from` on, below `limit`, which is a value or in the text of the condition: its counter and what it
  /// makes of `x`.
  std::string loopOf(const Value &from, const std::string &limit, const std::string &inCondition, int64_t increment,
                     const Value &x, const Value &input, bool carriesLimit = false) {
    const std::string counter = fresh(), state = fresh(), carried = fresh(), goesOn = fresh(), by = fresh(),
                      nextCount = fresh();
    const std::string number = from.type(), more = carriesLimit ? ", " + number : "";
    std::string steps;
    const std::string next = step(state, input.name, x, x.type(), steps, "stablehlo");
    return join("stablehlo.while(", counter, " = ", from.name, ", ", state, " = ", x.name,
                carriesLimit ? join(", ", carried, " = ", limit) : "", ") : ", number, ", ", x.type(), more,
                "\n  cond {\n", inCondition, "    ", goesOn, " = stablehlo.compare LT, ", counter, ", ",
                carriesLimit ? carried : limit, " : (", number, ", ", number, ") -> tensor<i1>\n    stablehlo.return ",
                goesOn, " : tensor<i1>\n  } do {\n", constantOf(by, increment, number), "    ", nextCount,
                " = stablehlo.add ", counter, ", ", by, " : ", number, "\n", steps, "    stablehlo.return ", nextCount,
                ", ", next, carriesLimit ? ", " + carried : "", " : ", number, ", ", x.type(), more, "\n  }");
  }

  /// A few rounds: as many as the program says, or as the data do.
  void loop() {
    Value x;
    w.pick(x);
    const Value input = w.partner(x);
    const int64_t start = w.draw(3), increment = 1 + w.draw(2), most = 1 + w.draw(5);
    const bool isOpen = w.draw(2), carriesLimit = w.draw(2);
    Value last = x;
    if (!afterSteps(last, input, most))
      return;
    const std::string element = w.choose({"i32", "i64", "ui8"});
    const int64_t end = start + most * increment;
    const Value from = w.constant({}, element, start);
    Value limit;
    std::string inCondition;
    if (isOpen) {
      limit = number(element, 0, end);
    } else if (carriesLimit) {
      limit = w.constant({}, element, end);
    } else {
      limit.name = fresh();
      inCondition = constantOf(limit.name, end, from.type());
    }
    w.use(x);
    std::vector<Value> results = {from, last};
    if (carriesLimit)
      results.push_back(limit);
    w.giveAll(loopOf(from, limit.name, inCondition, increment, x, input, carriesLimit), results);
  }

  /// Enough rounds over slices, from the first or the last one on.
  void scan() {
    Value x;
    w.pick(x);
    const int64_t rounds = 8 + w.draw(3), columns = 1 + w.draw(4), dim = w.draw(2);
    auto shape = [&](int64_t size) { return dim == 0 ? Shape{size, columns} : Shape{columns, size}; };
    x = w.resized(x, shape(rounds));
    const Value start = w.partner(x, Shape{columns}), out = w.partner(x);
    Value last = start;
    if (!afterSteps(last, x, rounds))
      return;
    w.use(x);
    const std::string counter = fresh(), state = fresh(), made = fresh(), limit = fresh(), goesOn = fresh(),
                      zero = fresh(), one = fresh(), most = fresh(), reversed = fresh(), part = fresh(),
                      slice = fresh(), written = fresh(), nextMade = fresh(), nextCount = fresh();
    const std::string number = "tensor<i32>", partType = tensorOf(shape(1), x.element);
    const std::string at = w.draw(2) ? counter : reversed;
    const std::string places = dim == 0 ? join(at, ", ", zero) : join(zero, ", ", at);
    std::string steps;
    const std::string next = step(state, slice, start, start.type(), steps, "stablehlo");
    const Value from = w.constant({}, "i32", 0);
    const std::string op = join(
        "stablehlo.while(", counter, " = ", from.name, ", ", state, " = ", start.name, ", ", made, " = ", out.name,
        ") : ", number, ", ", start.type(), ", ", x.type(), "\n  cond {\n", constantOf(limit, rounds, number), "    ",
        goesOn, " = stablehlo.compare LT, ", counter, ", ", limit, " : (", number, ", ", number,
        ") -> tensor<i1>\n    stablehlo.return ", goesOn, " : tensor<i1>\n  } do {\n", constantOf(zero, 0, number),
        constantOf(one, 1, number), constantOf(most, rounds - 1, number), "    ", reversed, " = stablehlo.subtract ",
        most, ", ", counter, " : ", number, "\n    ", part, " = stablehlo.dynamic_slice ", x.name, ", ", places,
        ", sizes = ", listOf(shape(1)), " : (", x.type(), ", ", number, ", ", number, ") -> ", partType, "\n    ",
        slice, " = stablehlo.reshape ", part, " : (", partType, ") -> ", start.type(), "\n", steps, "    ", written,
        " = stablehlo.reshape ", w.draw(2) ? state : next, " : (", start.type(), ") -> ", partType, "\n    ", nextMade,
        " = stablehlo.dynamic_update_slice ", made, ", ", written, ", ", places, " : (", x.type(), ", ", partType, ", ",
        number, ", ", number, ") -> ", x.type(), "\n    ", nextCount, " = stablehlo.add ", counter, ", ", one, " : ",
        number, "\n    stablehlo.return ", nextCount, ", ", next, ", ", nextMade, " : ", number, ", ", start.type(),
        ", ", x.type(), "\n  }");
    Value states = last;
    states.shape = x.shape;
    w.giveAll(op, {from, last, states});
  }

  //===-- Choices ---------------------------------------------------------===//

  /// What a branch does with two values, as a region; `result` gets what is known of what it gives.
  std::string branch(const Value &x, const Value &y, Value &result) {
    const std::string a = fresh(), b = fresh(), type = x.type();
    result = worst(x, y);
    std::string text = "{\n";
    if (Value last = x; w.draw(4) == 0 && afterSteps(last, y, 3)) { // with a loop that need not end: one branch runs
      const Value limit = number("i32", 0, 3), from = w.constant({}, "i32", 0);
      text += join("    ", a, ":2 = ", loopOf(from, limit.name, "", 1, x, y), "\n    stablehlo.return ", a,
                   "#1 : ", type, "\n  }");
      result = worst(result, last);
      return text;
    }
    const bool isFloating = isFloat(x.element);
    const std::string op = isFloating          ? w.choose({"maximum", "minimum"})
                           : isBool(x.element) ? w.choose({"and", "or", "xor"})
                                               : w.choose({"add", "subtract", "multiply", "xor"});
    const std::string last = isBool(x.element) ? "not" : "negate";
    text += join("    ", a, " = stablehlo.", op, " ", x.name, ", ", y.name, " : ", type, "\n    ", b, " = stablehlo.",
                 last, " ", a, " : ", type, "\n    stablehlo.return ", w.draw(2) ? a : b, " : ", type, "\n  }");
    return text;
  }

  /// Several branches, of which one is chosen by `index`.
  void choice(const std::string &op, const Value &index, int64_t count, const Value &x) {
    const Value y = w.partner(x);
    Value result = worst(x, y);
    std::string branches;
    for (int64_t i = 0; i < count; ++i) {
      Value one;
      branches += (i ? ", " : "") + (w.draw(2) ? branch(x, y, one) : branch(y, x, one));
      result = worst(result, one);
    }
    w.use(x);
    w.give(
        w.define(join("\"stablehlo.", op, "\"(", index.name, ") (", branches, ") : (", index.type(), ") -> ", x.type()),
                 result));
  }

  void ifElse() {
    Value x;
    w.pick(x);
    choice("if", w.predicate(), 2, x);
  }

  /// An index that is out of range chooses the last branch.
  void caseOf() {
    Value x;
    w.pick(x);
    Value index = w.scalar();
    w.cast(index, "i32");
    choice("case", index, 1 + w.draw(4), x);
  }
};

} // namespace

std::vector<PrimitiveOp> rareControlOps() {
  return {add<ImportedControl, &ImportedControl::loop>, add<ImportedControl, &ImportedControl::scan>,
          add<ImportedControl, &ImportedControl::ifElse>, add<ImportedControl, &ImportedControl::caseOf>};
}

} // namespace dgc::testing
