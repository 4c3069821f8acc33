// Trains an MLP on as many ranks as mpirun starts, and prints the same numbers for any of them:
//   example_ddp_mlp
//   mpirun -n 4 example_ddp_mlp
#include <wick/distributed.h>
#include <wick/trainer.h>

#include <cstdio>

using namespace wick;  // NOLINT: an example

struct Net : nn::Module {
  nn::Child<nn::Linear> fc1{this, "fc1", 8, 32};
  nn::Child<nn::Dropout> drop{this, "drop", 0.1};
  nn::Child<nn::Linear> fc2{this, "fc2", 32, 3};
  Tensor forward(const Arg& x) override { return fc2(drop(relu(fc1(x)))); }
};

// 500 points, and for each which of three sums of its numbers is the largest.
static std::shared_ptr<data::TensorDataset> points() {
  Generator g{1, 0};
  const Tensor x = randn({500, 8}, DType::kF32, g), w = randn({8, 3}, DType::kF32, g);
  return std::make_shared<data::TensorDataset>(std::vector<Tensor>{x, argmax(matmul(x, w), 1)});
}

int main() {
  distributed::Group world = distributed::init();
  manual_seed(0);
  Net net;
  distributed::DataParallel ddp(net, world, {.shards = 8});
  optim::Adam optimizer(net.parameters(), {.lr = 0.01});
  distributed::Loader loader(points(), world, {.batch_size = 64, .shards = 8, .shuffle = true});
  for (int epoch = 0; epoch < 5; ++epoch) {
    double loss = 0;
    for (distributed::Batch& batch : loader) {
      for (distributed::Part& part : ddp.parts(batch)) {
        ddp.backward(cross_entropy(ddp(part.x), part.y), part);
      }
      loss = ddp.finish();
      optimizer.step();
      optimizer.zero_grad();
    }
    if (world.rank() == 0) std::printf("epoch %d: loss of the last batch %.4f\n", epoch, loss);
  }
  if (world.rank() == 0) std::fprintf(stderr, "%s\n", state_sha256(net.state_dict()).c_str());
}
