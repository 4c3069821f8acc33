// Small models of three kinds, and a step of training on each.
#pragma once

#include "trainer/include/wick/trainer.h"

namespace wick::test {

struct Mlp : nn::Module {
  nn::Child<nn::Linear> fc1{this, "fc1", 64, 32};
  nn::Child<nn::Linear> fc2{this, "fc2", 32, 10};
  Tensor forward(const Arg& x) override { return fc2(relu(fc1(x))); }
};

struct Cnn : nn::Module {
  nn::Child<nn::Conv2d> conv1{this, "conv1", 1, 8, 3};
  nn::Child<nn::BatchNorm2d> bn{this, "bn", 8};
  nn::Child<nn::Conv2d> conv2{this, "conv2", 8, 16, 3};
  nn::Child<nn::Linear> fc{this, "fc", 400, 10};
  Tensor forward(const Arg& x) override {
    Tensor h = max_pool2d(relu(bn(conv1(x))), 2);
    h = max_pool2d(relu(conv2(h)), 2);
    return fc(h.flatten(1));
  }
};

// Attention and MLP with residuals, pre-norm: x [batch, tokens, width].
struct Block : nn::Module {
  static constexpr int64_t kHeads = 4, kWidth = 32;
  nn::Child<nn::Linear> qkv{this, "qkv", kWidth, 3 * kWidth};
  nn::Child<nn::Linear> out{this, "out", kWidth, kWidth};
  nn::Child<nn::Linear> up{this, "up", kWidth, 4 * kWidth};
  nn::Child<nn::Linear> down{this, "down", 4 * kWidth, kWidth};
  Tensor norm1 = register_parameter("norm1", ones({kWidth}));
  Tensor norm2 = register_parameter("norm2", ones({kWidth}));
  Tensor forward(const Arg& arg) override {
    const Tensor& x = arg.tensor;
    const int64_t b = x.size(0), t = x.size(1), d = kWidth / kHeads;
    Tensor p = qkv(layer_norm(x, {kWidth}, norm1));
    auto part = [&](int64_t i) {
      return p.slice(2, i * kWidth, (i + 1) * kWidth).reshape({b, t, kHeads, d}).transpose(1, 2);
    };
    Tensor scores = matmul(part(0), part(1).transpose(-2, -1)) * (1 / std::sqrt(double(d)));
    Tensor mixed = matmul(softmax(scores, -1), part(2)).transpose(1, 2).reshape({b, t, kWidth});
    Tensor h = x + out(mixed);
    return h + down(gelu(up(layer_norm(h, {kWidth}, norm2))));
  }
};

struct Blocks : nn::Module {
  nn::Child<Block> b0{this, "b0"}, b1{this, "b1"}, b2{this, "b2"};
  nn::Child<nn::Linear> head{this, "head", Block::kWidth, 11};
  Tensor forward(const Arg& x) override { return head(b2(b1(b0(x)))); }
};

}  // namespace wick::test
