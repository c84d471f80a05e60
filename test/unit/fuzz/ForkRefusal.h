// Refuses processes to a library that starts some.
#pragma once

namespace dgc::testing {

/// While one lives, `fork` fails in this program, as where the system has no more processes.
class ForkRefusal {
public:
  ForkRefusal();
  ~ForkRefusal();
  ForkRefusal(const ForkRefusal &) = delete;
  ForkRefusal &operator=(const ForkRefusal &) = delete;
};

} // namespace dgc::testing
