// Where to compute what: the problem, and solvers for it. Plain algorithms on numbers: nothing here knows of programs.
//
// Ops have work, memory and a result; the result is sent once to each device, other than their own, that has an op that
// reads it. A device is busy with the work of its ops and with what it sends and receives; the cost of a placement is
// the time of the busiest device, which limits how fast steps can follow each other.

#ifndef DGC_PASSES_PLACE_PLACEMENT_H
#define DGC_PASSES_PLACE_PLACEMENT_H

#include <cstdint>
#include <string>
#include <vector>

namespace dgc {

struct PlacementProblem {
  struct Op {
    double flops = 0;
    uint64_t bytes = 0;        // memory on its device, for the whole step
    uint64_t resultBytes = 0;  // what others read
    int device = -1;           // where it must be; -1: anywhere
    int colocation = -1;       // ops of the same number are on one device; -1: none
    std::vector<int> operands; // ops before it in the list
  };
  struct Device {
    uint64_t capacity = UINT64_MAX; // bytes
    double rate = 1;                // flops a second
  };
  std::vector<Op> ops; // each behind its operands
  std::vector<Device> devices;
  /// Bytes a second, from device to device; as many rows and columns as devices. Empty: `defaultBandwidth` everywhere.
  std::vector<std::vector<double>> bandwidth;
  double defaultBandwidth = 1;

  /// Says what is wrong with the input, naming op or device; empty when nothing is.
  std::string check() const;
  double bandwidthBetween(int from, int to) const { return bandwidth.empty() ? defaultBandwidth : bandwidth[from][to]; }
};

struct Placement {
  std::vector<int> devices; // of each op; empty: there is no placement that fits
  double cost = 0;          // seconds

  explicit operator bool() const { return !devices.empty(); }
  /// Says where it is no solution of `problem`, or its cost is another; empty when it is right.
  std::string verify(const PlacementProblem &problem) const;
};

/// The time of the busiest device. Ops may be left out by a device of -1.
double placementCost(const PlacementProblem &problem, const std::vector<int> &devices);

/// In the order of the list, each op (with those of its colocation) to the device that makes the cost so far lowest; of
/// equals the first. May find nothing where there is a placement.
Placement placeGreedy(const PlacementProblem &problem);

/// The cheapest of all placements, by branch and bound: time exponential in the number of ops, meant for up to some 16.
/// Of equals the first in the order of devices.
Placement placeExact(const PlacementProblem &problem);

/// Cuts the list into a range for each device, in the order of devices, each at least one op where there are enough;
/// the cheapest cut into ranges when each op is read by the next one only. A result that is read further on counts as
/// handed from device to device. Colocation must agree with ranges. O(ops^2 devices).
Placement placeChain(const PlacementProblem &problem);

} // namespace dgc

#endif // DGC_PASSES_PLACE_PLACEMENT_H
