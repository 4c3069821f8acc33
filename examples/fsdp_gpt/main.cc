// Trains a small GPT whose parameters, gradients and optimizer state are cut over the ranks
// (ZeRO-3), clips by the norm of all gradients, and prints the same numbers for any number of
// ranks:
//   example_fsdp_gpt
//   wick launch -n 3 -- example_fsdp_gpt
// A checkpoint in the middle is read again at once, as a job that was started again would.
#include <wick/distributed.h>
#include <wick/trainer.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

using namespace wick;  // NOLINT: an example

// Texts of 16 letters in which every one follows from the two before it, and the letters behind.
static std::shared_ptr<data::TensorDataset> texts() {
  Generator g{1, 0};
  std::vector<int64_t> all;
  for (int text = 0; text < 192; ++text) {
    const std::vector<int64_t> start = randint(0, 12, {2}, g).to_vector<int64_t>();
    std::vector<int64_t> letters = start;
    while (letters.size() < 17)
      letters.push_back((letters.back() + 2 * letters[letters.size() - 2] + 1) % 12);
    all.insert(all.end(), letters.begin(), letters.end());
  }
  const Tensor t = from_blob(all.data(), Shape{192, 17}, DType::kI64);
  return std::make_shared<data::TensorDataset>(
      std::vector<Tensor>{t.narrow(1, 0, 16).contiguous(), t.narrow(1, 1, 16).contiguous()});
}

// Rank 0 makes a folder whose name nobody can guess, and tells the others.
static std::string made_folder(distributed::Group& world) {
  std::string folder = (std::filesystem::temp_directory_path() / "wick_fsdp_gpt_XXXXXX").string();
  if (world.rank() == 0 && mkdtemp(folder.data()) == nullptr)
    throw Error("cannot make the folder " + folder);
  const Tensor name =
      from_blob(folder.data(), Shape{static_cast<int64_t>(folder.size())}, DType::kU8).clone();
  world.broadcast(name);
  const auto letters = name.to_vector<uint8_t>();
  return {letters.begin(), letters.end()};
}

int main() {
  distributed::Group world = distributed::init();
  manual_seed(0);
  nn::GPT gpt({.vocab_size = 12,
               .embed_dim = 32,
               .num_layers = 2,
               .num_heads = 4,
               .max_seq_len = 16,
               .dropout = 0.05});
  distributed::FullyShard fs(gpt, world, {.shards = 8, .stage = 3});
  optim::AdamW optimizer(fs.segments(), {.lr = 0.01});
  distributed::Loader loader(texts(), world, {.batch_size = 48, .shards = 8, .shuffle = true});
  const std::string made = made_folder(world), folder = made + "/checkpoint";
  for (int epoch = 0; epoch < 8; ++epoch) {
    double loss = 0, norm = 0;
    for (distributed::Batch& batch : loader) {
      loss = fs.step(batch, [&](distributed::Part& p) {
        return cross_entropy(fs(p.x).flatten(0, 1), p.y.flatten());
      });
      norm = fs.clip_grad_norm(1);
      optimizer.step();
      optimizer.zero_grad();
    }
    if (world.rank() == 0) std::printf("epoch %d: loss %.4f, norm %.4f\n", epoch, loss, norm);
    if (epoch != 3) continue;
    fs.save(folder, optimizer, {{"epoch", "4"}});
    const distributed::Notes notes = fs.load(folder, optimizer);
    if (world.rank() == 0) {
      std::printf("goes on with epoch %s\n", notes.at("epoch").c_str());
      std::filesystem::remove_all(made);
    }
  }
  const std::string digest = state_sha256(fs.state_dict());
  if (world.rank() == 0) std::fprintf(stderr, "%s\n", digest.c_str());
}
