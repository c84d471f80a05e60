// Text of unknown origin, made fit for a terminal or a log.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dgc::rt {

/// `text` with everything escaped that could move a cursor, begin a line or reorder what is shown: control characters
/// (C0, DEL, C1), line and paragraph separators, characters that set the direction of writing, and bytes that are no
/// UTF-8, as \n, \t, \x1b or \u202e. A backslash stays as it is: the text is for reading, not for parsing. Of text
/// longer than `longest` bytes the rest is replaced by "...".
std::string printable(std::string_view text, size_t longest = 4096);

} // namespace dgc::rt
