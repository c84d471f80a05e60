// Binds arrays to arguments, and puts them where programs read them.
#include "runtime/driver/CallInputs.h"

#include "runtime/base/ExitCode.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Status.h"
#include "runtime/driver/Inputs.h"

#include "absl/strings/numbers.h"

#include <algorithm>
#include <cstring>

using namespace dgc;
using namespace dgc::rt;

CallInputs::CallInputs(Disk &disk, const artifact::Plan &plan, const std::string &entry, Options options)
    : disk(&disk), plan(&plan), entry(entry), options(std::move(options)),
      arguments(signatureOf(plan, entry).arguments) {}

absl::StatusOr<CallInputs> CallInputs::open(Disk &disk, const artifact::Plan &plan, const std::string &entry,
                                            Options options) {
  CallInputs inputs(disk, plan, entry, std::move(options));
  Sha256 all;
  for (size_t i = 0; i < inputs.size(); ++i) {
    DGC_ASSIGN_OR_RETURN(Call call, inputs.bind(i));
    all.add(call.digest);
    inputs.digests.push_back(std::move(call.digest));
  }
  inputs.digest_ = all.finishHex().substr(0, 16);
  return inputs;
}

/// "image u8 [128x28x28] (in0), label u8 [128] (in1), 98 others"
std::string CallInputs::list() const {
  constexpr size_t most = 10;
  std::string text;
  for (size_t i = 0; i < std::min(arguments.size(), most); ++i)
    text += str(i ? ", " : "", arguments[i].name, " ", describe(arguments[i].dtype, arguments[i].shape), " (in",
                arguments[i].position, ")");
  if (arguments.size() > most)
    text += str(", ", counted(static_cast<int64_t>(arguments.size() - most), "other"));
  return text.empty() ? "none" : text;
}

/// The argument that an array of this name is for.
absl::StatusOr<size_t> CallInputs::argumentOf(const std::string &path, const std::string &name) const {
  auto indexIf = [&](auto accepts) {
    return static_cast<size_t>(std::find_if(arguments.begin(), arguments.end(), accepts) - arguments.begin());
  };
  int position = -1;
  if (name.starts_with("in") && name.size() > 2 && name.find_first_not_of("0123456789", 2) == std::string::npos &&
      !absl::SimpleAtoi(absl::string_view(name).substr(2), &position))
    position = -1;
  size_t found = indexIf([&](const Parameter &a) { return !a.isVariable && a.name == name; });
  if (found == arguments.size())
    found = indexIf([&](const Parameter &a) { return a.name == name; });
  if (found == arguments.size() && position >= 0)
    found = indexIf([&](const Parameter &a) { return a.position == position; });
  if (found == arguments.size())
    return badData(str(path, ": '", entry, "' has no argument '", name, "'; it has ", list()));
  return found;
}

/// bf16 may be given as its bits, which is all that NumPy has of it.
static bool serves(DType have, DType want) { return have == want || (have == DType::U16 && want == DType::BF16); }

/// Whether an array can be an argument; `valid` is the number of examples of the arrays so far.
absl::Status CallInputs::check(const Parameter &argument, const ArrayHeader &array,
                               std::optional<int64_t> &valid) const {
  auto mismatch = [&](const std::string &what) {
    return badData(str(argument.isVariable ? "variable" : "input", " '", argument.name, "' is ",
                       describe(argument.dtype, argument.shape), ", but ", array.file, " holds ",
                       describe(array.dtype, array.shape), ": ", what));
  };
  if (!serves(array.dtype, argument.dtype))
    return mismatch(argument.dtype == DType::BF16 ? "element types must be equal, or u16 with the bits of bf16"
                                                  : "element types must be equal");
  if (argument.batchDim < 0 || array.shape.size() != argument.shape.size())
    return array.shape == argument.shape ? absl::OkStatus() : mismatch("shapes must be equal");
  const size_t d = static_cast<size_t>(argument.batchDim);
  std::vector<int64_t> filled = array.shape;
  const int64_t examples = std::exchange(filled[d], argument.shape[d]);
  if (filled != argument.shape)
    return mismatch("the shapes of one example differ");
  if (examples < 1 || examples > argument.shape[d])
    return mismatch(str("it must have 1 to ", argument.shape[d],
                        " examples; for more, compile with another --batch, or export with it what was imported"));
  if (valid && *valid != examples)
    return mismatch(str("other arrays of the file have ", counted(*valid, "example")));
  valid = examples;
  return absl::OkStatus();
}

/// Whether everything is there that a call needs.
absl::Status CallInputs::checkComplete(size_t i, const Call &call) const {
  for (size_t a = 0; a < arguments.size(); ++a) {
    const Parameter &argument = arguments[a];
    const bool isOptional =
        argument.isVariable && (i > 0 || !argument.hasPosition || argument.hasInitial || options.areVariablesLoaded);
    if (isOptional ||
        std::any_of(call.arrays.begin(), call.arrays.end(), [&](auto &bound) { return bound.first == a; }))
      continue;
    std::string names;
    for (const NpzFile::Entry &entry : call.file.entries())
      names += str(names.empty() ? "" : ", ", entry.name);
    return badData(str(options.files[i], " has nothing for '", argument.name, "' (in", argument.position, ") of '",
                       entry, "', which is ", describe(argument.dtype, argument.shape), "; it has ",
                       names.empty() ? "no arrays" : names));
  }
  return absl::OkStatus();
}

absl::Status CallInputs::checkShort(const std::string &path, int64_t valid) const {
  const int64_t batch = static_cast<int64_t>(plan->global_batch());
  std::string why = valid == batch ? "" : wholeBatchesOnly(*plan, entry);
  if (why.empty())
    return absl::OkStatus();
  return badData(str(path, " has ", counted(valid, "example"), ", but '", entry, "' takes whole batches of ", batch,
                     " only: ", why, "; compile with --batch ", valid, ", or export with it what was imported"));
}

absl::StatusOr<CallInputs::Call> CallInputs::bind(size_t i) const {
  const std::string &path = options.files[i];
  DGC_ASSIGN_OR_RETURN(NpzFile file, NpzFile::open(*disk, path));
  Call call{std::move(file), {}, static_cast<int64_t>(plan->global_batch()), ""};
  std::optional<int64_t> valid;
  std::vector<bool> isBound(arguments.size());
  for (size_t e = 0; e < call.file.entries().size(); ++e) {
    const NpzFile::Entry &array = call.file.entries()[e];
    DGC_ASSIGN_OR_RETURN(size_t a, argumentOf(path, array.name));
    if (isBound[a])
      return badData(str(path, ": two arrays are for '", arguments[a].name, "', which is in", arguments[a].position));
    isBound[a] = true;
    DGC_ASSIGN_OR_RETURN(ArrayHeader header, call.file.header(array));
    DGC_RETURN_IF_ERROR(check(arguments[a], header, valid));
    call.arrays.emplace_back(a, e);
    call.digest += str(array.name, " ", array.size, " ", array.checksum, "\n");
  }
  call.valid = valid.value_or(call.valid);
  DGC_RETURN_IF_ERROR(checkComplete(i, call));
  DGC_RETURN_IF_ERROR(checkShort(path, call.valid));
  return call;
}

/// The elements with the last entry of dimension `dim` repeated until there are `extent`.
static std::vector<std::byte> extended(const Array &array, size_t dim, int64_t extent) {
  size_t outer = 1, inner = sizeOf(array.dtype);
  for (size_t d = 0; d < array.shape.size(); ++d)
    if (d != dim)
      (d < dim ? outer : inner) *= static_cast<size_t>(array.shape[d]);
  const size_t have = static_cast<size_t>(array.shape[dim]), want = static_cast<size_t>(extent);
  std::vector<std::byte> result(outer * want * inner);
  for (size_t o = 0; o < outer; ++o)
    for (size_t i = 0; i < want; ++i)
      std::memcpy(result.data() + (o * want + i) * inner,
                  array.bytes().data() + (o * have + std::min(i, have - 1)) * inner, inner);
  return result;
}

/// Puts the part of an array that a worker holds into its memory.
static void fill(const TensorView &view, const Parameter &argument, const Array &array) {
  const size_t size = sizeOf(view.dtype);
  if (array.shape == view.globalShape) {
    copySliceOut(array.bytes().data(), view.globalShape, view.slice, size, view.memory.data());
    return;
  }
  const size_t d = static_cast<size_t>(argument.batchDim);
  std::vector<std::byte> whole = extended(array, d, view.globalShape[d]);
  copySliceOut(whole.data(), view.globalShape, view.slice, size, view.memory.data());
}

absl::StatusOr<int64_t> CallInputs::load(size_t i, Executor &executor, const ProgramRunner &runner) const {
  DGC_ASSIGN_OR_RETURN(Call call, bind(i));
  if (call.digest != digests[i])
    return badData(str(options.files[i], " has changed since it was checked"));
  const std::vector<VariableView> variables = partsOf(executor.variables());
  bool areVariablesHere = false; // on the host, as they are after the calls so far
  for (auto [a, e] : call.arrays) {
    const Parameter &argument = arguments[a];
    std::vector<const TensorView *> views;
    for (const InputView &view : runner.inputs())
      if (!argument.isVariable && view.role == artifact::InputRole::Data && view.name == argument.name)
        views.push_back(&view);
    for (const VariableView &view : variables)
      if (argument.isVariable && view.name == argument.name)
        views.push_back(&view);
    if (views.empty()) // other groups of workers have it
      continue;
    if (argument.isVariable && !std::exchange(areVariablesHere, true))
      DGC_RETURN_IF_ERROR(executor.downloadVariables());
    DGC_ASSIGN_OR_RETURN(Array array, call.file.read(call.file.entries()[e]));
    for (const TensorView *view : views)
      fill(*view, argument, array);
  }
  if (areVariablesHere)
    DGC_RETURN_IF_ERROR(executor.uploadVariables());
  return call.valid;
}
