// An optimizer of one's own: AdamW from scratch, of ops. Over fifty steps it has the bits of the
// built-in one, with two groups, a schedule, and a stop in the middle from which a checkpoint goes
// on. What a rule may have: trainer/optim/group_optimizer.h.
#include <wick/trainer.h>

#include <cmath>
#include <cstdio>

using namespace wick;  // NOLINT: an example

struct MyAdamWOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 1e-2;

  template <class F>
  void fields(F&& f) {  // what a state dict holds of each group
    f("lr", lr), f("beta1", beta1), f("beta2", beta2), f("eps", eps);
    f("weight_decay", weight_decay);
  }
};

// Loshchilov and Hutter 2019, "Decoupled weight decay regularization".
struct MyAdamWRule {
  static constexpr const char* kName = "my_adamw";
  static constexpr const char* kBuffers[] = {"exp_avg", "exp_avg_sq"};
  static void apply(const MyAdamWOptions& o, const Tensor& p, const Tensor& g,
                    optim::ParamState& state) {
    const Tensor &m = state.buffers[0], &v = state.buffers[1];
    const auto t = static_cast<double>(state.step);
    p.mul_(1 - o.lr * o.weight_decay);
    m.mul_(o.beta1).add_(g * (1 - o.beta1));
    v.mul_(o.beta2).add_(g * (1 - o.beta2) * g);
    const Tensor down = sqrt(v) / std::sqrt(1 - std::pow(o.beta2, t)) + o.eps;
    p.sub_(m / down * (o.lr / (1 - std::pow(o.beta1, t))));
  }
};

class MyAdamW : public optim::GroupOptimizer<MyAdamWOptions, MyAdamWRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

struct Trained {
  double loss;
  std::vector<float> weights;
};

// Fifty steps of a small network; at step `stop` all goes on in new objects, from a state dict.
template <class Optimizer, class Options>
static Trained train(int stop) {
  manual_seed(0);
  nn::Sequential net(nn::Linear(4, 16), nn::Tanh(), nn::Linear(16, 1));
  const Tensor x = randn({64, 4}), y = sum(sin(x), {1}, true);
  auto make = [&] {
    const std::vector<Tensor> p = net.parameters();
    return std::make_unique<Optimizer>(std::vector<optim::Group<Options>>{
        {{p[0], p[2]}, {.lr = 0.02, .weight_decay = 0.1}}, {{p[1], p[3]}, {.lr = 0.04}}});
  };
  auto optimizer = make();
  auto schedule = std::make_unique<optim::CosineAnnealingLR>(*optimizer, 50);
  Trained result;
  for (int step = 0; step < 50; ++step) {
    if (step == stop) {
      const optim::OptimizerState state = optimizer->state_dict();
      const std::string position = schedule->state_dict();
      optimizer = make();
      optimizer->load_state_dict(state);
      schedule = std::make_unique<optim::CosineAnnealingLR>(*optimizer, 50);
      schedule->load_state_dict(position);
    }
    const Tensor loss = optimizer->step([&] {
      optimizer->zero_grad();
      Tensor l = mse_loss(net(x), y);
      l.backward();
      return l;
    });
    schedule->step();
    result.loss = loss.item();
  }
  for (const Tensor& p : net.parameters()) {
    for (float w : p.to_vector<float>()) result.weights.push_back(w);
  }
  return result;
}

int main() {
  const Trained built_in = train<optim::AdamW, optim::AdamWOptions>(-1);
  const Trained own = train<MyAdamW, MyAdamWOptions>(-1);
  const Trained resumed = train<MyAdamW, MyAdamWOptions>(20);
  double apart = 0;
  for (size_t i = 0; i < own.weights.size(); ++i) {
    apart = std::max(apart, std::abs(double{own.weights[i]} - built_in.weights[i]));
  }
  std::printf("loss %.3f, the built-in AdamW's %.3f\n", own.loss, built_in.loss);
  std::printf("largest difference of %zu weights after 50 steps: %g\n", own.weights.size(), apart);
  std::printf("stopped and resumed: %s\n",
              resumed.weights == own.weights ? "the same bits" : "other bits");
}
