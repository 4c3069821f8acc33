// Trains a GPT whose layers lie on several ranks, one stage each, through which eight micro-batches
// go one after the other. Prints the same numbers for any number of stages:
//   example_pipeline_gpt
//   wick launch -n 3 -- example_pipeline_gpt
// Each rank says its bubble on stderr.
#include <wick/distributed.h>
#include <wick/trainer.h>

#include <cstdio>

using namespace wick;  // NOLINT: an example

int main() {
  distributed::Group world = distributed::init();
  manual_seed(0);
  nn::GPT gpt({.vocab_size = 10,
               .embed_dim = 32,
               .num_layers = 4,
               .num_heads = 4,
               .max_seq_len = 12,
               .dropout = 0.05});
  nn::Sequential layers = distributed::gpt_layers(gpt);
  distributed::Mesh mesh({{"data", 1}, {"pipe", world.size()}}, world);
  auto stage = distributed::take_stage(layers, mesh.axis("pipe"));
  distributed::Pipeline pipe(*stage, mesh.axis("pipe"), mesh.axis("data"),
                             {.shards = 8, .checkpoint = true});
  optim::Adam optimizer(stage->parameters(), {.lr = 0.005});
  Generator g{1, 0};
  // Runs of numbers that count up from a random one.
  const Tensor start = randint(0, 10, {32, 1}, g), place = arange(13).unsqueeze(0);
  const Tensor texts = remainder(start + place, 10);
  const data::Batch batch = {texts.narrow(1, 0, 12).contiguous(),
                             texts.narrow(1, 1, 12).contiguous()};
  for (int step = 0; step < 20; ++step) {
    const double loss = pipe.step(batch, [](const Tensor& y, distributed::Part& p) {
      return cross_entropy(y.flatten(0, 1), p.y.flatten());
    });
    optimizer.step();
    optimizer.zero_grad();
    if (world.rank() == 0 && step % 5 == 4) std::printf("step %d: loss %.4f\n", step + 1, loss);
  }
  std::fprintf(stderr, "stage %d: %s\n", world.rank(), pipe.report().text().c_str());
  const nn::NamedTensors state =
      distributed::gpt_state(distributed::gather_states(mesh.axis("pipe"), stage->state_dict()));
  if (world.rank() == 0) std::fprintf(stderr, "%s\n", state_sha256(state).c_str());
}
