//===- Enums.h - enums of the dialects, as artifacts have them --------------===//

#ifndef DGC_COMPILER_PACKAGE_ENUMS_H
#define DGC_COMPILER_PACKAGE_ENUMS_H

#include "dialects/dgc/DGC.h"
#include "dialects/exec/Exec.h"
#include "runtime/artifact/dgcx_generated.h"

namespace dgc {

artifact::Space toArtifact(exec::Space value);
artifact::PostOpKind toArtifact(exec::PostOpKind value);
artifact::MatmulValue toArtifact(exec::MatmulValue value);
artifact::ConvKind toArtifact(exec::ConvKind value);
artifact::PoolKind toArtifact(exec::PoolKind value);
artifact::CollectiveKind toArtifact(dist::CollectiveKind value);
artifact::Reduction toArtifact(dist::Reduction value);
artifact::InitKind toArtifact(InitKind value);
artifact::VariableRole toArtifact(StateRole value);

} // namespace dgc

#endif // DGC_COMPILER_PACKAGE_ENUMS_H
