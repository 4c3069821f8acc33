// 2017: attention alone reverses, copies, or does whichever of the two the first token asks for. A
// post-norm encoder of two layers outputs all tokens of the answer at once; only attention moves
// information between positions, so the twin, whose attention is zeroed, cannot reverse. The
// initialization matters: small uniform tables learn in a few epochs; with tokens of N(0, 1) and
// positions of N(0, 0.02) the positions are lost among the tokens, and reversal stalls.
#include "examples/milestone.h"

using namespace wick;  // NOLINT: an example

namespace {

constexpr int64_t kVocab = 29, kDim = 64, kLength = 8;  // token 0 is unused, 27 and 28 are tasks

struct Net : nn::Module {
  nn::Child<nn::Embedding> token{this, "token", kVocab, kDim},
      place{this, "place", kLength + 1, kDim};
  nn::Child<nn::TransformerEncoder> encoder{
      this, "encoder",
      nn::TransformerEncoderLayer(kDim, 4,
                                  {.dim_feedforward = 2 * kDim, .dropout = 0, .batch_first = true}),
      2};
  nn::Child<nn::Linear> head{this, "head", kDim, kVocab};

  explicit Net(bool small_start) {
    NoGrad guard;
    if (small_start) {
      token->weight.copy_(uniform({kVocab, kDim}, -0.254, 0.254));
      place->weight.copy_(uniform({kLength + 1, kDim}, -0.177, 0.177));
    } else {
      place->weight.copy_(randn({kLength + 1, kDim}) * 0.02);
    }
  }
  Tensor forward(const Arg& x) override {
    return head(encoder(token(x) + place->weight.slice(0, 0, x.tensor.size(1))));
  }
};

struct Task {
  Tensor x, y;
};
// Mixed tasks begin with a token that names the task; the answer repeats that token.
Task make(const std::string& kind, int64_t n) {
  Tensor letters = randint(1, 27, {n, kLength}), reversed = flip(letters, {1});
  if (kind == "copy") return {letters, letters};
  if (kind == "reverse") return {letters, reversed};
  Tensor which = randint(27, 29, {n, 1});
  return {cat({which, letters}, 1), cat({which, where(eq(which, 27), reversed, letters)}, 1)};
}

// Returns the share of sequences that are completely right.
double learn(const std::string& kind, bool small_start, const milestone::Options& o, int epochs,
             nn::NamedTensors* weights) {
  const int64_t n = kind == "mixed" ? 800 : 600;
  const Task train = make(kind, n), test = make(kind, 200);
  Net net(small_start);
  std::vector<Tensor> trained;
  for (const auto& [name, p] : net.named_parameters()) {
    const bool zeroed = o.broken() && name.find("out_proj") != std::string::npos;
    if (zeroed) p.requires_grad_(false).zero_();
    if (!zeroed) trained.push_back(p);
  }
  optim::Adam adam(trained, {.lr = 1e-3});
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const Tensor order = randperm(n);
    for (int64_t at = 0; at < n; at += 8) {
      const Tensor rows = order.slice(0, at, at + 8);
      Tensor logits = net(index_select(train.x, 0, rows));
      Tensor loss =
          cross_entropy(logits.reshape({-1, kVocab}), index_select(train.y, 0, rows).reshape({-1}));
      adam.zero_grad();
      loss.backward();
      adam.step();
    }
  }
  for (const auto& [name, value] : net.state_dict()) {
    weights->emplace_back(kind + (small_start ? "." : ".wide.") + name, value);
  }
  net.eval();
  NoGrad guard;
  Tensor right = eq(argmax(net(test.x), -1), test.y).to(DType::kF32);
  return mean(amin(right, 1)).item();
}

}  // namespace

int main(int argc, char** argv) {
  return milestone::run("attention", argc, argv, [](const milestone::Options& o) {
    milestone::Result r;
    const int epochs = o.short_form ? 10 : 15;
    r.figures = {{"reverse", learn("reverse", true, o, epochs, &r.weights), 0.95}};
    if (o.short_form) return r;
    r.figures.push_back({"copy", learn("copy", true, o, epochs, &r.weights), 0.95});
    r.figures.push_back({"mixed", learn("mixed", true, o, epochs, &r.weights), 0.90});
    r.figures.push_back(
        {"reverse, other start", learn("reverse", false, o, epochs, &r.weights), 0.6, false});
    return r;
  });
}
