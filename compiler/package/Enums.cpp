//===- Enums.cpp - enums of the dialects, as artifacts have them ------------===//

#include "compiler/package/Enums.h"

using namespace mlir;
namespace fb = ::dgc::artifact;

// A case of a dialect that the schema or a table lacks does not compile, nor one of a table that the dialect lacks.
#pragma GCC diagnostic error "-Wswitch"

namespace dgc {

fb::Space toArtifact(exec::Space value) {
  using From = exec::Space;
  using To = fb::Space;
  switch (value) {
  case From::Private:
    return To::Private;
  case From::Shared:
    return To::Shared;
  case From::Constant:
    return To::Constant;
  }
  llvm_unreachable("a case of exec::Space");
}

fb::PostOpKind toArtifact(exec::PostOpKind value) {
  using From = exec::PostOpKind;
  using To = fb::PostOpKind;
  switch (value) {
  case From::Add:
    return To::Add;
  case From::Relu:
    return To::Relu;
  case From::Tanh:
    return To::Tanh;
  case From::Sigmoid:
    return To::Sigmoid;
  case From::GeluTanh:
    return To::GeluTanh;
  case From::GeluErf:
    return To::GeluErf;
  case From::Multiply:
    return To::Multiply;
  case From::ReluGrad:
    return To::ReluGrad;
  case From::GeluTanhGrad:
    return To::GeluTanhGrad;
  }
  llvm_unreachable("a case of exec::PostOpKind");
}

fb::MatmulValue toArtifact(exec::MatmulValue value) {
  using From = exec::MatmulValue;
  using To = fb::MatmulValue;
  switch (value) {
  case From::Result:
    return To::Result;
  case From::A:
    return To::A;
  case From::B:
    return To::B;
  }
  llvm_unreachable("a case of exec::MatmulValue");
}

fb::ConvKind toArtifact(exec::ConvKind value) {
  using From = exec::ConvKind;
  using To = fb::ConvKind;
  switch (value) {
  case From::Forward:
    return To::Forward;
  case From::BackwardData:
    return To::BackwardData;
  case From::BackwardWeights:
    return To::BackwardWeights;
  }
  llvm_unreachable("a case of exec::ConvKind");
}

fb::PoolKind toArtifact(exec::PoolKind value) {
  using From = exec::PoolKind;
  using To = fb::PoolKind;
  switch (value) {
  case From::MaxForward:
    return To::MaxForward;
  case From::MaxBackward:
    return To::MaxBackward;
  case From::AvgForward:
    return To::AvgForward;
  case From::AvgBackward:
    return To::AvgBackward;
  }
  llvm_unreachable("a case of exec::PoolKind");
}

fb::CollectiveKind toArtifact(dist::CollectiveKind value) {
  using From = dist::CollectiveKind;
  using To = fb::CollectiveKind;
  switch (value) {
#define DGC_COLLECTIVE(Name, text, sizes, reduces, severalRanges, inPlace, makesEqual)                                 \
  case From::Name:                                                                                                     \
    return To::Name;
#include "runtime/base/Collectives.def"
  }
  llvm_unreachable("a case of dist::CollectiveKind");
}

fb::Reduction toArtifact(dist::Reduction value) {
  using From = dist::Reduction;
  using To = fb::Reduction;
  switch (value) {
#define DGC_REDUCTION(Name, text)                                                                                      \
  case From::Name:                                                                                                     \
    return To::Name;
#include "runtime/base/Collectives.def"
  }
  llvm_unreachable("a case of dist::Reduction");
}

fb::InitKind toArtifact(InitKind value) {
  using From = InitKind;
  using To = fb::InitKind;
  switch (value) {
  case From::Zeros:
    return To::Zeros;
  case From::Constant:
    return To::Constant;
  case From::Uniform:
    return To::Uniform;
  case From::Normal:
    return To::Normal;
  case From::TruncatedNormal:
    return To::TruncatedNormal;
  case From::GlorotUniform:
    return To::GlorotUniform;
  case From::GlorotNormal:
    return To::GlorotNormal;
  case From::HeUniform:
    return To::HeUniform;
  case From::HeNormal:
    return To::HeNormal;
  case From::File:
    return To::File;
  case From::Stored:
    return To::Stored;
  }
  llvm_unreachable("a case of dgc::InitKind");
}

fb::VariableRole toArtifact(StateRole value) {
  using From = StateRole;
  using To = fb::VariableRole;
  switch (value) {
  case From::Weight:
    return To::Weight;
  case From::Slot:
    return To::Slot;
  case From::Statistic:
    return To::Statistic;
  case From::Total:
    return To::Total;
  }
  llvm_unreachable("a case of dgc::StateRole");
}

} // namespace dgc
