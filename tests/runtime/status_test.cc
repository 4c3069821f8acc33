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

// Counts what is alive, so that a value that is assigned over is seen to go.
struct Counted {
  explicit Counted(int n) : number(n) { ++alive; }
  Counted(Counted&& o) noexcept : number(o.number) { ++alive; }
  Counted& operator=(Counted&&) = delete;
  ~Counted() { --alive; }
  int number;
  static int alive;
};
int Counted::alive = 0;

TEST(Result, CanBeAssigned) {
  {
    Result<Counted> r = Counted(1);
    r = Counted(2);  // a value over a value
    EXPECT_EQ(r->number, 2);
    EXPECT_EQ(Counted::alive, 1);
    r = Status(Code::kBusy, "all are in use");  // a failure over a value
    EXPECT_FALSE(r.ok());
    EXPECT_EQ(r.status().code(), Code::kBusy);
    EXPECT_EQ(Counted::alive, 0);
    r = Status(Code::kIo, "gone");  // a failure over a failure
    EXPECT_STREQ(r.status().message(), "gone");
    r = Counted(3);  // a value over a failure
    ASSERT_TRUE(r.ok());
    EXPECT_TRUE(r.status().ok());
    EXPECT_EQ(r->number, 3);
    Result<Counted>& same = r;
    r = std::move(same);
    EXPECT_EQ(r->number, 3);
    EXPECT_EQ(Counted::alive, 1);
  }
  EXPECT_EQ(Counted::alive, 0);
}

}  // namespace
}  // namespace wick
