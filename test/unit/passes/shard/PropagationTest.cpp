// Which axis wins: the table of Propagation.h, row by row, with tensors and ops in every order.
#include "mlir/IR/BuiltinOps.h" // the headers of the dialects need it

#include "passes/shard/Propagation.h"

#include "mlir/AsmParser/AsmParser.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

using namespace dgc;
using namespace mlir;

namespace {

/// A tensor: its shape and what is known of it; empty: nothing.
struct Tensor {
  std::vector<int64_t> shape;
  std::string sharding; // "[{\"a\"}, {?}]"
  uint64_t delayed = 0; // axes of it that wait, by number
};

/// Factors like an einsum: per tensor a string for each dimension, of a letter for each factor, as "b", "hd". Capital
/// letters are reductions.
struct Op {
  std::vector<size_t> tensors;
  std::vector<std::vector<std::string>> dims;
};

class PropagationTable : public ::testing::Test {
protected:
  PropagationTable() {
    context.loadDialect<dist::DistDialect>();
    auto axis = [&](const char *name, int64_t size) {
      return dist::MeshAxisAttr::get(&context, StringAttr::get(&context, name), size);
    };
    mesh.name = FlatSymbolRefAttr::get(&context, "mesh");
    mesh.mesh = dist::MeshAttr::get(&context, {axis("a", 2), axis("b", 2), axis("c", 3)}, 0);
  }

  std::string text(const DimAxes &dims) const {
    std::string result;
    for (const AxisList &axes : dims) {
      result += "{";
      for (AxisUse use : axes)
        result += mesh.mesh.getAxes()[use.axis].getName().getValue();
      result += "}";
    }
    return result;
  }

  ShardingRule ruleOf(const Op &op, const std::vector<Tensor> &tensors) const {
    ShardingRule rule;
    std::map<char, unsigned> factors;
    for (size_t i = 0; i < op.tensors.size(); ++i) {
      auto &shape = rule.operands.emplace_back();
      for (const auto &letters : op.dims[i]) {
        shape.dims.emplace_back();
        for (char letter : letters) {
          auto [it, isNew] = factors.try_emplace(letter, rule.factors.size());
          if (isNew)
            rule.factors.push_back(
                {sizes.at(letter), isupper(letter) ? FactorKind::Reduction : FactorKind::PassThrough});
          shape.dims.back().push_back(it->second);
        }
      }
    }
    return rule;
  }

  /// Expects each tensor to end up as `expected`, whatever the order of tensors and ops.
  void expect(const std::vector<Tensor> &tensors, const std::vector<Op> &ops,
              const std::vector<std::string> &expected) {
    std::mt19937 random(1);
    for (int round = 0; round < 20; ++round) {
      std::vector<size_t> tensorOrder(tensors.size()), opOrder(ops.size());
      std::iota(tensorOrder.begin(), tensorOrder.end(), 0);
      std::iota(opOrder.begin(), opOrder.end(), 0);
      if (round > 0) {
        std::shuffle(tensorOrder.begin(), tensorOrder.end(), random);
        std::shuffle(opOrder.begin(), opOrder.end(), random);
      }
      Propagation propagation(mesh);
      std::vector<unsigned> numbers(tensors.size());
      for (size_t i : tensorOrder) {
        numbers[i] = propagation.addTensor(RankedTensorType::get(tensors[i].shape, Float32Type::get(&context)));
        if (tensors[i].sharding.empty())
          continue;
        auto sharding = dyn_cast_or_null<dist::ShardingAttr>(
            parseAttribute("#dist.sharding<@mesh, " + tensors[i].sharding + ">", &context));
        ASSERT_TRUE(sharding) << tensors[i].sharding;
        propagation.annotate(numbers[i], sharding);
        propagation.delay(numbers[i], tensors[i].delayed);
      }
      for (size_t i : opOrder) {
        SmallVector<unsigned> related;
        for (size_t tensor : ops[i].tensors)
          related.push_back(numbers[tensor]);
        propagation.relate(ruleOf(ops[i], tensors), related);
      }
      propagation.run();
      for (size_t i = 0; i < tensors.size(); ++i)
        ASSERT_EQ(text(propagation.getDims(numbers[i])), expected[i]) << "tensor " << i << ", order " << round;
    }
  }

  MLIRContext context;
  MeshRef mesh;
  std::map<char, int64_t> sizes = {{'x', 12}, {'y', 12}, {'K', 12}, {'h', 4}, {'d', 6}};
};

const Op add{{0, 1, 2}, {{"x"}, {"x"}, {"x"}}};

TEST_F(PropagationTable, UserBeforeStrategy) {
  expect({{{12}, "[{\"a\" by strategy \"s\"}]"}, {{12}, "[{\"b\"}]"}, {{12}}}, {add}, {"{a}", "{b}", "{b}"});
}

TEST_F(PropagationTable, EarlierRoundFirst) {
  expect({{{12}, "[{\"a\"} round 1]"}, {{12}, "[{\"b\"}]"}, {{12}}}, {add}, {"{a}", "{b}", "{b}"});
}

TEST_F(PropagationTable, DelayedLast) {
  expect({{{12}, "[{\"a\"}]", 1}, {{12}, "[{\"b\"}]"}, {{12}}}, {add}, {"{a}", "{b}", "{b}"});
  // In one round: what is delayed comes before a later round.
  expect({{{12}, "[{\"b\"} round 1]"}, {{12}, "[{\"a\"}]", 1}, {{12}}}, {add}, {"{b}", "{a}", "{a}"});
  // The other axes of the tensor do not wait.
  Op sum{{0, 1, 2}, {{"x", "y"}, {"x", "y"}, {"x", "y"}}};
  expect({{{12, 12}, "[{\"a\"}, {\"b\"}]", 1}, {{12, 12}, "[{}, {\"c\"}]"}, {{12, 12}}}, {sum},
         {"{a}{b}", "{}{c}", "{a}{b}"});
}

TEST_F(PropagationTable, NearerFirst) {
  Op copy{{2, 3}, {{"x"}, {"x"}}};
  Op near{{3, 4}, {{"x"}, {"x"}}}, far{{0, 2}, {{"x"}, {"x"}}};
  expect({{{12}, "[{\"a\"}]"}, {{12}}, {{12}}, {{12}}, {{12}, "[{\"b\"}]"}}, {far, copy, near},
         {"{a}", "{}", "{a}", "{b}", "{b}"});
}

// Of equally near ones that for which fewer bytes move: the axis that more bytes agree on.
TEST_F(PropagationTable, MoreBytesFirst) {
  Op product{{0, 1, 2}, {{"x", "K"}, {"K", "y"}, {"x", "y"}}};
  sizes['K'] = 2;
  sizes['y'] = 24;
  expect({{{12, 2}, "[{\"a\"}, {}]"}, {{2, 24}, "[{}, {\"a\"}]"}, {{12, 24}}}, {product}, {"{a}{}", "{}{a}", "{}{a}"});
}

TEST_F(PropagationTable, BytesThatAgreeCountTogether) {
  Op sum{{0, 1, 2, 3}, {{"x"}, {"x"}, {"x"}, {"x"}}};
  expect({{{12}, "[{\"a\"}]"}, {{12}, "[{\"b\"}]"}, {{12}, "[{\"b\"}]"}, {{12}}}, {sum}, {"{a}", "{b}", "{b}", "{b}"});
}

TEST_F(PropagationTable, LongerListIsNoConflict) {
  expect({{{12}, "[{\"a\", \"b\"}]"}, {{12}, "[{\"a\", ?}]"}, {{12}}}, {add}, {"{ab}", "{ab}", "{ab}"});
  expect({{{12}, "[{\"a\", \"b\"}]"}, {{12}, "[{\"a\"}]"}, {{12}}}, {add}, {"{ab}", "{a}", "{ab}"});
}

TEST_F(PropagationTable, FirstAxisOfTheMesh) {
  expect({{{12}, "[{\"b\"}]"}, {{12}, "[{\"a\"}]"}, {{12}}}, {add}, {"{b}", "{a}", "{a}"});
}

// One axis may cut one dimension only: of equal ones the first.
TEST_F(PropagationTable, FirstDimension) {
  Op outer{{0, 1, 2}, {{"x"}, {"y"}, {"x", "y"}}};
  expect({{{12}, "[{\"a\"}]"}, {{12}, "[{\"a\"}]"}, {{12, 12}}}, {outer}, {"{a}", "{a}", "{a}{}"});
}

// Elementwise ops come to an end before contractions have a say, so the axis of a neighbour by additions wins against
// that of a product that is as near.
TEST_F(PropagationTable, ElementwiseBeforeContractions) {
  Op product{{0, 1, 2}, {{"x", "K"}, {"K", "y"}, {"x", "y"}}};
  Op sum{{2, 3, 4}, {{"x", "y"}, {"x", "y"}, {"x", "y"}}};
  expect({{{12, 12}, "[{\"a\"}, {}]"}, {{12, 12}}, {{12, 12}}, {{12, 12}, "[{\"b\"}, {}]"}, {{12, 12}}}, {product, sum},
         {"{a}{}", "{}{}", "{b}{}", "{b}{}", "{b}{}"});
}

// A dimension of two factors (heads, and what is in a head): an axis that divides the major one stays with it; one that
// does not is not passed on.
TEST_F(PropagationTable, DimensionsThatSplit) {
  Op split{{0, 1}, {{"x", "hd"}, {"x", "h", "d"}}};
  expect({{{12, 24}, "[{\"b\"}, {\"a\"}]"}, {{12, 4, 6}}}, {split}, {"{b}{a}", "{b}{a}{}"});
  expect({{{12, 24}, "[{}, {\"a\", \"b\"}]"}, {{12, 4, 6}}}, {split}, {"{}{ab}", "{}{ab}{}"});
  expect({{{12, 24}, "[{}, {\"a\", \"b\", \"c\"}]"}, {{12, 4, 6}}}, {split}, {"{}{abc}", "{}{ab}{c}"});
  expect({{{12, 24}, "[{}, {\"c\"}]"}, {{12, 4, 6}}}, {split}, {"{}{c}", "{}{}{}"});
  // The other way round: what cuts the minor factor alone has no place in the merged dimension.
  expect({{{12, 24}}, {{12, 4, 6}, "[{}, {\"a\"}, {}]"}}, {split}, {"{}{a}", "{}{a}{}"});
  expect({{{12, 24}}, {{12, 4, 6}, "[{}, {}, {\"a\"}]"}}, {split}, {"{}{}", "{}{}{a}"});
}

TEST_F(PropagationTable, ClosedAndReplicatedStay) {
  expect({{{12}, "[{\"a\"}]"}, {{12}, "[{}]"}, {{12}, "[{?}], replicated = [\"a\"]"}}, {add}, {"{a}", "{}", "{}"});
}

} // namespace
