// Plans with stacked variables, and the same ones with a variable for each part.
#pragma once

#include "SamplePlan.h"

#include <algorithm>

namespace dgc::rt::test {

/// The sample with `w` stacked along `dims` dimensions, [4, 4] in all: "w.*", "w.*.*".
inline fb::PlanT stackedPlan(size_t dims = 1) {
  fb::PlanT plan = samplePlan();
  fb::VariableT &w = *plan.variables[0];
  w.rng_id = 2;
  w.rng_strides = {5, 100};
  w.rng_strides.resize(dims);
  for (size_t d = 0; d < dims; ++d)
    w.name += ".*";
  return plan;
}

/// A variable behind the others of the plan: `shape` is global, `local` that of its buffer.
inline fb::VariableT &addVariable(fb::PlanT &plan, std::string name, std::vector<int64_t> shape,
                                  std::vector<int64_t> local) {
  auto buffer = std::make_unique<fb::BufferT>();
  buffer->offset = (plan.private_bytes + 63) / 64 * 64;
  buffer->dtype = fb::DType::F32;
  uint64_t bytes = 4;
  for (int64_t extent : local)
    bytes *= static_cast<uint64_t>(extent);
  plan.private_bytes = buffer->offset + bytes;
  buffer->shape = std::move(local);
  auto variable = std::make_unique<fb::VariableT>();
  variable->name = std::move(name);
  variable->buffer = static_cast<uint32_t>(plan.variable_buffers.size());
  variable->global_shape = std::move(shape);
  plan.variable_buffers.push_back(std::move(buffer));
  plan.variables.push_back(std::move(variable));
  return *plan.variables.back();
}

/// The pattern with `index` in the place of its first `*`.
inline std::string withIndex(std::string pattern, int64_t index) {
  if (const size_t star = pattern.find('*'); star != std::string::npos)
    pattern.replace(star, 1, std::to_string(index));
  return pattern;
}

/// The plan with a variable for each part of a stacked one, in the same memory: each part takes a multiple of 64 bytes.
inline fb::PlanT unstacked(fb::PlanT plan) {
  auto isStacked = [](const auto &variable) { return !variable->rng_strides.empty(); };
  for (;;) {
    auto found = std::find_if(plan.variables.begin(), plan.variables.end(), isStacked);
    if (found == plan.variables.end())
      return plan;
    const std::unique_ptr<fb::VariableT> whole = std::move(*found);
    auto at = plan.variables.erase(found);
    const int64_t parts = whole->global_shape[0];
    const fb::BufferT memory = *plan.variable_buffers[whole->buffer];
    uint64_t bytes = 4;
    for (size_t d = 1; d < memory.shape.size(); ++d)
      bytes *= static_cast<uint64_t>(memory.shape[d]);
    for (int64_t i = 0; i < parts; ++i) {
      auto part = std::make_unique<fb::VariableT>(*whole);
      part->name = withIndex(whole->name, i);
      part->begins_as = withIndex(whole->begins_as, i);
      part->rng_id += static_cast<uint64_t>(i) * whole->rng_strides[0];
      part->rng_strides.erase(part->rng_strides.begin());
      part->global_shape.erase(part->global_shape.begin());
      if (part->sharding && !part->sharding->dims.empty())
        part->sharding->dims.erase(part->sharding->dims.begin());
      auto buffer = std::make_unique<fb::BufferT>(memory);
      buffer->shape.erase(buffer->shape.begin());
      buffer->offset += static_cast<uint64_t>(i) * bytes;
      part->buffer = static_cast<uint32_t>(plan.variable_buffers.size());
      plan.variable_buffers.push_back(std::move(buffer));
      at = std::next(plan.variables.insert(at, std::move(part)));
    }
    plan.variable_buffers[whole->buffer]->shape = {0}; // nothing is left in it
  }
}

} // namespace dgc::rt::test
