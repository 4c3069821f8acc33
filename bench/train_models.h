// The peers' models for training (shared/peers/models.py, torchvision's resnet18): same layers,
// same sizes, same number of parameters.
#pragma once

#include <memory>

#include "wick/trainer.h"

namespace wick::bench {

struct LayerNorm : nn::Module {
  explicit LayerNorm(int64_t n)
      : size(n),
        weight(register_parameter("weight", ones({n}))),
        bias(register_parameter("bias", zeros({n}))) {}
  Tensor forward(const Arg& x) override { return layer_norm(x, {size}, weight, bias); }
  int64_t size;
  Tensor weight, bias;
};

// A pre-norm transformer block with heads of size d / h.
struct GptBlock : nn::Module {
  GptBlock(int64_t d, int64_t h)
      : heads(h),
        ln1(this, "ln1", d),
        qkv(this, "qkv", d, 3 * d),
        proj(this, "proj", d, d),
        ln2(this, "ln2", d),
        fc(this, "fc", d, 4 * d),
        out(this, "out", 4 * d, d) {}
  Tensor forward(const Arg& arg) override {
    Tensor x = arg.tensor;
    const int64_t b = x.size(0), t = x.size(1), c = x.size(2);
    std::vector<Tensor> parts = split(qkv(ln1(x)), c, 2);
    for (Tensor& p : parts) p = p.view({b, t, heads, c / heads}).transpose(1, 2);
    Tensor y = scaled_dot_product_attention(parts[0], parts[1], parts[2], Tensor(), 0, true);
    x = x + proj(y.transpose(1, 2).reshape({b, t, c}));
    return x + out(gelu(fc(ln2(x))));
  }
  int64_t heads;
  nn::Child<LayerNorm> ln1;
  nn::Child<nn::Linear> qkv, proj;
  nn::Child<LayerNorm> ln2;
  nn::Child<nn::Linear> fc, out;
};

struct Gpt : nn::Module {
  explicit Gpt(int layers = 4, int64_t d = 256, int64_t h = 4, int64_t t = 128, int64_t vocab = 256)
      : token(register_parameter("tok", randn({vocab, d}))),
        position(register_parameter("pos", randn({1, t, d}) * 0.02)) {
    for (int i = 0; i < layers; ++i) blocks->push_back(std::make_shared<GptBlock>(d, h));
  }
  Tensor forward(const Arg& i) override {
    Tensor x = embedding(i, token) + position.slice(1, 0, i.tensor.size(1));
    return head(ln(blocks(x)));
  }
  Tensor token, position;
  nn::Child<nn::Sequential> blocks{this, "bl"};
  nn::Child<LayerNorm> ln{this, "ln", 256};
  nn::Child<nn::Linear> head{this, "head", 256, 256, false};
};

// Tags each of 50 steps: two recurrent layers and a head.
template <class Layers>
struct Tagger : nn::Module {
  static nn::RnnOptions two() {
    nn::RnnOptions o;
    o.num_layers = 2;
    return o;
  }
  Tensor forward(const Arg& x) override { return head(layers(x)); }
  nn::Child<Layers> layers{this, "layers", 64, 128, two()};
  nn::Child<nn::Linear> head{this, "head", 128, 10};
};

inline nn::Conv2dOptions conv_options(int64_t stride, int64_t padding) {
  nn::Conv2dOptions o;
  o.stride = stride;
  o.padding = padding;
  o.bias = false;
  return o;
}

struct BasicBlock : nn::Module {
  BasicBlock(int64_t in, int64_t out, int64_t stride)
      : conv1(this, "conv1", in, out, 3, conv_options(stride, 1)),
        bn1(this, "bn1", out),
        conv2(this, "conv2", out, out, 3, conv_options(1, 1)),
        bn2(this, "bn2", out) {
    if (in == out && stride == 1) return;
    shortcut = std::make_shared<nn::Sequential>(nn::Conv2d(in, out, 1, conv_options(stride, 0)),
                                                nn::BatchNorm2d(out));
    register_module("downsample", shortcut);
  }
  Tensor forward(const Arg& x) override {
    Tensor h = bn2(conv2(relu(bn1(conv1(x)))));
    return relu(h + (shortcut ? (*shortcut)(x) : x.tensor));
  }
  nn::Child<nn::Conv2d> conv1;
  nn::Child<nn::BatchNorm2d> bn1;
  nn::Child<nn::Conv2d> conv2;
  nn::Child<nn::BatchNorm2d> bn2;
  std::shared_ptr<nn::Sequential> shortcut;
};

// torchvision's resnet18(num_classes = 10)
struct ResNet18 : nn::Module {
  ResNet18() {
    int64_t in = 64;
    for (int64_t out : {64, 128, 256, 512}) {
      layers->push_back(std::make_shared<nn::Sequential>(BasicBlock(in, out, in == out ? 1 : 2),
                                                         BasicBlock(out, out, 1)));
      in = out;
    }
  }
  Tensor forward(const Arg& x) override {
    Tensor h = max_pool2d(relu(bn1(conv1(x))), 3, 2, 1);
    return fc(adaptive_avg_pool2d(layers(h), 1).flatten(1));
  }
  nn::Child<nn::Conv2d> conv1{this, "conv1", 3, 64, 7, conv_options(2, 3)};
  nn::Child<nn::BatchNorm2d> bn1{this, "bn1", 64};
  nn::Child<nn::Sequential> layers{this, "layer"};
  nn::Child<nn::Linear> fc{this, "fc", 512, 10};
};

inline nn::ConvTranspose2dOptions up_options(int64_t stride, int64_t padding, bool bias) {
  nn::ConvTranspose2dOptions o;
  o.stride = stride;
  o.padding = padding;
  o.bias = bias;
  return o;
}

// DCGAN's generator for images of 32 x 32.
struct Dcgan : nn::Module {
  Tensor forward(const Arg& x) override { return tanh(layers(x)); }
  nn::Child<nn::Sequential> layers{this,
                                   "layers",
                                   nn::ConvTranspose2d(100, 512, 4, up_options(1, 0, false)),
                                   nn::BatchNorm2d(512),
                                   nn::ReLU(),
                                   nn::ConvTranspose2d(512, 256, 4, up_options(2, 1, false)),
                                   nn::BatchNorm2d(256),
                                   nn::ReLU(),
                                   nn::ConvTranspose2d(256, 128, 4, up_options(2, 1, false)),
                                   nn::BatchNorm2d(128),
                                   nn::ReLU(),
                                   nn::ConvTranspose2d(128, 3, 4, up_options(2, 1, false))};
};

// The up path of a U-Net, without what is between.
struct UpConvs : nn::Module {
  Tensor forward(const Arg& x) override { return b(relu(a(x))); }
  nn::Child<nn::ConvTranspose2d> a{this, "a", 256, 128, 2, up_options(2, 0, true)};
  nn::Child<nn::ConvTranspose2d> b{this, "b", 128, 64, 2, up_options(2, 0, true)};
};

}  // namespace wick::bench
