// What may reach a terminal and what is escaped.
#include "runtime/base/Printable.h"

#include <gtest/gtest.h>

using dgc::rt::printable;

TEST(Printable, KeepsTextOfAnyScript) {
  for (const char *text : {"rank 1 failed: 'w_1' (a.mlir:3:4)", "Größe \u4e2d\u6587 \U0001F600", "a\\b", ""})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable("a\nb\tc\r\x1b[2J\x7f"), "a\\nb\\tc\\x0d\\x1b[2J\\x7f");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\u0085\u009b31m"), "\\u0085\\u009b31m"); // C1 as UTF-8
  EXPECT_EQ(printable("\u2028\u202e\u2066\u200f"), "\\u2028\\u202e\\u2066\\u200f");
}

TEST(Printable, EscapesWhatIsNoUtf8) {
  EXPECT_EQ(printable("\xff\x80"), "\\xff\\x80");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");          // a slash in two bytes
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80"); // a surrogate
  EXPECT_EQ(printable("\xe4\xb8"), "\\xe4\\xb8");          // cut off
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m"); // C1 as a byte
}

TEST(Printable, ShortensLongText) {
  EXPECT_EQ(printable(std::string(10, 'x'), 4), "xxxx...");
  EXPECT_EQ(printable("xxxx", 4), "xxxx");
}
