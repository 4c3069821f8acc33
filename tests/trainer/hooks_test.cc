// Tensor hooks, retain_grad, module hooks.
#include <gtest/gtest.h>

#include "wick/trainer.h"

namespace wick {
namespace {

using Floats = std::vector<float>;

TEST(Hooks, RunInOrderAndMayReplaceTheGradient) {
  Tensor x = tensor({1.f, 2.f}).requires_grad_();
  Tensor y = x * 3;
  std::string order;
  y.register_hook([&](const Tensor& g) {
    order += "a";
    return g * 2;
  });
  HookHandle second = y.register_hook([&](const Tensor& g) {
    order += "b";
    EXPECT_EQ(g.to_vector<float>(), (Floats{2, 2}));
    return g + 1;
  });
  y.retain_grad();
  sum(y).backward(Tensor(), true);
  EXPECT_EQ(order, "ab");
  EXPECT_EQ(y.grad().to_vector<float>(), (Floats{3, 3}));  // after the hooks
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{9, 9}));
  second.remove();
  order.clear();
  x.set_grad(Tensor());
  sum(y).backward();
  EXPECT_EQ(order, "a");
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{6, 6}));
}

TEST(Hooks, OfALeafSeesTheWholeSumOnce) {
  Tensor x = tensor({1.f}).requires_grad_();
  int runs = 0;
  HookHandle h = x.register_hook([&](const Tensor& g) {
    ++runs;
    return g * 10;
  });
  sum(x * 2 + x * 3).backward();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{50}));
  EXPECT_EQ(grad({sum(x * 2)}, {x})[0].to_vector<float>(), (Floats{20}));
  h.remove();
  EXPECT_EQ(grad({sum(x * 2)}, {x})[0].to_vector<float>(), (Floats{2}));
}

TEST(Hooks, RefuseWrongShapesAndTensorsWithoutGrad) {
  Tensor x = ones({2}).requires_grad_();
  EXPECT_THROW(ones({1}).register_hook([](const Tensor&) {}), Error);
  EXPECT_THROW(ones({1}).retain_grad(), Error);
  x.register_hook([](const Tensor&) { return ones({3}); });
  EXPECT_THROW(sum(x * 2).backward(), Error);
  EXPECT_FALSE(x.grad().defined());
}

TEST(Hooks, RetainGradOutlivesNothing) {
  Tensor x = ones({1}).requires_grad_();
  Tensor loss;
  {
    Tensor y = x * 2;
    y.retain_grad();
    EXPECT_TRUE(y.retains_grad());
    loss = sum(y * 2);
  }
  loss.backward();  // y is gone
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{4}));
}

TEST(Hooks, PostAccumulateRunsWithTheGradInPlace) {
  Tensor w = tensor({1.f}).requires_grad_();
  w.register_post_accumulate_grad_hook([](const Tensor& p) {
    NoGrad guard;
    p.add_(p.grad(), -0.1);
    p.set_grad(Tensor());
  });
  sum(w * 2 + w * 3).backward();
  EXPECT_FALSE(w.grad().defined());
  EXPECT_FLOAT_EQ(w.item(), 0.5f);
}

TEST(ModuleHooks, PreForwardAndFullBackward) {
  manual_seed(1);
  nn::Linear layer(2, 2);
  std::string order;
  Tensor seen_in, seen_out;
  layer.register_forward_pre_hook([&](nn::Module&, const Tensor& x) {
    order += "p";
    return x * 2;
  });
  layer.register_forward_hook([&](nn::Module&, const Tensor&, const Tensor& y) {
    order += "f";
    return y + 1;
  });
  HookHandle back =
      layer.register_full_backward_hook([&](nn::Module&, const Tensor& gi, const Tensor& go) {
        order += "b";
        seen_in = gi;
        seen_out = go;
        return gi * 0;
      });
  Tensor x = ones({1, 2}).requires_grad_();
  Tensor y = layer(x);
  EXPECT_EQ(order, "pf");
  Tensor plain = linear(x * 2, layer.weight, layer.bias) + 1;
  EXPECT_EQ(y.to_vector<float>(), plain.to_vector<float>());
  sum(y * 3).backward();
  EXPECT_EQ(order, "pfb");
  EXPECT_EQ(seen_out.to_vector<float>(), (Floats{3, 3}));
  Tensor expected = matmul(seen_out, layer.weight.detach());
  EXPECT_EQ(seen_in.to_vector<float>(), expected.to_vector<float>());
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{0, 0}));
  back.remove();
  order.clear();
  sum(layer(x)).backward();
  EXPECT_EQ(order, "pf");
}

}  // namespace
}  // namespace wick
