// Which cases a folder of plans is, and in which order they run.
#pragma once

#include "absl/functional/function_ref.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

enum class Check : uint8_t { Compare, SelfTest, Training, Faults, Memcheck, Racecheck, Times };

/// What runs by itself, in a time of its own.
struct Case {
  std::string name; // of the plan, NAME of NAME.cuda.dgcx, or "device"
  Check check = Check::Compare;
  int stage = 0;        // those of a lower one come first
  bool isSmall = false; // of training: the weights are compared, and not the losses alone
  bool isLong = false;  // of training: 100 steps as well

  std::string checkName() const; // "compare"
  std::string id() const;        // "mnist_mlp/compare"
  bool isSanitized() const { return check == Check::Memcheck || check == Check::Racecheck; }
  /// Whether nothing may run beside it: memory or times are looked at.
  bool isAlone() const { return check == Check::Faults || check == Check::Times; }
  /// Whether `only` names it: its plan or its id.
  bool isNamed(const std::string &only) const { return only == name || only == id(); }
};

enum class Suite : uint8_t { All, WithoutTiming, Sanitized };

/// NAME.cuda.dgcx in a folder.
std::vector<std::filesystem::path> plansIn(const std::filesystem::path &folder);

/// In order: kernels, the device by itself, products, attention, convolutions, models, their training, several workers,
/// faults, compute-sanitizer, times. Sanitized: what is compared, under compute-sanitizer, and nothing else.
std::vector<Case> casesOf(const std::vector<std::filesystem::path> &plans, Suite suite);
