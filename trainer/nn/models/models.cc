#include "trainer/nn/models/models.h"

#include "trainer/nn/models/mobilenet.h"

namespace wick::nn {
namespace {

Conv2dOptions conv3x3(int64_t stride = 1, bool bias = false) {
  Conv2dOptions o;
  o.stride = stride;
  o.padding = 1;
  o.bias = bias;
  return o;
}

// Two 3x3 convolutions with a shortcut, which is a 1x1 convolution if the shape changes.
struct BasicBlock : Module {
  BasicBlock(int64_t in, int64_t out, int64_t stride)
      : conv1(this, "conv1", in, out, 3, conv3x3(stride)),
        bn1(this, "bn1", out),
        conv2(this, "conv2", out, out, 3, conv3x3()),
        bn2(this, "bn2", out) {
    if (in == out && stride == 1) return;
    Conv2dOptions o;
    o.stride = stride;
    o.bias = false;
    shortcut = std::make_shared<Sequential>(Conv2d(in, out, 1, o), BatchNorm2d(out));
    register_module("downsample", shortcut);
  }
  Tensor forward(const Arg& x) override {
    Tensor h = relu(bn1(conv1(x)));
    h = bn2(conv2(h));
    return relu(h + (shortcut ? (*shortcut)(x) : x.tensor));
  }

  Child<Conv2d> conv1;
  Child<BatchNorm2d> bn1;
  Child<Conv2d> conv2;
  Child<BatchNorm2d> bn2;
  std::shared_ptr<Sequential> shortcut;
};

struct ResNet8 : Module {
  Child<Conv2d> conv1{this, "conv1", 1, 16, 3, conv3x3()};
  Child<BatchNorm2d> bn1{this, "bn1", 16};
  Child<BasicBlock> layer1{this, "layer1", 16, 16, 1};
  Child<BasicBlock> layer2{this, "layer2", 16, 32, 2};
  Child<BasicBlock> layer3{this, "layer3", 32, 64, 2};
  Child<Linear> fc{this, "fc", 64, 10};

  Tensor forward(const Arg& x) override {
    Tensor h = layer3(layer2(layer1(relu(bn1(conv1(x))))));
    return fc(adaptive_avg_pool2d(h, 1).flatten(1));
  }
};

// The layers of PyTorch's Sequential("0" .. "4"), after a flatten that has no index of its own.
struct Mlp : Sequential {
  Mlp() : Sequential(Linear(784, 512), ReLU(), Linear(512, 256), ReLU(), Linear(256, 10)) {}
  Tensor forward(const Arg& x) override {
    return Sequential::forward(
        {x.tensor.rank() == 2 ? x.tensor : x.tensor.flatten(1, -1, x.where), x.where});
  }
};

}  // namespace

std::shared_ptr<Module> lenet() {
  return std::make_shared<Sequential>(Conv2d(1, 32, 3, conv3x3(1, true)), ReLU(), MaxPool2d(2),
                                      Conv2d(32, 64, 3, conv3x3(1, true)), ReLU(), MaxPool2d(2),
                                      Flatten(), Linear(64 * 7 * 7, 128), ReLU(), Linear(128, 10));
}
std::shared_ptr<Module> mlp() { return std::make_shared<Mlp>(); }
std::shared_ptr<Module> resnet8() { return std::make_shared<ResNet8>(); }

std::vector<std::string> model_names() { return {"lenet", "mlp", "mobilenet", "resnet8"}; }

std::shared_ptr<Module> make_model(const std::string& name, Where where) {
  if (name == "lenet") return lenet();
  if (name == "mlp") return mlp();
  if (name == "mobilenet") return mobilenet();
  if (name == "resnet8") return resnet8();
  std::string known;
  for (const std::string& n : model_names()) known += (known.empty() ? "" : ", ") + n;
  throw_error("make_model", "unknown model '" + name + "'; known: " + known, where,
              Code::kNotFound);
}

}  // namespace wick::nn
