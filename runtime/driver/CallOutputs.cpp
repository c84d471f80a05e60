// Gathers the results of calls, and writes those of the last one.
#include "runtime/driver/CallOutputs.h"

#include "runtime/base/Status.h"
#include "runtime/data/Npy.h"

#include <algorithm>
#include <set>

using namespace dgc;
using namespace dgc::rt;

CallOutputs::CallOutputs(const Artifact &artifact, Executor &executor, const ProgramRunner &runner, int rank)
    : artifact(&artifact), executor(&executor), runner(&runner), rank(static_cast<uint32_t>(rank)),
      results(signatureOf(artifact.plan(), runner.name()).results), given(artifact.plan(), runner.name()) {}

bool CallOutputs::writesVariables() const {
  return std::any_of(results.begin(), results.end(), [](const Parameter &result) { return result.isVariable; });
}

static bool isScalar(const WholeOutput &output) { return output.shape.empty(); }

absl::Status CallOutputs::readScalars(const GatherBytes &gather) {
  std::string mine;
  given.append(*runner, rank, /*valid=*/1, mine, isScalar);
  const bool isHere = std::none_of(given.parts().begin(), given.parts().end(), [&](const OutputPart &part) {
    return part.rank != 0 && isScalar(given.outputs()[part.output]);
  });
  std::vector<std::string> streams{std::move(mine)};
  if (!isHere) {
    DGC_ASSIGN_OR_RETURN(streams, gather(streams[0]));
  }
  if (rank != 0)
    return absl::OkStatus();
  std::vector<std::pair<const WholeOutput *, double>> scalars;
  std::vector<size_t> at(streams.size());
  for (const OutputPart &part : given.parts()) {
    const WholeOutput &output = given.outputs()[part.output];
    if (!isScalar(output))
      continue;
    double value =
        loadElement(output.dtype, reinterpret_cast<const std::byte *>(streams[part.rank].data()) + at[part.rank], 0);
    at[part.rank] += sizeOf(output.dtype);
    scalars.emplace_back(&output, value);
  }
  report(scalars);
  return absl::OkStatus();
}

void CallOutputs::report(std::span<const std::pair<const WholeOutput *, double>> scalars) {
  lossValue.reset();
  values.clear();
  names.clear();
  for (const auto &[output, value] : scalars) {
    auto isDivisor = [&](const auto &each) { return each.first->over == output->name; };
    auto isOver = [&](const auto &each) { return !output->over.empty() && each.first->name == output->over; };
    auto over = std::find_if(scalars.begin(), scalars.end(), isOver);
    if (output->role == artifact::OutputRole::Loss && !lossValue)
      lossValue = value;
    else if (over != scalars.end())
      values.push_back(Metric::quotient(names.emplace_back(output->name), value, over->second, output->function));
    else if (std::none_of(scalars.begin(), scalars.end(), isDivisor))
      values.push_back({names.emplace_back(output->name), value, std::nullopt, output->function});
  }
}

absl::StatusOr<std::vector<CallOutputs::Whole>> CallOutputs::gatherOutputs(int64_t valid,
                                                                           const GatherBytes &gather) const {
  std::string mine;
  given.append(*runner, rank, valid, mine);
  std::vector<std::string> streams;
  if (given.areOnFirstRank()) {
    streams.push_back(std::move(mine));
  } else {
    DGC_ASSIGN_OR_RETURN(streams, gatherLong(gather, static_cast<int>(rank), mine));
  }
  std::vector<Whole> whole;
  if (rank != 0)
    return whole;
  for (const WholeOutput &output : given.outputs()) {
    Whole &made = whole.emplace_back(output.dtype, output.shape);
    if (output.batchDim >= 0)
      made.shape[static_cast<size_t>(output.batchDim)] = valid * output.perSample;
    made.bytes.resize(*byteSize(made.dtype, made.shape));
  }
  std::vector<size_t> at(streams.size());
  for (const OutputPart &part : given.parts()) {
    Whole &to = whole[part.output];
    Slice slice = given.real(part, valid);
    slice.block.clear();
    const size_t bytes = static_cast<size_t>(slice.numElements()) * sizeOf(to.dtype);
    if (bytes != 0)
      copySliceIn(reinterpret_cast<const std::byte *>(streams[part.rank].data()) + at[part.rank], to.shape, slice,
                  sizeOf(to.dtype), to.bytes.data());
    at[part.rank] += bytes;
  }
  return whole;
}

/// The bytes of a result, of the type that a file has.
NamedArray CallOutputs::arrayOf(const Parameter &result, const std::vector<Whole> &outputs,
                                const WholeVariables &variables, std::deque<std::vector<std::byte>> &converted) const {
  NamedArray array{str("out", result.position)};
  if (result.isVariable) {
    auto tensor = std::find_if(variables.tensors.begin(), variables.tensors.end(),
                               [&](const Tensor &t) { return t.name == result.name; });
    array.dtype = tensor->dtype;
    array.shape = tensor->globalShape;
    array.data = tensor->bytes;
  } else {
    auto output = std::find_if(given.outputs().begin(), given.outputs().end(),
                               [&](const WholeOutput &o) { return o.name == result.name; });
    const Whole &whole = outputs[static_cast<size_t>(output - given.outputs().begin())];
    array.dtype = whole.dtype;
    array.shape = whole.shape;
    array.data = whole.bytes;
  }
  if (array.dtype != npyType(array.dtype)) {
    array.data = converted.emplace_back(toNpyType(array.dtype, {array.data.begin(), array.data.end()}));
    array.dtype = npyType(array.dtype);
  }
  return array;
}

absl::Status CallOutputs::write(int64_t valid, OutputFile *file, const GatherBytes &gather) {
  DGC_ASSIGN_OR_RETURN(std::vector<Whole> outputs, gatherOutputs(valid, gather));
  WholeVariables variables;
  if (writesVariables()) {
    DGC_RETURN_IF_ERROR(executor->downloadVariables());
    DGC_ASSIGN_OR_RETURN(variables, gatherVariables(*artifact, *executor, static_cast<int>(rank), gather));
  }
  if (rank != 0)
    return absl::OkStatus();
  std::deque<std::vector<std::byte>> converted;
  std::vector<NamedArray> arrays;
  std::set<std::string> taken;
  for (const Parameter &result : results) {
    arrays.push_back(arrayOf(result, outputs, variables, converted));
    taken.insert(arrays.back().name);
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (taken.insert(results[i].name).second) {
      NamedArray named = arrays[i];
      named.name = results[i].name;
      arrays.push_back(std::move(named));
    }
  return writeNpz(*file, arrays);
}
