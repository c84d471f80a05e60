// Semantic checks of everything but the actions.
#include "runtime/artifact/Check.h"
#include "runtime/artifact/DeviceTraits.h"
#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Mesh.h"
#include "runtime/artifact/VariableParts.h"
#include "runtime/artifact/Writer.h"
#include "runtime/base/Status.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

using namespace dgc::rt;
namespace a = dgc::artifact;

namespace {
constexpr uint32_t maxWorldSize = 65536;
constexpr uint32_t maxAxes = 64;
constexpr uint64_t maxArenaBytes = uint64_t{1} << 46;

absl::Status bad(const std::string &message) { return absl::InvalidArgumentError(message); }

template <typename T> uint32_t lengthOf(const flatbuffers::Vector<T> *v) { return v ? v->size() : 0; }

std::string text(const flatbuffers::String *s) { return s ? s->str() : ""; }

/// Enums of FlatBuffers are not checked by its verifier.
template <typename E> bool known(E value) { return value >= E::MIN && value <= E::MAX; }

std::string shapeText(const flatbuffers::Vector<int64_t> *shape) {
  std::string s;
  for (uint32_t i = 0; i < lengthOf(shape); ++i)
    s += str(i ? "x" : "", shape->Get(i));
  return "[" + s + "]";
}

absl::Status checkMesh(const a::Plan &plan) {
  uint64_t product = 1;
  if (lengthOf(plan.mesh()) > maxAxes)
    return bad(str("the mesh has ", lengthOf(plan.mesh()), " axes, more than ", maxAxes));
  std::unordered_set<std::string> names;
  for (uint32_t i = 0; i < lengthOf(plan.mesh()); ++i) {
    const a::MeshAxis *axis = plan.mesh()->Get(i);
    if (axis->size() == 0)
      return bad(str("mesh axis '", text(axis->name()), "' has size 0"));
    if (!names.insert(text(axis->name())).second)
      return bad(str("two mesh axes are named '", text(axis->name()), "'"));
    product *= axis->size();
    if (product > maxWorldSize)
      return bad(str("the mesh has more than ", maxWorldSize, " workers"));
  }
  if (plan.world_size() != product && lengthOf(plan.groups()) == 0) // else checkGroups
    return bad(str("world_size is ", plan.world_size(), " but the mesh has ", product, " workers"));
  return absl::OkStatus();
}

absl::Status checkSections(const a::Plan &plan) {
  int64_t n = lengthOf(plan.sections());
  for (int32_t section :
       {plan.object_section(), plan.constant_section(), plan.semantics_section(), plan.initial_section()})
    if (section < -1 || section >= n)
      return bad("the object, constant, semantics or initial section does not exist");
  return absl::OkStatus();
}

/// Symbols are given to the dynamic linker and printed.
bool isSymbol(const std::string &s) {
  return !s.empty() && s.size() < 4096 &&
         std::all_of(
             s.begin(), s.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.' || c == '$'; });
}

absl::Status checkOptions(const a::Plan &plan) {
  for (uint32_t i = 0; i < lengthOf(plan.options()); ++i)
    if (!known(plan.options()->Get(i)->origin()))
      return bad(str("option '", text(plan.options()->Get(i)->name()), "' has an unknown origin"));
  return absl::OkStatus();
}

absl::Status checkRecord(const a::Plan &plan) {
  const a::Verified *record = plan.verified();
  if (record && (!std::isfinite(record->bits()) || record->bits() < 0 || record->runs() == 0))
    return bad("the record of the exact check is of no check: its bits or runs cannot be");
  return absl::OkStatus();
}

/// The kinds of devices are known.
absl::Status checkTargets(const a::Plan &plan) {
  for (const a::Target *target : {plan.target(), plan.host_target()})
    if (target && !findDeviceTraits(target->kind()->string_view()))
      return bad(str("the plan is for '", text(target->kind()), "' devices; this dgc has ", deviceNames()));
  return absl::OkStatus();
}

/// The grids of a kernel for GPUs, within what the driver takes.
absl::Status checkGrids(const a::Kernel &kernel) {
  for (uint32_t i = 0; i < lengthOf(kernel.launches()); ++i) {
    const a::Launch &launch = *kernel.launches()->Get(i);
    if (!isSymbol(text(launch.symbol())))
      return bad(str("grid ", i, ": the symbol is not an identifier"));
    if (launch.grid() < 1 || launch.grid() > 0x7fffffff)
      return bad(str("grid ", i, " has ", launch.grid(), " blocks, from 1 to 2147483647 are possible"));
    if (launch.block() < 32 || launch.block() > 1024 || launch.block() % 32)
      return bad(str("grid ", i, " has blocks of ", launch.block(), " threads, not a multiple of 32 up to 1024"));
  }
  return absl::OkStatus();
}

/// Each result may take the place of an operand, and no operand has that of two. Results are computed from operands.
absl::Status checkResultsOf(const a::Kernel &kernel) {
  const uint32_t results = lengthOf(kernel.inplace());
  if (results > kernel.arg_count())
    return bad(str("it has ", results, " results among ", kernel.arg_count(), " arguments"));
  std::set<int32_t> taken;
  for (uint32_t i = 0; i < results; ++i) {
    const int32_t operand = kernel.inplace()->Get(i);
    if (operand < -1 || operand >= static_cast<int64_t>(kernel.arg_count() - results))
      return bad(str("result ", i, " takes the place of operand ", operand, ", which does not exist"));
    if (operand >= 0 && !taken.insert(operand).second)
      return bad(str("two results take the place of operand ", operand));
  }
  const uint32_t said = lengthOf(kernel.result_reads());
  if (said && said != results)
    return bad(str("it says what ", said, " of its ", results, " results are computed from"));
  for (uint32_t i = 0; i < said; ++i) {
    const auto *numbers = kernel.result_reads()->Get(i)->numbers();
    for (uint32_t j = 0; j < lengthOf(numbers); ++j)
      if (numbers->Get(j) >= kernel.arg_count() - results)
        return bad(str("result ", i, " is computed from operand ", numbers->Get(j), ", which does not exist"));
  }
  return absl::OkStatus();
}

absl::Status checkKernels(const a::Plan &plan) {
  const DeviceTraits &traits = traitsOf(plan, -1);
  for (uint32_t i = 0; i < lengthOf(plan.kernels()); ++i) {
    const a::Kernel *kernel = plan.kernels()->Get(i);
    if (!isSymbol(text(kernel->symbol())))
      return bad(str("kernel ", i, ": the symbol is not an identifier"));
    if (kernel->extent() < 1)
      return bad(
          str("kernel ", i, " '", text(kernel->symbol()), "': extent is ", kernel->extent(), ", at least 1 needed"));
    if (kernel->on_host() && (!traits.takesHostGroups || lengthOf(kernel->launches())))
      return bad(str("kernel ", i, " '", text(kernel->symbol()), "' is one for the host, and none beside GPUs"));
    DGC_RETURN_IF_ERROR(annotate(checkResultsOf(*kernel), str("kernel ", i, " '", text(kernel->symbol()), "'")));
    if (kernel->workspace_bytes() > maxArenaBytes)
      return bad(str("kernel ", i, " '", text(kernel->symbol()), "': a workspace of more than 64 TiB"));
    if (traits.kernels == KernelForm::Grids && !kernel->on_host()) {
      DGC_RETURN_IF_ERROR(annotate(checkGrids(*kernel), str("kernel ", i, " '", text(kernel->symbol()), "'")));
      continue;
    }
    if (plan.object_section() < 0)
      return bad("there are kernels but no object section");
  }
  return absl::OkStatus();
}

/// The code of GPUs.
absl::Status checkDeviceCode(const a::Plan &plan) {
  bool hasGrids = false;
  for (uint32_t i = 0; i < lengthOf(plan.kernels()); ++i)
    hasGrids |= lengthOf(plan.kernels()->Get(i)->launches()) > 0;
  if (traitsOf(plan, -1).kernels != KernelForm::Grids && (hasGrids || lengthOf(plan.device_code())))
    return bad("there is code for GPUs in a plan for another device");
  if (hasGrids && lengthOf(plan.device_code()) == 0)
    return bad("there are kernels for GPUs but no code");
  for (uint32_t i = 0; i < lengthOf(plan.device_code()); ++i)
    if (plan.device_code()->Get(i)->section() >= lengthOf(plan.sections()))
      return bad(str("device code ", i, ": section ", plan.device_code()->Get(i)->section(), " does not exist"));
  return absl::OkStatus();
}

/// `group` is that of the workers that have the buffer.
absl::Status checkBuffer(const a::Plan &plan, const a::Buffer &buffer, int32_t group) {
  if (!known(buffer.space()))
    return bad(str("unknown memory space ", static_cast<int>(buffer.space())));
  if (!known(buffer.dtype()))
    return bad(str("unknown element type ", static_cast<int>(buffer.dtype())));
  absl::StatusOr<uint64_t> bytes = checkedBytes(buffer.shape(), buffer.dtype());
  if (!bytes.ok())
    return bytes.status();
  uint64_t limit = 0;
  switch (buffer.space()) {
  case a::Space::Private:
    limit = privateBytesOf(plan, group);
    break;
  case a::Space::Shared:
    limit = sharedBytesOf(plan, group);
    break;
  case a::Space::Constant:
    if (plan.constant_section() >= 0)
      limit = plan.sections()->Get(static_cast<uint32_t>(plan.constant_section()))->data()->size();
    break;
  }
  if (buffer.offset() % 64)
    return bad(str("offset ", buffer.offset(), " is not a multiple of 64"));
  if (buffer.offset() > limit || *bytes > limit - buffer.offset())
    return bad(str("bytes ", buffer.offset(), " + ", *bytes, " are outside of its space of ", limit, " bytes"));
  return absl::OkStatus();
}

/// A global shape, its sharding, and the local shape of `buffer` agree.
absl::Status checkSharding(const a::Plan &plan, const flatbuffers::Vector<int64_t> *globalShape,
                           const a::Sharding *sharding, const a::Buffer &buffer) {
  absl::StatusOr<uint64_t> bytes = checkedBytes(globalShape, buffer.dtype());
  if (!bytes.ok())
    return annotate(bytes.status(), "global shape");
  uint32_t rank = lengthOf(globalShape);
  std::vector<int64_t> local(rank);
  for (uint32_t d = 0; d < rank; ++d)
    local[d] = globalShape->Get(d);
  const auto *dims = sharding ? sharding->dims() : nullptr;
  if (dims && dims->size() != rank)
    return bad(str("the sharding has ", dims->size(), " dimensions, the shape ", rank));
  std::vector<bool> used(lengthOf(plan.mesh()));
  for (uint32_t d = 0; d < lengthOf(dims); ++d) {
    uint32_t origins = lengthOf(dims->Get(d)->origins());
    if (origins && origins != lengthOf(dims->Get(d)->axes()))
      return bad(str("the sharding of dimension ", d, " has ", origins, " origins for ", lengthOf(dims->Get(d)->axes()),
                     " axes"));
    int64_t parts = 1; // at most the number of workers
    for (uint32_t i = 0; i < lengthOf(dims->Get(d)->axes()); ++i) {
      uint32_t axis = dims->Get(d)->axes()->Get(i);
      if (axis >= used.size() || used[axis])
        return bad(str("the sharding of dimension ", d, " names mesh axis ", axis,
                       axis >= used.size() ? ", which does not exist" : " a second time"));
      used[axis] = true;
      parts *= plan.mesh()->Get(axis)->size();
    }
    local[d] = local[d] / parts + (local[d] % parts != 0);
  }
  bool same = lengthOf(buffer.shape()) == rank;
  for (uint32_t d = 0; same && d < rank; ++d)
    same = buffer.shape()->Get(d) == local[d];
  if (!same)
    return bad(str("the buffer is ", shapeText(buffer.shape()), ", which is not one worker's part of ",
                   shapeText(globalShape)));
  return absl::OkStatus();
}

/// A block of rows is whole along all other dimensions, and one group holds it.
absl::Status checkBlock(const a::Variable &variable, const a::Buffer &buffer) {
  uint32_t rank = lengthOf(variable.global_shape());
  uint64_t rows = rank ? static_cast<uint64_t>(std::max<int64_t>(variable.global_shape()->Get(0), 0)) : 0;
  bool isCut = false;
  if (const a::Sharding *sharding = variable.sharding())
    for (uint32_t d = 0; d < lengthOf(sharding->dims()); ++d)
      isCut |= lengthOf(sharding->dims()->Get(d)->axes()) > 0;
  if (variable.group() < 0 || isCut || variable.row_count() == 0 || variable.first_row() >= rows ||
      variable.row_count() > rows - variable.first_row())
    return bad(str("rows ", variable.first_row(), " to ", variable.first_row() + variable.row_count(),
                   " of it are no block that a group holds"));
  bool same = lengthOf(buffer.shape()) == rank;
  for (uint32_t d = 0; same && d < rank; ++d)
    same = buffer.shape()->Get(d) == (d ? variable.global_shape()->Get(d) : static_cast<int64_t>(variable.row_count()));
  if (!same)
    return bad(str("the buffer is ", shapeText(buffer.shape()), ", which is not its block of ",
                   shapeText(variable.global_shape())));
  return absl::OkStatus();
}

/// All elements of the variable, of one part of a stacked one, are in the section.
absl::Status checkStored(const a::Plan &plan, const a::Variable &variable, const a::Buffer &buffer) {
  if (plan.initial_section() < 0)
    return bad("its initial value is stored, and there is no section of initial values");
  const uint64_t size = plan.sections()->Get(static_cast<uint32_t>(plan.initial_section()))->data()->size();
  DGC_ASSIGN_OR_RETURN(const uint64_t all, checkedBytes(variable.global_shape(), buffer.dtype()));
  const uint64_t bytes = all / countParts(variable);
  if (variable.stored() > size || bytes > size - variable.stored())
    return bad(str("its initial value, bytes ", variable.stored(), " + ", bytes, ", is outside of its section of ",
                   size, " bytes"));
  return absl::OkStatus();
}

absl::Status checkVariable(const a::Plan &plan, const a::Variable &variable) {
  if (variable.buffer() >= lengthOf(plan.variable_buffers()))
    return bad(str("buffer ", variable.buffer(), " does not exist"));
  const a::Buffer &buffer = *plan.variable_buffers()->Get(variable.buffer());
  if (buffer.space() == a::Space::Constant)
    return bad("lies in constant memory");
  DGC_RETURN_IF_ERROR(checkBuffer(plan, buffer, variable.group()));
  DGC_RETURN_IF_ERROR(checkStacked(variable));
  if (!known(variable.role()) || !known(variable.init()))
    return bad("unknown role or initializer");
  bool random = variable.init() != a::InitKind::Zeros && variable.init() != a::InitKind::Constant &&
                variable.init() != a::InitKind::File && variable.init() != a::InitKind::Stored;
  if (random && !isFloat(toDType(buffer.dtype())))
    return bad("a random initializer needs a floating-point type");
  if (variable.init() == a::InitKind::File) {
    std::string file = text(variable.file());
    if (file.empty() || file.size() > 4096 || file[0] == '/' || ("/" + file + "/").find("/../") != std::string::npos ||
        file.find('\0') != std::string::npos)
      return bad("the initializer's file must be a path below the data folder");
  }
  if (variable.init() == a::InitKind::Stored)
    DGC_RETURN_IF_ERROR(checkStored(plan, variable, buffer));
  return variable.row_count() || variable.first_row()
             ? checkBlock(variable, buffer)
             : checkSharding(plan, variable.global_shape(), variable.sharding(), buffer);
}

absl::Status checkInput(const a::Plan &plan, const a::Program &program, const a::Input &input) {
  if (input.buffer() >= lengthOf(program.buffers()))
    return bad(str("buffer ", input.buffer(), " does not exist"));
  const a::Buffer &buffer = *program.buffers()->Get(input.buffer());
  if (buffer.space() == a::Space::Constant)
    return bad("lies in constant memory");
  if (!known(input.role()))
    return bad("unknown role");
  if (input.role() != a::InputRole::Data) {
    bool count = input.role() == a::InputRole::ValidCount;
    a::DType expected = count ? a::DType::I32 : a::DType::I64;
    if (lengthOf(buffer.shape()) != 0 || buffer.dtype() != expected)
      return bad(str("must be a scalar of type ", count ? "i32" : "i64"));
  }
  if (input.role() == a::InputRole::AxisIndex && positionAlong(plan, input.name()->string_view(), 0) < 0)
    return bad("names no axes of the mesh");
  if (input.batch_dim() < -1 || input.batch_dim() >= static_cast<int64_t>(lengthOf(input.global_shape())))
    return bad(str("batch dimension ", input.batch_dim(), " does not exist"));
  return checkSharding(plan, input.global_shape(), input.sharding(), buffer);
}

absl::Status checkOutput(const a::Plan &plan, const a::Program &program, const a::Output &output) {
  if (output.buffer() >= lengthOf(program.buffers()))
    return bad(str("buffer ", output.buffer(), " does not exist"));
  if (!known(output.role()))
    return bad("unknown role");
  if (!known(output.function()))
    return bad("unknown function of a metric");
  if (output.batch_dim() < -1 || output.batch_dim() >= static_cast<int64_t>(lengthOf(output.global_shape())))
    return bad(str("batch dimension ", output.batch_dim(), " does not exist"));
  return checkSharding(plan, output.global_shape(), output.sharding(), *program.buffers()->Get(output.buffer()));
}

absl::Status checkStep(const ProgramContext &context, uint32_t index) {
  const a::Step &step = *context.program.steps()->Get(index);
  if (step.queue() > 1)
    return bad(str("queue ", step.queue(), " is neither 0, which computes, nor 1, which communicates"));
  if (step.queue() == 1 && step.action_type() != a::Action::Collective)
    return bad("only a collective is asynchronous");
  for (uint32_t i = 0; i < lengthOf(step.waits()); ++i)
    if (step.waits()->Get(i) >= index)
      return bad(str("waits for step ", step.waits()->Get(i), ", which does not come before it"));
  return checkAction(context, step);
}

absl::Status checkProgram(const a::Plan &plan, const a::Program &program) {
  if (program.scratch_bytes() > maxArenaBytes)
    return bad("scratch memory of more than 64 TiB");
  for (uint32_t i = 0; i < program.buffers()->size(); ++i) {
    const a::Buffer &buffer = *program.buffers()->Get(i);
    if (absl::Status s = checkBuffer(plan, buffer, program.group()); !s.ok())
      return annotate(s, str("buffer ", i, " '", text(buffer.name()), "'"));
  }
  std::unordered_set<std::string> names;
  for (uint32_t i = 0; i < lengthOf(program.inputs()); ++i) {
    const a::Input &input = *program.inputs()->Get(i);
    absl::Status s = checkInput(plan, program, input);
    // The names of other roles are not names of data; that of an index is its axes.
    if (s.ok() && input.role() == a::InputRole::Data && !names.insert(text(input.name())).second)
      s = bad("a second input of this name");
    if (!s.ok())
      return annotate(s, str("input '", text(input.name()), "'"));
  }
  names.clear();
  for (uint32_t i = 0; i < lengthOf(program.outputs()); ++i) {
    const a::Output &output = *program.outputs()->Get(i);
    absl::Status s = checkOutput(plan, program, output);
    if (s.ok() && !names.insert(text(output.name())).second)
      s = bad("a second output of this name");
    if (!s.ok())
      return annotate(s, str("output '", text(output.name()), "'"));
  }
  for (uint32_t i = 0; i < lengthOf(program.steps()); ++i)
    if (absl::Status s = checkStep({plan, program}, i); !s.ok())
      return annotate(s, str("step ", i, " '", text(program.steps()->Get(i)->name()), "'"));
  DGC_RETURN_IF_ERROR(checkControl({plan, program}));
  return checkOverlap(program);
}
} // namespace

absl::StatusOr<uint64_t> dgc::rt::checkedBytes(const flatbuffers::Vector<int64_t> *shape, a::DType dtype) {
  uint64_t bytes = sizeOf(toDType(dtype));
  uint32_t rank = lengthOf(shape);
  if (rank > 16)
    return bad(str("rank ", rank, " is above 16"));
  bool empty = false;
  for (uint32_t d = 0; d < rank; ++d) {
    int64_t extent = shape->Get(d);
    if (extent < 0)
      return bad(str("extent ", extent, " of dimension ", d, " is negative"));
    empty |= extent == 0;
    if (!empty && __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
      return bad(str("the size of shape ", shapeText(shape), " overflows"));
  }
  if (bytes > (uint64_t{1} << 62))
    return bad(str("the size of shape ", shapeText(shape), " overflows"));
  return empty ? 0 : bytes;
}

absl::Status dgc::rt::checkPlan(const a::Plan &plan) {
  if (plan.format() != artifactFormat)
    return bad(
        str("the plan has format ", plan.format(), ", this dgc reads ", artifactFormat, "; compile the model again"));
  if (plan.private_bytes() > maxArenaBytes || plan.shared_bytes() > maxArenaBytes)
    return bad("an arena of more than 64 TiB");
  DGC_RETURN_IF_ERROR(checkOptions(plan));
  DGC_RETURN_IF_ERROR(checkRecord(plan));
  DGC_RETURN_IF_ERROR(checkTargets(plan));
  DGC_RETURN_IF_ERROR(checkMesh(plan));
  DGC_RETURN_IF_ERROR(checkSections(plan));
  DGC_RETURN_IF_ERROR(checkKernels(plan));
  DGC_RETURN_IF_ERROR(checkDeviceCode(plan));
  DGC_RETURN_IF_ERROR(checkGroups(plan));
  for (uint32_t i = 0; i < lengthOf(plan.variable_buffers()); ++i)
    if (absl::Status s = checkBuffer(plan, *plan.variable_buffers()->Get(i), -1); !s.ok())
      return annotate(s, str("variable buffer ", i));
  std::unordered_set<std::string> names;
  for (uint32_t i = 0; i < lengthOf(plan.variables()); ++i) {
    const a::Variable &variable = *plan.variables()->Get(i);
    absl::Status s = checkVariable(plan, variable);
    if (s.ok() && !names.insert(text(variable.name())).second && !variable.row_count())
      s = bad("a second variable of this name");
    if (!s.ok())
      return annotate(s, str("variable '", text(variable.name()), "'"));
  }
  DGC_RETURN_IF_ERROR(checkVariables(plan));
  for (uint32_t i = 0; i < lengthOf(plan.programs()); ++i) {
    const a::Program &program = *plan.programs()->Get(i);
    if (absl::Status s = checkProgram(plan, program); !s.ok())
      return annotate(s, str("program '", text(program.name()), "'"));
  }
  return checkStates(plan);
}
