// Loads weights made by PyTorch into the same net here, and saves weights for PyTorch: net.py is
// the counterpart, check.sh runs both.
//
//   from_torch DIR
//
// DIR/weights.safetensors and example.safetensors are PyTorch's; wick.safetensors is written.
#include <cstdio>

#include "wick/trainer.h"

using wick::Arg;
using wick::Tensor;
namespace nn = wick::nn;

namespace {

nn::Conv2dOptions padded() {
  nn::Conv2dOptions o;
  o.padding = 1;
  return o;
}

nn::RnnOptions both_ways() {
  nn::RnnOptions o;
  o.num_layers = 2;
  o.batch_first = o.bidirectional = true;
  return o;
}

struct Net : nn::Module {
  nn::Child<nn::Sequential> features{
      this,       "features",      nn::Conv2d(1, 8, 3, padded()), nn::BatchNorm2d(8),
      nn::ReLU(), nn::MaxPool2d(2)};
  nn::Child<nn::LSTM> lstm{this, "lstm", 32, 16, both_ways()};
  nn::Child<nn::Linear> fc{this, "fc", 32, 5};

  Tensor forward(const Arg& x) override {                  // [N, 1, 8, 8]
    Tensor h = features(x).flatten(1, 2).transpose(1, 2);  // columns as time: [N, 4, 32]
    return fc(lstm(h).select(1, -1));
  }
};

int run(const std::string& dir) {
  wick::manual_seed(1);
  Net net;
  // Removes DataParallel's prefix. Strict: a different name or shape throws an Error with all of
  // them.
  net.load_state_dict(nn::remap_keys(wick::load_safetensors(dir + "/weights.safetensors").tensors,
                                     {{"^module\\.", ""}}));
  net.eval();
  Tensor input, output;
  for (const auto& [name, t] : wick::load_safetensors(dir + "/example.safetensors").tensors)
    (name == "input" ? input : output) = t;
  wick::NoGrad guard;
  const double off = wick::max(wick::abs(net(input) - output)).item();
  printf("Wick with PyTorch's weights: %zu tensors, outputs differ by at most %.1e\n",
         net.state_dict().size(), off);

  Net own;  // with its own initial weights and statistics
  for (int i = 0; i < 3; ++i) own(wick::randn({16, 1, 8, 8}) - 0.5);
  own.eval();
  nn::NamedTensors state = own.state_dict();
  state.emplace_back("example.input", input);
  state.emplace_back("example.output", own(input));
  wick::save_safetensors(dir + "/wick.safetensors", state);
  return off <= 1e-6 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) {
      fprintf(stderr, "usage: from_torch DIR\n");
      return 2;
    }
    return run(argv[1]);
  } catch (const wick::Error& e) {
    fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
