// The order of all hooks in one step, and a feature extractor made of them.
#include <gmock/gmock.h>

#include "tests/modules/goldens.h"

namespace wick {
namespace {

using testing::ElementsAre;

TEST(HookOrder, OfOneStepIsPyTorchs) {
  manual_seed(3);
  nn::Sequential net(nn::Linear(3, 2), nn::ReLU(), nn::Linear(2, 1));
  std::vector<std::string> log;
  for (const auto& [path, m] : net.named_modules()) {
    std::string name = path.empty() ? "net" : path;
    m->register_forward_pre_hook(
        [&, name](nn::Module&, const Tensor&) { log.push_back("pre " + name); });
    m->register_forward_hook(
        [&, name](nn::Module&, const Tensor&, const Tensor&) { log.push_back("out " + name); });
    m->register_full_backward_hook(
        [&, name](nn::Module&, const Tensor&, const Tensor&) { log.push_back("back " + name); });
  }
  net.get_parameter("2.bias").register_hook([&](const Tensor&) { log.push_back("grad 2.bias"); });
  net.get_parameter("0.bias").register_post_accumulate_grad_hook([&](const Tensor& p) {
    EXPECT_TRUE(p.grad().defined());
    log.push_back("added 0.bias");
  });
  Tensor x = ones({1, 3}).requires_grad_();
  sum(net(x)).backward();
  // PyTorch's log, by the same hooks; it has no hook after a leaf's .grad.
  std::erase(log, "added 0.bias");
  EXPECT_THAT(log, ElementsAre("pre net", "pre 0", "out 0", "pre 1", "out 1", "pre 2", "out 2",
                               "out net", "grad 2.bias", "back 2", "back 1", "back 0", "back net"));
}

TEST(HookOrder, AFullBackwardHookReplacesTheGradient) {
  manual_seed(4);
  nn::Sequential net(nn::Linear(3, 2, false), nn::Linear(2, 1, false));
  Tensor x = tensor({{1.f, 2.f, 3.f}});
  sum(net(x)).backward();
  std::vector<float> plain = net.get_parameter("0.weight").grad().to_vector<float>();
  net.zero_grad();
  net.get_submodule("1").register_full_backward_hook(
      [](nn::Module&, const Tensor& grad_in, const Tensor&) { return grad_in * 10; });
  sum(net(x)).backward();
  std::vector<float> tenfold = net.get_parameter("0.weight").grad().to_vector<float>();
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_FLOAT_EQ(tenfold[i], 10 * plain[i]);
}

// A residual net with torchvision's names, which knows nothing of who looks at it.
nn::Conv2dOptions conv(int64_t stride, int64_t padding) {
  nn::Conv2dOptions o;
  o.stride = stride;
  o.padding = padding;
  o.bias = false;
  return o;
}
struct BasicBlock : nn::Module {
  BasicBlock(int64_t in, int64_t out, int64_t stride)
      : conv1(this, "conv1", in, out, 3, conv(stride, 1)),
        bn1(this, "bn1", out),
        conv2(this, "conv2", out, out, 3, conv(1, 1)),
        bn2(this, "bn2", out) {
    if (stride == 1 && in == out) return;
    downsample = std::make_shared<nn::Sequential>(nn::Conv2d(in, out, 1, conv(stride, 0)),
                                                  nn::BatchNorm2d(out));
    register_module("downsample", downsample);
  }
  Tensor forward(const Arg& x) override {
    Tensor h = bn2(conv2(relu(bn1(conv1(x)))));
    return relu(h + (downsample ? (*downsample)(x) : x.tensor));
  }
  nn::Child<nn::Conv2d> conv1;
  nn::Child<nn::BatchNorm2d> bn1;
  nn::Child<nn::Conv2d> conv2;
  nn::Child<nn::BatchNorm2d> bn2;
  std::shared_ptr<nn::Sequential> downsample;
};
struct ResNet : nn::Module {
  explicit ResNet(int64_t n)
      : conv1(this, "conv1", 3, n, 3, conv(1, 1)),
        bn1(this, "bn1", n),
        layer1(this, "layer1", BasicBlock(n, n, 1), BasicBlock(n, n, 1)),
        layer2(this, "layer2", BasicBlock(n, 2 * n, 2), BasicBlock(2 * n, 2 * n, 1)),
        fc(this, "fc", 2 * n, 10) {}
  Tensor forward(const Arg& x) override {
    Tensor h = layer2(layer1(relu(bn1(conv1(x)))));
    return fc(adaptive_avg_pool2d(h, 1).flatten(1));
  }
  nn::Child<nn::Conv2d> conv1;
  nn::Child<nn::BatchNorm2d> bn1;
  nn::Child<nn::Sequential> layer1, layer2;
  nn::Child<nn::Linear> fc;
};

TEST(FeatureExtractor, HooksReadAnUnmodifiedResNet) {
  manual_seed(5);
  ResNet net(8);
  net.eval();
  EXPECT_THAT(keys(net.state_dict()), testing::IsSupersetOf({"layer2.0.downsample.1.running_var",
                                                             "layer1.1.bn2.bias", "fc.weight"}));
  std::map<std::string, Tensor> features;
  std::vector<HookHandle> hooks;
  for (const char* path : {"layer1", "layer2.0", "layer2.0.conv2", "layer2"}) {
    hooks.push_back(net.get_submodule(path).register_forward_hook(
        [&features, path](nn::Module&, const Tensor&, const Tensor& y) { features[path] = y; }));
  }
  Tensor x = randn({2, 3, 12, 12});
  Tensor y = net(x);
  // The same features by hand, with the same modules.
  Tensor l1 = net.layer1(relu(net.bn1(net.conv1(x))));
  auto& block = dynamic_cast<BasicBlock&>(net.get_submodule("layer2.0"));
  Tensor c2 = block.conv2(relu(block.bn1(block.conv1(l1))));
  Tensor b0 = relu(block.bn2(c2) + (*block.downsample)(l1));
  Tensor l2 = net.get_submodule("layer2.1")(b0);
  Tensor out = net.fc(adaptive_avg_pool2d(l2, 1).flatten(1));
  auto same = [](const Tensor& a, const Tensor& b) {
    EXPECT_EQ(a.to_vector<float>(), b.to_vector<float>());
  };
  same(features.at("layer1"), l1);
  same(features.at("layer2.0.conv2"), c2);
  same(features.at("layer2.0"), b0);
  same(features.at("layer2"), l2);
  same(y, out);
  EXPECT_EQ(features.at("layer2").raw_shape(), (Shape{2, 16, 6, 6}));
  for (HookHandle& h : hooks) h.remove();
  features.clear();
  net(x);
  EXPECT_TRUE(features.empty());
}

TEST(FeatureExtractor, ReadsWhatPyTorchsHooksRead) {
  ResNet net(2);
  net.to(DType::kF64);
  net.eval();
  int64_t i = 0;
  NoGrad guard;
  for (const auto& [name, t] : net.named_parameters()) t.copy_(number(t.raw_shape(), i++) * 0.4);
  i = 0;
  for (const auto& [name, t] : net.named_buffers()) {
    Tensor n = number(t.raw_shape(), i++);
    if (name.ends_with("mean")) t.copy_(n * 0.1);
    if (name.ends_with("var")) t.copy_(abs(n) + 0.5);
  }
  int seen = 0;
  for (const char* path : {"layer1", "layer2.0.conv2", "layer2.0", "layer2"}) {
    net.get_submodule(path).register_forward_hook(
        [&seen, path](nn::Module&, const Tensor&, const Tensor& y) {
          expect_golden(y, std::string("resnet_") + path);
          ++seen;
        });
  }
  expect_golden(net(number({1, 3, 6, 6}, 40)), "resnet");
  EXPECT_EQ(seen, 4);
  EXPECT_EQ(static_cast<double>(net.state_dict().size()), golden("resnet_keys")[0]);
}

}  // namespace
}  // namespace wick
