// File names made safe to print on a terminal.
#include "runtime/core/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace wick {
namespace {

TEST(PrintableText, WhatIsTextStays) {
  for (const std::string text : {"", "a b\tc\nd", "\u00e9\u4e2d\U0001F600~", "\u200b\u200d"})
    EXPECT_EQ(printable(text), text);
}

TEST(PrintableText, WhatActsIsEscaped) {
  EXPECT_EQ(printable(std::string("a\x1b[31m\r\x07\0b", 10)), "a\\u001b[31m\\u000d\\u0007\\u0000b");
  EXPECT_EQ(printable(std::string("\x7f\u0080\u009b\u00a0")), "\\u007f\\u0080\\u009b\u00a0");
  EXPECT_EQ(printable(std::string("\u202egnp.exe\u2066\u2069\u061c\u200e\u200f\u2028\u2029")),
            "\\u202egnp.exe\\u2066\\u2069\\u061c\\u200e\\u200f\\u2028\\u2029");
}

TEST(PrintableText, BytesThatAreNoUtf8AreEscaped) {
  EXPECT_EQ(printable(std::string("\xff|\xc0\x80|\xe2\x80|\xed\xa0\x80|\xf4\x90\x80\x80|\x9b")),
            "\\xff|\\xc0\\x80|\\xe2\\x80|\\xed\\xa0\\x80|\\xf4\\x90\\x80\\x80|\\x9b");
  EXPECT_EQ(printable(std::string("a\xe2")), "a\\xe2");
}

}  // namespace
}  // namespace wick
