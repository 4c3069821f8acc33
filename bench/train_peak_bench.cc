// Measures the peak bytes of one training step (zero_grad, forward, loss, backward, optimizer) of
// ResNet-18 and the small GPT beyond what lives between steps (model, optimizer state, data), and
// compares with libtorch in the same program, whose allocations go through a counting allocator:
//   train_peak_bench [resnet18] [gpt]
// Scratch is what kernels pack: Wick's is counted, that of libtorch's BLAS and oneDNN is not.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#ifdef WICK_HAVE_TORCH
#include <torch/torch.h>
#endif

#include "bench/train_models.h"
#include "trainer/tensor/storage.h"

namespace {

constexpr int kSteps = 3;  // the first ones create the optimizer's state

struct Peak {
  size_t between = 0, step = 0;  // live between steps; what a step adds at most
};

Peak ours(const std::string& name) {
  using namespace wick;  // NOLINT: a bench
  manual_seed(0);
  std::shared_ptr<nn::Module> model;
  std::unique_ptr<optim::Optimizer> optimizer;
  Tensor x, target;
  if (name == "gpt") {
    model = std::make_shared<bench::Gpt>();
    optimizer = std::make_unique<optim::AdamW>(model->parameters());
    x = randint(0, 256, {8, 128});
    target = randint(0, 256, {8 * 128});
  } else {
    model = std::make_shared<bench::ResNet18>();
    optim::SgdOptions o;
    o.lr = 0.01;
    o.momentum = 0.9;
    optimizer = std::make_unique<optim::SGD>(model->parameters(), o);
    x = randn({32, 3, 32, 32});
    target = randint(0, 10, {32});
  }
  Peak peak;
  for (int i = 0; i < kSteps; ++i) {
    optimizer->zero_grad();
    peak.between = live_bytes();
    reset_peak_bytes();
    Tensor loss;
    {
      Tensor out = (*model)(x);
      if (out.rank() == 3) out = out.reshape({-1, out.size(2)});
      loss = cross_entropy(out, target);
    }
    loss.backward();
    optimizer->step();
    peak.step = peak_bytes() - peak.between;
  }
  return peak;
}

#ifdef WICK_HAVE_TORCH
namespace nn = torch::nn;

// Counts the bytes asked for, as wick does.
struct Counting final : c10::Allocator {
  static inline size_t live = 0, peak = 0;
  static constexpr size_t kHeader = 64;  // holds the size; oneDNN asks for raw pointers
  static void release(void* p) {
    if (p == nullptr) return;
    char* block = static_cast<char*>(p) - kHeader;
    size_t n;
    memcpy(&n, block, sizeof n);
    live -= n;
    free(block);
  }
  c10::DataPtr allocate(size_t n) const override {
    char* block = static_cast<char*>(aligned_alloc(64, (n + 63) / 64 * 64 + kHeader));
    memcpy(block, &n, sizeof n);
    live += n;
    peak = std::max(peak, live);
    return {block + kHeader, block + kHeader, &release, c10::DeviceType::CPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
};

nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(padding).bias(false));
}

struct BlockImpl : nn::Module {
  BlockImpl(int64_t in, int64_t out, int64_t stride)
      : conv1(conv(in, out, 3, stride, 1)), bn1(out), conv2(conv(out, out, 3, 1, 1)), bn2(out) {
    register_module("conv1", conv1);
    register_module("bn1", bn1);
    register_module("conv2", conv2);
    register_module("bn2", bn2);
    if (in == out && stride == 1) return;
    shortcut = register_module("downsample",
                               nn::Sequential(conv(in, out, 1, stride, 0), nn::BatchNorm2d(out)));
  }
  torch::Tensor forward(torch::Tensor x) {
    torch::Tensor h = bn2(conv2(bn1(conv1(x)).relu_()));
    h += shortcut.is_empty() ? x : shortcut->forward(x);
    return h.relu_();
  }
  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Sequential shortcut{nullptr};
};
TORCH_MODULE(Block);

nn::Sequential resnet18() {
  nn::Sequential net(conv(3, 64, 7, 2, 3), nn::BatchNorm2d(64), nn::ReLU(nn::ReLUOptions(true)),
                     nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
  int64_t in = 64;
  for (int64_t out : {64, 128, 256, 512}) {
    net->push_back(Block(in, out, in == out ? 1 : 2));
    net->push_back(Block(out, out, 1));
    in = out;
  }
  net->push_back(nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({1, 1})));
  net->push_back(nn::Flatten());
  net->push_back(nn::Linear(512, 10));
  return net;
}

struct LayerImpl : nn::Module {
  LayerImpl(int64_t d, int64_t heads, int64_t t)
      : h(heads),
        ln1(nn::LayerNormOptions({d})),
        ln2(nn::LayerNormOptions({d})),
        qkv(d, 3 * d),
        proj(d, d),
        fc(d, 4 * d),
        out(4 * d, d) {
    register_module("ln1", ln1);
    register_module("ln2", ln2);
    register_module("qkv", qkv);
    register_module("proj", proj);
    register_module("fc", fc);
    register_module("out", out);
    mask = register_buffer("mask", torch::tril(torch::ones({t, t})).view({1, 1, t, t}) == 0);
  }
  torch::Tensor forward(torch::Tensor x) {
    const int64_t b = x.size(0), t = x.size(1), c = x.size(2);
    std::vector<torch::Tensor> p = qkv(ln1(x)).split(c, 2);
    for (torch::Tensor& v : p) v = v.view({b, t, h, c / h}).transpose(1, 2);
    torch::Tensor a =
        p[0].matmul(p[1].transpose(-2, -1)) * (1 / std::sqrt(static_cast<double>(c / h)));
    a = a.masked_fill(mask, -INFINITY).softmax(-1);
    x = x + proj(a.matmul(p[2]).transpose(1, 2).reshape({b, t, c}));
    return x + out(torch::gelu(fc(ln2(x))));
  }
  int64_t h;
  nn::LayerNorm ln1, ln2;
  nn::Linear qkv, proj, fc, out;
  torch::Tensor mask;
};
TORCH_MODULE(Layer);

struct GptImpl : nn::Module {
  GptImpl() {
    token = register_module("tok", nn::Embedding(256, 256));
    position = register_parameter("pos", torch::randn({1, 128, 256}) * 0.02);
    for (int i = 0; i < 4; ++i) layers->push_back(Layer(256, 4, 128));
    register_module("bl", layers);
    ln = register_module("ln", nn::LayerNorm(nn::LayerNormOptions({256})));
    head = register_module("head", nn::Linear(nn::LinearOptions(256, 256).bias(false)));
  }
  torch::Tensor forward(torch::Tensor i) {
    return head(ln(layers->forward(token(i) + position.slice(1, 0, i.size(1)))));
  }
  nn::Embedding token{nullptr};
  torch::Tensor position;
  nn::Sequential layers;
  nn::LayerNorm ln{nullptr};
  nn::Linear head{nullptr};
};
TORCH_MODULE(Gpt);

template <class Model, class Optimizer>
Peak steps(Model& model, Optimizer& optimizer, const torch::Tensor& x,
           const torch::Tensor& target) {
  Peak peak;
  for (int i = 0; i < kSteps; ++i) {
    for (torch::Tensor p : model->parameters()) p.mutable_grad() = torch::Tensor();
    peak.between = Counting::live;
    Counting::peak = Counting::live;
    torch::Tensor loss;
    {
      torch::Tensor out = model->forward(x);
      if (out.dim() == 3) out = out.reshape({-1, out.size(2)});
      loss = torch::nn::functional::cross_entropy(out, target);
    }
    loss.backward();
    optimizer.step();
    peak.step = Counting::peak - peak.between;
  }
  return peak;
}

Peak theirs(const std::string& name) {
  static Counting counting;
  c10::SetAllocator(c10::DeviceType::CPU, &counting, 1);
  if (name == "gpt") {
    Gpt model;
    torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(1e-3));
    return steps(model, optimizer, torch::randint(0, 256, {8, 128}, torch::kLong),
                 torch::randint(0, 256, {8 * 128}, torch::kLong));
  }
  nn::Sequential model = resnet18();
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  return steps(model, optimizer, torch::randn({32, 3, 32, 32}),
               torch::randint(0, 10, {32}, torch::kLong));
}
#endif

void run(const std::string& name) {
  const Peak a = ours(name);
  printf("%s: wick %.1f MB between steps, +%.1f MB in one (scratch %.1f MB)", name.c_str(),
         static_cast<double>(a.between) / 1e6, static_cast<double>(a.step) / 1e6,
         static_cast<double>(wick::scratch_bytes()) / 1e6);
#ifdef WICK_HAVE_TORCH
  const Peak b = theirs(name);
  printf("; libtorch %.1f MB, +%.1f MB; wick / libtorch: whole %.3f, step %.3f",
         static_cast<double>(b.between) / 1e6, static_cast<double>(b.step) / 1e6,
         static_cast<double>(a.between + a.step) / static_cast<double>(b.between + b.step),
         static_cast<double>(a.step) / static_cast<double>(b.step));
#endif
  printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) names = {"resnet18", "gpt"};
  for (const std::string& name : names) run(name);
  return 0;
}
