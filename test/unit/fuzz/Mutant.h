// Damaged copies of files.
#pragma once

#include <random>
#include <string>

namespace dgc::testing {

/// A copy of the bytes with one to four changes. Of text words and numbers are changed, of other files bytes. Equal states of
/// `random` give equal mutants.
std::string mutantOf(std::string bytes, bool isText, std::mt19937 &random);

} // namespace dgc::testing
