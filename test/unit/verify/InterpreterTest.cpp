#include "test/unit/verify/KernelRun.h"

#include <gtest/gtest.h>

#include <limits>

using namespace dgc::verify;
using namespace dgc::verify::test;

static void expectSame(const Tensor &x, const Tensor &y) {
  ASSERT_EQ(x.count, y.count);
  EXPECT_EQ(x.p, y.p);
  EXPECT_EQ(x.q, y.q);
  EXPECT_EQ(x.i, y.i);
}

/// A tensor of constants.
static std::shared_ptr<Tensor> constants(std::vector<double> values, Type type = Type::F32) {
  auto result = std::make_shared<Tensor>(type, values.size());
  for (size_t i = 0; i < values.size(); ++i)
    result->set(i, fromDouble(values[i]));
  return result;
}

TEST(Interpreter, ComputesEachElement) {
  auto x = randomTensor(300, 1), y = randomTensor(300, 2), z = randomTensor(300, 3);
  OneNest run = elementwise({x, y, z}, Type::F32,
                            {op(Opcode::MulF, Type::F32, 0, 1), op(Opcode::AddF, Type::F32, 3, 2),
                             op(Opcode::SubF, Type::F32, 4, 0), op(Opcode::NegF, Type::F32, 5)});
  const TensorRef result = run.run();
  for (size_t i = 0; i < 300; ++i) {
    const Number sum = add(multiply(x->number(i), y->number(i)), z->number(i));
    EXPECT_TRUE(result->number(i).same(subtract(x->number(i), sum))) << i;
    EXPECT_EQ(result->f[i], x->f[i] - sum.f);
  }
  EXPECT_EQ(result->degree, 2);
  expectSame(*result, *run.run(1, /*portable=*/true));
}

TEST(Interpreter, EvaluatesFunctions) {
  auto x = randomTensor(200, 1), y = randomTensor(200, 2);
  OneNest run = elementwise({x, y}, Type::F32,
                            {op(Opcode::Exp, Type::F32, 0), op(Opcode::DivF, Type::F32, 2, 1),
                             op(Opcode::Sin, Type::F32, 3), op(Opcode::MulF, Type::F32, 4, 0)});
  const TensorRef result = run.run();
  for (size_t i = 0; i < 200; ++i) {
    const Number quotient =
        run.functions.call(Opcode::DivF, run.functions.call(Opcode::Exp, x->number(i)), y->number(i));
    EXPECT_TRUE(result->number(i).same(multiply(run.functions.call(Opcode::Sin, quotient), x->number(i))));
  }
  EXPECT_EQ(run.counts->functions, 600u);
  EXPECT_EQ(run.counts->exponentials, 200u);
  EXPECT_EQ(run.counts->argumentDegree, 2); // exp(x) / y
  EXPECT_EQ(result->degree, 2);
}

TEST(Interpreter, DividesByAConstantExactly) {
  auto x = randomTensor(100, 1);
  OneNest run = elementwise(
      {x}, Type::F32, {number(7), op(Opcode::DivF, Type::F32, 0, 1), number(7), op(Opcode::MulF, Type::F32, 2, 3)});
  expectSame(*run.run(), *x);
}

TEST(Interpreter, ComparesByTheDoubles) {
  auto x = randomTensor(6, 1), y = randomTensor(6, 2);
  y->set(0, x->number(0));
  y->f[0] += 1e-3; // the same number, rounded badly
  x->f[1] = 1, y->f[1] = 2;
  x->f[2] = 2, y->f[2] = 1;
  x->f[3] = 1, y->f[3] = 1 + 1e-12; // a tie that is none
  x->set(4, fromDouble(std::numeric_limits<double>::quiet_NaN()));
  x->set(5, fromDouble(-std::numeric_limits<double>::infinity()));
  y->f[4] = y->f[5] = 0;
  OneNest less = elementwise({x, y}, Type::I1, {op(Opcode::LessF, Type::I1, 0, 1)});
  const Elements<int64_t> found = less.run()->i;
  EXPECT_EQ(found, (Elements<int64_t>{0, -1, 0, -1, 0, -1}));
  EXPECT_EQ(less.counts->nearTies, 1u); // no number is less than none
  OneNest equal = elementwise({x, y}, Type::I1, {op(Opcode::EqualF, Type::I1, 0, 1)});
  EXPECT_EQ(equal.run()->i, (Elements<int64_t>{-1, 0, 0, 0, 0, 0}));
  OneNest least = elementwise({x, y}, Type::F32, {op(Opcode::Minimum, Type::F32, 0, 1)});
  const TensorRef result = least.run();
  EXPECT_TRUE(result->number(1).same(x->number(1)));
  EXPECT_TRUE(result->number(2).same(y->number(2)));
  EXPECT_TRUE(result->number(4).same(x->number(4)));
  EXPECT_TRUE(result->number(5).same(x->number(5)));
  OneNest most = elementwise({x, y}, Type::F32, {op(Opcode::Maximum, Type::F32, 0, 1)});
  EXPECT_TRUE(most.run()->number(1).same(y->number(1)));
  EXPECT_TRUE(most.run()->number(2).same(x->number(2)));
}

TEST(Interpreter, SelectsAndConverts) {
  auto mask = integers(Type::I1, {-1, 0, -1}), n = integers(Type::I8, {-1, 127, 3});
  auto x = randomTensor(3, 1);
  OneNest select = elementwise({mask, n, x}, Type::F32,
                               {op(Opcode::UnsignedToFloat, Type::F32, 1), op(Opcode::Select, Type::F32, 0, 3, 2)});
  const TensorRef result = select.run();
  EXPECT_TRUE(result->number(0).same({255, 255}));
  EXPECT_TRUE(result->number(1).same(x->number(1)));
  EXPECT_TRUE(result->number(2).same({3, 3}));
  OneNest narrowed = elementwise({constants({300, -2.75, -1e30})}, Type::I8, {op(Opcode::FloatToSigned, Type::I8, 0)});
  EXPECT_EQ(narrowed.run()->i, (Elements<int64_t>{127, -2, -128}));
}

TEST(Interpreter, IntegersWrapAround) {
  auto a = integers(Type::I8, {127, -128, 5}), b = integers(Type::I8, {1, -1, 0});
  OneNest sum = elementwise({a, b}, Type::I8, {op(Opcode::AddI, Type::I8, 0, 1)});
  EXPECT_EQ(sum.run()->i, (Elements<int64_t>{-128, 127, 5}));
  OneNest quotient = elementwise({a, b}, Type::I8, {op(Opcode::DivS, Type::I8, 0, 1)});
  EXPECT_EQ(quotient.run()->i, (Elements<int64_t>{127, -128, 0}));
  OneNest less = elementwise({a, b}, Type::I1, {op(Opcode::LessU, Type::I1, 0, 1)});
  EXPECT_EQ(less.run()->i, (Elements<int64_t>{0, -1, 0}));
}

TEST(Interpreter, BitsAreOfConstantsOnly) {
  OneNest bits = elementwise({constants({1, -2})}, Type::I32, {op(Opcode::Bitcast, Type::I32, 0)});
  EXPECT_EQ(bits.run()->i, (Elements<int64_t>{0x3f800000, static_cast<int32_t>(0xc0000000)}));
  OneNest back = elementwise({integers(Type::I32, {0x3fc00000})}, Type::F32, {op(Opcode::Bitcast, Type::F32, 0)});
  EXPECT_TRUE(back.run()->number(0).same(fromDouble(1.5)));
  OneNest bad = elementwise({randomTensor(2, 1)}, Type::I32, {op(Opcode::Bitcast, Type::I32, 0)});
  EXPECT_EQ(bad.tryRun().status().message(),
            "nest 1: kernel 'k' takes the bits of a floating-point number that is no constant");
}

TEST(Interpreter, ReadsAtComputedPlaces) {
  auto places = integers(Type::I64, {2, 0, 3});
  auto x = randomTensor(4, 1);
  OneNest run({3}, {false}, {places, x}, Type::F32, 3);
  run.nest->loads.push_back(dgc::testing::access(0, {1}));
  run.nest->body = {op(Opcode::Load, Type::I64, 0), op(Opcode::LoadAt, Type::F32, 1, 0)};
  run.nest->outputs.push_back(output(dgc::testing::access(2, {1}), 1));
  EXPECT_TRUE(run.run()->number(1).same(x->number(0)));
  run.inputs[0] = integers(Type::I64, {2, 0, 4});
  EXPECT_EQ(run.tryRun().status().message(), "nest 1: kernel 'k' reads element 4 of a buffer of 4");
  run.inputs[0] = integers(Type::I64, {2, 0, -1});
  EXPECT_EQ(run.tryRun().status().code(), absl::StatusCode::kOutOfRange);
}

/// Rows of [5, 300], the current value of each being `opcode`d with their elements.
static OneNest rowReduction(Opcode opcode, std::shared_ptr<Tensor> x) {
  OneNest run({5, 300}, {false, true}, {std::move(x)}, Type::F32, 5);
  run.nest->loads.push_back(dgc::testing::access(0, {300, 1}));
  run.nest->body = {op(Opcode::Load, Type::F32, 0), op(Opcode::Current, Type::F32, 0), op(opcode, Type::F32, 1, 0)};
  run.nest->outputs.push_back(output(dgc::testing::access(1, {1, 0}), 2));
  return run;
}

TEST(Interpreter, ReducesRows) {
  auto x = randomTensor(1500, 1);
  const TensorRef sums = rowReduction(Opcode::AddF, x).run(), most = rowReduction(Opcode::Maximum, x).run();
  for (size_t i = 0; i < 5; ++i) {
    Number sum, max;
    for (size_t k = 0; k < 300; ++k) {
      sum = add(sum, x->number(300 * i + k));
      max = x->f[300 * i + k] > max.f ? x->number(300 * i + k) : max;
    }
    EXPECT_TRUE(sums->number(i).same(sum));
    EXPECT_EQ(sums->f[i], sum.f);
    EXPECT_TRUE(most->number(i).same(max));
  }
  EXPECT_EQ(sums->degree, 1);
  EXPECT_EQ(most->degree, 1);
}

TEST(Interpreter, ProductsHaveTheDegreeOfAllFactors) {
  auto x = randomTensor(1500, 1);
  OneNest run = rowReduction(Opcode::MulF, x);
  // The product begins with ones.
  auto start = std::make_unique<bc::NestT>();
  start->extents = {5};
  start->reduces = {false};
  start->body = {number(1)};
  start->outputs.push_back(output(dgc::testing::access(1, {1}), 0));
  run.kernel.nests.insert(run.kernel.nests.begin() + 1, std::move(start));
  const TensorRef result = run.run();
  Number product = fromDouble(1);
  for (size_t k = 0; k < 300; ++k)
    product = multiply(product, x->number(900 + k));
  EXPECT_TRUE(result->number(3).same(product));
  EXPECT_EQ(result->degree, 300);
}

TEST(Interpreter, LongProductsGoOnGrowing) {
  OneNest run({5000}, {true}, {randomTensor(5000, 1)}, Type::F32, 1);
  run.nest->loads.push_back(dgc::testing::access(0, {1}));
  run.nest->body = {op(Opcode::Load, Type::F32, 0), op(Opcode::Current, Type::F32, 0),
                    op(Opcode::MulF, Type::F32, 1, 0)};
  run.nest->outputs.push_back(output(dgc::testing::access(1, {0}), 2));
  EXPECT_EQ(run.run()->degree, 5000);
}

TEST(Interpreter, OwnBuffersLiveBetweenNests) {
  const bc::KernelsT kernels = dgc::testing::sampleKernels();
  const std::vector<uint8_t> bytes = dgc::testing::packed(kernels);
  auto read = bc::readKernels(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(read.ok());
  auto x = randomTensor(12, 1);
  const Functions functions(1);
  Counts counts;
  const std::vector<TensorRef> inputs = {x, integers(Type::I32, {2, 0, 1})};
  auto results = interpret(*(*read)->kernels()->Get(0), inputs, {functions, counts});
  ASSERT_TRUE(results.ok()) << results.status();
  Number sum = fromDouble(1);
  for (size_t k = 8; k < 12; ++k)
    sum = add(sum, multiply(x->number(k), fromDouble(2)));
  EXPECT_TRUE((*results)[0]->number(0).same(sum));
}

TEST(Interpreter, ThreadsGiveTheSame) {
  auto x = randomTensor(70 * 999, 1), y = randomTensor(70 * 999, 2);
  OneNest run = elementwise({x, y}, Type::F32, {op(Opcode::MulF, Type::F32, 0, 1), op(Opcode::Tanh, Type::F32, 2)});
  run.nest->body.push_back(op(Opcode::Index, Type::I64, 0));
  run.nest->body.push_back(op(Opcode::SignedToFloat, Type::F32, 4));
  run.nest->body.push_back(op(Opcode::AddF, Type::F32, 3, 5));
  run.nest->outputs[0]->value = 6;
  const TensorRef one = run.run(1), three = run.run(3);
  expectSame(*one, *three);
  EXPECT_EQ(one->f, three->f);
  EXPECT_EQ(run.counts->functions, 2u * 70 * 999);
}

TEST(Interpreter, LoopsThatAreOneInMemoryKeepTheirIndices) {
  auto x = randomTensor(2 * 3 * 70, 1);
  for (uint32_t loop : {0U, 1U, 2U, 3U}) {
    OneNest run({2, 1, 3, 70}, {false, false, false, false}, {x}, Type::F32, x->count);
    run.nest->loads.push_back(dgc::testing::access(0, {210, 210, 70, 1}));
    run.nest->body = {op(Opcode::Load, Type::F32, 0), op(Opcode::Index, Type::I64, loop),
                      op(Opcode::SignedToFloat, Type::F32, 1), op(Opcode::AddF, Type::F32, 0, 2)};
    run.nest->outputs.push_back(output(dgc::testing::access(1, {210, 210, 70, 1}), 3));
    const TensorRef result = run.run();
    for (size_t i = 0; i < x->count; ++i) {
      const size_t indices[] = {i / 210, 0, i / 70 % 3, i % 70};
      EXPECT_TRUE(result->number(i).same(add(x->number(i), fromInteger(static_cast<int64_t>(indices[loop]))))) << i;
    }
  }
}

TEST(Interpreter, TransposesAndBroadcasts) {
  auto x = randomTensor(130 * 7, 1), y = randomTensor(7, 2);
  OneNest run({130, 7}, {false, false}, {x, y}, Type::F32, x->count);
  run.nest->loads.push_back(dgc::testing::access(0, {7, 1}));
  run.nest->loads.push_back(dgc::testing::access(1, {0, 1}));
  run.nest->body = {op(Opcode::Load, Type::F32, 0), op(Opcode::Load, Type::F32, 1), op(Opcode::SubF, Type::F32, 0, 1)};
  run.nest->outputs.push_back(output(dgc::testing::access(2, {1, 130}), 2));
  const TensorRef result = run.run();
  for (size_t i = 0; i < 130; ++i)
    for (size_t k = 0; k < 7; ++k)
      EXPECT_TRUE(result->number(k * 130 + i).same(subtract(x->number(7 * i + k), y->number(k))));
}

/// Two sums of each of 3 rows of 40 elements x, which begin with a = 1 and b = 2; `outputs` are their new values.
static std::vector<TensorRef> runPairs(std::shared_ptr<Tensor> x, std::vector<bc::Instruction> body,
                                       std::pair<uint32_t, uint32_t> outputs) {
  OneNest run({3, 40}, {false, true}, {std::move(x)}, Type::F32, 3);
  run.kernel.results = 2;
  run.kernel.buffers.push_back(buffer(Type::F32, 3));
  run.kernel.nests[0]->body = {number(1), number(2)};
  run.kernel.nests[0]->outputs.push_back(output(dgc::testing::access(2, {1}), 1));
  run.nest->loads.push_back(dgc::testing::access(0, {40, 1}));
  run.nest->body = {op(Opcode::Load, Type::F32, 0), op(Opcode::Current, Type::F32, 0),
                    op(Opcode::Current, Type::F32, 1)};
  run.nest->body.insert(run.nest->body.end(), body.begin(), body.end());
  run.nest->outputs.push_back(output(dgc::testing::access(1, {1, 0}), outputs.first));
  run.nest->outputs.push_back(output(dgc::testing::access(2, {1, 0}), outputs.second));
  return *run.tryRun();
}

TEST(Interpreter, OutputsOfAnIterationSeeThoseOfTheLastOne) {
  auto x = randomTensor(120, 1);
  // a, b = a + b, a x
  const std::vector<TensorRef> found =
      runPairs(x, {op(Opcode::AddF, Type::F32, 1, 2), op(Opcode::MulF, Type::F32, 1, 0)}, {3, 4});
  // a, b = b, a + x
  const std::vector<TensorRef> swapped = runPairs(x, {op(Opcode::AddF, Type::F32, 1, 0)}, {2, 3});
  // a, b = a x, a x
  const std::vector<TensorRef> same = runPairs(x, {op(Opcode::MulF, Type::F32, 1, 0)}, {3, 3});
  for (size_t i = 0; i < 3; ++i) {
    Number a = fromDouble(1), b = fromDouble(2), c = a, d = b, product = a;
    for (size_t k = 0; k < 40; ++k) {
      const Number each = x->number(40 * i + k), next = add(a, b);
      b = multiply(a, each);
      a = next;
      std::swap(c, d);
      d = add(d, each);
      product = multiply(product, each);
    }
    EXPECT_TRUE(found[0]->number(i).same(a) && found[1]->number(i).same(b)) << i;
    EXPECT_TRUE(swapped[0]->number(i).same(c) && swapped[1]->number(i).same(d)) << i;
    EXPECT_TRUE(same[0]->number(i).same(product) && same[1]->number(i).same(product)) << i;
  }
}
