// A bug that hangs elsewhere: rank 1 leaves out a collective, because it decides by its own data.
//   wick launch -n 3 --flights flights -- example_debug_a_hang
// Every rank ends with one report that names rank 1, both calls and their lines, and the flight
// recorders say where the ranks parted. `example_debug_a_hang fixed` has the decision in common.
#include <wick/distributed.h>
#include <wick/trainer.h>

#include <cstdio>
#include <cstring>

using namespace wick;  // NOLINT: an example

int main(int argc, char** argv) {
  const bool fixed = argc > 1 && std::strcmp(argv[1], "fixed") == 0;
  distributed::Group world = distributed::init({.timeout_s = 20});
  const Tensor weights = ones({1000});
  for (int step = 0; step < 5; ++step) {
    world.all_reduce(weights, {.op = distributed::ReduceOp::kMean, .name = "weights"});
    double error = world.rank() == 1 ? 0.5 : 2.0 - step;  // of this rank's own samples
    if (fixed) {
      const Tensor common = full({1}, error, DType::kF64);
      world.all_reduce(common, {.op = distributed::ReduceOp::kMax, .name = "error"});
      error = common.item();
    }
    // The bug: ranks must not decide alone whether they call a collective.
    if (error > 1) world.broadcast(weights, 0, {.name = "back to the best weights"});
  }
  world.barrier();
  if (world.rank() == 0) std::printf("no hang\n");
}
