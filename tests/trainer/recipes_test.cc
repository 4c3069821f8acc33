// run_training() and load_trained(), which `wick train` calls, on images made up for the test.
#include "trainer/loop/recipes.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/support/idx_images.h"
#include "tests/support/small_disk.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/nn/models/models.h"
#include "trainer/tensor/call.h"
#include "wick/error.h"

namespace wick::loop {
namespace {

using test::error_of;

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Recipes : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string pattern = (fs::temp_directory_path() / "wick_recipes_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    test::write_images(root_ + "/images", 330, 100);
  }
  static void TearDownTestSuite() { fs::remove_all(root_); }
  void SetUp() override {
    out_ = root_ + "/run";
    fs::remove_all(out_);
  }
  void TearDown() override { set_num_threads(1); }

  // 2 epochs of 11 steps, the last batch short.
  TrainConfig config(const std::string& model = "mlp") const {
    TrainConfig c;
    c.model = model;
    c.data = root_ + "/images";
    c.epochs = 2;
    c.batch = 32;
    c.seed = 7;
    return c;
  }
  static std::string sha(const TrainConfig& c) { return run_training(c).fit.weights_sha256; }

  static inline std::string root_;
  std::string out_;
};

// Two models and a seed; every model and three seeds in the full test run.
TEST_F(Recipes, OneSeedOneDigestForAnyThreads) {
  bool full = std::getenv("WICK_TEST_FULL") != nullptr;
  std::vector<std::string> models =
      full ? nn::model_names() : std::vector<std::string>{"mlp", "lenet"};
  std::set<std::string> digests;
  for (const std::string& model : models) {
    for (uint64_t seed : full ? std::vector<uint64_t>{7, 8, 9} : std::vector<uint64_t>{7}) {
      SCOPED_TRACE(model + ", seed " + std::to_string(seed));
      TrainConfig c = config(model);
      c.seed = seed;
      std::string one = sha(c);
      EXPECT_EQ(one.size(), 64u);
      EXPECT_EQ(sha(c), one) << "the same again";
      c.threads = 2;
      c.workers = 3;
      EXPECT_EQ(sha(c), one) << "2 threads, 3 loader workers";
      EXPECT_TRUE(digests.insert(one).second) << "as another seed or model";
    }
  }
  TrainConfig c = config();
  c.seed = 10;
  EXPECT_EQ(digests.count(sha(c)), 0u);
}

TEST_F(Recipes, FillsInTheRecipe) {
  TrainConfig c = config();
  c.epochs = 1;
  TrainResult r = run_training(c);
  EXPECT_EQ(r.config.lr, 1e-3);
  EXPECT_EQ(r.config.batch, 32);
  EXPECT_EQ(r.fit.steps, 11);
  EXPECT_EQ(r.fit.validation.items, 100);
  EXPECT_EQ(r.parameters, 784 * 512 + 512 + 512 * 256 + 256 + 256 * 10 + 10);
}

TEST_F(Recipes, LearnsAndLoadsWhatItTrained) {
  TrainConfig c = config();
  c.epochs = 3;
  c.out = out_;
  TrainResult r = run_training(c);
  EXPECT_GT(r.fit.best_accuracy, 0.9);
  TrainedModel t = load_trained(out_);
  EXPECT_EQ(t.file, out_ + "/best.safetensors");
  EXPECT_EQ(t.config.model, "mlp");
  EXPECT_EQ(t.config.seed, 7u);
  EXPECT_EQ(t.config.epochs, 3);
  EXPECT_EQ(t.config.lr, 1e-3);
  EXPECT_EQ(t.input_shape, (Shape{1, 28, 28}));
  EXPECT_EQ(t.normalization.divisor, 255.0f);
  EXPECT_EQ(t.normalization.mean, 0.5f);
  EXPECT_EQ(t.classes.size(), 10u);
  EXPECT_FALSE(t.module->training());
  // Without a best file the last one serves: those are the weights that fit() ended with.
  fs::remove(out_ + "/best.safetensors");
  EXPECT_EQ(load_trained(out_).file, out_ + "/last.safetensors");
  EXPECT_EQ(load_trained(out_).weights_sha256, r.fit.weights_sha256);
}

TEST_F(Recipes, KilledAndResumedToTheSameDigest) {
  TrainConfig c = config("lenet");
  std::string whole = sha(c);
  c.out = out_;
  c.save_every_steps = 4;
  c.workers = 0;  // no threads in the child
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    c.on_step = [](int64_t step) {
      if (step == 14) std::raise(SIGKILL);  // second epoch, two steps after a save
    };
    run_training(c);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  TrainConfig again;
  again.out = out_;
  again.resume = true;  // the rest is the saved run's
  int64_t first = 0;
  again.on_step = [&first](int64_t step) { first = first == 0 ? step : first; };
  again.threads = 2;
  EXPECT_EQ(sha(again), whole);
  EXPECT_EQ(first, 13);
}

// A folder used again: nothing of the old run may pass for the new one's.
TEST_F(Recipes, FreshRunTakesNothingOfAnEarlierOne) {
  TrainConfig c = config();
  c.epochs = 1;
  c.out = out_;
  run_training(c);
  fs::copy_file(out_ + "/best.safetensors", root_ + "/old_best");
  c.seed = 8;
  c.save_every_steps = 4;
  int64_t stop_at = 3;  // before the first save
  c.on_step = [&](int64_t step) {
    if (step == stop_at) throw Error("stop");
  };
  EXPECT_EQ(error_of([&] { run_training(c); }), "stop");
  EXPECT_THAT(error_of([&] { load_trained(out_); }), HasSubstr("holds no trained model"));
  stop_at = 5;
  EXPECT_EQ(error_of([&] { run_training(c); }), "stop");
  EXPECT_EQ(load_trained(out_).file, out_ + "/last.safetensors");
  EXPECT_EQ(load_trained(out_).config.seed, 8u);
  fs::copy_file(root_ + "/old_best", out_ + "/best.safetensors");
  EXPECT_THAT(error_of([&] { load_trained(out_); }),
              AllOf(HasSubstr("best.safetensors and last.safetensors are of different runs"),
                    HasSubstr("remove")));
}

TEST_F(Recipes, WhatCannotBeResumedSaysWhy) {
  TrainConfig c = config();
  c.epochs = 1;
  c.out = out_;
  run_training(c);
  c.resume = true;
  c.batch = 16;
  c.seed = 0;  // said, though it is the default
  EXPECT_THAT(error_of([&] { run_training(c); }),
              AllOf(HasSubstr("cannot resume " + out_), HasSubstr("batch (saved 32)"),
                    HasSubstr("seed (saved 7)"), Not(HasSubstr("epochs"))));
  c = TrainConfig();
  c.out = out_;
  c.resume = true;
  c.epochs = 0;  // the recipe's: 8
  EXPECT_THAT(error_of([&] { run_training(c); }), HasSubstr("with another epochs (saved 1)"));
  c.out.clear();
  EXPECT_THAT(error_of([&] { run_training(c); }), HasSubstr("resume needs the folder of the run"));
  // A size of images that says 10 GB is refused before anything is made of it.
  Safetensors file = load_safetensors(out_ + "/best.safetensors");
  std::string& text = file.metadata["wick.config"];
  const size_t at = text.find("28,28");
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, 5, "50000,50000");
  fs::remove(out_ + "/last.safetensors");
  save_safetensors(out_ + "/best.safetensors", file.tensors, file.metadata);
  EXPECT_THAT(error_of([&] { load_trained(out_); }), HasSubstr("at most 256 MB of float32"));
}

TEST_F(Recipes, FoldersWithoutAModelSayWhatIsMissing) {
  EXPECT_THAT(error_of([&] { load_trained(out_); }),
              AllOf(HasSubstr(out_ + " holds no trained model"), HasSubstr("wick train --out")));
  fs::create_directories(out_);
  save_safetensors(out_ + "/best.safetensors", {{"w", zeros({2})}});
  EXPECT_THAT(error_of([&] { load_trained(out_); }), HasSubstr("was not written by wick train"));
  save_safetensors(out_ + "/best.safetensors", {{"w", zeros({2})}},
                   {{"wick.config", "{\"model\":"}});
  EXPECT_THAT(error_of([&] { load_trained(out_); }), HasSubstr("damaged config"));
}

TEST_F(Recipes, WrongModelsAndDataAreNamed) {
  TrainConfig c = config();
  c.model = "vgg";
  EXPECT_THAT(error_of([&] { run_training(c); }), AllOf(HasSubstr("vgg"), HasSubstr("lenet")));
  c = config();
  c.data = root_ + "/nowhere";
  EXPECT_THAT(error_of([&] { run_training(c); }),
              AllOf(HasSubstr("no folder " + *c.data), HasSubstr("apt install")));
  std::string small = root_ + "/small";
  fs::create_directories(small);
  for (const char* part : {"train", "t10k"}) {
    test::write_idx(small + "/" + part + "-images-idx3-ubyte", {2, 3, 3}, std::string(18, '\1'));
    test::write_idx(small + "/" + part + "-labels-idx1-ubyte", {2}, std::string(2, '\1'));
  }
  c.data = small;
  EXPECT_THAT(error_of([&] { run_training(c); }), AllOf(HasSubstr("28x28"), HasSubstr("3x3")));
}

// The disk fills while a run saves: training ends with the reason, the former checkpoint goes on.
TEST_F(Recipes, FullDiskKeepsTheFormerCheckpoint) {
  TrainConfig c = config("lenet");
  std::string whole = sha(c);
  fs::create_directories(out_);
  c.out = out_;
  c.save_every_steps = 4;
  c.workers = 0;                      // no threads in the child
  constexpr size_t kDisk = 12 << 20;  // room for a checkpoint and its successor, not for a third
  bool done = test::on_small_disk(out_, kDisk, [&] {
    c.on_step = [&](int64_t step) {
      if (step == 5) std::ofstream(out_ + "/filler") << std::string(kDisk, 'x');
    };
    EXPECT_THAT(error_of([&] { run_training(c); }),
                AllOf(HasSubstr("cannot write " + out_ + "/last.safetensors"),
                      HasSubstr("No space left on device"), HasSubstr("unchanged")));
    fs::remove(out_ + "/filler");
    std::vector<std::string> left;
    for (const auto& entry : fs::directory_iterator(out_))
      left.push_back(entry.path().filename().string());
    EXPECT_THAT(left,
                ::testing::UnorderedElementsAre("config.json", "metrics.csv", "last.safetensors"));
    TrainConfig again;
    again.out = out_;
    again.resume = true;
    again.workers = 0;
    EXPECT_EQ(sha(again), whole);
  });
  if (!done) GTEST_SKIP() << WICK_NO_SMALL_DISK;
}

}  // namespace
}  // namespace wick::loop
