// Random nests of branches and loops: captured programs have forward's bits, in the interpreter and
// in a session, at sizes that capture never saw and with data that take other branches.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

#include "graph/interpreter/interpreter.h"
#include "tests/export/corpus.h"
#include "tests/support/error_of.h"
#include "trainer/capture/graph_tracer.h"
#include "wick/compile.h"
#include "wick/runtime.h"
#include "wick/trainer.h"

namespace wick::test {
namespace {

using Rng = std::mt19937;
// A state [batch, 8] and the input [batch, time, 8] -> the next state.
using Step = std::function<Tensor(const Tensor& s, const Tensor& x)>;

int64_t below(Rng& rng, int64_t n) {
  return static_cast<int64_t>(rng() % static_cast<uint64_t>(n));
}
double part(Rng& rng) { return static_cast<double>(below(rng, 200) - 100) / 100; }

Step sequence(Rng& rng, int depth);

Tensor condition(int64_t kind, double c, const Tensor& s, const Tensor& x) {
  switch (kind) {
    case 0: return s.sum() > c;
    case 1: return x.mean() <= c * 0.1;
    case 2: return any(s < c);
    default: return logical_and(s.amax() > c, x.amin() < 0);
  }
}

Step one(Rng& rng, int depth) {
  const double c = part(rng);
  const int64_t kind = below(rng, 4), column = below(rng, 8);
  switch (below(rng, depth > 0 ? 12 : 8)) {
    case 0: return [c](const Tensor& s, const Tensor&) { return tanh(s + c); };
    case 1: return [](const Tensor& s, const Tensor& x) { return s * 0.5 + x.mean(1); };
    case 2: {
      const Tensor w = some_floats({8, 8}) * c;
      return [w](const Tensor& s, const Tensor&) { return tanh(matmul(s, w)); };
    }
    case 3:
      return [column, c](const Tensor& s, const Tensor&) {
        Tensor y = s.clone();
        y.select(1, static_cast<int>(column)).mul_(c);
        return y;
      };
    case 4: return [](const Tensor& s, const Tensor& x) { return s / x.size(1); };
    case 5:
      return [c](const Tensor& s, const Tensor& x) {
        return s * c + zeros({x.size(0), 1}) + x.select(1, x.size(1) - 1);
      };
    case 6:
      return [](const Tensor& s, const Tensor& x) {
        return sin(s) + x.reshape({x.size(0), -1}).slice(1, 0, 8);
      };
    case 7: return [](const Tensor& s, const Tensor&) { return s; };
    case 8:
    case 9: {
      const Step yes = sequence(rng, depth - 1), no = sequence(rng, depth - 1);
      return [=](const Tensor& s, const Tensor& x) {
        return cond(
            condition(kind, c, s, x), [&](const Tensor& s) { return yes(s, x); },
            [&](const Tensor& s) { return no(s, x); }, {s});
      };
    }
    case 10: {
      const Step body = sequence(rng, depth - 1);
      return [=](const Tensor& s, const Tensor& x) {
        const auto last =
            while_loop([&](const Tensor& s, const Tensor&) { return condition(kind, c, s, x); },
                       [&](const Tensor& s, const Tensor& n) {
                         return std::tuple(tanh(body(s, x)) * 0.75, n + 1);
                       },
                       std::tuple(s, full({}, 0, DType::kI64)), 4);
        return std::get<0>(last) + std::get<1>(last).to(DType::kF32);
      };
    }
    default: {
      const Step body = sequence(rng, depth - 1);
      const bool reverse = below(rng, 2) == 0;
      return [=](const Tensor& s, const Tensor& x) {
        const auto [last, all] = scan(
            [&](const Tensor& s, const Tensor& x_t) {
              const Tensor next = tanh(body(s + x_t, x));
              return std::pair(next, std::pair(next - s, next.amax(1)));
            },
            s, x, 1, reverse);
        return last + all.first.mean(0) + all.second.sum(0).unsqueeze(1);
      };
    }
  }
}

Step sequence(Rng& rng, int depth) {
  std::vector<Step> steps;
  for (int64_t n = 1 + below(rng, 3); n > 0; --n) steps.push_back(one(rng, depth));
  return [steps](const Tensor& s, const Tensor& x) {
    Tensor now = s;
    for (const Step& step : steps) now = step(now, x);
    return now;
  };
}

TEST(RandomControl, NothingIsWrongWithoutAWord) {
  const int programs = std::getenv("WICK_TEST_FULL") != nullptr ? 500 : 60;
  int captured = 0, regions = 0;
  for (int seed = 0; seed < programs; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(static_cast<unsigned>(seed));
    const Step f = sequence(rng, 3);
    Program p = form("random", {2, 3, 8}, {{0, "batch", 1, 64}, {1, "time", 1, 64}},
                     [&](const Tensor& x) { return f(x.select(1, 0), x) + 0; });
    std::optional<ir::Graph> graph;
    const std::string why = error_of([&] { graph = capture_call(*p.module, p.inputs, p.call); });
    ASSERT_TRUE(graph) << why;
    ++captured;
    for (const ir::Node& n : graph->nodes()) regions += static_cast<int>(n.regions.size());
    const std::vector<uint8_t> file = compile_program(*graph), onnx = onnx_bytes(*graph);
    const ir::Graph again = import_onnx_bytes({onnx.data(), onnx.size()});
    auto loaded = wick::Program::load(Span<const uint8_t>(file));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    auto session = Session::create(**loaded);
    ASSERT_TRUE(session.ok()) << session.status().message();
    NoGrad guard;
    for (int turn = 0; turn < 6; ++turn) {
      const Tensor x = some_floats({1 + turn % 4, 1 + turn * 3 % 7, 8}) * (turn % 2 ? 0.8 : -0.6) +
                       (turn - 3) * 0.1;
      const HostTensor in = host_copy(x), want = host_copy(p.call({x.clone()})[0]);
      EXPECT_TRUE(same_bits(ir::run(*graph, {&in, 1})[0], want)) << "graph, turn " << turn;
      EXPECT_TRUE(same_bits(ir::run(again, {&in, 1})[0], want)) << "ONNX, turn " << turn;
      const TensorView feed = in.view();
      TensorView out;
      const Status s = (*session)->run({&feed, 1}, {&out, 1});
      ASSERT_TRUE(s.ok()) << s.message();
      EXPECT_TRUE(same_bits(HostTensor(out.dtype, out.shape, out.data, out.nbytes()), want))
          << "session, turn " << turn;
    }
  }
  std::printf("COUNT: random control flow: %d programs, %d regions at the top\n", captured,
              regions);
}

}  // namespace
}  // namespace wick::test
