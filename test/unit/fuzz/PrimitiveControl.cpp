// Branches and loops of random programs.
#include "test/unit/fuzz/PrimitiveLoops.h"

namespace dgc::testing {

namespace {

struct Control : PrimitiveLoopMaker {
  void branch() {
    Value x;
    w.pick(x);
    const Value p = w.predicate(), y = w.partner(x);
    if (isFloat(x.element) && !(isSummable(x) && isSummable(y)))
      return;
    const std::string type = x.type(), a = "%" + w.freshName(), b = "%" + w.freshName(), c = "%" + w.freshName(),
                      d = "%" + w.freshName();
    const bool isBoolean = isBool(x.element);
    const std::string then = isFloat(x.element) ? "maximum" : isBoolean ? "and" : w.choose({"add", "subtract"});
    const std::string otherwise = isFloat(x.element) ? "minimum" : isBoolean ? "xor" : w.choose({"multiply", "or"});
    const std::string last =
        x.rank() > 0 ? join("reverse ", c, " dims [", w.draw(x.rank()), "]") : join(otherwise, " ", c, ", ", b);
    w.use(x);
    w.give(
        w.define(join("dgc.if ", p.name, " (", a, " = ", x.name, ", ", b, " = ", y.name, ") : tensor<i1>, ", type, ", ",
                      type, " -> ", type, " {\n    ", c, " = dgc.", then, " ", a, ", ", b, " : ", type, "\n    ", d,
                      " = dgc.", last, " : ", type, "\n    dgc.yield ", d, " : ", type, "\n  } else {\n    ", c,
                      " = dgc.", otherwise, " ", b, ", ", a, " : ", type, "\n    dgc.yield ", c, " : ", type, "\n  }"),
                 worst(x, y)));
  }

  void loop() {
    Value x;
    w.pick(x);
    const Value input = w.partner(x);
    const int64_t start = w.draw(3), count = 1 + w.draw(4), increment = 1 + w.draw(2);
    Value last = x;
    if (!afterSteps(last, input, count))
      return;
    const Value from = w.constant({}, w.choose({"i32", "i64", "ui8"}), start);
    w.use(x);
    std::string n[8], text;
    for (std::string &name : n)
      name = "%" + w.freshName();
    const std::string type = x.type(), counter = from.type();
    std::string next = step(n[1], n[2], x, type, text);
    if (x.rank() > 0 && w.draw(2)) { // along a dimension by which the loop cannot be cut
      text += join("    ", n[3], " = dgc.reverse ", next, " dims [", w.draw(x.rank()), "] : ", type, "\n");
      next = n[3];
    }
    Value counted = from;
    const std::string op =
        join("dgc.while (", n[0], " = ", from.name, ", ", n[1], " = ", x.name, ") with (", n[2], " = ", input.name,
             ") : ", counter, ", ", type, ", ", type, " {\n    ", n[4], " = dgc.constant dense<",
             start + count * increment, "> : ", counter, "\n    ", n[5], " = dgc.compare lt ", n[0], ", ", n[4], " : ",
             counter, "\n    dgc.condition ", n[5], " : tensor<i1>\n  } do {\n    ", n[6], " = dgc.constant dense<",
             increment, "> : ", counter, "\n    ", n[7], " = dgc.add ", n[0], ", ", n[6], " : ", counter, "\n", text,
             "    dgc.yield ", n[7], ", ", next, " : ", counter, ", ", type, "\n  }");
    w.giveAll(op, {counted, last});
  }

  void scan() {
    Value x;
    if (!w.pick(x, hasDims))
      return;
    const int64_t dim = w.draw(x.rank());
    const Value start = w.partner(x, without(x.shape, dim));
    Value last = start;
    if (!afterSteps(last, x, x.shape[dim]))
      return;
    w.use(x);
    const std::string state = "%" + w.freshName(), slice = "%" + w.freshName(), type = start.type();
    std::string text;
    const std::string next = step(state, slice, start, type, text);
    Value states = last;
    states.shape = x.shape;
    w.giveAll(join("dgc.scan (", state, " = ", start.name, ") over (", slice, " = ", x.name, ")",
                   dim ? join(" dim ", dim) : "", w.draw(2) ? " reverse" : "", " : ", type, ", ", x.type(), " -> ",
                   type, ", ", x.type(), " {\n", text, "    dgc.yield ", next, ", ", w.draw(2) ? state : next, " : ",
                   type, ", ", type, "\n  }"),
              {last, states});
  }
};

} // namespace

std::vector<PrimitiveOp> controlOps() {
  return {add<Control, &Control::branch>, add<Control, &Control::loop>, add<Control, &Control::scan>};
}

} // namespace dgc::testing
