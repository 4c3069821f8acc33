// Random arithmetic on sizes: a captured program is right at sizes that the capture never saw;
// otherwise it is refused. 300 programs; WICK_TEST_FULL=1: 5,000.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <random>

#include "graph/interpreter/interpreter.h"
#include "tests/export/corpus.h"
#include "tests/support/error_of.h"
#include "trainer/capture/graph_tracer.h"
#include "wick/trainer.h"

namespace wick::test {
namespace {

using Number = std::function<Dim(Dim batch, Dim time)>;

struct Expression {
  std::string text;
  Number value;
};

class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {}
  int64_t pick(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  Expression make(int depth) {
    if (depth == 0 || pick(0, 4) == 0) {
      const int64_t n = pick(1, 9);
      switch (pick(0, 4)) {
        case 0: return {fmt::format("{}", n), [n](Dim, Dim) { return Dim(n); }};
        case 1: return {"B", [](Dim b, Dim) { return b; }};
        default: return {"T", [](Dim, Dim t) { return t; }};
      }
    }
    const Expression a = make(depth - 1), b = make(depth - 1);
    const int64_t n = pick(2, 8);
    switch (pick(0, 7)) {
      case 0: return both(a, b, "+", [](Dim x, Dim y) { return x + y; });
      case 1: return both(a, b, "-", [](Dim x, Dim y) { return x - y; });
      case 2: return both(a, b, "*", [](Dim x, Dim y) { return x * y; });
      case 3: return both(a, b, "max", [](Dim x, Dim y) { return std::max(x, y); });
      case 4: return both(a, b, "min", [](Dim x, Dim y) { return std::min(x, y); });
      case 5: return one(a, fmt::format("% {}", n), [n](Dim x) { return x % n; });
      default: return one(a, fmt::format("/ {}", n), [n](Dim x) { return x / n; });
    }
  }

 private:
  static Expression both(const Expression& a, const Expression& b, const char* op,
                         Dim (*f)(Dim, Dim)) {
    return {fmt::format("({} {} {})", a.text, op, b.text),
            [a, b, f](Dim x, Dim y) { return f(a.value(x, y), b.value(x, y)); }};
  }
  static Expression one(const Expression& a, const std::string& op, std::function<Dim(Dim)> f) {
    return {fmt::format("({} {})", a.text, op), [a, f](Dim x, Dim y) { return f(a.value(x, y)); }};
  }
  std::mt19937 random_;
};

// Every program's answer at sizes that capture never saw; those that it refuses count in *refused.
void nothing_is_wrong_without_a_word(bool followed, int* captured, int* programs) {
  *programs = std::getenv("WICK_TEST_FULL") != nullptr ? 5000 : 300;
  *captured = 0;
  NoGrad guard;
  for (int p = 0; p < *programs; ++p) {
    Maker maker(static_cast<uint32_t>(p));
    const Expression e = maker.make(3);
    const int64_t use = maker.pick(0, 2);
    auto f = [&](const Tensor& x) {
      Dim b = x.size(0), t = x.size(1);
      if (!followed) b = Dim(static_cast<int64_t>(b)), t = Dim(static_cast<int64_t>(t));
      const Dim v = e.value(b, t);
      if (use == 0) return x * v;
      if (use == 1) return x.slice(1, 0, std::clamp(v, 0, t));
      return full({b, std::clamp(v, 1, 50)}, 1) + x.slice(1, 0, 1).slice(2, 0, 1).squeeze(2);
    };
    SCOPED_TRACE(fmt::format("program {}: {} used as {}", p, e.text, use));
    Program program = form("random", {2, 6, 8}, {{0, "batch", 1, 100}, {1, "time", 1, 100}}, f);
    std::optional<ir::Graph> graph;
    const std::string refused =
        error_of([&] { graph = capture_call(*program.module, program.inputs, program.call); });
    if (std::getenv("WICK_TEST_REFUSED") != nullptr && !graph)
      fmt::print("REFUSED {} used as {}: {}\n", e.text, use, refused);
    if (!graph) continue;
    ++*captured;
    for (int turn = 0; turn < 12; ++turn) {
      const Tensor x = some_floats({maker.pick(1, 100), maker.pick(1, 100), 8});
      const HostTensor in = host_copy(x);
      ASSERT_TRUE(same_bits(ir::run(*graph, {&in, 1})[0], host_copy(f(x))))
          << to_text(x.raw_shape()).text;
    }
  }
}

TEST(RandomSizes, ComputedWithDimsAreNeverWrong) {
  int captured = 0, programs = 0;
  nothing_is_wrong_without_a_word(true, &captured, &programs);
  fmt::print("COUNT: random sizes: {} of {} programs captured\n", captured, programs);
  EXPECT_GT(captured, programs * 9 / 10);
}

// Sizes that became plain integers are found again, or refused.
TEST(RandomSizes, ComputedWithIntegersAreNeverWrongWithoutAWord) {
  int captured = 0, programs = 0;
  nothing_is_wrong_without_a_word(false, &captured, &programs);
  fmt::print("COUNT: random sizes in integers: {} of {} programs captured\n", captured, programs);
  EXPECT_GT(captured, programs / 4);
}

}  // namespace
}  // namespace wick::test
