// A mixture of experts: four linear experts behind a router, of which each item passes through one
// (Shazeer et al., 2017; the switch and its balance of Fedus et al., 2021). The task is four linear
// maps, one for each corner of a plane, so that one linear layer cannot learn it and an expert each
// can. The twin's router is frozen at 0: items go by chance to one expert, whatever they are.
#include "examples/milestone.h"

using namespace wick;  // NOLINT: an example

namespace {

constexpr int64_t kExperts = 4, kIn = 8, kOut = 8;

class Mixture : public nn::Module {
 public:
  explicit Mixture(bool routed) {
    for (int64_t e = 0; e < kExperts; ++e) {
      experts_.push_back(std::make_shared<nn::Linear>(kIn, kOut));
      register_module("expert" + std::to_string(e), experts_.back());
    }
    router_ = std::make_shared<nn::Linear>(kIn, kExperts);
    register_module("router", router_);
    if (routed) return;
    for (const Tensor& p : router_->parameters()) p.requires_grad_(false).zero_();
  }

  // An item's output is its expert's, times the router's probability, by which the router learns.
  Tensor forward(const Arg& x) override {
    const Tensor p = softmax((*router_)(x), -1);
    chosen = argmax(p.detach(), -1);
    Tensor y = zeros({x.tensor.size(0), kOut});
    used.assign(kExperts, 0);
    balance = zeros({});
    for (int64_t e = 0; e < kExperts; ++e) {
      const Tensor rows = nonzero(eq(chosen, e)).reshape({-1});
      const double share = static_cast<double>(rows.numel()) / static_cast<double>(chosen.numel());
      used[static_cast<size_t>(e)] = share;
      const Tensor of_e = p.select(1, e);
      balance = balance + mean(of_e) * (share * kExperts);  // least, 1, where all are used alike
      if (rows.numel() == 0) continue;
      const Tensor out = (*experts_[static_cast<size_t>(e)])(index_select(x, 0, rows));
      y = index_add(y, 0, rows, out * index_select(of_e, 0, rows).unsqueeze(1));
    }
    return y;
  }

  // Of the last forward: each item's expert, the experts' shares of the items, the loss of balance.
  Tensor chosen, balance;
  std::vector<double> used;

 private:
  std::vector<std::shared_ptr<nn::Linear>> experts_;
  std::shared_ptr<nn::Linear> router_;
};

struct Task {
  Tensor maps = randn({kExperts, kIn, kOut});
  // The signs of the first two numbers, which are at least 1/2, tell an item's map.
  std::pair<Tensor, Tensor> batch(int64_t n, Generator& g) const {
    Tensor x = randn({n, kIn}, DType::kF32, g);
    const Tensor corner = where(lt(x.slice(1, 0, 2), 0.0), full({}, -1), full({}, 1));
    x = cat({x.slice(1, 0, 2) + corner * 0.5, x.slice(1, 2, kIn)}, 1);
    const Tensor right = gt(corner, 0.0).to(DType::kI64);
    const Tensor map = right.select(1, 0) * 2 + right.select(1, 1);
    const Tensor y = matmul(x.unsqueeze(1), index_select(maps, 0, map)).squeeze(1);
    return {x, y};
  }
};

// Returns the loss on new items as a share of their variance.
template <class Net>
double learned(Net& net, const Task& task, int64_t steps, uint64_t seed, bool mixture) {
  optim::AdamOptions options;
  options.lr = 1e-2;
  std::vector<Tensor> weights;
  for (const Tensor& p : net.parameters()) {
    if (p.requires_grad()) weights.push_back(p);
  }
  optim::Adam adam(weights, options);
  optim::CosineAnnealingLR schedule(adam, steps);
  Generator g{seed, 0};
  for (int64_t step = 0; step < steps; ++step) {
    auto [x, y] = task.batch(128, g);
    Tensor loss = mse_loss(net(x), y);
    if constexpr (requires { net.balance; }) {
      if (mixture) loss = loss + net.balance * 0.1;
    }
    adam.zero_grad();
    loss.backward();
    adam.step();
    schedule.step();
  }
  NoGrad guard;
  Generator other{seed, 1'000'000};
  auto [x, y] = task.batch(2000, other);
  return mse_loss(net(x), y).item() / mean(y * y).item();
}

}  // namespace

int main(int argc, char** argv) {
  return milestone::run("mixture_of_experts", argc, argv, [](const milestone::Options& o) {
    const Task task;
    const int64_t steps = o.short_form ? 1500 : 6000;
    Mixture mixture(!o.broken());
    nn::Linear dense(kIn, kOut);
    const double loss = learned(mixture, task, steps, o.seed, true);
    const double most = *std::max_element(mixture.used.begin(), mixture.used.end());
    return milestone::Result{
        {{"loss of the variance, four experts", loss, o.short_form ? 0.3 : 0.2, false},
         {"loss of the variance, one linear layer", learned(dense, task, steps, o.seed, false),
          0.5},
         {"largest share of an expert", most, 0.5, false}},
        mixture.state_dict()};
  });
}
