// The enums that the schema shares with the runtime: equal, case by case, so that a cast converts. It stands only here.
#pragma once

#include "runtime/artifact/dgcx_generated.h"
#include "runtime/base/Collective.h"
#include "runtime/base/DType.h"

namespace dgc::rt {

static_assert(numDTypes == static_cast<int>(artifact::DType::MAX) + 1,
              "DTypes.def has a row for each DType of dgcx.fbs");
static_assert(numCollectiveKinds == static_cast<int>(artifact::CollectiveKind::MAX) + 1,
              "Collectives.def has a row for each CollectiveKind of dgcx.fbs");
static_assert(numReductions == static_cast<int>(artifact::Reduction::MAX) + 1,
              "Collectives.def has a row for each Reduction of dgcx.fbs");

#define DGC_SAME(Enum, Name)                                                                                           \
  static_assert(static_cast<int>(artifact::Enum::Name) == static_cast<int>(Enum::Name),                                \
                "tables have the order of dgcx.fbs: " #Enum "::" #Name);
#define DGC_DTYPE(Name, text, Stored) DGC_SAME(DType, Name)
#include "runtime/base/DTypes.def"
#define DGC_COLLECTIVE(Name, text, sizes, reduces, severalRanges, inPlace, makesEqual) DGC_SAME(CollectiveKind, Name)
#define DGC_REDUCTION(Name, text) DGC_SAME(Reduction, Name)
#include "runtime/base/Collectives.def"
#undef DGC_SAME

constexpr DType toDType(artifact::DType type) { return static_cast<DType>(type); }
constexpr artifact::DType fromDType(DType type) { return static_cast<artifact::DType>(type); }
constexpr CollectiveKind toCollectiveKind(artifact::CollectiveKind kind) { return static_cast<CollectiveKind>(kind); }
constexpr Reduction toReduction(artifact::Reduction reduction) { return static_cast<Reduction>(reduction); }

} // namespace dgc::rt
