#include "runtime/core/status.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace wick {
namespace {

TEST(Status, FormatsItsMessage) {
  Status s = error(Code::kShapeMismatch, "[matmul] inner dimensions differ: %d x %d", 3, 4);
  EXPECT_FALSE(s.ok());
  EXPECT_EQ(s.code(), Code::kShapeMismatch);
  EXPECT_STREQ(s.message(), "[matmul] inner dimensions differ: 3 x 4");
}

TEST(Status, CutsLongMessagesWithDots) {
  std::string text(2000, 'x');
  Status s = error(Code::kIo, "%s", text.c_str());
  size_t length = std::strlen(s.message());
  ASSERT_LT(length, 512u);
  EXPECT_STREQ(s.message() + length - 3, "...");
}

TEST(Status, AnnotatePrefixesErrorsAndKeepsOk) {
  EXPECT_TRUE(annotate(Status(), "node %d: ", 1).ok());
  Status s = annotate(error(Code::kNotFound, "no input \"x\""), "node %d: ", 12);
  EXPECT_EQ(s.code(), Code::kNotFound);
  EXPECT_STREQ(s.message(), "node 12: no input \"x\"");
}

Result<int> half_of(int x) {
  if (x % 2 != 0) return error(Code::kInvalidArgument, "%d is odd", x);
  return x / 2;
}

Status quarter_of(int x, int* out) {
  WICK_ASSIGN(int half, half_of(x));
  WICK_ASSIGN(*out, half_of(half));
  return {};
}

TEST(Result, AssignReturnsTheFirstError) {
  int out = 0;
  EXPECT_TRUE(quarter_of(12, &out).ok());
  EXPECT_EQ(out, 3);
  Status s = quarter_of(6, &out);
  EXPECT_STREQ(s.message(), "3 is odd");
  EXPECT_EQ(out, 3);
}

}  // namespace
}  // namespace wick
