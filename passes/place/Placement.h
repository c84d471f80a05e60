// Where to compute what: the problem, and solvers for it. Plain algorithms on numbers: nothing here knows of programs.
//
// Ops have work, memory and a result; the result is sent once to each device, other than their own, that has an op that
// reads it. A device is busy with the work of its ops and with what it sends and receives; the cost of a placement is
// the time of the busiest device, which limits how fast steps can follow each other. Among placements whose costs are
// about the same, the one that sends fewest bytes is the best: what is sent takes a network that others use, too.

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
    bool anchor = false;       // worth a device: see placeChain
    std::vector<int> operands; // ops before it in the list
  };
  struct Device {
    uint64_t capacity = UINT64_MAX; // bytes
    double rate = 1;                // flops a second
  };
  std::vector<Op> ops; // each after its operands
  std::vector<Device> devices;
  /// Bytes a second, from device to device; as many rows and columns as devices. Empty: `defaultBandwidth` everywhere.
  std::vector<std::vector<double>> bandwidth;
  double defaultBandwidth = 1;
  /// A placement may cost up to 1 + slack times as much as the cheapest one where it sends fewer bytes.
  double slack = 0;

  /// Says what is wrong with the input, naming op or device; empty when nothing is.
  std::string check() const;
  double bandwidthBetween(int from, int to) const { return bandwidth.empty() ? defaultBandwidth : bandwidth[from][to]; }
};

struct Placement {
  std::vector<int> devices; // of each op; empty: there is no placement that fits
  double cost = 0;          // seconds
  uint64_t bytes = 0;       // that are sent between devices

  explicit operator bool() const { return !devices.empty(); }
  /// Says where it is no solution of `problem`, or its cost or bytes are others; empty when it is right.
  std::string verify(const PlacementProblem &problem) const;
};

/// The time of the busiest device. Ops may be left out by a device of -1.
double placementCost(const PlacementProblem &problem, const std::vector<int> &devices);

/// The bytes of the results that are sent: each once to every other device that reads it. Ops may be left out as above.
uint64_t placementBytes(const PlacementProblem &problem, const std::vector<int> &devices);

/// In the order of the list, each op (with those of its colocation) to the device that makes the cost so far lowest; of
/// equals the first. Then again, to the device that makes the bytes so far fewest and keeps the cost within the slack
/// of what came out: of both the one that sends fewer. May find nothing where there is a placement.
Placement placeGreedy(const PlacementProblem &problem);

/// Of the placements within the slack of the cheapest one, that which sends fewest bytes; of equals the cheapest, then
/// the first in the order of devices. By branch and bound: time exponential in the number of ops, meant for up to some
/// 16.
Placement placeExact(const PlacementProblem &problem);

/// Cuts the list into a range for each device, in the order of devices. Each has at least one anchor, where there are
/// enough and such a cut fits, or else at least one op, where there are enough. Of the cuts within the slack of the
/// cheapest one it is that which sends fewest bytes, and of equals the cheapest, when each op is read by the next one
/// only. A result that is read further on counts as handed from device to device. Colocation must agree with ranges.
/// O(ops^2 devices).
Placement placeChain(const PlacementProblem &problem);

} // namespace dgc

#endif // DGC_PASSES_PLACE_PLACEMENT_H
