// Backpropagation by hand: a two-layer net trained without backward(), with each gradient compared
// with that of autograd.
#include <wick/trainer.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace wick;  // NOLINT: an example

static double apart(const Tensor& a, const Tensor& b) {
  std::vector<double> x = a.contiguous().to_vector<double>(),
                      y = b.contiguous().to_vector<double>();
  double worst = x.size() == y.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    worst = std::max(worst, std::abs(x[i] - y[i]));
  return worst;
}

int main() {
  manual_seed(11);
  auto random = [](const Shape& s) { return randn(s).to(DType::kF64); };
  Tensor x = random({8, 3}), t = random({8, 2});
  Tensor w1 = random({3, 5}), b1 = random({5}), w2 = random({5, 2}), b2 = random({2});
  double worst = 0;
  for (int step = 0; step < 100; ++step) {
    // forward
    Tensor h = tanh(matmul(x, w1) + b1);
    Tensor y = matmul(h, w2) + b2;
    Tensor d = y - t;
    Tensor loss = mean(d * d);
    // backward, from the loss up: each line is the chain rule for the line it belongs to
    Tensor gy = d * (2. / 16);       // loss = mean of 16 squares
    Tensor gw2 = matmul(h.t(), gy);  // y = h w2 + b2
    Tensor gb2 = sum(gy, {0});
    Tensor gs = matmul(gy, w2.t()) * (1 - h * h);  // h = tanh(s)
    Tensor gw1 = matmul(x.t(), gs);                // s = x w1 + b1
    Tensor gb1 = sum(gs, {0});

    std::vector<Tensor> leaves;
    for (const Tensor& p : {w1, b1, w2, b2}) leaves.push_back(p.clone().requires_grad_());
    Tensor again = matmul(tanh(matmul(x, leaves[0]) + leaves[1]), leaves[2]) + leaves[3];
    mse_loss(again, t).backward();
    const Tensor ours[] = {gw1, gb1, gw2, gb2};
    for (size_t i = 0; i < 4; ++i) worst = std::max(worst, apart(ours[i], leaves[i].grad()));
    if (step % 33 == 0) std::printf("step %2d  loss %.6f\n", step, loss.item());
    w1 = w1 - 0.1 * gw1;
    b1 = b1 - 0.1 * gb1;
    w2 = w2 - 0.1 * gw2;
    b2 = b2 - 0.1 * gb2;
  }
  std::printf("every gradient of every step within 1e-12 of backward(): %s\n",
              worst < 1e-12 ? "yes" : "NO");
  return worst < 1e-12 ? 0 : 1;
}
