// NVIDIA's compute-sanitizer, which finds wrong accesses of kernels.
#pragma once

#include "tools/gpu-check/Programs.h"
#include "tools/gpu-check/ResultTable.h"

/// Where it is; empty where it is not: $CUDA_HOME/bin, /usr/local/cuda/bin, $PATH.
std::string findSanitizer();

/// `words` run under one of its tools ("memcheck").
std::vector<std::string> underSanitizer(const std::string &sanitizer, const std::string &tool,
                                        const std::vector<std::string> &words);

/// What came of that.
Row sanitizerRow(const std::string &name, const std::string &tool, const Ended &ended);
