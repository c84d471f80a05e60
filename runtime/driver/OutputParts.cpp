// Finds who gives which part of an output.
#include "runtime/driver/OutputParts.h"

#include "runtime/artifact/Groups.h"
#include "runtime/artifact/Numerics.h"

#include <algorithm>

using namespace dgc;
using namespace dgc::rt;

OutputParts::OutputParts(const artifact::Plan &plan, std::string_view name)
    : globalBatch(std::max<int64_t>(static_cast<int64_t>(plan.global_batch()), 1)) {
  for (uint32_t rank = 0; rank < plan.world_size(); ++rank) {
    const artifact::Program *program = programOf(plan, name, rank);
    for (uint32_t i = 0; program && program->outputs() && i < program->outputs()->size(); ++i)
      if (const artifact::Output &output = *program->outputs()->Get(i); !isNumericsOutput(output))
        add(plan, *program, output, rank);
  }
}

void OutputParts::add(const artifact::Plan &plan, const artifact::Program &program, const artifact::Output &output,
                      uint32_t rank) {
  auto known = std::find_if(outputs_.begin(), outputs_.end(),
                            [&](const WholeOutput &o) { return o.name == output.name()->string_view(); });
  const size_t index = static_cast<size_t>(known - outputs_.begin());
  if (known == outputs_.end()) {
    WholeOutput made{output.name()->str(), output.role(), toDType(program.buffers()->Get(output.buffer())->dtype()),
                     toVector(output.global_shape()), output.batch_dim()};
    made.over = output.over() ? output.over()->str() : "";
    made.function = output.function();
    if (made.batchDim >= 0) {
      const int64_t extent = made.shape[static_cast<size_t>(made.batchDim)];
      made.perSample = extent / globalBatch;
      if (extent % globalBatch != 0)
        made.batchDim = -1;
    }
    outputs_.push_back(std::move(made));
  }
  // Of the workers that hold the same part the first one gives it.
  Slice slice = localSlice(plan, output.global_shape(), output.sharding(), rank);
  const bool isGiven = std::any_of(parts_.begin(), parts_.end(),
                                   [&](const OutputPart &part) { return part.output == index && part.slice == slice; });
  if (!isGiven)
    parts_.push_back({index, rank, std::move(slice)});
}

void OutputParts::keep(const std::function<bool(const WholeOutput &)> &wanted) {
  constexpr size_t none = ~size_t{0};
  std::vector<size_t> number;
  size_t count = 0;
  for (const WholeOutput &output : outputs_)
    number.push_back(wanted(output) ? count++ : none);
  std::erase_if(parts_, [&](const OutputPart &part) { return number[part.output] == none; });
  for (OutputPart &part : parts_)
    part.output = number[part.output];
  std::vector<WholeOutput> kept;
  for (size_t i = 0; i < number.size(); ++i)
    if (number[i] != none)
      kept.push_back(std::move(outputs_[i]));
  outputs_ = std::move(kept);
}

bool OutputParts::isOfArea(const WholeOutput &output) const {
  return std::any_of(outputs_.begin(), outputs_.end(), [&](const WholeOutput &area) {
    return area.function == artifact::MetricFunction::AreaUnderCurve &&
           (area.name == output.name || area.over == output.name);
  });
}

bool OutputParts::areOnFirstRank() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const OutputPart &part) { return part.rank == 0; });
}

Slice OutputParts::real(const OutputPart &part, int64_t valid) const {
  const WholeOutput &output = outputs_[part.output];
  Slice slice{part.slice.offsets, part.slice.sizes, part.slice.extents()};
  if (output.batchDim >= 0) {
    const size_t d = static_cast<size_t>(output.batchDim);
    slice.sizes[d] = std::clamp<int64_t>(valid * output.perSample - slice.offsets[d], 0, slice.sizes[d]);
  }
  return slice;
}

void OutputParts::append(const ProgramRunner &runner, uint32_t rank, int64_t valid, std::string &to) const {
  for (const OutputPart &part : parts_) {
    if (part.rank != rank)
      continue;
    const WholeOutput &output = outputs_[part.output];
    auto views = runner.outputs();
    auto view = std::find_if(views.begin(), views.end(), [&](const auto &v) { return v.name == output.name; });
    std::vector<std::byte> bytes = packed(view->memory.data(), real(part, valid), sizeOf(view->dtype));
    to.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  }
}
