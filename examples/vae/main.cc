// A variational autoencoder (Kingma and Welling, 2014) of small pictures: 4 x 4 pixels with one row
// or one column lit. The encoder gives a normal distribution of two numbers for each picture; the
// loss is how surprised the decoder is by the picture, plus the divergence from the prior.
#include <wick/trainer.h>

#include <cstdio>

using namespace wick;                 // NOLINT: an example
using namespace wick::distributions;  // NOLINT

constexpr int64_t kSide = 4, kPixels = kSide * kSide, kPictures = 2 * kSide;

// Picture i < 4 has row i lit, picture 4 + i column i.
static Tensor pictures() {
  std::vector<float> all;
  for (int64_t p = 0; p < kPictures; ++p) {
    for (int64_t i = 0; i < kPixels; ++i) {
      const bool lit = p < kSide ? i / kSide == p : i % kSide == p - kSide;
      all.push_back(lit ? 1.0F : 0.0F);
    }
  }
  return from_blob(all.data(), Shape{kPictures, kPixels}, DType::kF32);
}

struct Vae : nn::Module {
  nn::Child<nn::Linear> in{this, "in", kPixels, 32};
  nn::Child<nn::Linear> mean{this, "mean", 32, 2};
  nn::Child<nn::Linear> log_scale{this, "log_scale", 32, 2};
  nn::Child<nn::Linear> back{this, "back", 2, 32};
  nn::Child<nn::Linear> out{this, "out", 32, kPixels};

  Independent encode(const Tensor& x) {
    const Tensor h = tanh(in(x));
    return {Normal(mean(h), exp(log_scale(h))), 1};
  }
  Independent decode(const Tensor& z) { return {Bernoulli::from_logits(out(tanh(back(z)))), 1}; }
};

int main() {
  manual_seed(0);
  Vae net;
  optim::Adam adam(net.parameters(), {.lr = 0.01});
  const Tensor x = pictures();
  const Independent prior(Normal(zeros({2}), 1), 1);
  for (int step = 0; step <= 1000; ++step) {
    const Independent q = net.encode(x);
    const Tensor z = q.rsample();  // the gradient goes through the draw
    const Tensor surprise = neg(net.decode(z).log_prob(x));
    const Tensor divergence = kl_divergence(q, prior);
    const Tensor loss = wick::mean(surprise + divergence);
    adam.zero_grad();
    loss.backward();
    adam.step();
    if (step == 0 || step == 1000) {
      std::printf("step %4d: loss %4.1f = surprise %4.1f + divergence %3.1f\n", step, loss.item(),
                  wick::mean(surprise).item(), wick::mean(divergence).item());
    }
  }
  NoGrad guard;
  const Tensor seen = net.decode(net.encode(x).mean()).mean();
  const Tensor right = eq(gt(seen, 0.5), gt(x, 0.5)).to(DType::kF32);
  std::printf("pixels that are decoded as they were: %.0f %%\n", 100 * wick::mean(right).item());
}
