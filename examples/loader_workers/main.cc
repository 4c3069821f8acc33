// Loading while computing: the same batches, in the same order, without and with four workers.
// Making an item waits 2 ms (for a disk or network), using a batch takes 8 ms.
#include <wick/trainer.h>

#include <chrono>
#include <cstdio>
#include <thread>

using namespace wick;

static void wait_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

struct Remote : data::Dataset {
  int64_t size() const override { return 240; }
  data::Item get(int64_t i) const override {
    wait_ms(2);
    return {full({4}, i), full({}, i % 10, DType::kI64)};
  }
};

struct Epoch {
  double seconds = 0;
  std::vector<int64_t> labels;
};

static Epoch run(int workers) {
  data::DataLoader loader(
      std::make_shared<Remote>(),
      {.batch_size = 8, .shuffle = true, .seed = 3, .workers = workers, .prefetch = 2});
  Epoch epoch;
  auto start = std::chrono::steady_clock::now();
  for (data::Batch& batch : loader) {
    for (int64_t label : batch[1].to_vector<int64_t>()) epoch.labels.push_back(label);
    wait_ms(8);  // forward, backward, step
  }
  epoch.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return epoch;
}

int main() {
  Epoch naive = run(0), workers = run(4);
  // Sequentially: 30 batches of 16 + 8 ms. Four workers make a batch every 4 ms.
  std::fprintf(stderr, "0 workers: %.2f s, 4 workers: %.2f s\n", naive.seconds, workers.seconds);
  std::printf("items an epoch: %zu\n", workers.labels.size());
  std::printf("the same batches: %s\n", naive.labels == workers.labels ? "yes" : "no");
  std::printf("workers overlap with computing: %s\n",
              workers.seconds < 0.8 * naive.seconds ? "yes" : "no");
}
