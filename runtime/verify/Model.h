// The undistributed program that a plan is compared with.
#pragma once

#include "runtime/artifact/dgcx_generated.h"
#include "runtime/device/reference/Bytecode.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dgc::verify {

/// A variable of the model, as dgc.state says.
struct ModelVariable {
  std::string name;
  artifact::VariableRole role = artifact::VariableRole::Weight;
  artifact::DType dtype = artifact::DType::F32;
  std::vector<int64_t> shape;
  artifact::InitKind init = artifact::InitKind::Zeros;
  double a = 0, b = 0; // as in artifact::Variable
  uint64_t rngId = 0;
  std::vector<uint64_t> rngStrides; // of a stacked variable
  std::string file;
  std::string beginsAs;
};

struct ModelInput {
  std::string name; // of the variable, or of the input
  bool isVariable = false;
  artifact::InputRole role = artifact::InputRole::Data; // of what is no variable
  artifact::DType dtype = artifact::DType::F32;
  std::vector<int64_t> shape;
  int batchDim = -1;
  uint64_t indexLimit = 0; // of the elements, which data must be below; 0: none
  uint64_t drawLimit =
      0; // what the check draws is below this, where there is no indexLimit; 0: it is not known what fits
};

struct ModelResult {
  std::string name;
  bool isVariable = false; // the new value of the variable
  artifact::OutputRole role = artifact::OutputRole::Loss;
  artifact::DType dtype = artifact::DType::F32;
  std::vector<int64_t> shape;
  int batchDim = -1;
  std::string over; // of a metric that is a quotient
  artifact::MetricFunction function = artifact::MetricFunction::Identity;
};

/// An entry: a kernel of the whole global batch, from the values of variables and inputs to new values and outputs.
struct ModelProgram {
  std::string name;
  std::vector<ModelInput> inputs;
  std::vector<ModelResult> results;
  std::vector<uint8_t> kernel;        // a buffer of reference::Kernels with this one kernel
  std::vector<std::string> locations; // of each nest: the line of the model that it is of; empty where unknown
};

struct Model {
  std::vector<ModelVariable> variables;
  std::vector<ModelProgram> programs;
};

} // namespace dgc::verify
