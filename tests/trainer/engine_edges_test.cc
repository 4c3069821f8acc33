// Edge cases of the engine: who owns .grad, backwards that throw under a watcher, hooks of modules
// that moved or died.
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "tests/support/error_of.h"
#include "trainer/autograd/grad_fn.h"
#include "trainer/tensor/memory.h"
#include "trainer/tensor/storage.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;
using Doubles = std::vector<double>;

Tensor leaf(std::initializer_list<double> values) {
  return tensor<double>(values).requires_grad_();
}
Doubles numbers(const Tensor& t) { return t.to_vector<double>(); }
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
// "(engine_edges_test.cc:41)" for a line of this file.
std::string at_line(uint32_t line) { return "(engine_edges_test.cc:" + std::to_string(line) + ")"; }

// -- .grad is the tensor's shape and dtype

TEST(GradOwner, SetGradRefusesAnotherShapeOrDtype) {
  Tensor x = ones({2, 2}, DType::kF64).requires_grad_();
  std::string text = error_of([&] { x.set_grad(zeros({2, 2}, DType::kF32)); });
  EXPECT_TRUE(contains(text, "[set_grad]") && contains(text, "float32") &&
              contains(text, "float64"))
      << text;
  text = error_of([&] { x.set_grad(zeros({4}, DType::kF64)); });
  EXPECT_TRUE(contains(text, "[4]") && contains(text, "[2,2]")) << text;
  EXPECT_NE(error_of([&] { x.set_grad(zeros({1}, DType::kF64)); }), "no error");
  EXPECT_TRUE(contains(error_of([&] { x.set_grad(x); }), "its own"));
  EXPECT_FALSE(x.grad().defined());
  x.set_grad(full({2, 2}, 3, DType::kF64));
  sum(x * x).backward();
  EXPECT_EQ(numbers(x.grad()), (Doubles{5, 5, 5, 5}));
  x.set_grad(Tensor());
  EXPECT_FALSE(x.grad().defined());
}

TEST(GradOwner, AGradOfAnotherShapeIsAnErrorAndNoGradChanges) {
  Tensor x = leaf({1, 2, 3, 4}), y = leaf({1, 1, 1, 1});
  sum(x * y).backward();
  x.grad().set_shape({2, 2});
  Tensor again = sum(x * x) + sum(y * 2);
  std::string text = error_of([&] { again.backward(Tensor(), true); });
  EXPECT_TRUE(contains(text, "[4]") && contains(text, "[2,2]") && contains(text, "set_grad"))
      << text;
  EXPECT_EQ(numbers(y.grad()), (Doubles{1, 2, 3, 4}));  // nothing was added anywhere
  EXPECT_EQ(numbers(x.grad()), (Doubles{1, 1, 1, 1}));
  EXPECT_NE(error_of([&] { again.backward(Tensor(), true, false, {y, x}); }), "no error");
  EXPECT_EQ(numbers(y.grad()), (Doubles{1, 2, 3, 4}));
  x.set_grad(Tensor());
  again.backward();
  EXPECT_EQ(numbers(x.grad()), (Doubles{2, 4, 6, 8}));
  EXPECT_EQ(numbers(y.grad()), (Doubles{3, 4, 5, 6}));

  Tensor before = sum(x * 2);
  {
    NoGrad guard;
    x.set_shape({2, 2});
  }
  text = error_of([&] { before.backward(); });
  EXPECT_TRUE(contains(text, "[4]") && contains(text, "[2,2]") && contains(text, "changed after"))
      << text;
  EXPECT_FALSE(x.grad().defined());
}

TEST(GradOwner, CreateGraphGivesEveryLeafBytesOfItsOwn) {
  Tensor a = leaf({1, 2}), b = leaf({3, 4}), g = tensor<double>({1, 1});
  (a + b).backward(g, true, true);
  EXPECT_FALSE(a.grad().is_same(g));
  EXPECT_FALSE(a.grad().is_same(b.grad()));
  (a * 10 + b * 100).backward(ones({2}, DType::kF64));  // adds in place
  EXPECT_EQ(numbers(a.grad()), (Doubles{11, 11}));
  EXPECT_EQ(numbers(b.grad()), (Doubles{101, 101}));
  EXPECT_EQ(numbers(g), (Doubles{1, 1}));

  Tensor c = leaf({1, 2}), d = leaf({3, 4});
  sum(c + d).backward(Tensor(), true, true);  // the gradient of sum is an expanded view
  EXPECT_TRUE(c.grad().is_contiguous());
  {
    NoGrad guard;
    c.grad().mul_(0.5);
  }
  EXPECT_EQ(numbers(c.grad()), (Doubles{0.5, 0.5}));
  EXPECT_EQ(numbers(d.grad()), (Doubles{1, 1}));

  Tensor e = leaf({1, 2}), f = leaf({3, 4});
  (e + f).backward(g, true, true, {e, f});
  EXPECT_FALSE(e.grad().is_same(f.grad()));
  EXPECT_FALSE(e.grad().is_same(g));
}

TEST(GradOwner, AGradOfOtherStridesIsAddedToElementByElement) {
  Tensor x = ones({2, 2}, DType::kF64).requires_grad_();
  Tensor theirs = tensor<double>({{1, 2, 9}, {3, 4, 9}});
  x.set_grad(theirs.slice(1, 0, 2).t());
  sum(x * 10).backward();
  EXPECT_EQ(numbers(x.grad()), (Doubles{11, 13, 12, 14}));
  EXPECT_EQ(numbers(theirs), (Doubles{11, 12, 9, 13, 14, 9}));
  Tensor one = full({1}, 1, DType::kF64), y = full({1000}, 2, DType::kF64).requires_grad_();
  y.set_grad(one.expand({1000}));
  sum(y * y).backward();
  EXPECT_EQ(numbers(y.grad()), Doubles(1000, 5));
  EXPECT_EQ(numbers(one), (Doubles{1}));
}

TEST(GradOwner, TheCopyUnderCreateGraphIsDifferentiable) {
  Tensor x = leaf({2, 3}), y = leaf({5, 7});
  sum(x * x * y).backward(Tensor(), true, true);
  Tensor gx = x.grad(), gy = y.grad();
  EXPECT_TRUE(gx.requires_grad());
  x.set_grad(Tensor()), y.set_grad(Tensor());
  sum(gx * gx + gy).backward();  // (2xy)^2 + x^2
  EXPECT_EQ(numbers(x.grad()), (Doubles{8 * 2 * 25 + 4, 8 * 3 * 49 + 6}));
  EXPECT_EQ(numbers(y.grad()), (Doubles{8 * 4 * 5, 8 * 9 * 7}));
  // The same when the user records nothing: create_graph decides.
  Tensor z = leaf({2}), loss = sum(z * z * z);
  NoGrad guard;
  loss.backward(Tensor(), true, true, {z});
  EXPECT_TRUE(z.grad().requires_grad());
}

// -- functions

struct Absent : Function<Absent> {
  static variable_list forward(AutogradContext&, const Tensor& x, bool first) {
    return first ? variable_list{Tensor(), x * 2} : variable_list{x * 2, Tensor()};
  }
  static variable_list backward(AutogradContext&, const variable_list& g) {
    EXPECT_EQ(g.size(), 2u);
    EXPECT_NE(g[0].defined(), g[1].defined());
    return {(g[0].defined() ? g[0] : g[1]) * 2, Tensor()};
  }
};

TEST(FunctionEdges, AnOutputMayBeUndefined) {
  for (bool first : {false, true}) {
    Tensor x = leaf({1, 2});
    variable_list out = Absent::apply(x, first);
    ASSERT_EQ(out.size(), 2u);
    EXPECT_FALSE(out[first ? 0 : 1].defined());
    const Tensor& y = out[first ? 1 : 0];
    EXPECT_EQ(numbers(y), (Doubles{2, 4}));
    sum(y * y).backward();
    EXPECT_EQ(numbers(x.grad()), (Doubles{8, 16}));
    DualLevel level;
    variable_list dual =
        Absent::apply(make_dual(tensor<double>({1, 2}), tensor<double>({1, 0})), first);
    EXPECT_EQ(numbers(unpack_dual(dual[first ? 1 : 0]).tangent), (Doubles{2, 0}));
  }
}

// -- watchers hear the truth after a backward that threw

// A backward whose first node throws, and what it threw.
std::string broken_backward() {
  Tensor x = leaf({2, 3}), h = x * 1, y = h * h;
  {
    NoGrad guard;
    h.add_(1);
  }
  return error_of([&] { sum(y).backward(); });
}

TEST(WatchersAfterAThrow, MemoryRecorderLivesOn) {
  MemoryRecorder recorder;
  EXPECT_TRUE(contains(broken_backward(), "add_"));
  Tensor kept = full({3}, 7) * 2;
  MemorySnapshot s = memory_snapshot();
  bool found = false;
  for (const MemorySite& site : s.sites) found = found || site.op == "mul";
  EXPECT_TRUE(found) << s.text();
}

TEST(WatchersAfterAThrow, AnomaliesAndBroadcastsAreStillFound) {
  {
    AnomalyMode mode;
    EXPECT_TRUE(contains(broken_backward(), "add_"));
    EXPECT_TRUE(contains(error_of([] { log(tensor<double>({-1})); }), "nan"));
  }
  {
    AnomalyMode mode;  // one backward's finding does not hide the next one's
    for (int i = 0; i < 2; ++i) {
      Tensor x = leaf({0, 4});
      EXPECT_TRUE(contains(error_of([&] { sum(wick::sqrt(x)).backward(); }), "sqrt"));
    }
  }
  BroadcastCheck check;
  EXPECT_TRUE(contains(broken_backward(), "add_"));
  Tensor t = ones({4}) + ones({4, 1});
  EXPECT_EQ(check.findings().size(), 1u);
}

TEST(WatchersAfterAThrow, TraceLinesAreForwardLinesAgain) {
  std::ostringstream out;
  {
    TraceOps trace(out, {.times = false, .detail = false});
    EXPECT_TRUE(contains(broken_backward(), "add_"));
    out.str("");
    Tensor t = ones({2}) * 3;
  }
  EXPECT_NE(out.str().substr(0, 1), " ") << out.str();
  EXPECT_TRUE(contains(out.str(), "engine_edges_test.cc")) << out.str();
}

// A backward inside a backward: after the inner one, the outer node still runs.
struct Nested : Function<Nested> {
  static Tensor forward(AutogradContext& ctx, const Tensor& x) {
    ctx.save_for_backward({x});
    return x * x;
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    EnableGrad on;
    Tensor x = ctx.get_saved_variables()[0].detach().requires_grad_();
    Tensor inner = grad({sum(x * x)}, {x})[0];
    Tensor spread = ones({2}, DType::kF64) + ones({2, 1}, DType::kF64);  // nobody's concern here
    return {g[0] * inner};
  }
};

TEST(WatchersAfterAThrow, ANestedBackwardLeavesTheOuterNodeRunning) {
  Tensor x = leaf({2, 3});
  {
    BroadcastCheck check;
    sum(Nested::apply(x)).backward();
    EXPECT_EQ(check.findings().size(), 0u);
  }
  EXPECT_EQ(numbers(x.grad()), (Doubles{4, 6}));
  MemoryRecorder recorder;
  Tensor kept;
  Tensor y = Nested::apply(x);
  y.register_hook([](const Tensor&) {});
  sum(y).backward();
  for (const MemorySite& site : memory_snapshot().sites) EXPECT_NE(site.op, "") << site.where;
}

// -- hooks

TEST(HookEdges, AWrongShapeIsReportedWhereTheHookWasRegistered) {
  Tensor x = leaf({1, 2});
  const uint32_t line = __LINE__ + 1;
  HookHandle h = x.register_hook([](const Tensor&) { return ones({3}); });
  Tensor y = x * 2;
  EXPECT_TRUE(contains(error_of([&] { sum(y).backward(); }), at_line(line)));
  h.remove();
  Tensor z = x * 2;
  const uint32_t inner = __LINE__ + 1;
  z.register_hook([](const Tensor&) { return ones({3}); });
  std::string text = error_of([&] { sum(z).backward(); });
  EXPECT_TRUE(contains(text, at_line(inner))) << text;
}

TEST(HookEdges, PostAccumulateHooksRunForChosenInputsToo) {
  Tensor x = leaf({1, 2}), y = leaf({3, 4});
  int runs = 0;
  x.register_post_accumulate_grad_hook([&](const Tensor& t) {
    ++runs;
    EXPECT_EQ(numbers(t.grad()), (Doubles{3, 4}));
  });
  sum(x * y).backward(Tensor(), true, false, {x});
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(y.grad().defined());
  grad({sum(x * y)}, {x});
  EXPECT_EQ(runs, 1);
}

struct Net : nn::Module {
  nn::Child<nn::Linear> fc{this, "fc", 2, 2};
  Tensor forward(const Arg& x) override { return fc(x); }
};

TEST(HookEdges, AModuleThatDiedBeforeBackwardIsAnError) {
  Tensor x = ones({1, 2}).requires_grad_(), loss;
  uint32_t line = 0;
  {
    Net net;
    net.register_full_backward_hook(
        [](nn::Module& m, const Tensor&, const Tensor&) { EXPECT_EQ(m.children().size(), 1u); });
    line = __LINE__ + 1;
    loss = sum(net(x));
  }
  std::string text = error_of([&] { loss.backward(); });
  EXPECT_TRUE(contains(text, "destroyed")) << text;
  EXPECT_TRUE(contains(text, at_line(line))) << text;
  EXPECT_FALSE(x.grad().defined());
}

TEST(HookEdges, AModuleThatMovedIsFollowed) {
  Tensor x = ones({1, 2}).requires_grad_(), loss;
  nn::Module* seen = nullptr;
  auto first = std::make_unique<Net>();
  first->register_full_backward_hook(
      [&](nn::Module& m, const Tensor&, const Tensor&) { seen = &m; });
  loss = sum((*first)(x));
  Net second = std::move(*first);
  first.reset();
  loss.backward();
  EXPECT_EQ(seen, &second);
  loss = sum(second(x));
  Net third;
  third = std::move(second);
  seen = nullptr;
  loss.backward();
  EXPECT_EQ(seen, &third);
}

// -- what is kept for backward

TEST(SavedEdges, WritesWithTheOldValueLeakNothing) {
  Tensor x = full({16}, 0.5, DType::kF64).requires_grad_();
  using F = std::function<void(const Tensor&)>;
  const std::pair<const char*, F> all[] = {
      {"lerp_", [](const Tensor& h) { h.lerp_(h * h, 0.5); }},
      {"addcmul_", [](const Tensor& h) { h.addcmul_(h, h); }},
      {"add_", [](const Tensor& h) { h.add_(h * 3.0); }},
      {"mul_", [](const Tensor& h) { h.mul_(h * 3.0); }},
      {"copy_", [](const Tensor& h) { h.copy_(h * h); }},
      {"view", [](const Tensor& h) { h.slice(0, 0, 8).mul_(h.slice(0, 8, 16)); }},
  };
  for (const auto& [name, f] : all) {
    const size_t before = live_bytes();
    const int64_t graphs = live_graphs().graphs;
    for (int i = 0; i < 3; ++i) {
      Tensor h = x * 1;
      f(h);
    }
    EXPECT_EQ(live_bytes(), before) << name;
    EXPECT_EQ(live_graphs().graphs, graphs) << name;
  }
}

}  // namespace
}  // namespace wick
