// How far apart the clocks of two machines are.
#pragma once

#include "runtime/base/Clock.h"

#include <algorithm>
#include <optional>

namespace dgc::rt {

/// What is added to a time of this clock to get that of the other one. Each round trip bounds it: what the other one says
/// was read after the question was sent and before the answer came. All round trips together bound it closer than one.
class ClockOffset {
public:
  /// A question was sent and its answer received, by this clock; in between the other clock was at `there`.
  void add(TimeNs sent, TimeNs there, TimeNs received) {
    if (received < sent)
      return;
    const TimeNs low = there - received, high = there - sent;
    if (!bounds || high < bounds->least || low > bounds->most) // the first one, or the clocks have drifted
      bounds = {low, high};
    else
      bounds = {std::max(bounds->least, low), std::min(bounds->most, high)};
  }

  bool isKnown() const { return bounds.has_value(); }
  /// Bounds; 0 where nothing is known.
  TimeNs least() const { return bounds ? bounds->least : 0; }
  TimeNs most() const { return bounds ? bounds->most : 0; }
  /// 0 where that may be right: processes of one machine have one clock.
  TimeNs estimate() const { return least() <= 0 && most() >= 0 ? 0 : least() + (most() - least()) / 2; }

private:
  struct Bounds {
    TimeNs least, most;
  };
  std::optional<Bounds> bounds;
};

} // namespace dgc::rt
