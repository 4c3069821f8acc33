// The engine: order, fan-in, depth, what it frees and when, threads, errors that leave .grad as it
// was.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "tests/support/error_of.h"
#include "trainer/tensor/memory.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using Floats = std::vector<float>;

using test::error_of;

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST(Engine, NodesAreNamedAsPyTorchNamesThem) {
  Tensor x = ones({2, 2}).requires_grad_(), w = ones({2, 2});
  Tensor y = relu(matmul(x * w, w)), p = max_pool2d(x.reshape({1, 1, 2, 2}), 2);
  EXPECT_EQ(y.grad_fn().name(), "ReluBackward0");
  EXPECT_EQ(p.grad_fn().name(), "MaxPool2DBackward0");
  GradFn product = y.grad_fn().next_functions()[0].first;
  EXPECT_EQ(product.name(), "MatmulBackward0");
  auto next = product.next_functions();
  ASSERT_EQ(next.size(), 2u);
  EXPECT_EQ(next[0].first.name(), "MulBackward0");
  EXPECT_FALSE(next[1].first);  // w needs no gradient
  GradFn leaf = next[0].first.next_functions()[0].first;
  EXPECT_EQ(leaf.name(), "AccumulateGrad");
  EXPECT_TRUE(leaf.variable().is_same(x));
  EXPECT_FALSE(x.grad_fn());
  EXPECT_EQ(product.where().line(), y.grad_fn().where().line());
  EXPECT_LT(product.sequence_nr(), y.grad_fn().sequence_nr());
}

TEST(Engine, ANodeKnowsItsModule) {
  manual_seed(1);
  auto model = nn::lenet();
  Tensor y = (*model)(zeros({1, 1, 28, 28}));
  EXPECT_EQ(y.grad_fn().module_path(), "9");
  EXPECT_EQ((y * 2).grad_fn().module_path(), "");
}

TEST(Engine, LeafFlagTable) {
  Tensor a = ones({2}), w = ones({2}).requires_grad_();
  Tensor y = a + w, d = y.detach(), c = a * 2;
  EXPECT_TRUE(a.is_leaf() && w.is_leaf() && d.is_leaf() && c.is_leaf());
  EXPECT_FALSE(y.is_leaf());
  EXPECT_TRUE(y.requires_grad());
  EXPECT_FALSE(d.requires_grad());
  EXPECT_FALSE(c.requires_grad());
  y.requires_grad_();  // already does
  EXPECT_TRUE(contains(error_of([&] { y.requires_grad_(false); }), "detach()"));
  EXPECT_TRUE(contains(error_of([&] { arange(3).requires_grad_(); }),
                       "only Tensors of floating point dtype can require gradients"));
  y.detach_();
  EXPECT_TRUE(y.is_leaf());
  EXPECT_FALSE(y.requires_grad());
  y.requires_grad_();
  sum(y).backward();
  EXPECT_FALSE(w.grad().defined());
}

// y = a*b; z = y*y + y: y's gradient is complete before its node runs, and runs once.
TEST(Engine, EachNodeRunsOnceWithItsWholeGradient) {
  Tensor a = tensor({3.f}).requires_grad_();
  int runs = 0;
  Tensor y = a * 2;
  y.register_hook([&](const Tensor& g) {
    ++runs;
    EXPECT_EQ(g.to_vector<float>(), (Floats{13}));
  });
  sum(y * y + y).backward();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(a.grad().to_vector<float>(), (Floats{26}));
}

// Three contributions whose float32 sum depends on the order: newest node first, always.
TEST(Engine, FanInIsSummedInOneOrder) {
  auto run = [] {
    Tensor x = tensor({1.f}).requires_grad_();
    Tensor a = x * 1e8f, b = x * -1e8f, c = x * 1.f;
    sum(a + b + c).backward();
    return x.grad().to_vector<float>()[0];
  };
  EXPECT_EQ(run(), (1.f + -1e8f) + 1e8f);
  EXPECT_EQ(run(), run());
}

TEST(Engine, SameBitsForAnyNumberOfThreads) {
  auto run = [] {
    manual_seed(7);
    Tensor x = randn({64, 300}), w = randn({300, 200}).requires_grad_();
    Tensor h = tanh(matmul(x, w));
    sum(h * h + sigmoid(h)).backward();
    return w.grad().to_vector<float>();
  };
  int before = num_threads();
  set_num_threads(1);
  Floats one = run();
  set_num_threads(4);
  Floats four = run();
  set_num_threads(before);
  EXPECT_EQ(0, memcmp(one.data(), four.data(), one.size() * sizeof(float)));
}

TEST(Engine, HundredThousandDeepAndWide) {
  Tensor x = ones({1}).requires_grad_();
  Tensor y = x;
  for (int i = 0; i < 100000; ++i) y = y * 1;  // saves its inputs, too
  y.backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{1}));
  y = x;
  for (int i = 0; i < 100000; ++i) y = y * 1;
  y = Tensor();  // never run: only freed

  x.set_grad(Tensor());
  std::vector<Tensor> parts;
  for (int i = 0; i < 100000; ++i) parts.push_back(x + 0);
  Tensor wide = cat(parts, 0);
  parts.clear();
  sum(wide).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{100000}));
}

TEST(Engine, TheGraphIsFreedAsItIsConsumed) {
  constexpr int64_t kBytes = 1 << 20;
  Tensor x = ones({kBytes / 4}).requires_grad_();
  Tensor y = x;
  std::vector<size_t> live;
  for (int i = 0; i < 8; ++i) {
    y = sin(y);  // keeps its input
    y.register_hook([&](const Tensor&) { live.push_back(live_bytes()); });
  }
  Tensor loss = sum(y);
  y = Tensor();
  loss.backward();
  ASSERT_EQ(live.size(), 8u);
  for (size_t i = 2; i < live.size(); ++i) {  // the first gradient is a view without bytes
    EXPECT_LE(live[i] + kBytes, live[i - 1] + 4096) << i;  // one activation less each node
  }
}

TEST(Engine, AThrowLeavesEveryGradAsItWas) {
  Tensor a = ones({2}).requires_grad_(), b = ones({2}).requires_grad_();
  sum(a * 3 + b).backward();
  Tensor h = b * b;
  h.register_hook([](const Tensor&) { throw Error("[hook] no"); });
  Tensor loss = sum(h + a * 5);
  EXPECT_THROW(loss.backward(), Error);
  EXPECT_EQ(a.grad().to_vector<float>(), (Floats{3, 3}));
  EXPECT_EQ(b.grad().to_vector<float>(), (Floats{1, 1}));
}

TEST(Engine, ErrorsSayWhatPyTorchSays) {
  Tensor x = ones({2}).requires_grad_();
  EXPECT_TRUE(contains(error_of([&] { ones({1}).backward(); }),
                       "element 0 of tensors does not require grad and does not have a grad_fn"));
  EXPECT_TRUE(contains(error_of([&] { (x * 2).backward(); }),
                       "grad can be implicitly created only for scalar outputs"));
  Tensor y = sum(x * x);
  y.backward();
  EXPECT_TRUE(contains(error_of([&] { y.backward(); }),
                       "trying to backward through the graph a second time"));
  Tensor z = sum(x + 1);  // nothing saved: PyTorch allows it
  z.backward();
  z.backward();
  EXPECT_TRUE(contains(error_of([&] { grad({sum(x * 2)}, {ones({1}).requires_grad_()}); }),
                       "appears to not have been used in the graph"));
}

TEST(Engine, BackwardTakesAGradientAndKeepsTheGraphOnRequest) {
  Tensor x = tensor({1.f, 2.f}).requires_grad_();
  Tensor y = x * x;
  y.backward(tensor({1.f, 10.f}), true);
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{2, 40}));
  y.backward(tensor({1.f, 1.f}));
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{4, 44}));
  EXPECT_TRUE(contains(error_of([&] { y.backward(tensor({1.f, 1.f})); }), "retain_graph"));
}

TEST(Engine, BackwardOfChosenInputsAndSeveralRoots) {
  Tensor a = tensor({2.f}).requires_grad_(), b = tensor({3.f}).requires_grad_();
  Tensor h = a * b;
  sum(h * h).backward({}, false, false, {a, h});
  EXPECT_EQ(a.grad().to_vector<float>(), (Floats{36}));
  EXPECT_EQ(h.grad().to_vector<float>(), (Floats{12}));
  EXPECT_FALSE(b.grad().defined());
  Tensor u = a * a, v = a * b;
  backward({u, v}, {tensor({1.f}), tensor({10.f})});
  EXPECT_EQ(a.grad().to_vector<float>(), (Floats{36 + 4 + 30}));
  EXPECT_EQ(b.grad().to_vector<float>(), (Floats{20}));
}

TEST(Engine, CreateGraphToTheThirdOrder) {
  Tensor x = tensor({0.7}, DType::kF64).requires_grad_();
  Tensor d = sin(x);
  for (int i = 0; i < 3; ++i) d = grad({sum(d)}, {x}, {}, false, true)[0];
  EXPECT_NEAR(d.item(), -std::cos(0.7), 1e-14);
}

TEST(Engine, WhatIsNotAskedForIsNotComputed) {
  Tensor x = ones({4, 8}).requires_grad_(), w = ones({8, 8}).requires_grad_();
  Tensor y = matmul(x, w);
  size_t before = live_bytes();
  reset_peak_bytes();
  grad({y}, {x}, {ones({4, 8})});
  EXPECT_LT(peak_bytes() - before, size_t{8 * 8 * 4 * 2});  // w's gradient would be 256 bytes more
}

// A hook that differentiates through nodes the outer run has yet to reach.
TEST(Engine, ARunInsideOfARunDoesNotDisturbIt) {
  Tensor x = tensor({2.f}).requires_grad_();
  Tensor h = x * x, y = h * 3;
  y.register_hook([&](const Tensor&) {
    EXPECT_EQ(grad({h}, {x}, {}, true)[0].to_vector<float>(), (Floats{4}));
  });
  sum(y + h).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{16}));
}

TEST(Engine, ThreadsRunTheirOwnBackwardsAndShareLeaves) {
  Tensor shared = ones({4}).requires_grad_();
  auto work = [&] {
    for (int i = 0; i < 50; ++i) sum(tanh(shared * 2) * 0 + shared).backward();
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
  EXPECT_EQ(shared.grad().to_vector<float>(), (Floats{100, 100, 100, 100}));
}

TEST(Memory, MatmulTakesItsThreeMatricesToTheByte) {
  {
    Tensor warm = matmul(ones({1000, 1000}), ones({1000, 1000}));  // the kernel's scratch is kept
  }
  size_t before = memory_allocated();
  reset_peak_memory_stats();
  Tensor a = ones({1000, 1000}), b = ones({1000, 1000}), c = matmul(a, b);
  EXPECT_EQ(memory_allocated() - before, size_t{12000000});
  EXPECT_EQ(max_memory_allocated() - before, size_t{12000000});
}

TEST(Engine, HistoryIsThatOfTheTimeOfSaving) {
  Tensor x = tensor({3.0}, DType::kF64).requires_grad_();
  Tensor h = x * x;
  Tensor d = grad({h * h}, {h}, {}, true, true)[0];
  Tensor y = h * h;
  h.detach_();  // the handle y kept has no history any more; y's has
  Tensor g = grad({y}, {x}, {}, false, true)[0];
  EXPECT_NEAR(grad({g}, {x})[0].item(), 12 * 9.0, 1e-12);
  EXPECT_NEAR(d.item(), 18, 1e-12);
}

TEST(GradModes, GuardsNest) {
  Tensor x = ones({1}).requires_grad_();
  {
    NoGrad off;
    EXPECT_FALSE((x * 2).requires_grad());
    {
      EnableGrad on;
      EXPECT_TRUE((x * 2).requires_grad());
    }
    EXPECT_FALSE(grad_enabled());
  }
  set_grad_enabled(false);
  EXPECT_FALSE((x * 2).requires_grad());
  set_grad_enabled(true);
  EXPECT_TRUE((x * 2).requires_grad());
}

TEST(GradModes, InferenceTensorsStayOutOfAutograd) {
  Tensor x = ones({2}).requires_grad_(), made;
  {
    InferenceMode guard;
    EXPECT_TRUE(inference_mode_enabled());
    made = x * 2;
    EXPECT_FALSE(made.requires_grad());
    EXPECT_FALSE(x.reshape({2, 1}).is_inference());  // a view is what its base is
  }
  EXPECT_TRUE(made.is_inference());
  EXPECT_TRUE(
      contains(error_of([&] { x* made; }), "inference tensors cannot be saved for backward"));
  EXPECT_TRUE((x + made).requires_grad());  // nothing saved
  EXPECT_TRUE(contains(error_of([&] { made.requires_grad_(); }), "outside InferenceMode"));
  EXPECT_TRUE((x * made.clone()).requires_grad());
}

}  // namespace
}  // namespace wick
