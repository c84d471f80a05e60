#include "test/unit/verify/KernelRun.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace dgc::verify;
using namespace dgc::verify::test;

/// result[i, j] = sum over k of a[i, k] b[k, j].
static OneNest product(int64_t m, int64_t n, int64_t k) {
  OneNest run({m, n, k}, {false, false, true},
              {randomTensor(static_cast<size_t>(m * k), 1), randomTensor(static_cast<size_t>(k * n), 2)}, Type::F32,
              static_cast<size_t>(m * n));
  run.nest->loads.push_back(dgc::testing::access(0, {k, 0, 1}));
  run.nest->loads.push_back(dgc::testing::access(1, {0, 1, n}));
  run.nest->body = sumOfProducts();
  run.nest->outputs.push_back(output(dgc::testing::access(2, {n, 1, 0}), 6));
  return run;
}

/// The nest in loops, for one output and two loads.
static Tensor expected(const OneNest &run) {
  Tensor result(Type::F32, run.kernel.buffers[2]->count);
  std::vector<int64_t> index(run.nest->extents.size());
  auto place = [&](const bc::AccessT &access) {
    int64_t at = access.offset;
    for (size_t i = 0; i < index.size(); ++i)
      at += index[i] * access.strides[i];
    return static_cast<size_t>(at);
  };
  for (bool more = true; more;) {
    const size_t to = place(*run.nest->outputs[0]->access);
    const Number a = run.inputs[0]->number(place(*run.nest->loads[0]));
    const Number b = run.inputs[1]->number(place(*run.nest->loads[1]));
    result.set(to, add(result.number(to), multiply(a, b)));
    more = false;
    for (size_t i = index.size(); i-- > 0 && !more; index[i] = more ? index[i] : 0)
      more = ++index[i] < run.nest->extents[i];
  }
  return result;
}

static void expectProducts(OneNest run) {
  const Tensor loops = expected(run);
  for (bool portable : {false, true})
    for (int threads : {1, 3}) {
      const TensorRef result = run.run(threads, portable);
      EXPECT_EQ(result->p, loops.p);
      EXPECT_EQ(result->q, loops.q);
      EXPECT_EQ(result->f, loops.f); // small numbers: exact
      EXPECT_EQ(result->degree, 2);
    }
}

TEST(Contraction, MatricesOfAllSizes) {
  expectProducts(product(1, 1, 1));
  expectProducts(product(67, 13, 517));
  expectProducts(product(5, 71, 9));
  expectProducts(product(3, 2, 1100)); // more terms than a block
  expectProducts(product(130, 1, 30)); // a vector
  expectProducts(product(1, 21, 30));
}

TEST(Contraction, BatchesAndTransposedOperands) {
  OneNest run({3, 10, 11, 12}, {false, false, false, true}, {randomTensor(3 * 120, 1), randomTensor(3 * 132, 2)},
              Type::F32, 3 * 110 + 4);
  run.nest->loads.push_back(dgc::testing::access(0, {120, 1, 0, 10})); // [batch, k, i]
  run.nest->loads.push_back(dgc::testing::access(1, {132, 0, 12, 1})); // [batch, j, k]
  run.nest->body = sumOfProducts();
  run.nest->outputs.push_back(output(dgc::testing::access(2, {110, 1, 10, 0}, 4), 6));
  expectProducts(std::move(run));
}

TEST(Contraction, Convolutions) {
  // Images [2, 9, 8, 3], a filter [3, 2, 3, 5], strides 2 and 1: [2, 4, 7, 5].
  OneNest run({2, 4, 7, 5, 3, 2, 3}, {0, 0, 0, 0, 1, 1, 1}, {randomTensor(2 * 9 * 8 * 3, 1), randomTensor(90, 2)},
              Type::F32, 280);
  run.nest->loads.push_back(dgc::testing::access(0, {216, 48, 3, 0, 24, 3, 1}));
  run.nest->loads.push_back(dgc::testing::access(1, {0, 0, 0, 1, 30, 15, 5}));
  run.nest->body = sumOfProducts();
  run.nest->outputs.push_back(output(dgc::testing::access(2, {140, 35, 5, 1, 0, 0, 0}), 6));
  expectProducts(std::move(run));
}

TEST(Contraction, ProductsOfRows) {
  OneNest run({13, 600}, {false, true}, {randomTensor(13 * 600, 1), randomTensor(13 * 600, 2)}, Type::F32, 13);
  run.nest->loads.push_back(dgc::testing::access(0, {600, 1}));
  run.nest->loads.push_back(dgc::testing::access(1, {600, 1}));
  run.nest->body = sumOfProducts();
  run.nest->outputs.push_back(output(dgc::testing::access(2, {1, 0}), 6));
  expectProducts(std::move(run));
}

TEST(Contraction, ProductsOfColumns) {
  OneNest run({60, 130}, {true, false}, {randomTensor(60 * 130, 1), randomTensor(60 * 130, 2)}, Type::F32, 130);
  run.nest->loads.push_back(dgc::testing::access(0, {130, 1}));
  run.nest->loads.push_back(dgc::testing::access(1, {130, 1}));
  run.nest->body = sumOfProducts();
  run.nest->outputs.push_back(output(dgc::testing::access(2, {0, 1}), 6));
  expectProducts(std::move(run));
}

TEST(Contraction, FewSumsOfManyProducts) {
  for (int64_t terms : {5, 16, 4099, 9001}) {
    OneNest run({3, terms}, {false, true},
                {randomTensor(static_cast<size_t>(3 * terms), 1), randomTensor(static_cast<size_t>(3 * terms), 2)},
                Type::F32, 3);
    run.nest->loads.push_back(dgc::testing::access(0, {terms, 1}));
    run.nest->loads.push_back(dgc::testing::access(1, {1, 3}));
    run.nest->body = sumOfProducts();
    run.nest->outputs.push_back(output(dgc::testing::access(2, {1, 0}), 6));
    expectProducts(std::move(run));
  }
}

TEST(Contraction, AddsToWhatIsThere) {
  OneNest run = product(9, 10, 11);
  auto start = std::make_unique<bc::NestT>();
  start->extents = {90};
  start->reduces = {false};
  start->body = {number(0.5)};
  start->outputs.push_back(output(dgc::testing::access(2, {1}), 0));
  const Tensor loops = expected(run);
  run.kernel.nests.insert(run.kernel.nests.begin() + 1, std::move(start));
  const TensorRef result = run.run();
  for (size_t i = 0; i < 90; ++i)
    EXPECT_TRUE(result->number(i).same(add(loops.number(i), fromDouble(0.5))));
}

TEST(Contraction, InfinitiesReachTheirSums) {
  OneNest run = product(9, 10, 11);
  auto a = std::make_shared<Tensor>(*run.inputs[0]);
  a->set(11 + 3, fromDouble(-HUGE_VAL));
  run.inputs[0] = a;
  const Tensor loops = expected(run);
  for (bool portable : {false, true}) {
    const TensorRef result = run.run(1, portable);
    EXPECT_EQ(result->p, loops.p);
    EXPECT_EQ(result->q, loops.q);
  }
}

TEST(Contraction, InfinitiesOfOneBlockAreNotInTheNext) {
  OneNest run({4099}, {true}, {randomTensor(4099, 1), randomTensor(4099, 2)}, Type::F32, 1);
  auto b = std::make_shared<Tensor>(*run.inputs[1]);
  b->set(7, fromDouble(HUGE_VAL));
  run.inputs[1] = b;
  run.nest->loads.push_back(dgc::testing::access(0, {1}));
  run.nest->loads.push_back(dgc::testing::access(1, {1}));
  run.nest->body = sumOfProducts();
  run.nest->outputs.push_back(output(dgc::testing::access(2, {0}), 6));
  EXPECT_TRUE(std::isinf(run.run()->f[0]));
  EXPECT_EQ(run.run()->p, expected(run).p);
}

TEST(Contraction, SumsOfElements) {
  auto x = randomTensor(30 * 5000, 1);
  for (bool rows : {true, false}) {
    OneNest run =
        rows ? OneNest({30, 5000}, {0, 1}, {x}, Type::F32, 30) : OneNest({5000, 30}, {1, 0}, {x}, Type::F32, 30);
    run.nest->loads.push_back(
        dgc::testing::access(0, rows ? std::vector<int64_t>{5000, 1} : std::vector<int64_t>{30, 1}));
    run.nest->body = {op(Opcode::Load, Type::F32, 0), op(Opcode::Current, Type::F32, 0),
                      op(Opcode::AddF, Type::F32, 0, 1)};
    run.nest->outputs.push_back(
        output(dgc::testing::access(1, rows ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{0, 1}), 2));
    Tensor loops(Type::F32, 30);
    for (size_t i = 0; i < 30; ++i)
      for (size_t k = 0; k < 5000; ++k)
        loops.set(i, add(loops.number(i), x->number(rows ? i * 5000 + k : k * 30 + i)));
    for (int threads : {1, 3}) {
      const TensorRef result = run.run(threads);
      EXPECT_EQ(result->p, loops.p);
      EXPECT_EQ(result->q, loops.q);
      EXPECT_EQ(result->f, loops.f);
      EXPECT_EQ(result->degree, 1);
    }
  }
}

// The outputs of different iterations are one element: the last one remains, as the loops have it.
TEST(Contraction, OverlappingOutputsAreNoContraction) {
  OneNest run = product(4, 5, 6);
  run.nest->outputs[0]->access->strides = {5, 0, 0};
  const TensorRef result = run.run();
  Number last;
  for (size_t k = 0; k < 6; ++k)
    last = add(last, multiply(run.inputs[0]->number(6 + k), run.inputs[1]->number(k * 5 + 4)));
  EXPECT_TRUE(result->number(5).same(last));
}
