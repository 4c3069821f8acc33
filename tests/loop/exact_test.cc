// A small CNN (batch norm, dropout, augmentation) and a small GPT (token file) give the same bits:
// twice, with other threads and workers, and resumed after kills; with accumulation, clipping, an
// average, a schedule that follows a metric, and early stopping on. Both checkpoints are compared
// (weights, optimizer, average, counters), and metrics.csv.
#include <sys/wait.h>

#include <csignal>

#include "tests/loop/run_folder.h"
#include "trainer/data/datasets.h"
#include "trainer/data/token_file.h"
#include "trainer/data/transforms.h"
#include "trainer/loop/trainer.h"
#include "trainer/nn/layers.h"
#include "trainer/nn/models/gpt.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/lr/lr_plateau.h"
#include "trainer/optim/sgd.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"

namespace wick::loop {
namespace {

struct How {
  std::string out = {};
  int threads = 1, workers = 0;
  uint64_t seed = 7;
  bool resume = false;
  std::function<void(int64_t)> on_step = {};
};
using Train = FitResult (*)(const How&);

FitOptions options_of(const How& how, optim::AveragedModel* average) {
  FitOptions o;
  o.epochs = 4;
  o.out = how.out;
  o.resume = how.resume;
  o.save_every_steps = 1;
  o.accumulation_steps = 3;
  o.clip_grad_norm = 0.5;
  o.patience = 3;
  o.average = average;
  o.handle_interrupt = false;
  o.on_step = how.on_step;
  return o;
}

// 90 colour images in batches of 8, three a step: 8 + 8 + 8, ..., and a last group of 8 + 8 + 2.
FitResult train_cnn(const How& how) {
  set_num_threads(how.threads);
  manual_seed(how.seed);
  Generator g{1, 0};
  const Tensor x = randn({90, 3, 8, 8}, DType::kF32, g);
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 90; ++i) labels.push_back(i % 3);
  auto images = std::make_shared<data::TensorDataset>(std::vector<Tensor>{x, tensor(labels)});
  auto augmented = std::make_shared<data::TransformedDataset>(
      images,
      data::transforms::Compose{data::transforms::RandomCrop(8, 1),
                                data::transforms::RandomHorizontalFlip()},
      how.seed);
  auto make = [] {
    return std::make_shared<nn::Sequential>(nn::Conv2d(3, 6, 3), nn::BatchNorm2d(6), nn::ReLU(),
                                            nn::Conv2d(6, 8, 3), nn::BatchNorm2d(8), nn::ReLU(),
                                            nn::Flatten(), nn::Dropout(0.25), nn::Linear(128, 3));
  };
  auto model = make();
  const Generator weights_drawn = default_generator();
  optim::AveragedModel average(*model, make(), optim::ema_avg_fn(0.8), true);
  default_generator() = weights_drawn;
  optim::SGD optimizer(model->parameters(), {.lr = 0.05, .momentum = 0.9, .weight_decay = 1e-3});
  optim::ReduceLROnPlateau schedule(optimizer, {.factor = 0.5, .patience = 0, .threshold = 0.05});
  data::DataLoader loader(
      augmented, {.batch_size = 8, .shuffle = true, .seed = how.seed, .workers = how.workers});
  data::DataLoader check(images, {.batch_size = 32, .workers = how.workers});
  Trainer trainer(
      *model, optimizer, [](const Tensor& a, const Tensor& b) { return cross_entropy(a, b); },
      &schedule);
  return trainer.fit(loader, &check, options_of(how, &average));
}

// Windows of 12 tokens of a file made up: x [B, T] and y [B, T] against logits [B, T, V].
FitResult train_gpt(const How& how) {
  set_num_threads(how.threads);
  manual_seed(how.seed);
  const std::string path = how.out + ".tokens";
  if (!std::filesystem::exists(path)) {
    std::ofstream file(path, std::ios::binary);
    uint32_t state = 1;
    for (int i = 0; i < 1000; ++i) {
      state = state * 1664525u + 1013904223u;
      file << static_cast<char>((i * i / 7 + (state >> 31)) % 17) << '\0';
    }
  }
  auto tokens = std::make_shared<data::TokenFile>(path);
  auto windows = std::make_shared<data::TokenDataset>(tokens, 12, 12, 17);
  auto make = [] {
    return std::make_shared<nn::GPT>(nn::GptOptions{.vocab_size = 17,
                                                    .embed_dim = 16,
                                                    .num_layers = 2,
                                                    .num_heads = 2,
                                                    .max_seq_len = 12,
                                                    .dropout = 0.1,
                                                    .tie_weights = true});
  };
  auto model = make();
  const Generator weights_drawn = default_generator();
  optim::AveragedModel average(*model, make(), optim::ema_avg_fn(0.8));
  default_generator() = weights_drawn;
  optim::AdamW optimizer(model->parameters(), {.lr = 0.01, .weight_decay = 0.01});
  optim::ReduceLROnPlateau schedule(optimizer, {.factor = 0.5, .patience = 0, .threshold = 0.05});
  data::DataLoader loader(
      windows, {.batch_size = 7, .shuffle = true, .seed = how.seed, .workers = how.workers});
  data::DataLoader check(windows, {.batch_size = 40, .workers = how.workers});
  Trainer trainer(
      *model, optimizer,
      [](const Tensor& logits, const Tensor& target) {
        return cross_entropy(logits.reshape({-1, 17}), target.reshape({-1}));
      },
      &schedule);
  return trainer.fit(loader, &check, options_of(how, &average));
}

class Exact : public FolderTest, public ::testing::WithParamInterface<Train> {
 protected:
  std::map<std::string, std::string> run(const std::string& name, How how = {}) {
    how.out = in(name);
    last_ = GetParam()(how);
    return digests(how.out);
  }
  FitResult last_;
};

TEST_P(Exact, OneSeedGivesTheSameTwice) {
  const auto one = run("one");
  EXPECT_EQ(last_.epochs, 4);
  EXPECT_GT(last_.best_epoch, 0);
  EXPECT_EQ(run("two"), one);
  EXPECT_NE(run("three", {.seed = 8}), one);
}

TEST_P(Exact, ThreadsAndWorkersChangeNothing) {
  const auto one = run("one");
  EXPECT_EQ(run("threads", {.threads = 2}), one);
  EXPECT_EQ(run("workers", {.workers = 4}), one);
  EXPECT_EQ(run("both", {.threads = 2, .workers = 4}), one);
}

TEST_P(Exact, ResumedInMidEpochIsTheUnbrokenRun) {
  const auto whole = run("whole");
  const int64_t steps = last_.steps;
  for (const int64_t stop : {int64_t{1}, steps / 4, steps / 2 + 1, steps - 1}) {
    const std::string name = "resumed" + std::to_string(stop);
    const How broken{.on_step = [stop](int64_t step) {
      if (step == stop) throw Error("stop");
    }};
    EXPECT_THROW(GetParam()({.out = in(name), .on_step = broken.on_step}), Error);
    EXPECT_EQ(run(name, {.workers = 2, .resume = true}), whole) << stop;
  }
}

TEST_P(Exact, KilledAndResumedIsTheUnbrokenRun) {
  const auto whole = run("whole");
  for (const int64_t stop : {int64_t{2}, last_.steps - 2}) {
    const std::string name = "killed" + std::to_string(stop);
    set_num_threads(1);  // the child has no other threads
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      GetParam()({.out = in(name), .on_step = [stop](int64_t step) {
                    if (step == stop) std::raise(SIGKILL);
                  }});
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    EXPECT_EQ(run(name, {.threads = 2, .resume = true}), whole) << stop;
  }
}

INSTANTIATE_TEST_SUITE_P(Cnn, Exact, ::testing::Values(&train_cnn));
INSTANTIATE_TEST_SUITE_P(Gpt, Exact, ::testing::Values(&train_gpt));

}  // namespace
}  // namespace wick::loop
