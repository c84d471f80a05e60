// Sequences of tokens: text, one token a character, and files of raw token numbers.
#pragma once

#include "runtime/data/Array.h"

#include <string_view>

namespace dgc::rt {

/// The symbols of a text in the order of their numbers, as code points.
using Vocabulary = std::vector<char32_t>;

/// The distinct code points of a text in UTF-8, ascending.
absl::StatusOr<Vocabulary> vocabularyOf(std::string_view text, const std::string &file);

/// One symbol a line, in UTF-8; newline, tab, carriage return and backslash as \n, \t, \r and \\.
std::string formatVocabulary(const Vocabulary &vocabulary);
/// The inverse. An error names the line.
absl::StatusOr<Vocabulary> parseVocabulary(std::string_view text, const std::string &file);

/// A long sequence of token numbers: u16 or i32.
struct Tokens {
  Array array;           // of rank 1
  Vocabulary vocabulary; // of a text; else empty

  int64_t size() const { return array.shape[0]; }
};

/// A text as the numbers of its characters. A character that the vocabulary does not have is an error.
absl::StatusOr<Tokens> tokensOfText(std::string_view text, Vocabulary vocabulary, std::string file);

/// Raw little-endian numbers; `dtype` is U16 or I32, and negative numbers are an error.
absl::StatusOr<Tokens> tokensOfNumbers(Bytes bytes, DType dtype, std::string file);

/// The part [begin, end) of a sequence that a split has: `test` the last tenth, `train` what is before it.
struct TokenRange {
  int64_t begin, end;
};
TokenRange splitOf(int64_t size, std::string_view split);

/// Where the window begins that is drawn for global example `example` of an epoch (example k B + p is position p of
/// global batch k): floor(w places / 2^64), where w is the 64-bit word of element `example` of the Philox stream
/// kWindowStream + epoch of `seed`.
int64_t drawWindow(int64_t places, uint64_t seed, uint64_t epoch, uint64_t example);

} // namespace dgc::rt
