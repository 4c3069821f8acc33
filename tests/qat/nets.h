// Small networks to quantize, and data for them.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <optional>

#include "exporter/onnx/training.h"
#include "trainer/capture/graph_tracer.h"
#include "wick/compile.h"
#include "wick/quantize.h"
#include "wick/trainer.h"

namespace wick::test {

// conv + batch norm + relu, a residual block, two paths joined by Concat, pools, Linear.
struct SmallNet : nn::Module {
  nn::Child<nn::Conv2d> c1{this, "c1", 1, 8, 3, nn::Conv2dOptions{.padding = 1, .bias = false}};
  nn::Child<nn::BatchNorm2d> b1{this, "b1", 8};
  nn::Child<nn::Conv2d> c2{this, "c2", 8, 8, 3, nn::Conv2dOptions{.padding = 1}};
  nn::Child<nn::BatchNorm2d> b2{this, "b2", 8};
  nn::Child<nn::Conv2d> c3{this, "c3", 8, 8, 3, nn::Conv2dOptions{.padding = 1, .bias = false}};
  nn::Child<nn::BatchNorm2d> b3{this, "b3", 8};
  nn::Child<nn::Linear> fc{this, "fc", 16 * 4, 10};
  Tensor forward(const Arg& x) override {
    const Tensor a = relu(b1(c1(x)));
    const Tensor b = relu(b3(c3(relu(b2(c2(a))))) + a);
    const Tensor pooled = max_pool2d(cat({a, b}, 1), 4);
    return fc(flatten(pooled, 1));
  }
};

inline ir::Graph graph_of(nn::Module& net, const Shape& shape = {1, 1, 8, 8}) {
  net.eval();
  return capture(net, {{"image", zeros(shape), {{0, "batch"}}, {}}});
}

// Ten blurred patterns, shifted in brightness, under noise: what a small net learns in seconds.
struct Patterns {
  Tensor x, y;
  Patterns(int64_t count, uint64_t seed, double noise = 0.6) {
    Generator of_classes{77, 0}, g{seed, 0};
    const Tensor classes =
        avg_pool2d(uniform({10, 1, 10, 10}, -2, 2, DType::kF32, of_classes), 3, 1);
    y = floor(uniform({count}, 0, 9.999, DType::kF32, g)).to(DType::kI64);
    x = index_select(classes, 0, y) + uniform({count, 1, 8, 8}, -noise, noise, DType::kF32, g);
  }
};

inline double accuracy(nn::Module& net, const Patterns& p) {
  const NoGrad guard;
  net.eval();
  return eq(argmax(net(p.x), 1), p.y).to(DType::kF32).mean().item();
}

// Learned scales have a rate of their own: Adam's steps do not shrink with a gradient, and a scale
// is small.
inline void train_steps(nn::Module& net, const Patterns& p, double lr, int steps,
                        int64_t batch = 32) {
  std::vector<Tensor> weights, scales;
  for (const auto& [name, t] : net.named_parameters())
    (name.find("_scale") == std::string::npos ? weights : scales).push_back(t);
  optim::Adam adam(weights, {.lr = lr});
  std::optional<optim::Adam> of_scales;
  if (!scales.empty()) of_scales.emplace(scales, optim::AdamOptions{.lr = lr / 20});
  const int64_t count = p.x.size(0);
  for (int step = 0; step < steps; ++step) {
    const int64_t from = step * batch % (count - batch + 1);
    const Tensor loss =
        cross_entropy(net(p.x.slice(0, from, from + batch)), p.y.slice(0, from, from + batch));
    net.zero_grad();
    loss.backward();
    adam.step();
    if (of_scales) of_scales->step();
  }
}

// The interpreter on a graph of one input.
inline HostTensor interpret(const ir::Graph& g, const Tensor& x) {
  const HostTensor in[] = {host_copy(x)};
  return ir::run(g, in)[0];
}

// Returns how many elements differ in a bit.
inline int64_t differing(const Tensor& got, const HostTensor& want) {
  EXPECT_EQ(got.numel(), want.numel());
  const std::vector<float> v = got.to_vector<float>();
  int64_t n = 0;
  for (size_t i = 0; i < v.size(); ++i)
    n += std::bit_cast<uint32_t>(v[i]) != std::bit_cast<uint32_t>(want.as<float>()[i]) ? 1 : 0;
  return n;
}

}  // namespace wick::test
