// The gradient of ||grad L||^2, through an MLP, a convolutional net, layer norm and attention:
// against PyTorch to 1e-10 (goldens by make_double_backward.py) and against finite differences.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "tests/support/where.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using List = std::vector<Tensor>;
using Net = std::function<Tensor(const List&)>;

constexpr DType kD = DType::kF64;

// make_double_backward.py's numbers.
Tensor number(const Shape& shape, int64_t seed) {
  std::vector<double> v;
  for (int64_t i = 0; i < numel(shape); ++i) {
    v.push_back(static_cast<double>((i * 37 + seed * 23) % 101 - 50) / 64);
  }
  return from_blob(v.data(), shape, kD);
}

Tensor mlp(const List& p) {
  Tensor h = tanh(linear(p[0], p[1], p[2]));
  return cross_entropy(linear(h, p[3], p[4]), tensor<int64_t>({0, 2, 1, 2}));
}
Tensor conv_net(const List& p) {
  Tensor h = max_pool2d(silu(conv2d(p[0], p[1], p[2], 1, 1)), 2);
  h = sigmoid(conv2d(h, p[3], p[4], 2, 1, 1, 2));
  return mse_loss(linear(h.flatten(1), p[5]), number({2, 2}, 9));
}
Tensor layer_norm_net(const List& p) {
  Tensor h = gelu(layer_norm(linear(p[0], p[1]), {6}, p[2], p[3]));
  return smooth_l1_loss(linear(h, p[4]), number({3, 2}, 9) * 4);
}
Tensor attention_net(const List& p) {
  auto heads = [&](const Tensor& w) {
    return linear(p[0], w).reshape({2, 4, 2, 3}).transpose(1, 2);
  };
  Tensor y = scaled_dot_product_attention(heads(p[1]), heads(p[2]), heads(p[3]), Tensor(), 0, true);
  y = y.transpose(1, 2).reshape({2, 4, 6});
  y = layer_norm(p[0] + linear(y, p[4]), {6}, p[5], p[6]);
  return binary_cross_entropy_with_logits(y, number({2, 4, 6}, 9) / 2 + 0.5);
}

struct Case {
  std::string name;
  Net net;
  std::vector<Shape> shapes;
};
std::vector<Case> cases() {
  return {{"mlp", mlp, {{4, 3}, {5, 3}, {5}, {3, 5}, {3}}},
          {"conv", conv_net, {{2, 2, 6, 6}, {4, 2, 3, 3}, {4}, {4, 2, 3, 3}, {4}, {2, 16}}},
          {"layer_norm", layer_norm_net, {{3, 4}, {6, 4}, {6}, {6}, {2, 6}}},
          {"attention", attention_net, {{2, 4, 6}, {6, 6}, {6, 6}, {6, 6}, {6, 6}, {6}, {6}}}};
}

List parameters(const Case& c) {
  List p;
  for (size_t i = 0; i < c.shapes.size(); ++i) {
    p.push_back(number(c.shapes[i], static_cast<int64_t>(i)).requires_grad_());
  }
  return p;
}

// ||grad L||^2, differentiable.
Tensor penalty(const Case& c, const List& p) {
  Tensor total;
  for (const Tensor& g : grad({c.net(p)}, p, {}, true, true)) {
    Tensor s = sum(g * g);
    total = total.defined() ? total + s : s;
  }
  return total;
}

using Goldens = std::map<std::string, std::vector<double>>;
Goldens goldens() {
  Goldens all;
  std::ifstream file(source_dir("/tests/trainer/goldens/double_backward.txt"));
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string net, what;
    words >> net >> what;
    std::vector<double>& v = all[net + " " + what];
    for (std::string number; words >> number;) v.push_back(std::stod(number));
  }
  return all;
}

TEST(DoubleBackward, MatchesPyTorch) {
  const Goldens want = goldens();
  double worst = 0;
  std::string worst_at;
  for (const Case& c : cases()) {
    List p = parameters(c);
    Tensor value = penalty(c, p);
    auto compare = [&](const std::string& key, const std::vector<double>& got) {
      auto at = want.find(key);
      ASSERT_NE(at, want.end()) << key;
      ASSERT_EQ(got.size(), at->second.size()) << key;
      double largest = 0;
      for (double w : at->second) largest = std::max(largest, std::fabs(w));
      for (size_t i = 0; i < got.size(); ++i) {
        // by itself, and by a hundredth of the largest: what cancels has the error of its terms
        const double scale = std::fabs(at->second[i]) + 0.01 * largest;
        const double off = std::fabs(got[i] - at->second[i]) / scale;
        EXPECT_LE(off, 1e-10) << key << ", element " << i << ": " << got[i] << ", PyTorch has "
                              << at->second[i];
        if (off > worst) worst = off, worst_at = key;
      }
    };
    compare(c.name + " penalty", {value.item()});
    List g = grad({value}, p);
    for (size_t i = 0; i < g.size(); ++i) {
      compare(c.name + " " + std::to_string(i), g[i].to_vector<double>());
    }
  }
  std::printf("double backward: worst relative difference from PyTorch %.2g (%s)\n", worst,
              worst_at.c_str());
}

TEST(DoubleBackward, MatchesFiniteDifferences) {
  constexpr double kStep = 1e-6;
  double worst = 0;
  for (const Case& c : cases()) {
    List p = parameters(c), g = grad({penalty(c, p)}, p);
    for (size_t i = 0; i < p.size(); ++i) {
      // A direction with every element in it.
      Tensor direction = number(c.shapes[i], 77) + 0.01;
      auto moved = [&](double by) {
        List q = parameters(c);
        NoGrad guard;
        q[i].copy_(p[i].detach() + direction * by);
        GradMode on(true);
        return penalty(c, q).item();
      };
      const double numeric = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      const double slope = sum(g[i] * direction).item();
      const double off = std::fabs(slope - numeric) / (1 + std::fabs(numeric));
      EXPECT_LE(off, 1e-7) << c.name << " " << i << ": " << slope << ", differences " << numeric;
      worst = std::max(worst, off);
    }
  }
  std::printf("double backward: worst difference from finite differences %.2g\n", worst);
}

// Backpropagation by hand through a two-layer MLP, no backward() called, equals autograd's.
TEST(ManualBackprop, TwoLayerMlp) {
  constexpr int64_t kN = 8, kIn = 5, kHidden = 7, kOut = 3;
  constexpr double kRate = 0.1;
  Tensor x = number({kN, kIn}, 1), target = number({kN, kOut}, 2);
  List hand = {number({kHidden, kIn}, 3), number({kHidden}, 4), number({kOut, kHidden}, 5),
               number({kOut}, 6)};
  List taped;
  for (const Tensor& t : hand) taped.push_back(t.clone().requires_grad_());
  double worst = 0;
  for (int step = 0; step < 5; ++step) {
    List by_hand;
    {
      NoGrad guard;
      Tensor h = tanh(linear(x, hand[0], hand[1]));
      Tensor y = linear(h, hand[2], hand[3]);
      Tensor gy = (y - target) * (2.0 / static_cast<double>(kN * kOut));
      Tensor gh = mm(gy, hand[2]) * (1 - h * h);
      by_hand = {mm(gh.t(), x), sum(gh, {0}), mm(gy.t(), h), sum(gy, {0})};
    }
    Tensor loss = mse_loss(linear(tanh(linear(x, taped[0], taped[1])), taped[2], taped[3]), target);
    List by_tape = grad({loss}, taped);
    NoGrad guard;
    for (size_t i = 0; i < hand.size(); ++i) {
      const Tensor scale = abs(by_tape[i]) + 0.01 * amax(abs(by_tape[i]));
      const double off = amax(abs(by_hand[i] - by_tape[i]) / scale).item();
      EXPECT_LE(off, 1e-12) << "step " << step << ", parameter " << i;
      worst = std::max(worst, off);
      hand[i].add_(by_hand[i], -kRate);
      taped[i].add_(by_tape[i], -kRate);
    }
  }
  std::printf("manual backprop: worst relative difference %.2g\n", worst);
}

}  // namespace
}  // namespace wick
