// Files of flight recorders.
#include "runtime/telemetry/FlightLog.h"

#include "test/unit/readers/Reader.h"

namespace dgc::rt::test {
namespace {

bool read(std::span<const uint8_t> bytes) {
  FakeDisk disk;
  disk.put("d/flight-0", std::string(textOf(bytes)));
  disk.put("d/flight-1", std::string(textOf(bytes)));
  const auto logs = readFlightLogs(disk, "d", false);
  if (!logs.ok())
    return false;
  describeFlight(*logs, 20);
  flightAsJson(*logs, 20);
  return true;
}

const RegisteredReader reader("flight_log", read);

} // namespace
} // namespace dgc::rt::test
