// Gathers the results of calls, and writes those of the last one.
#include "runtime/driver/CallOutputs.h"

#include "runtime/base/Status.h"
#include "runtime/data/Npy.h"
#include "runtime/driver/AreaUnderCurve.h"

#include <algorithm>
#include <set>

using namespace dgc;
using namespace dgc::rt;

CallOutputs::CallOutputs(const Artifact &artifact, Executor &executor, const ProgramRunner &runner, int rank)
    : artifact(&artifact), executor(&executor), runner(&runner), rank(static_cast<uint32_t>(rank)),
      results(signatureOf(artifact.plan(), runner.name()).results), given(artifact.plan(), runner.name()),
      reported(given) {
  reported.keep(
      [](const WholeOutput &output) { return output.shape.empty() || output.role == artifact::OutputRole::Metric; });
}

bool CallOutputs::writesVariables() const {
  return std::any_of(results.begin(), results.end(), [](const Parameter &result) { return result.isVariable; });
}

absl::Status CallOutputs::readReported(int64_t valid, const GatherBytes &gather) {
  DGC_ASSIGN_OR_RETURN(std::vector<Whole> outputs, gatherOutputs(reported, valid, gather));
  if (rank == 0)
    report(outputs);
  return absl::OkStatus();
}

/// An element of a metric, or the area under the curve of all its elements.
Metric CallOutputs::metricOf(const WholeOutput &output, const std::vector<Whole> &outputs, int64_t element) const {
  const std::span<const WholeOutput> all = reported.outputs();
  auto wholeOf = [&](std::string_view name) -> const Whole * {
    const auto found = std::find_if(all.begin(), all.end(), [&](const WholeOutput &each) { return each.name == name; });
    return found == all.end() ? nullptr : &outputs[static_cast<size_t>(found - all.begin())];
  };
  auto valueOf = [&](const Whole &whole) { return loadElement(whole.dtype, whole.bytes.data(), element); };
  const Whole &whole = *wholeOf(output.name);
  const Whole *over = output.over.empty() ? nullptr : wholeOf(output.over);
  if (output.function == artifact::MetricFunction::AreaUnderCurve)
    return {output.name, areaUnderCurve({whole.dtype, whole.bytes}, {over->dtype, over->bytes}), std::nullopt,
            output.function};
  return over ? Metric::quotient(output.name, valueOf(whole), valueOf(*over), output.function, output.shape)
              : Metric{output.name, valueOf(whole), std::nullopt, output.function, output.shape};
}

void CallOutputs::report(const std::vector<Whole> &outputs) {
  lossValue.reset();
  values.clear();
  const std::span<const WholeOutput> all = reported.outputs();
  for (size_t i = 0; i < all.size(); ++i) {
    const WholeOutput &output = all[i];
    const bool isSecond =
        std::any_of(all.begin(), all.end(), [&](const WholeOutput &each) { return each.over == output.name; });
    const bool isArea = output.function == artifact::MetricFunction::AreaUnderCurve;
    const auto elements = static_cast<int64_t>(outputs[i].bytes.size() / sizeOf(outputs[i].dtype));
    if (output.role == artifact::OutputRole::Loss && !lossValue)
      lossValue = loadElement(outputs[i].dtype, outputs[i].bytes.data(), 0);
    else
      for (int64_t element = 0; element < (isSecond ? 0 : isArea ? 1 : elements); ++element)
        values.push_back(metricOf(output, outputs, element));
  }
}

absl::StatusOr<std::vector<CallOutputs::Whole>> CallOutputs::gatherOutputs(const OutputParts &parts, int64_t valid,
                                                                           const GatherBytes &gather) const {
  std::string mine;
  parts.append(*runner, rank, valid, mine);
  std::vector<std::string> streams;
  if (parts.areOnFirstRank()) {
    streams.push_back(std::move(mine));
  } else {
    DGC_ASSIGN_OR_RETURN(streams, gatherLong(gather, static_cast<int>(rank), mine));
  }
  std::vector<Whole> whole;
  if (rank != 0)
    return whole;
  for (const WholeOutput &output : parts.outputs()) {
    Whole &made = whole.emplace_back(output.dtype, output.shape);
    if (output.batchDim >= 0)
      made.shape[static_cast<size_t>(output.batchDim)] = valid * output.perSample;
    made.bytes.resize(*byteSize(made.dtype, made.shape));
  }
  std::vector<size_t> at(streams.size());
  for (const OutputPart &part : parts.parts()) {
    Whole &to = whole[part.output];
    Slice slice = parts.real(part, valid);
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
  DGC_ASSIGN_OR_RETURN(std::vector<Whole> outputs, gatherOutputs(given, valid, gather));
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
