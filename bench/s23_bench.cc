// Trains a 1,361-parameter net (8-16-32-16-8-1, tanh) on 6 rows for 500 epochs, SGD with momentum,
// and compares its seconds with libtorch's C++ API in one process: same data and the same initial
// weights, one thread on both sides: s23_bench [rounds]. This measures overhead: no op has more
// than 512 weights.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#ifdef WICK_HAVE_TORCH
#include <torch/torch.h>
#endif

#include "wick/trainer.h"

namespace {

constexpr int kEpochs = 500;
constexpr int64_t kSizes[] = {8, 16, 32, 16, 8, 1};
constexpr int kLayers = 5;

struct Data {
  wick::Tensor x, y;
  std::vector<wick::Tensor> weight, bias;
};
Data make_data() {
  wick::manual_seed(23);
  Data d;
  d.x = wick::randn({6, 8});
  d.y = wick::uniform({6, 1}, -0.8, 0.8);
  for (int i = 0; i < kLayers; ++i) {
    wick::nn::Linear layer(kSizes[i], kSizes[i + 1]);
    d.weight.push_back(layer.weight.detach().clone());
    d.bias.push_back(layer.bias.detach().clone());
  }
  return d;
}

double ours(const Data& d, int64_t* parameters) {
  wick::nn::Sequential net;
  for (int i = 0; i < kLayers; ++i) {
    auto layer = std::make_shared<wick::nn::Linear>(kSizes[i], kSizes[i + 1]);
    wick::NoGrad guard;
    layer->weight.copy_(d.weight[static_cast<size_t>(i)]);
    layer->bias.copy_(d.bias[static_cast<size_t>(i)]);
    net.push_back(layer);
    net.push_back(std::make_shared<wick::nn::Tanh>());
  }
  *parameters = 0;
  for (const wick::Tensor& p : net.parameters()) *parameters += p.numel();
  wick::optim::SGD sgd(net.parameters(), {.lr = 0.1, .momentum = 0.1});
  double last = 0;
  for (int e = 0; e < kEpochs; ++e) {
    sgd.zero_grad();
    wick::Tensor off = net(d.x) - d.y;
    wick::Tensor loss = wick::mean(off * off);
    loss.backward();
    sgd.step();
    last = loss.item();
  }
  return last;
}

#ifdef WICK_HAVE_TORCH
torch::Tensor to_torch(const wick::Tensor& t) {
  std::vector<int64_t> shape(t.shape().begin(), t.shape().end());
  return torch::from_blob(const_cast<float*>(t.data<float>()), shape).clone();
}
double theirs(const Data& d) {
  torch::nn::Sequential net;
  for (int i = 0; i < kLayers; ++i) {
    torch::nn::Linear layer(kSizes[i], kSizes[i + 1]);
    torch::NoGradGuard guard;
    layer->weight.copy_(to_torch(d.weight[static_cast<size_t>(i)]));
    layer->bias.copy_(to_torch(d.bias[static_cast<size_t>(i)]));
    net->push_back(layer);
    net->push_back(torch::nn::Tanh());
  }
  torch::Tensor x = to_torch(d.x), y = to_torch(d.y);
  torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.1));
  double last = 0;
  for (int e = 0; e < kEpochs; ++e) {
    sgd.zero_grad();
    torch::Tensor off = net->forward(x) - y;
    torch::Tensor loss = torch::mean(off * off);
    loss.backward();
    sgd.step();
    last = loss.item<double>();
  }
  return last;
}
#endif

double seconds(const std::function<void()>& f) {
  auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 5;
  wick::set_num_threads(1);
  Data d = make_data();
  int64_t parameters = 0;
  double t_ours = 1e30, t_theirs = 1e30, loss_ours = 0, loss_theirs = 0;
#ifdef WICK_HAVE_TORCH
  at::set_num_threads(1);
#endif
  for (int r = 0; r < rounds; ++r) {
    t_ours = std::min(t_ours, seconds([&] { loss_ours = ours(d, &parameters); }));
#ifdef WICK_HAVE_TORCH
    t_theirs = std::min(t_theirs, seconds([&] { loss_theirs = theirs(d); }));
#endif
  }
  printf("%lld parameters, %d epochs\n", static_cast<long long>(parameters), kEpochs);
  printf("wick      %.4f s, final loss %.3g\n", t_ours, loss_ours);
  if (loss_theirs > 0) {
    printf("libtorch  %.4f s, final loss %.3g\nratio     %.2f\n", t_theirs, loss_theirs,
           t_ours / t_theirs);
  }
  return loss_ours < 1e-6 ? 0 : 1;
}
