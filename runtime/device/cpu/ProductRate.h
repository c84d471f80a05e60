// How fast this machine multiplies: what a program's rate can be compared with.
#pragma once

namespace dgc::rt {

/// Operations on floats in a second that a product of f32, 1024 x 1024 by 1024 x 1024, comes to on so many threads: the best of a few,
/// which take some tens of milliseconds. An addition and a multiplication are two.
double measureProductRate(int threads);

} // namespace dgc::rt
