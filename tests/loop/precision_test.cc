// Mixed precision in the training loop: a small CNN (batch norm, dropout) under bfloat16 and
// float16, with accumulation, clipping, an average and early stopping on.
#include <cmath>
#include <cstdio>
#include <limits>

#include "tests/loop/run_folder.h"
#include "trainer/data/datasets.h"
#include "trainer/loop/trainer.h"
#include "trainer/nn/layers.h"
#include "trainer/optim/sgd.h"
#include "trainer/tensor/autocast.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"

namespace wick::loop {
namespace {

using test::error_of;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

Tensor entropy(const Tensor& a, const Tensor& b) { return cross_entropy(a, b); }

// 90 images of three classes, each with a bright quarter of its own under noise.
struct Images {
  Tensor x, y;
  Images() {
    Generator g{1, 0};
    x = randn({90, 1, 8, 8}, DType::kF32, g) * 0.5;
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < 90; ++i) {
      labels.push_back(i % 3);
      Tensor quarter = x.select(0, i).select(0, 0).slice(0, 4 * (i % 3 / 2), 4 * (i % 3 / 2) + 4);
      quarter.slice(1, 4 * (i % 3 % 2), 4 * (i % 3 % 2) + 4).add_(1.0);
    }
    y = tensor(labels);
  }
};

struct Training {
  optim::AmpOptions amp = {};
  int threads = 1, workers = 0;
  Loss loss = entropy;
  std::shared_ptr<Images> images = std::make_shared<Images>();
  FitOptions options = [] {
    FitOptions o;
    o.epochs = 4;
    o.save_every_steps = 1;
    o.accumulation_steps = 3;
    o.clip_grad_norm = 1;
    o.patience = 4;
    o.handle_interrupt = false;
    return o;
  }();
  bool averages = true;
  double lr = 0.1, gamma = 0.95;  // per step
  double last_lr = 0, val_loss = 0, val_loss_wide = 0;

  FitResult operator()() {
    set_num_threads(threads);
    manual_seed(7);
    auto data = std::make_shared<data::TensorDataset>(std::vector<Tensor>{images->x, images->y});
    auto make = [] {
      return std::make_shared<nn::Sequential>(nn::Conv2d(1, 6, 3), nn::BatchNorm2d(6), nn::ReLU(),
                                              nn::MaxPool2d(2), nn::Flatten(), nn::Dropout(0.1),
                                              nn::Linear(54, 3));
    };
    auto model = make();
    const Generator drawn = default_generator();
    optim::AveragedModel average(*model, make(), optim::ema_avg_fn(0.8), true);
    default_generator() = drawn;
    optim::SGD optimizer(model->parameters(), {.lr = lr, .momentum = 0.9});
    optim::ExponentialLR schedule(optimizer, gamma);
    data::DataLoader loader(data,
                            {.batch_size = 8, .shuffle = true, .seed = 7, .workers = workers});
    data::DataLoader check(data, {.batch_size = 32});
    Trainer trainer(*model, optimizer, loss, &schedule);
    options.amp = amp;
    options.average = averages ? &average : nullptr;
    const FitResult r = trainer.fit(loader, &check, options);
    last_lr = optimizer.lr();
    if (!averages) {
      check.seek({0, 0});
      val_loss_wide = trainer.evaluate(check).loss;
      check.seek({0, 0});
      AutocastScope scope(amp.autocast);
      val_loss = trainer.evaluate(check).loss;
    }
    for (const Tensor& p : model->parameters()) EXPECT_EQ(p.dtype(), DType::kF32);
    return r;
  }
};

// float16 begins with a scale at which gradients overflow, and grows often.
optim::AmpOptions amp_of(DType t) {
  return {.autocast = t, .scaler = {.init_scale = 0x1p20, .growth_interval = 3}};
}

class Precision : public FolderTest, public ::testing::WithParamInterface<DType> {
 protected:
  std::map<std::string, std::string> run(const std::string& name, Training r = {}) {
    r.amp = amp_of(GetParam());
    r.options.out = in(name);
    last_ = r();
    return digests(in(name));
  }
  FitResult last_;
};

TEST_P(Precision, LearnsWhatFloat32Learns) {
  Training wide, narrow;
  narrow.amp = {.autocast = GetParam()};
  wide.averages = narrow.averages = false;
  const FitResult a = wide(), b = narrow();
  EXPECT_NE(a.weights_sha256, b.weights_sha256);
  EXPECT_GT(a.validation.accuracy, 0.9);
  EXPECT_GT(b.validation.accuracy, 0.9);
  EXPECT_NEAR(a.validation.loss, b.validation.loss, 0.05);
  EXPECT_EQ(b.steps, 4 * 4);
  // The validation computes as the training does.
  EXPECT_EQ(narrow.val_loss, b.validation.loss);
  EXPECT_NE(narrow.val_loss_wide, b.validation.loss);
}

TEST_P(Precision, ResumedInMidEpochIsTheUnbrokenRun) {
  const auto whole = run("whole");
  const int64_t steps = last_.steps, skipped = last_.skipped_steps;
  const std::string& state = whole.at("last.safetensors state");
  EXPECT_THAT(state, HasSubstr("autocast"));
  if (GetParam() == DType::kF16) {
    EXPECT_GT(skipped, 1);
    EXPECT_LT(skipped, steps / 2);
    EXPECT_THAT(state, HasSubstr("_growth_tracker"));
  } else {
    EXPECT_EQ(skipped, 0);
    EXPECT_THAT(state, Not(HasSubstr("scaler")));
  }
  for (const int64_t stop : {int64_t{1}, int64_t{3}, steps / 2 + 1, steps - 1}) {
    const std::string name = "resumed" + std::to_string(stop);
    Training broken;
    broken.options.on_step = [stop](int64_t step) {
      if (step == stop) throw Error("stop");
    };
    EXPECT_THAT(error_of([&] { run(name, broken); }), HasSubstr("stop"));
    Training rest;
    rest.workers = 2;
    rest.options.resume = true;
    EXPECT_EQ(run(name, rest), whole) << stop;
    EXPECT_EQ(last_.skipped_steps, skipped);
  }
}

TEST_P(Precision, ThreadsChangeNothing) {
  const auto one = run("one");
  Training two;
  two.threads = 2;
  EXPECT_EQ(run("two", two), one);
}

TEST_P(Precision, AResumeInAnotherIsRefused) {
  Training r;
  r.options.out = folder_;
  r.options.epochs = 1;
  r();
  const std::string old = digests(folder_)["last.safetensors state"];
  EXPECT_THAT(old, AllOf(Not(HasSubstr("autocast")), Not(HasSubstr("scaler"))))
      << "as before there was the choice";
  r.options.resume = true;
  r.options.epochs = 2;
  r.amp = amp_of(GetParam());
  EXPECT_THAT(error_of([&] { r(); }), HasSubstr("trained differently"));
  r.amp = {};
  EXPECT_EQ(r().epochs, 2);
}

INSTANTIATE_TEST_SUITE_P(BFloat16, Precision, ::testing::Values(DType::kBF16));
INSTANTIATE_TEST_SUITE_P(Float16, Precision, ::testing::Values(DType::kF16));

class LossScale : public FolderTest {};

TEST_F(LossScale, ASkippedStepIsNoStepOfTheSchedule) {
  Training r;
  r.amp = amp_of(DType::kF16);
  const FitResult f = r();
  EXPECT_GT(f.skipped_steps, 1);
  EXPECT_NEAR(r.last_lr, 0.1 * std::pow(0.95, static_cast<double>(f.steps - f.skipped_steps)),
              1e-9);
}

TEST_F(LossScale, SkippedStepsAreSaid) {
  Training r;
  r.amp = amp_of(DType::kF16);
  std::FILE* said = std::tmpfile();
  ASSERT_NE(said, nullptr);
  r.options.progress = said;
  const FitResult f = r();
  std::rewind(said);
  std::string text;
  for (int c = 0; (c = std::fgetc(said)) != EOF;) text += static_cast<char>(c);
  std::fclose(said);
  EXPECT_THAT(text, ContainsRegex(std::to_string(f.skipped_steps) +
                                  " steps skipped in all, loss scale [0-9]+"));
}

TEST_F(LossScale, OneLostBatchIsSkippedAndLeftOutOfTheMean) {
  Training r;
  r.images->x.select(0, 17).fill_(std::numeric_limits<double>::quiet_NaN());
  r.options.accumulation_steps = 1;
  r.options.epochs = 1;
  r.averages = false;
  r.options.patience = 0;
  r.options.monitor = "train_loss";
  EXPECT_THAT(error_of([&] { r(); }), HasSubstr("the loss is "));
  r.amp = {.autocast = DType::kBF16};
  EXPECT_THAT(error_of([&] { r(); }), HasSubstr("the loss is "));
  r.amp = {.autocast = DType::kF16};
  const FitResult f = r();
  EXPECT_EQ(f.steps, 12);
  EXPECT_EQ(f.skipped_steps, 1);
  EXPECT_TRUE(std::isfinite(f.train_loss));
  EXPECT_GT(f.train_loss, 0);
}

TEST_F(LossScale, ALossThatStaysNaNIsAFault) {
  Training r;
  r.amp = {.autocast = DType::kF16};
  r.options.accumulation_steps = 1;
  r.options.out = folder_;
  int calls = 0;
  r.loss = [&calls](const Tensor& a, const Tensor& b) {
    const Tensor l = cross_entropy(a, b);
    return ++calls > 20 ? l * std::numeric_limits<double>::quiet_NaN() : l;
  };
  // 12 steps and 3 batches of validation an epoch.
  EXPECT_THAT(error_of([&] { r(); }),
              AllOf(ContainsRegex("the loss is -?nan at epoch 2, step 22 "),
                    HasSubstr("and was not finite in the 4 steps before, which were skipped"),
                    ContainsRegex("The batch was items [0-9]+, ")));
  // Resumes from the checkpoint, without the fault.
  calls = -10000;
  r.options.resume = true;
  const FitResult f = r();
  EXPECT_EQ(f.epochs, 4);
  EXPECT_EQ(f.skipped_steps, 4);
  EXPECT_GT(f.train_accuracy, 0.8);
}

TEST_F(LossScale, AnEpochWithoutAFiniteLossIsAFault) {
  Training r;
  r.amp = {.autocast = DType::kF16};
  r.loss = [](const Tensor& a, const Tensor& b) {
    return cross_entropy(a, b) * std::numeric_limits<double>::infinity();
  };  // four steps an epoch: fewer than kLostSteps
  EXPECT_THAT(error_of([&] { r(); }), HasSubstr("no loss of epoch 1 was finite"));
}

TEST_F(LossScale, GradientsThatNoScaleMakesFiniteAreAFault) {
  Training r;
  r.amp = {.autocast = DType::kF16, .scaler = {.init_scale = 0x1p-20}};
  r.options.epochs = 10;
  r.options.patience = 0;
  // Its slope is infinite at 0, and that times 0 NaN.
  r.loss = [](const Tensor& a, const Tensor& b) {
    return cross_entropy(a, b) + sqrt(sum(a * 0.0));
  };
  EXPECT_THAT(error_of([&] { r(); }),
              AllOf(HasSubstr("the gradients are not finite at epoch 2, step 5"),
                    HasSubstr("5 steps were skipped")));
}

TEST_F(LossScale, OtherDTypesAreRefused) {
  Training r;
  r.amp = {.autocast = DType::kF64};
  EXPECT_THAT(error_of([&] { r(); }), HasSubstr("autocast"));
}

// A scope around the loop, without a scale, stays what it is to the optimizer: refused.
TEST_F(LossScale, AForeignFloat16ScopeIsRefused) {
  Training r;
  AutocastScope scope(DType::kF16);
  EXPECT_THAT(error_of([&] { r(); }), HasSubstr("GradScaler"));
}

}  // namespace
}  // namespace wick::loop
