// The options of fit(): accumulation, clipping, early stopping, averages, metrics, streams, losses
// without classes.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/loop/run_folder.h"
#include "trainer/data/iterable.h"
#include "trainer/loop/trainer.h"
#include "trainer/loop/verdict.h"
#include "trainer/nn/layers.h"
#include "trainer/nn/loss.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/sgd.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"

namespace wick::loop {
namespace {

using test::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Fit : public FolderTest {};

Loss mse() {
  return [](const Tensor& a, const Tensor& b) { return mse_loss(a, b); };
}
std::shared_ptr<data::TensorDataset> points(int64_t n, DType dtype = DType::kF32) {
  Generator g{5, 0};
  Tensor x = randn({n, 4}, dtype, g);
  return std::make_shared<data::TensorDataset>(
      std::vector<Tensor>{x, sum(x * x, {1}, true) + x * 0.5});
}

// Two layers trained by SGD with momentum on 22 points.
struct Trained {
  nn::NamedTensors weights;
  FitResult fit;
};
Trained train(DType dtype, int64_t batch, FitOptions options) {
  manual_seed(3);
  nn::Sequential model(nn::Linear(4, 8), nn::Tanh(), nn::Linear(8, 4));
  model.to(dtype);
  optim::SGD optimizer(model.parameters(), {.lr = 0.05, .momentum = 0.9});
  data::DataLoader loader(points(22, dtype), {.batch_size = batch, .shuffle = true, .seed = 2});
  optim::StepLR schedule(optimizer, 3, 0.5);
  Trainer trainer(model, optimizer, mse(), &schedule);
  Trained t;
  options.handle_interrupt = false;
  t.fit = trainer.fit(loader, nullptr, options);
  for (const auto& [name, w] : model.state_dict()) t.weights.emplace_back(name, w.clone());
  return t;
}

// 22 = 2 * 8 + 6: the last group has batches of 2, 2, 2 where the large batch has 6; with batches
// of 4 it has 4 and 2.
TEST_F(Fit, AccumulationEqualsTheLargeBatch) {
  const Trained large = train(DType::kF64, 8, {.epochs = 4});
  EXPECT_EQ(large.fit.steps, 12);
  for (int64_t k : {2, 4}) {
    const Trained small = train(DType::kF64, 8 / k, {.epochs = 4, .accumulation_steps = k});
    EXPECT_EQ(small.fit.steps, 12);
    EXPECT_NEAR(small.fit.train_loss, large.fit.train_loss, 1e-12);
    for (size_t i = 0; i < large.weights.size(); ++i) {
      const Tensor a = large.weights[i].second, b = small.weights[i].second;
      EXPECT_LT((a - b).abs().max().item(), 1e-12) << k << " " << large.weights[i].first;
    }
  }
}

TEST_F(Fit, AccumulationIsResumedAtAShortGroup) {
  // 22 points in batches of 2, four a step: 4 + 4 + 3. The third step's save lies at the epoch's
  // end.
  FitOptions o{.epochs = 3, .out = folder_, .save_every_steps = 1, .accumulation_steps = 4};
  const Trained whole = train(DType::kF32, 2, o);
  EXPECT_EQ(whole.fit.steps, 9);
  for (int64_t stop : {2, 3, 4, 6}) {
    o.resume = false;
    o.on_step = [&](int64_t step) {
      if (step == stop) throw Error("stop");
    };
    EXPECT_EQ(error_of([&] { train(DType::kF32, 2, o); }), "stop");
    o.on_step = nullptr;
    o.resume = true;
    EXPECT_EQ(train(DType::kF32, 2, o).fit.weights_sha256, whole.fit.weights_sha256) << stop;
  }
  o.accumulation_steps = 2;
  EXPECT_THAT(error_of([&] { train(DType::kF32, 2, o); }),
              HasSubstr("trained differently: accumulation_steps is 4"));
}

TEST_F(Fit, ClipsByNormAndValue) {
  // One step without momentum: what the weights move by is lr * gradient.
  auto moved = [](FitOptions options) {
    manual_seed(3);
    nn::Sequential model(nn::Linear(4, 4));
    nn::NamedTensors before;
    for (const auto& [name, w] : model.state_dict()) before.emplace_back(name, w.clone());
    optim::SGD optimizer(model.parameters(), {.lr = 1});
    data::DataLoader loader(points(22), {.batch_size = 22});
    Trainer trainer(model, optimizer, mse());
    options.handle_interrupt = false;
    trainer.fit(loader, nullptr, options);
    double squares = 0, most = 0;
    size_t i = 0;
    for (const auto& [name, w] : model.state_dict()) {
      const Tensor d = w.detach() - before[i++].second;
      squares += (d * d).sum().item();
      most = std::max(most, static_cast<double>(d.abs().max().item()));
    }
    return std::pair{std::sqrt(squares), most};
  };
  const auto [norm, most] = moved({});
  EXPECT_GT(norm, 0.5);
  EXPECT_NEAR(moved({.clip_grad_norm = 0.125}).first, 0.125, 1e-5);
  EXPECT_NEAR(moved({.clip_grad_norm = 2 * norm}).first, norm, 1e-6);
  EXPECT_NEAR(moved({.clip_grad_value = 0.0625}).second, 0.0625, 1e-6);
  EXPECT_GT(most, 0.0625);
}

// A validation whose loss is told: the model's one weight is the epoch's number.
struct Told : nn::Module {
  Tensor w = register_parameter("w", zeros({1}));
  Tensor forward(const Arg& x) override { return x.tensor * 0 + w; }
};
struct Watched {
  FitResult fit;
  std::vector<EpochMetrics> epochs;
};
Watched watch(const std::vector<double>& values, FitOptions options) {
  Told model;
  optim::SGD optimizer(model.parameters(), {.lr = 0});
  auto data =
      std::make_shared<data::TensorDataset>(std::vector<Tensor>{ones({2, 1}), ones({2, 1})});
  data::DataLoader train(data, {.batch_size = 2}), check(data, {.batch_size = 2});
  Trainer trainer(model, optimizer, mse());
  Watched watched;
  options.handle_interrupt = false;
  options.metrics["score"] = [&](const Tensor&, const Tensor&) {
    return values.at(watched.epochs.size());
  };
  options.epochs = static_cast<int64_t>(values.size());
  options.monitor = "score";
  options.on_epoch = [&](const EpochMetrics& m) { watched.epochs.push_back(m); };
  watched.fit = trainer.fit(train, &check, options);
  return watched;
}

TEST_F(Fit, StopsEarly) {
  const double nan = std::nan("");
  Watched w = watch({5, 4, 4.5, 4.2, 3, 3}, {.patience = 2});
  EXPECT_TRUE(w.fit.stopped_early);
  EXPECT_EQ(w.fit.epochs, 4);
  EXPECT_EQ(w.fit.best_epoch, 2);
  EXPECT_EQ(w.fit.best_value, 4);
  w = watch({5, 4, 4.5, 3.9, 4, 4, 3}, {.patience = 3});
  EXPECT_FALSE(w.fit.stopped_early);
  EXPECT_EQ(w.fit.best_epoch, 7);
  // Gains of 0.1 are none by min_delta, though each is the best so far.
  w = watch({5, 4.9, 4.8, 4.7}, {.patience = 2, .min_delta = 0.15});
  EXPECT_EQ(w.fit.epochs, 4);
  EXPECT_FALSE(w.fit.stopped_early);
  w = watch({5, 4.9, 4.9, 4.7}, {.patience = 2, .min_delta = 0.15});
  EXPECT_EQ(w.fit.epochs, 3);
  EXPECT_EQ(w.fit.best_epoch, 2);
  w = watch({1, 2, 3, 2}, {.better = Better::kMore, .patience = 1});
  EXPECT_EQ(w.fit.best_epoch, 3);
  EXPECT_FALSE(w.fit.stopped_early);  // at the last epoch: there was nothing left to stop
  w = watch({nan, nan, 1}, {.patience = 2});
  EXPECT_EQ(w.fit.epochs, 2);
  EXPECT_EQ(w.fit.best_epoch, 0);
}

TEST_F(Fit, OwnMetricsAreKept) {
  Watched w = watch({3, 2.5}, {.out = folder_});
  EXPECT_EQ(w.epochs[1].own.at("score"), 2.5);
  EXPECT_FALSE(w.epochs[1].val_predicts);
  EXPECT_EQ(metrics_text(folder_),
            "epoch,step,lr,train_loss,train_accuracy,val_loss,val_accuracy,,score\n"
            "1,1,0,1,,1,,,3\n2,2,0,1,,1,,,2.5\n");
  std::ifstream in(folder_ + "/metrics.json");
  const auto doc = nlohmann::json::parse(in);
  EXPECT_EQ(doc["epochs"][1]["metrics"]["score"], 2.5);
  EXPECT_FALSE(doc["epochs"][1].contains("val_accuracy"));
}

// Targets that are numbers: no accuracy, the best epoch by the loss.
TEST_F(Fit, RegressionIsJudgedByItsLoss) {
  manual_seed(3);
  nn::Sequential model(nn::Linear(4, 4));
  optim::Adam optimizer(model.parameters(), {.lr = 0.05});
  data::DataLoader loader(points(40), {.batch_size = 8}), check(points(40), {.batch_size = 40});
  Trainer trainer(model, optimizer, mse());
  FitResult r = trainer.fit(loader, &check, {.epochs = 5, .out = folder_});
  EXPECT_EQ(r.validation.predictions, 0);
  EXPECT_EQ(r.best_epoch, 5);
  EXPECT_EQ(r.best_value, r.validation.loss);
  EXPECT_EQ(r.steps_report.steps, 25);
  EXPECT_THAT(verdict_line(r.steps_report),
              ::testing::ContainsRegex("^[a-z]+-bound: .* took [0-9]+ % of [0-9.]+ s \\(.*\\)$"));
  EXPECT_THAT(error_of([&] {
                trainer.fit(loader, &check, {.out = in("other"), .monitor = "val_accuracy"});
              }),
              AllOf(HasSubstr("has no val_accuracy"), HasSubstr("are no classes")));
}

// A stream without a size: epochs end where it ends; resume skips what was read.
TEST_F(Fit, StreamsAreTrainedAndResumed) {
  auto stream = data::generate([](uint64_t epoch) {
    auto i = std::make_shared<int64_t>(0);
    return [i, epoch]() -> data::Item {
      if (*i == 13) return {};
      Generator g{epoch, static_cast<uint64_t>((*i)++)};
      Tensor x = randn({4}, DType::kF32, g);
      return {x, x * 2};
    };
  });
  auto run = [&](FitOptions o) {
    manual_seed(3);
    nn::Sequential model(nn::Linear(4, 4));
    optim::Adam optimizer(model.parameters(), {.lr = 0.05});
    data::DataLoader loader(std::shared_ptr<const data::IterableDataset>(stream),
                            {.batch_size = 2, .workers = 2});
    Trainer trainer(model, optimizer, mse());
    std::FILE* out = std::tmpfile();
    o.epochs = 3;
    o.out = folder_;
    o.save_every_steps = 1;
    o.accumulation_steps = 2;
    o.progress = out;
    const FitResult r = trainer.fit(loader, nullptr, o);
    std::rewind(out);
    char line[256] = {};
    EXPECT_NE(std::fgets(line, sizeof(line), out), nullptr);
    EXPECT_THAT(line, AllOf(HasSubstr("epoch "), HasSubstr("/3  7  loss")));
    std::fclose(out);
    return r;
  };
  const FitResult whole = run({});
  EXPECT_EQ(whole.steps, 12);
  for (int64_t stop : {2, 4, 7}) {
    EXPECT_EQ(error_of([&] {
                run({.on_step = [&](int64_t step) {
                  if (step == stop) throw Error("stop");
                }});
              }),
              "stop");
    EXPECT_EQ(run({.resume = true}).weights_sha256, whole.weights_sha256) << stop;
  }
}

TEST_F(Fit, TheAverageIsValidatedAndKept) {
  manual_seed(3);
  auto make = [] {
    return std::make_shared<nn::Sequential>(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 4));
  };
  auto model = make();
  optim::AveragedModel average(*model, make(), optim::ema_avg_fn(0.9));
  optim::SGD optimizer(model->parameters(), {.lr = 0.05});
  data::DataLoader loader(points(40), {.batch_size = 8}), check(points(40), {.batch_size = 40});
  Trainer trainer(*model, optimizer, mse());
  FitResult r = trainer.fit(loader, &check, {.epochs = 3, .out = folder_, .average = &average});
  EXPECT_EQ(average.n_averaged(), 15);
  EXPECT_EQ(r.best_epoch, 3);
  const Safetensors best = load_safetensors(in("best.safetensors"));
  EXPECT_EQ(state_sha256(best.tensors), state_sha256(average.module().state_dict()));
  EXPECT_NE(state_sha256(best.tensors), r.weights_sha256);
  Trainer other(average.module(), optimizer, mse());
  check.seek({0, 0});
  EXPECT_EQ(other.evaluate(check).loss, r.validation.loss);
}

TEST_F(Fit, WrongOptionsAreNamed) {
  auto refused = [&](FitOptions o) { return error_of([&] { train(DType::kF32, 8, o); }); };
  EXPECT_THAT(refused({.accumulation_steps = 0}), HasSubstr("accumulation_steps must be at least"));
  EXPECT_THAT(refused({.clip_grad_norm = -1}), HasSubstr("clip_grad_norm must be finite"));
  EXPECT_THAT(refused({.clip_grad_value = std::nan("")}), HasSubstr("clip_grad_value must be"));
  EXPECT_THAT(refused({.patience = -1}), HasSubstr("patience must be"));
  EXPECT_THAT(refused({.patience = 1}), HasSubstr("patience needs a validation"));
  EXPECT_THAT(refused({.min_delta = std::numeric_limits<double>::infinity()}),
              HasSubstr("min_delta must be finite"));
  EXPECT_THAT(refused({.monitor = "val_loss"}),
              AllOf(HasSubstr("monitor 'val_loss'"), HasSubstr("train_loss")));
  EXPECT_THAT(refused({.metrics = {{"a,b", [](const Tensor&, const Tensor&) { return 0.0; }}}}),
              HasSubstr("the metric 'a,b'"));
  EXPECT_THAT(refused({.metrics = {{"f1", nullptr}}}), HasSubstr("the metric 'f1'"));
}

// A batch norm in eval mode in a model that trains: fine-tuning's usual form.
TEST_F(Fit, FrozenLayersStayFrozen) {
  nn::Sequential model(nn::Linear(4, 4), nn::BatchNorm1d(4), nn::Linear(4, 4));
  model[1].eval();
  optim::SGD optimizer(model.parameters(), {.lr = 0.05});
  data::DataLoader loader(points(22), {.batch_size = 11}), check(points(22), {.batch_size = 22});
  Trainer trainer(model, optimizer, mse());
  auto modes = [&] { return std::vector<bool>{model[0].training(), model[1].training()}; };
  const std::vector<bool> frozen{true, false};
  auto statistics = [&] { return model.at<nn::BatchNorm1d>(1).running_mean.to_vector<float>(); };
  const std::vector<float> before = statistics();
  trainer.evaluate(check);
  EXPECT_EQ(modes(), frozen);
  FitOptions options{.epochs = 2, .handle_interrupt = false};
  trainer.fit(loader, &check, options);
  EXPECT_EQ(modes(), frozen);
  EXPECT_EQ(statistics(), before);
  // A whole model in eval mode was only evaluated before: it is trained.
  model.eval();
  trainer.fit(loader, &check, options);
  EXPECT_EQ(modes(), (std::vector<bool>{true, true}));
  EXPECT_NE(statistics(), before);
}

TEST_F(Fit, CountsRightAnswersWhereThereAreClasses) {
  const Tensor logits = tensor({1.f, 2.f, 0.f, 3.f, 0.f, 5.f}).reshape({1, 3, 2});
  const Correct c = *correct_of(logits, tensor(std::vector<int64_t>{1, 0, -100}));
  EXPECT_EQ(c.correct, 1);
  EXPECT_EQ(c.predictions, 2);
  EXPECT_FALSE(correct_of(logits, zeros({3})));                      // not labels
  EXPECT_FALSE(correct_of(logits, zeros({4}, DType::kI64)));         // not as many
  EXPECT_FALSE(correct_of(zeros({3, 1}), zeros({3}, DType::kI64)));  // one output
}

}  // namespace
}  // namespace wick::loop
