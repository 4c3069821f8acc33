// The options of `wick train` that the recipe does not set.
#include "tests/loop/run_folder.h"
#include "tests/support/idx_images.h"
#include "trainer/loop/recipe_parts.h"
#include "trainer/loop/recipes.h"

namespace wick::loop {
namespace {

using test::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RecipeOptions : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    test::write_images(in("images"), 160, 40);
  }
  TrainConfig config() const {
    TrainConfig c;
    c.model = "mlp";
    c.data = in("images");
    c.epochs = 2;
    c.batch = 16;
    c.seed = 7;
    c.workers = 0;
    return c;
  }
  static std::string sha(const TrainConfig& c) { return run_training(c).fit.weights_sha256; }
};

TEST_F(RecipeOptions, EachChangesTheRunAndTheDefaultsDoNot) {
  const std::string plain = sha(config());
  TrainConfig c = config();
  c.optimizer = "adam";
  c.schedule = "cosine";
  c.weight_decay = 0;
  c.accumulate = 1;
  c.clip_norm = c.val_split = c.ema = c.label_smoothing = 0;
  c.patience = 0;
  c.autocast = "none";
  EXPECT_EQ(sha(c), plain) << "the recipe said aloud";
  c.ema = 0.5;
  EXPECT_EQ(sha(c), plain) << "an average only listens";
  std::vector<std::pair<std::string, std::function<void(TrainConfig&)>>> changes = {
      {"accumulate", [](TrainConfig& t) { t.accumulate = 2; }},
      {"clip", [](TrainConfig& t) { t.clip_norm = 0.1; }},
      {"split", [](TrainConfig& t) { t.val_split = 0.25; }},
      {"smoothing", [](TrainConfig& t) { t.label_smoothing = 0.1; }},
      {"bf16", [](TrainConfig& t) { t.autocast = "bf16"; }},
      {"f16", [](TrainConfig& t) { t.autocast = "f16"; }},
      {"decay", [](TrainConfig& t) { t.weight_decay = 0.01; }}};
  for (const std::string& name : optimizer_names()) {
    if (name != "adam") changes.emplace_back(name, [name](TrainConfig& t) { t.optimizer = name; });
  }
  for (const std::string& name : schedule_names()) {
    if (name != "cosine") changes.emplace_back(name, [name](TrainConfig& t) { t.schedule = name; });
  }
  std::map<std::string, std::string> seen = {{plain, "plain"}};
  for (const auto& [name, change] : changes) {
    c = config();
    change(c);
    // "plateau" and "constant" are alike until the loss stops falling.
    if (const auto [at, fresh] = seen.emplace(sha(c), name); !fresh) {
      EXPECT_EQ(at->second + " " + name, "constant plateau");
    }
  }
}

TEST_F(RecipeOptions, AreKeptAndCheckedOnResume) {
  TrainConfig c = config();
  c.optimizer = "adamw";
  c.schedule = "plateau";
  c.accumulate = 2;
  c.clip_norm = 1;
  c.val_split = 0.25;
  c.ema = 0.9;
  c.label_smoothing = 0.1;
  c.patience = 2;
  c.autocast = "f16";
  c.out = in("whole");
  const TrainResult whole = run_training(c);
  EXPECT_EQ(whole.fit.steps, 2 * 4);  // 120 images, 8 batches of 16
  EXPECT_EQ(whole.fit.validation.items, 40);
  EXPECT_EQ(whole.test.items, 40);
  EXPECT_NE(whole.test.loss, whole.fit.validation.loss);
  EXPECT_EQ(whole.config.lr, 1e-3);
  EXPECT_EQ(whole.config.weight_decay, 1e-2);
  c.out = in("run");
  c.save_every_steps = 1;
  c.on_step = [](int64_t step) {
    if (step == 5) throw Error("stop");
  };
  EXPECT_EQ(error_of([&] { run_training(c); }), "stop");
  TrainConfig again;
  again.out = in("run");
  again.resume = true;
  again.ema = 0.5;
  again.patience = 3;
  again.autocast = "bf16";
  EXPECT_THAT(error_of([&] { run_training(again); }),
              AllOf(HasSubstr("cannot resume"), HasSubstr("ema (saved 0.9)"),
                    HasSubstr("patience (saved 2)"), HasSubstr("autocast (saved \"f16\")")));
  again.ema.reset();
  again.autocast.reset();
  again.patience.reset();
  const TrainResult r = run_training(again);
  EXPECT_EQ(r.fit.weights_sha256, whole.fit.weights_sha256);
  EXPECT_EQ(r.test.loss, whole.test.loss);
  EXPECT_EQ(load_trained(in("run")).weights_sha256, load_trained(in("whole")).weights_sha256);
}

TEST_F(RecipeOptions, WhatIsUnknownOrLeavesNothingIsNamed) {
  TrainConfig c = config();
  c.optimizer = "sgdd";
  EXPECT_THAT(error_of([&] { run_training(c); }), AllOf(HasSubstr("sgdd"), HasSubstr("adamw")));
  c = config();
  c.schedule = "zigzag";
  EXPECT_THAT(error_of([&] { run_training(c); }),
              AllOf(HasSubstr("zigzag"), HasSubstr("onecycle")));
  c = config();
  c.autocast = "fp8";
  EXPECT_THAT(error_of([&] { run_training(c); }), AllOf(HasSubstr("fp8"), HasSubstr("bf16")));
  c = config();
  c.val_split = 0.001;
  EXPECT_THAT(error_of([&] { run_training(c); }), HasSubstr("leaves none on one side"));
  c.val_split = 0;
  c.accumulate = 0;
  EXPECT_THAT(error_of([&] { run_training(c); }),
              HasSubstr("accumulate must be at least 1, got 0"));
  c.accumulate = 1;
  c.ema = -0.5;
  EXPECT_THAT(error_of([&] { run_training(c); }), HasSubstr("ema must be in [0, 1], got -0.5"));
}

}  // namespace
}  // namespace wick::loop
