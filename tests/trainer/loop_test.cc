// The loop on a small problem: the same bits with any number of threads, and across a kill and a
// resume.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "trainer/loop/trainer.h"
#include "trainer/nn/layers.h"
#include "trainer/optim/sgd.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/philox.h"

namespace wick::loop {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  int threads = 1, workers = 0;
  std::string out;
  bool resume = false;
  int64_t kill_at = 0, interrupt_at = 0;
};

// Two classes told apart by the sign of a sum; dropout, so that the generator's place matters.
FitResult train(const RunOptions& s) {
  set_num_threads(s.threads);
  manual_seed(11);
  Tensor x = randn({203, 1, 8, 8});
  std::vector<int64_t> labels;
  for (int i = 0; i < 203; ++i) {
    float sum = 0;
    for (int k = 0; k < 64; ++k) sum += x.data<float>()[i * 64 + k];
    labels.push_back(sum > 0);
  }
  auto dataset = std::make_shared<data::TensorDataset>(std::vector<Tensor>{x, tensor(labels)});
  nn::Sequential model(nn::Conv2d(1, 4, 3), nn::BatchNorm2d(4), nn::ReLU(), nn::Flatten(),
                       nn::Dropout(0.2), nn::Linear(144, 2));
  optim::SgdOptions sgd;
  sgd.lr = 0.05;
  sgd.momentum = 0.9;
  optim::SGD optimizer(model.parameters(), sgd);
  data::LoaderOptions reading;
  reading.batch_size = 16;
  reading.shuffle = true;
  reading.seed = 3;
  reading.workers = s.workers;
  data::DataLoader loader(dataset, reading);
  data::LoaderOptions checking;
  checking.batch_size = 50;
  data::DataLoader check(dataset, checking);
  optim::CosineAnnealingLR schedule(optimizer, 6 * loader.batches());
  Trainer trainer(
      model, optimizer, [](const Tensor& a, const Tensor& b) { return cross_entropy(a, b); },
      &schedule);
  FitOptions options;
  options.epochs = 6;
  options.out = s.out;
  options.resume = s.resume;
  options.save_every_steps = s.out.empty() ? 0 : 5;
  options.on_step = [&s](int64_t step) {
    if (step == s.kill_at) std::raise(SIGKILL);
    if (step == s.interrupt_at) std::raise(SIGINT);
  };
  return trainer.fit(loader, &check, options);
}

class TrainLoop : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "wick_loop_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    fs::remove_all(folder_);
    set_num_threads(1);
  }
  std::vector<std::string> epochs_logged() const {  // the lines' first five columns
    std::ifstream in(folder_ + "/metrics.csv");
    std::vector<std::string> rows;
    for (std::string row; std::getline(in, row);) {
      size_t at = 0;
      for (int comma = 0; comma < 5; ++comma) at = row.find(',', at) + 1;
      rows.push_back(row.substr(0, at));
    }
    return rows;
  }
  std::string folder_;
};

TEST_F(TrainLoop, LearnsAndRepeatsToTheBit) {
  FitResult one = train({});
  EXPECT_GT(one.best_accuracy, 0.85);
  EXPECT_EQ(one.steps, 6 * 13);
  EXPECT_EQ(train({}).weights_sha256, one.weights_sha256);
  RunOptions two;
  two.threads = 2;
  two.workers = 3;
  EXPECT_EQ(train(two).weights_sha256, one.weights_sha256);
}

TEST_F(TrainLoop, KilledInMidEpochAndResumed) {
  FitResult whole = train({});
  RunOptions s;
  s.out = folder_;
  s.kill_at = 33;  // three steps after a save, seven into an epoch
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    train(s);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  s.kill_at = 0;
  s.resume = true;
  FitResult resumed = train(s);
  EXPECT_EQ(resumed.weights_sha256, whole.weights_sha256);
  EXPECT_EQ(resumed.train_loss, whole.train_loss);
  EXPECT_EQ(resumed.best_epoch, whole.best_epoch);
  EXPECT_EQ(epochs_logged().size(), 7u);  // header and six epochs, none twice
}

TEST_F(TrainLoop, InterruptSavesAndGoesOn) {
  FitResult whole = train({});
  RunOptions s;
  s.out = folder_;
  s.interrupt_at = 20;  // seen after the next step
  FitResult first = train(s);
  EXPECT_TRUE(first.interrupted);
  EXPECT_EQ(first.steps, 21);
  s.interrupt_at = 0;
  s.resume = true;
  EXPECT_EQ(train(s).weights_sha256, whole.weights_sha256);
}

TEST_F(TrainLoop, FinishedRunResumedIsMeasuredAgain) {
  RunOptions s;
  s.out = folder_;
  FitResult whole = train(s);
  s.resume = true;
  FitResult again = train(s);
  EXPECT_EQ(again.steps, whole.steps);
  EXPECT_EQ(again.validation.items, 203);
  EXPECT_EQ(again.validation.accuracy, whole.validation.accuracy);
  EXPECT_EQ(again.validation.loss, whole.validation.loss);
  EXPECT_EQ(again.weights_sha256, whole.weights_sha256);
  EXPECT_EQ(epochs_logged().size(), 7u);
}

TEST_F(TrainLoop, NothingToResumeSaysSo) {
  RunOptions s;
  s.out = folder_;
  s.resume = true;
  try {
    train(s);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("nothing to resume"));
  }
}

}  // namespace
}  // namespace wick::loop
