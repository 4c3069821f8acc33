// Strings in sessions: who owns their bytes, how long they live, how much memory they may take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/core/string_ref.h"
#include "tests/runtime/string_programs.h"

namespace wick {
namespace {

using test::kSym;
using test::load;
using test::open;
using test::ProgramBuilder;
using test::strings;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> texts(const TensorView& v) {
  std::vector<std::string> all;
  for (int64_t i = 0; i < v.numel(); ++i) {
    const StringRef& s = v.as<StringRef>()[i];
    all.emplace_back(s.size == 0 ? "" : s.data, s.size);
  }
  return all;
}

struct Words {
  std::vector<std::string> text;
  std::vector<StringRef> refs;
  explicit Words(std::vector<std::string> t) : text(std::move(t)) {
    for (const auto& s : text) refs.push_back({s.data(), s.size()});
  }
  TensorView view() { return {refs.data(), DType::kString, {static_cast<int64_t>(refs.size())}}; }
};

TEST(Strings, AreMadeReadAndMadeAgain) {
  auto l = load(test::greeting());
  auto session = open(*l.program);
  Words first({"cat", "", "snake"}), second({"a"});
  TensorView out[1];
  TensorView in[] = {first.view()};
  Status s = session->run(in, out);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_THAT(texts(out[0]), ElementsAre("hello cat!", "hello !", "hello snake!"));
  StringRef kept[1];
  in[0] = second.view();
  TensorView given[] = {TensorView(kept, DType::kString, {1})};  // references, of the same life
  ASSERT_TRUE(session->run(in, given).ok());
  EXPECT_EQ(std::string(kept[0].data, kept[0].size), "hello a!");
}

TEST(Strings, InputsAreChecked) {
  auto l = load(test::greeting());
  auto session = open(*l.program);
  StringRef bad[] = {{"x", 1}, {nullptr, 3}};
  TensorView in[] = {TensorView(bad, DType::kString, {2})}, out[1];
  Status s = session->run(in, out);
  EXPECT_EQ(s.code(), Code::kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr("input x: string 1 has no bytes"));
  EXPECT_EQ(out[0].data, nullptr);
}

// The pool's memory is used again, run after run.
TEST(Strings, RunsOfOneSizeAllocateOnce) {
  auto l = load(test::greeting());
  test::CountingAllocator allocator;
  SessionOptions options;
  options.allocator = &allocator;
  options.threads = 1;
  auto session = open(*l.program, options);
  Words words({std::string(5000, 'w'), std::string(3000, 'v')});
  TensorView in[] = {words.view()}, out[1];
  ASSERT_TRUE(session->run(in, out).ok());
  int64_t calls = allocator.calls;
  size_t held = allocator.held;
  for (int k = 0; k < 50; ++k) {
    out[0] = TensorView();
    ASSERT_TRUE(session->run(in, out).ok());
  }
  EXPECT_EQ(allocator.calls, calls);
  EXPECT_EQ(allocator.held, held);
}

TEST(Strings, CountInTheBudget) {
  auto l = load(test::greeting());
  SessionOptions options;
  options.max_ram = 20000;
  options.threads = 1;
  auto session = open(*l.program, options);
  Words large({std::string(30000, 'x')}), small({"x"});
  TensorView in[] = {large.view()}, out[1];
  Status s = session->run(in, out);
  EXPECT_EQ(s.code(), Code::kBudgetExceeded) << s.message();
  EXPECT_THAT(s.message(), HasSubstr("StringConcat"));
  EXPECT_EQ(out[0].data, nullptr);
  in[0] = small.view();
  ASSERT_TRUE(session->run(in, out).ok());
  EXPECT_THAT(texts(out[0]), ElementsAre("hello x!"));
}

// Sizes that only strings decide, and what follows planned for them.
TEST(Strings, SplitSetsSizes) {
  ProgramBuilder p;
  p.symbol("n");
  p.symbol("most");
  auto x = p.value("x", DType::kString, {kSym});
  auto comma = strings(p, "comma", {}, {","});
  auto pieces = p.value("pieces", DType::kString, {kSym, kSym - 1});
  auto counts = p.value("counts", DType::kI64, {kSym});
  auto turned = p.value("turned", DType::kString, {kSym - 1, kSym});
  p.node(OpId::kStringSplit, {x, comma}, {pieces, counts}, StringSplitAttrs{}, "split");
  p.node(OpId::kTranspose, {pieces}, {turned}, TransposeAttrs{}, "turn");
  p.entry("main", {x}, {turned, counts});
  auto l = load(p.finish(kFeatureNonTensor));
  auto session = open(*l.program);
  Words words({"a,b,c", "d"});
  for (int k = 0; k < 2; ++k) {
    TensorView in[] = {words.view()}, out[2];
    Status s = session->run(in, out);
    ASSERT_TRUE(s.ok()) << s.message();
    EXPECT_EQ(out[0].shape, (Shape{3, 2}));
    EXPECT_THAT(texts(out[0]), ElementsAre("a", "d", "b", "", "c", ""));
    EXPECT_THAT(std::vector<int64_t>(out[1].as<int64_t>(), out[1].as<int64_t>() + 2),
                ElementsAre(3, 1));
  }
  Words none({});
  TensorView in[] = {none.view()}, out[2];
  ASSERT_TRUE(session->run(in, out).ok());
  EXPECT_EQ(out[0].shape, (Shape{0, 0}));
}

// A trip makes a string of constants and hands it on in a tensor that grows: the body is planned
// anew each trip, and what was made before stays.
TEST(Strings, LiveThroughALoop) {
  auto l = load(test::telling_loop());
  auto session = open(*l.program);
  Words start({"once"});
  for (int k = 0; k < 2; ++k) {
    int64_t trips = 40;
    uint8_t go = 1;
    TensorView in[] = {TensorView(&trips, DType::kI64, {}), TensorView(&go, DType::kBool, {}),
                       start.view()};
    TensorView out[2];
    Status s = session->run(in, out);
    ASSERT_TRUE(s.ok()) << s.message();
    std::vector<std::string> want = {"once"};
    for (int t = 0; t < 40; ++t) want.push_back("and then");
    EXPECT_EQ(texts(out[0]), want);
    ASSERT_EQ(out[1].shape, Shape{40});
    EXPECT_EQ(texts(out[1])[39], "and then");
  }
}

TEST(Strings, EveryAllocationMayFail) {
  auto l = load(test::greeting());
  Words words({std::string(6000, 'w')});
  for (int64_t fail_at = 0;; ++fail_at) {
    test::CountingAllocator allocator(fail_at);
    SessionOptions options;
    options.allocator = &allocator;
    options.threads = 1;
    auto session = Session::create(*l.program, options);
    Status s = session.status();
    TensorView in[] = {words.view()}, out[1];
    if (s.ok()) s = (*session)->run(in, out);
    if (s.ok()) break;
    EXPECT_EQ(s.code(), Code::kOutOfMemory) << s.message();
    EXPECT_EQ(out[0].data, nullptr);
    ASSERT_LT(fail_at, 1000);
  }
}

}  // namespace
}  // namespace wick
