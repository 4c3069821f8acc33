// A language model on a memory-mapped token file: 128 MB, of which little is in memory. Tokens
// follow a rule (next = 3 * token + 1 mod 61), which a bigram model finds from a small part of the
// file.
#include <wick/trainer.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

using namespace wick;
namespace fs = std::filesystem;

struct Bigram : nn::Module {
  Tensor table = register_parameter("table", zeros({61, 61}));
  Tensor forward(const Arg& x) override { return index_select(table, 0, x); }
};

static int64_t resident_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::atoll(line.c_str() + 6);
  }
  return 0;
}

int main() {
  std::string file = (fs::temp_directory_path() / "wick_tokens_XXXXXX").string();
  close(mkstemp(file.data()));
  {
    std::ofstream out(file, std::ios::binary);
    std::vector<uint16_t> tokens(1 << 20);
    for (int part = 0; part < 64; ++part) {
      uint32_t t = static_cast<uint32_t>(part);
      for (uint16_t& token : tokens) token = static_cast<uint16_t>(t = (3 * t + 1) % 61);
      out.write(reinterpret_cast<const char*>(tokens.data()), 2 << 20);
    }
  }
  constexpr int64_t kContext = 32;
  auto tokens = std::make_shared<data::TokenFile>(file);
  auto windows = std::make_shared<data::TokenDataset>(tokens, kContext, 0, /*vocabulary=*/61);
  std::printf("tokens: %lld million, windows: %lld\n", static_cast<long long>(tokens->size() >> 20),
              static_cast<long long>(windows->size()));
  Bigram model;
  optim::SGD sgd(model.parameters(), {.lr = 30});
  // 200 batches from random places of the file: no epoch needs to end.
  auto some = std::make_shared<data::RandomSampler>(windows->size(), true, 200 * 32, /*seed=*/1);
  data::DataLoader loader(windows, {.batch_size = 32, .workers = 2, .sampler = some});
  int64_t before = resident_kb(), most = 0;
  double loss = 0;
  for (data::Batch& batch : loader) {
    sgd.zero_grad();
    Tensor logits = model(batch[0].reshape({32 * kContext}));
    Tensor l = cross_entropy(logits, batch[1].reshape({32 * kContext}));
    l.backward();
    sgd.step();
    loss = l.item();
    most = std::max(most, resident_kb() - before);
  }
  fs::remove(file);
  std::fprintf(stderr, "loss %.4f, memory %lld KB\n", loss, static_cast<long long>(most));
  std::printf("the rule is found (loss below 0.05, chance 4.11): %s\n", loss < 0.05 ? "yes" : "no");
  std::printf("memory for the file below 50 MB: %s\n", most < 50 * 1024 ? "yes" : "no");
}
