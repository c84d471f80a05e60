// The libraries whose calls a program may have.

#ifndef DGC_PASSES_KERNEL_LIBRARYKIND_H
#define DGC_PASSES_KERNEL_LIBRARYKIND_H

#include "passes/analysis/OptionTypes.h"

namespace dgc {

/// oneDNN, for CPUs, or those of NVIDIA: cuBLASLt and cuDNN. Workers on the host have oneDNN always.
enum class LibraryKind { OneDnn, Nvidia };
template <> struct EnumNames<LibraryKind> {
  static constexpr EnumValue<LibraryKind> all[] = {{LibraryKind::OneDnn, "onednn"}, {LibraryKind::Nvidia, "nvidia"}};
};

} // namespace dgc

#endif // DGC_PASSES_KERNEL_LIBRARYKIND_H
