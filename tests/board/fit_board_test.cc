// fit() writes this for TensorBoard: the numbers of metrics.csv, over the steps.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/board/event_reader.h"
#include "tests/loop/run_folder.h"
#include "trainer/loop/trainer.h"
#include "trainer/nn/layers.h"
#include "trainer/nn/loss.h"
#include "trainer/optim/sgd.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"

namespace wick::loop {
namespace {

using test::error_of;
using test::event_files;
using test::events_of;
using test::Fields;
using test::series;
using test::value_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;

class FitBoards : public FolderTest {};

// 20 points of three classes in batches of 4, five steps an epoch.
FitResult classify(FitOptions options, double lr = 0.1) {
  manual_seed(3);
  nn::Sequential model(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 3));
  optim::SGD optimizer(model.parameters(), {.lr = lr, .momentum = 0.9});
  Generator g{5, 0};
  const Tensor x = randn({20, 4}, DType::kF32, g);
  auto points = std::make_shared<data::TensorDataset>(std::vector<Tensor>{x, argmax(x, 1) % 3});
  data::DataLoader train(points, {.batch_size = 4, .shuffle = true, .seed = 2});
  data::DataLoader check(points, {.batch_size = 10});
  optim::StepLR schedule(optimizer, 3, 0.5);
  Trainer trainer(
      model, optimizer, [](const Tensor& a, const Tensor& b) { return cross_entropy(a, b); },
      &schedule);
  options.handle_interrupt = false;
  options.metrics["one"] = [](const Tensor&, const Tensor&) { return 1.0; };
  return trainer.fit(train, &check, options);
}

TEST_F(FitBoards, EpochsAndStepsAreWritten) {
  std::vector<EpochMetrics> epochs;
  const FitResult r = classify({.epochs = 3,
                                .on_epoch = [&](const EpochMetrics& m) { epochs.push_back(m); },
                                .tensorboard = {.folder = in("board"), .every_steps = 2}});
  const std::vector<Fields> events = events_of(in("board"));
  EXPECT_EQ(events[0].message(7).integer(1), 1);  // what was there before is forgotten
  EXPECT_EQ(events[0].integer(2), 0);
  auto expect = [&](const char* tag, auto of) {
    std::map<int64_t, float> want;
    for (const EpochMetrics& m : epochs) want[m.step] = static_cast<float>(of(m));
    EXPECT_EQ(series(events, tag), want) << tag;
  };
  ASSERT_EQ(epochs.size(), 3u);
  EXPECT_EQ(epochs[2].step, 15);
  expect("epoch", [](const EpochMetrics& m) { return static_cast<double>(m.epoch); });
  expect("lr", [](const EpochMetrics& m) { return m.lr; });
  expect("loss/train", [](const EpochMetrics& m) { return m.train_loss; });
  expect("loss/val", [](const EpochMetrics& m) { return m.val_loss; });
  expect("accuracy/train", [](const EpochMetrics& m) { return m.train_accuracy; });
  expect("accuracy/val", [](const EpochMetrics& m) { return m.val_accuracy; });
  expect("metric/one", [](const EpochMetrics&) { return 1.0; });
  expect("items_per_second", [](const EpochMetrics& m) { return m.items_per_second; });
  EXPECT_THAT(series(events, "step/loss"),
              ElementsAre(Key(2), Key(4), Key(6), Key(8), Key(10), Key(12), Key(14)));
  // The rate that a step was made with: a half after each third step.
  std::map<int64_t, float> rates;
  for (int64_t step = 2; step <= 14; step += 2) {
    rates[step] = static_cast<float>(0.1 * std::pow(0.5, (step - 1) / 3));
  }
  EXPECT_EQ(series(events, "step/lr"), rates);
  // A watcher: the weights are those of a run that nobody watches.
  EXPECT_EQ(classify({.epochs = 3}).weights_sha256, r.weights_sha256);
}

// Every step's loss: their mean is the epoch's, for any number of batches in one step.
TEST_F(FitBoards, StepsHaveTheMeanOfTheirItems) {
  for (int64_t k : {1, 2, 5}) {
    const std::string folder = in("k" + std::to_string(k));
    const FitResult r =
        classify({.accumulation_steps = k, .tensorboard = {.folder = folder, .every_steps = 1}}, 0);
    double mean = 0;
    for (const auto& [step, loss] : series(events_of(folder), "step/loss")) {
      mean += loss * static_cast<double>(std::min<int64_t>(k, 5 - (step - 1) * k)) / 5;
    }
    EXPECT_NEAR(mean, r.train_loss, 1e-6) << k;
  }
}

TEST_F(FitBoards, HistogramsOfWeightsAndGradients) {
  classify(
      {.epochs = 2, .tensorboard = {.folder = in("board"), .every_steps = 0, .histograms = true}});
  std::map<std::string, double> elements;
  for (const Fields& e : events_of(in("board"))) {
    if (e.has(5) && value_of(e).has(5) && e.integer(2) == 10) {
      elements[value_of(e).text(1)] = value_of(e).message(5).real(3);
    }
  }
  EXPECT_EQ(elements, (std::map<std::string, double>{{"weights/0.weight", 32},
                                                     {"weights/0.bias", 8},
                                                     {"weights/2.weight", 24},
                                                     {"weights/2.bias", 3},
                                                     {"gradients/0.weight", 32},
                                                     {"gradients/0.bias", 8},
                                                     {"gradients/2.weight", 24},
                                                     {"gradients/2.bias", 3}}));
  EXPECT_THAT(series(events_of(in("board")), "step/loss"), IsEmpty());
}

// A run that ends in its middle and goes on: TensorBoard forgets what is trained again, and all
// that the checkpoint counts was flushed before it.
TEST_F(FitBoards, AResumedRunTakesTheSteps) {
  FitOptions o{.epochs = 2, .out = in("run"), .save_every_steps = 3};
  o.tensorboard = {.folder = in("board"), .every_steps = 1};
  o.on_step = [&](int64_t step) {
    if (step != 8) return;
    // As a kill at this place would leave it: only what is in the file.
    std::filesystem::create_directory(in("killed"));
    std::filesystem::copy(event_files(in("board"))[0], in("killed"));
    throw Error("stop");
  };
  EXPECT_EQ(error_of([&] { classify(o); }), "stop");
  const auto killed = series(events_of(in("killed")), "step/loss");
  EXPECT_EQ(killed.size(), 6u);  // the last checkpoint's step
  o.on_step = nullptr;
  o.resume = true;
  o.tensorboard.folder = in("resumed");
  classify(o);
  const std::vector<Fields> events = events_of(in("resumed"));
  EXPECT_EQ(events[0].integer(2), 7);
  EXPECT_EQ(events[0].message(7).integer(1), 1);
  auto whole = killed;
  whole.merge(series(events, "step/loss"));
  classify({.epochs = 2, .tensorboard = {.folder = in("unbroken"), .every_steps = 1}});
  EXPECT_EQ(whole, series(events_of(in("unbroken")), "step/loss"));
}

TEST_F(FitBoards, AFolderThatCannotBeWrittenCostsNoEarlierRun) {
  FitOptions o{.epochs = 1, .out = in("run")};
  classify(o);
  std::ofstream(in("file")) << "";
  o.tensorboard.folder = in("file/board");
  EXPECT_THAT(error_of([&] { classify(o); }), HasSubstr("[tensorboard] cannot make the folder "));
  EXPECT_TRUE(std::filesystem::exists(in("run/last.safetensors")));
  o.tensorboard = {.folder = in("board"), .every_steps = -1};
  EXPECT_THAT(error_of([&] { classify(o); }),
              HasSubstr("tensorboard.every_steps must be finite and at least 0"));
  EXPECT_FALSE(std::filesystem::exists(in("board")));
}

}  // namespace
}  // namespace wick::loop
