// Schedules that are saved and resumed, to the bit, also from the trainer's checkpoints.
#include <filesystem>

#include "tests/optim/every_schedule.h"
#include "trainer/checkpoint/safetensors.h"

namespace wick {
namespace {

using test::error_of;
using test::Schedules;
using test::TwoGroups;
using testing::HasSubstr;

TEST(ScheduleState, EveryScheduleGoesOnToTheBit) {
  for (const auto& [name, make] : test::every_schedule()) {
    for (int stop : {0, 1, 7, 23, 44}) {
      auto step = [](optim::LrScheduler& s, int t) {
        s.wants_metric() ? s.step(test::metric(t)) : s.step();
      };
      TwoGroups whole, broken, resumed;
      Schedules a, b, c;
      make(a, *whole.optimizer);
      make(b, *broken.optimizer);
      for (int t = 0; t < stop; ++t) step(a.top(), t), step(b.top(), t);
      const std::string state = b.top().state_dict();
      const optim::OptimizerState rates = broken.optimizer->state_dict();
      make(c, *resumed.optimizer);
      resumed.optimizer->load_state_dict(rates);
      c.top().load_state_dict(state);
      EXPECT_EQ(c.top().last_step(), stop);
      EXPECT_EQ(c.top().state_dict(), state) << name;
      for (int t = stop; t < 60; ++t) {
        step(a.top(), t), step(c.top(), t);
        for (int k = 0; k < 2; ++k) {
          ASSERT_EQ(whole.optimizer->lr(k), resumed.optimizer->lr(k)) << name << " " << t;
          ASSERT_EQ(whole.optimizer->momentum(k), resumed.optimizer->momentum(k)) << name;
        }
      }
    }
  }
}

TEST(ScheduleState, RefusesOthersAndDamaged) {
  TwoGroups groups;
  optim::ExponentialLR exponential(*groups.optimizer, 0.9);
  optim::StepLR steps(*groups.optimizer, 3);
  const std::string state = steps.state_dict();
  auto says = [&](const std::string& text, const char* what) {
    EXPECT_THAT(error_of([&] { steps.load_state_dict(text); }), HasSubstr(what));
    EXPECT_EQ(steps.state_dict(), state);
  };
  says(exponential.state_dict(), "[step_lr] the state is of exponential_lr");
  says("", "damaged schedule state");
  says("[1, 2]", "damaged schedule state");
  says(R"({"schedule": "step_lr"})", "damaged schedule state");
  says(R"({"schedule": "step_lr", "base": [1], "last_lr": [1], "last_step": 3, "step_count": 4})",
       "the state has 1 groups, the schedule 2");
}

struct PlateauRun {
  std::string out;
  bool resume = false;
  int64_t epochs = 6;
};

// A loss that hardly falls, so that the rate does.
loop::FitResult train(const PlateauRun& run, std::vector<double>* rates) {
  manual_seed(4);
  auto dataset = std::make_shared<data::TensorDataset>(
      std::vector<Tensor>{randn({40, 6}), tensor(std::vector<int64_t>(40, 1))});
  nn::Sequential model(nn::Linear(6, 3));
  optim::Adam optimizer(model.parameters(), {.lr = 0.01});
  optim::ReduceLROnPlateau schedule(optimizer, {.factor = 0.5, .patience = 1, .threshold = 0.5});
  data::LoaderOptions reading;
  reading.batch_size = 8;
  reading.shuffle = true;
  reading.seed = 9;
  data::DataLoader loader(dataset, reading), check(dataset, {.batch_size = 40});
  loop::Trainer trainer(
      model, optimizer, [](const Tensor& a, const Tensor& b) { return cross_entropy(a, b); },
      &schedule);
  loop::FitOptions options;
  options.epochs = run.epochs;
  options.out = run.out;
  options.resume = run.resume;
  options.handle_interrupt = false;
  loop::FitResult result = trainer.fit(loader, &check, options);
  if (rates != nullptr) *rates = {optimizer.lr(), schedule.best()};
  return result;
}

TEST(ScheduleState, PlateauResumesToTheBit) {
  std::string folder = (std::filesystem::temp_directory_path() / "wick_plateau_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::vector<double> whole, resumed;
  const std::string want = train({}, &whole).weights_sha256;
  EXPECT_LT(whole[0], 0.01);
  for (int64_t stop : {1, 2, 3, 4, 5}) {
    train({.out = folder, .epochs = stop}, nullptr);
    EXPECT_EQ(train({.out = folder, .resume = true}, &resumed).weights_sha256, want) << stop;
    EXPECT_EQ(resumed, whole);
  }
  std::filesystem::remove_all(folder);
}

// A checkpoint of before schedules had a state holds the number of the step.
TEST(ScheduleState, EarlierCheckpointsAreRead) {
  std::string folder = (std::filesystem::temp_directory_path() / "wick_earlier_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  auto run = [&](bool resume, int64_t epochs) {
    manual_seed(4);
    auto dataset = std::make_shared<data::TensorDataset>(
        std::vector<Tensor>{randn({40, 6}), tensor(std::vector<int64_t>(40, 1))});
    nn::Sequential model(nn::Linear(6, 3));
    optim::SGD optimizer(model.parameters(), {.lr = 0.1, .momentum = 0.9});
    data::DataLoader loader(dataset, {.batch_size = 8});
    optim::CosineAnnealingLR schedule(optimizer, 20, 0, 3);
    loop::Trainer trainer(
        model, optimizer, [](const Tensor& a, const Tensor& b) { return cross_entropy(a, b); },
        &schedule);
    loop::FitOptions options;
    options.epochs = epochs;
    options.out = folder;
    options.resume = resume;
    options.handle_interrupt = false;
    return trainer.fit(loader, nullptr, options).weights_sha256;
  };
  const std::string whole = run(false, 4);
  run(false, 2);
  const std::string path = folder + "/last.safetensors";
  Safetensors file = load_safetensors(path);
  std::string& state = file.metadata.at("wick.training_state");
  const size_t begin = state.find("\"schedule\":\"");
  ASSERT_NE(begin, std::string::npos);
  size_t end = begin + 12;
  while (state[end] != '"' || state[end - 1] == '\\') ++end;
  state.replace(begin, end + 1 - begin, "\"schedule\":10");
  save_safetensors(path, file.tensors, file.metadata);
  EXPECT_EQ(run(true, 4), whole);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace wick
