// Cuts attention and the layers of an MLP over the ranks: each rank has some heads and some hidden
// units. Four virtual shards give the same bits on 1, 2, 3 and 4 ranks:
//   example_tp_attention
//   wick launch -n 4 -- example_tp_attention
#include <wick/distributed.h>
#include <wick/trainer.h>

#include <cstdio>

using namespace wick;  // NOLINT: an example

struct Net : nn::Module {
  nn::Child<nn::Linear> embed{this, "embed", 6, 32};
  nn::Child<nn::TransformerBlock> block{this, "block", 32, 8,
                                        nn::TransformerBlockOptions{.dropout = 0.1}};
  nn::Child<nn::Linear> head{this, "head", 32, 4};
  Tensor forward(const Arg& x) override { return head(block(embed(x)).mean(1)); }
};

// Sequences of ten rows, and which of four positions has the largest first number.
static data::Batch sequences(int64_t n) {
  Generator g{1, 0};
  const Tensor x = randn({n, 10, 6}, DType::kF32, g);
  return {x, argmax(x.narrow(1, 0, 4).select(2, 0), 1)};
}

int main() {
  distributed::Group world = distributed::init();
  manual_seed(0);
  Net net;
  const size_t whole = static_cast<size_t>(net.parameters().size());
  distributed::TensorParallel tp(net, world,
                                 {{"block.attn", distributed::Split::kHeads},
                                  {"block.mlp.fc1", distributed::Split::kColumn},
                                  {"block.mlp.fc2", distributed::Split::kRow}},
                                 {.shards = 4});
  optim::Adam optimizer(net.parameters(), {.lr = 0.003});
  const data::Batch batch = sequences(64);
  for (int step = 0; step < 60; ++step) {
    const Tensor loss = cross_entropy(net(batch[0]), batch[1]);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
    if (world.rank() == 0 && step % 15 == 14)
      std::printf("step %d: loss %.4f\n", step + 1, loss.item());
  }
  // The whole net again, as it is saved or exported.
  const nn::NamedTensors state = tp.state_dict();
  Net plain;
  plain.load_state_dict(state);
  plain.eval();
  const double right = mean(eq(argmax(plain(batch[0]), 1), batch[1]).to(DType::kF32)).item();
  if (world.rank() == 0) {
    std::printf("%zu tensors, %.0f of 64 right\n", whole, 64 * right);
    std::fprintf(stderr, "%s\n", state_sha256(state).c_str());
  }
}
