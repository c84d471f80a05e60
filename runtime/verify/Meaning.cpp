#include "runtime/verify/Meaning.h"

#include "runtime/artifact/Enums.h"
#include "runtime/artifact/Spelling.h"
#include "runtime/base/Status.h"
#include "runtime/device/reference/Scalar.h"
#include "runtime/verify/MeaningParts.h"

namespace dgc::verify {

using reference::Type;
using rt::str;

static absl::Status express(const artifact::Copy &op, KernelBuilder &kernel) {
  const uint32_t from = kernel.input(op.src()), to = kernel.result(op.dst());
  const Type type = kernel.typeOf(to);
  if (kernel.countOf(from) != kernel.countOf(to))
    return absl::UnimplementedError(str("a copy of ", rt::spelled(kernel.described(op.src()).dtype()), " to ",
                                        rt::spelled(kernel.described(op.dst()).dtype()),
                                        ", which have other sizes, has no meaning"));
  NestBuilder nest(kernel, {kernel.countOf(to)});
  uint32_t value = nest.load(from, {1});
  // An i1 takes a byte.
  const bool hasWidth = reference::widthOf(kernel.typeOf(from)) == reference::widthOf(type);
  if (kernel.typeOf(from) != type)
    value = hasWidth ? nest.emit(reference::Opcode::Bitcast, type, {value}) : nest.converted(value, type);
  nest.output(to, {1}, value);
  return absl::OkStatus();
}

static absl::Status express(const artifact::Fill &op, KernelBuilder &kernel) {
  const uint32_t to = kernel.result(op.dst());
  const Type type = kernel.typeOf(to);
  if (reference::isFloat(type)) {
    fill(kernel, to, op.value());
    return absl::OkStatus();
  }
  std::byte stored[8] = {};
  rt::storeElement(rt::toDType(kernel.described(op.dst()).dtype()), stored, 0, op.value());
  NestBuilder nest(kernel, {kernel.countOf(to)});
  nest.output(to, {1}, nest.integer(reference::loadElement(type, stored).i, type));
  return absl::OkStatus();
}

//===-- Actions that are no library calls -------------------------------===//

template <typename T> static absl::Status noLibraryCall() {
  return absl::InternalError(str("the action '", rt::nameOf<T>(), "' has its meaning elsewhere"));
}
#define DGC_NO_LIBRARY_CALL(Type)                                                                                      \
  static absl::Status express(const artifact::Type &, KernelBuilder &) { return noLibraryCall<artifact::Type>(); }
DGC_NO_LIBRARY_CALL(KernelCall)
DGC_NO_LIBRARY_CALL(Collective)
DGC_NO_LIBRARY_CALL(Send)
DGC_NO_LIBRARY_CALL(Receive)
DGC_NO_LIBRARY_CALL(While)
DGC_NO_LIBRARY_CALL(If)
#undef DGC_NO_LIBRARY_CALL

absl::StatusOr<Meaning> meaningOf(const artifact::Program &program, const artifact::Step &step) {
  KernelBuilder kernel(program);
  DGC_RETURN_IF_ERROR(rt::visit(step, [&](const auto &action) { return express(action, kernel); }));
  return std::move(kernel).finish(rt::nameOf(step.action_type()));
}

} // namespace dgc::verify
