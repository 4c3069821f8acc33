#include <cstdio>

#include "wick/compile.h"
#include "wick/runtime.h"
#include "wick/trainer.h"

using namespace wick;

struct Net : nn::Module {
  nn::Child<nn::Linear> in{this, "in", 8, 16};
  nn::Child<nn::Linear> hidden{this, "hidden", 16, 16};
  nn::Child<nn::Linear> sure{this, "sure", 16, 4};
  nn::Child<nn::Sequential> other{this, "other", nn::Linear(16, 32), nn::ReLU(), nn::Linear(32, 4)};
  Tensor forward(const Arg& x) override {  // [batch, time, 8]
    // for (t = 0; t < x.size(1); ++t) h = tanh(in(x[t]) + hidden(h));
    auto [h, all] = scan(
        [&](const Tensor& h, const Tensor& x_t) {
          Tensor next = tanh(in(x_t) + hidden(h));
          return std::pair(next, next);
        },
        zeros({x.tensor.size(0), 16}), x.tensor, /*dim=*/1);
    // while (h.abs().amax() > 0.5) h = h / 2;
    h = while_loop([](const Tensor& h) { return abs(h).amax() > 0.5; },
                   [](const Tensor& h) { return h / 2; }, h);
    // if (h.mean() > 0) return sure(h); else return other(h);
    return cond(h.mean() > 0, sure, other, {h});
  }
};

int main() {
  Net net;
  Tensor x = randn({2, 5, 8});
  net(x).sum().backward();  // through the branch that was taken and the trips that were made
  net.eval();
  ir::Graph graph = capture(net, {{"x", x, {{0, "batch"}, {1, "time"}}}});
  export_onnx(graph, "control.onnx");
  export_wick(graph, "control.wick");
  nn::GraphModule again = nn::import_onnx("control.onnx");
  NoGrad guard;
  Tensor longer = randn({3, 50, 8});  // another batch, more steps
  std::printf("%s\n", equal(again(longer), net(longer)) ? "the same bits" : "other bits");
}
