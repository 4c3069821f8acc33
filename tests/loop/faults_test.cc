// Failures in a training run: each gives one clear error and nothing is lost. The earlier
// checkpoint is whole, and a resume from it ends where an undisturbed run does.
#include <sys/wait.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <random>
#include <thread>

#include "tests/loop/run_folder.h"
#include "tests/support/small_disk.h"
#include "tests/support/where.h"
#include "trainer/data/datasets.h"
#include "trainer/data/image/image_folder.h"
#include "trainer/data/iterable.h"
#include "trainer/data/transforms.h"
#include "trainer/loop/trainer.h"
#include "trainer/nn/layers.h"
#include "trainer/optim/adam.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"

namespace wick::loop {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// 40 items of three classes; `get` may be told to fail, from a step on.
struct Items : data::Dataset {
  Tensor x, y;
  std::function<void(int64_t index, data::Item& item)> change;
  Items() {
    Generator g{1, 0};
    x = randn({40, 6}, DType::kF32, g);
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < 40; ++i) labels.push_back(i % 3);
    y = tensor(labels);
  }
  int64_t size() const override { return 40; }
  data::Item get(int64_t index) const override {
    data::Item item{x.select(0, index).clone(), y.select(0, index).clone()};
    if (change) change(index, item);
    return item;
  }
};

struct Faulty {
  std::shared_ptr<Items> items = std::make_shared<Items>();
  std::shared_ptr<data::Dataset> data = items;
  int workers = 0;
  bool step_fails = true;  // so that its weights stay; else the save after it
  int64_t width = 16;
  FitOptions options{.epochs = 3, .save_every_steps = 2, .handle_interrupt = false};

  FitResult run() {
    manual_seed(5);
    nn::Sequential model(nn::Linear(x_size(), width), nn::ReLU(), nn::Dropout(0.1),
                         nn::Linear(width, 3));
    optim::Adam optimizer(model.parameters(), {.lr = 0.01});
    data::DataLoader loader(data,
                            {.batch_size = 8, .shuffle = true, .seed = 3, .workers = workers});
    Trainer trainer(model, optimizer,
                    [](const Tensor& a, const Tensor& b) { return cross_entropy(a, b); });
    std::string last_step = state_sha256(model.state_dict());
    auto said = options.on_step;
    options.on_step = [&](int64_t step) {
      last_step = state_sha256(model.state_dict());
      if (said) said(step);
    };
    try {
      FitResult r = trainer.fit(loader, nullptr, options);
      options.on_step = said;
      return r;
    } catch (...) {
      options.on_step = said;
      if (step_fails) {
        EXPECT_EQ(state_sha256(model.state_dict()), last_step) << "by the step that failed";
      }
      throw;
    }
  }
  int64_t x_size() const { return data->get(0)[0].raw().numel(); }
};

class Faults : public FolderTest {
 protected:
  // Trains, fails with an error that matches, puts things right, resumes, and ends as if nothing
  // had happened.
  template <class Matcher>
  void fails_and_goes_on(Faulty& f, const std::function<void()>& right, Matcher&& matches) {
    auto change = f.items->change;
    right();
    Faulty clean = f;
    const std::string whole = clean.run().weights_sha256;
    f.items->change = change;
    f.options.out = folder_;
    const std::string what = error_of([&] { f.run(); });
    EXPECT_THAT(what, matches);
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    EXPECT_TRUE(fs::exists(in("last.safetensors")));
    right();
    f.options.resume = true;
    EXPECT_EQ(f.run().weights_sha256, whole);
  }
  // True from the second epoch on.
  static bool late() { return data::reading_epoch() >= 1; }
};

TEST_F(Faults, FullDiskKeepsTheFormerCheckpoint) {
  Faulty f;
  f.width = 2000;  // a checkpoint of 3 * 80 kB
  f.step_fails = false;
  const std::string whole = f.run().weights_sha256;
  f.options.out = folder_;
  constexpr size_t kDisk = 1 << 20;
  const bool done = test::on_small_disk(folder_, kDisk, [&] {
    f.options.on_step = [&](int64_t step) {
      if (step == 7) std::ofstream(in("filler")) << std::string(kDisk, 'x');
    };
    EXPECT_THAT(error_of([&] { f.run(); }),
                AllOf(HasSubstr("cannot write " + in("last.safetensors")),
                      HasSubstr("No space left on device"), HasSubstr("unchanged")));
    fs::remove(in("filler"));
    for (const auto& entry : fs::directory_iterator(folder_)) {
      EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("tmp"))) << "left behind";
    }
    f.options.on_step = nullptr;
    f.options.resume = true;
    EXPECT_EQ(f.run().weights_sha256, whole);
  });
  if (!done) GTEST_SKIP() << WICK_NO_SMALL_DISK;
}

// Killed at moments that nobody chose, again and again, while it saves after every step: the file
// is there whole each time, and the run that goes on from it ends as the unbroken one.
TEST_F(Faults, KilledWhileSaving) {
  Faulty f;
  f.width = 4000;
  f.options.epochs = 12;  // 60 steps
  f.options.save_every_steps = 1;
  const std::string whole = f.run().weights_sha256;
  f.options.out = folder_;
  std::minstd_rand random(4);
  int killed = 0, resumed = 0;
  bool done = false;
  for (int round = 0; round < 60 && !done; ++round) {
    f.options.resume = fs::exists(in("last.safetensors"));
    if (f.options.resume) {
      ++resumed;
      const Safetensors file = load_safetensors(in("last.safetensors"));  // throws unless whole
      EXPECT_TRUE(file.metadata.contains("wick.training_state"));
    }
    const auto saved = [&] {
      std::error_code none;  // there is no file at first
      return fs::last_write_time(in("last.safetensors"), none);
    };
    const auto before = saved();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      _exit(error_of([&] { f.run(); }) == "no error" ? 0 : 1);
    }
    // Every life saves once, also on a machine with much else to do.
    int status = 0;
    pid_t ended = 0;
    while (ended == 0 && saved() == before) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ended = waitpid(child, &status, WNOHANG);
    }
    if (ended == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 60000));
      kill(child, SIGKILL);
      ended = waitpid(child, &status, 0);
    }
    ASSERT_EQ(ended, child);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
      done = true;
    }
    killed += !done;
  }
  EXPECT_GT(killed, 3);
  EXPECT_GT(resumed, 2);
  f.options.resume = fs::exists(in("last.safetensors"));
  EXPECT_EQ(f.run().weights_sha256, whole);
}

TEST_F(Faults, CorruptImageIsNamed) {
  const std::string golden = source_dir() + "/tests/data/goldens/";
  for (const char* kind : {"a", "b"}) {
    fs::create_directories(in("images/") + kind);
    for (int i = 0; i < 12; ++i) {
      fs::copy_file(golden + (i % 2 ? "gray.png" : "rgb.png"),
                    in("images/") + kind + "/" + std::to_string(10 + i) + ".png");
    }
  }
  std::shared_ptr<data::ImageFolder> images;
  try {
    images = std::make_shared<data::ImageFolder>(in("images"));
  } catch (const Error& e) {
    GTEST_SKIP() << e.what();  // built without libpng
  }
  Faulty f;
  f.data = std::make_shared<data::TransformedDataset>(
      images,
      data::transforms::Compose{data::transforms::Resize(4, 4), data::transforms::ToTensor(),
                                [](const Tensor& t, data::Draws&) { return t.reshape({48}); }});
  f.workers = 2;
  const std::string whole = f.run().weights_sha256;
  f.options.out = folder_ + "/run";
  // Torn between the first epoch and the second.
  const std::string victim = in("images/b/17.png");
  f.options.on_step = [&](int64_t step) {
    if (step == 2) fs::resize_file(victim, 60);
  };
  f.options.save_every_steps = 1;
  f.workers = 0;  // none has read ahead
  const std::string what = error_of([&] { f.run(); });
  EXPECT_THAT(what, AllOf(HasSubstr(victim), HasSubstr("item 19"), HasSubstr("batch ")));
  fs::copy_file(golden + "gray.png", victim, fs::copy_options::overwrite_existing);
  f.options.on_step = nullptr;
  f.options.resume = true;
  EXPECT_EQ(f.run().weights_sha256, whole);
}

TEST_F(Faults, LossThatIsNoNumberStopsBeforeTheStep) {
  Faulty f;
  f.items->change = [](int64_t index, data::Item& item) {
    if (late() && index == 17) item[0].fill_(std::nan(""));
  };
  fails_and_goes_on(
      f, [&] { f.items->change = nullptr; },
      AllOf(ContainsRegex("the loss is -?nan at epoch 2, step [0-9]+ \\(lr 0.01\\)"),
            ContainsRegex("The batch was items ([0-9]+, )*17[,;]"), HasSubstr("--anomaly")));
}

TEST_F(Faults, WorkersErrorNamesTheItem) {
  Faulty f;
  f.workers = 3;
  f.items->change = [](int64_t index, data::Item&) {
    if (late() && index == 9) throw std::runtime_error("the disk is on fire");
  };
  fails_and_goes_on(
      f, [&] { f.items->change = nullptr; },
      AllOf(HasSubstr("[data_loader] epoch 1, batch "), HasSubstr("item 9: "),
            HasSubstr("the disk is on fire")));
}

TEST_F(Faults, LabelOutOfRangeNamesItemAndValue) {
  Faulty f;
  f.items->change = [](int64_t index, data::Item& item) {
    if (late() && index == 31) item[1] = tensor(std::vector<int64_t>{12}).reshape({});
  };
  fails_and_goes_on(
      f, [&] { f.items->change = nullptr; },
      AllOf(HasSubstr("item 31: the label 12 is no class"), HasSubstr("has 3, 0 to 2"),
            HasSubstr("epoch 2, batch ")));
  // The first step of all: nothing was trained (Faulty::run compares the weights).
  Faulty first;
  first.options.accumulation_steps = 5;
  first.items->change = [](int64_t, data::Item& item) {
    item[1] = tensor(std::vector<int64_t>{-1}).reshape({});
  };
  EXPECT_THAT(error_of([&] { first.run(); }), HasSubstr("the label -1 is no class"));
}

TEST_F(Faults, LabelOutOfRangeInValidation) {
  Faulty f;
  nn::Sequential model(nn::Linear(6, 3));
  optim::Adam optimizer(model.parameters(), {.lr = 0.01});
  f.items->change = [](int64_t index, data::Item& item) {
    if (index == 23) item[1] = tensor(std::vector<int64_t>{3}).reshape({});
  };
  data::DataLoader check(f.data, {.batch_size = 10});
  Trainer trainer(model, optimizer,
                  [](const Tensor& a, const Tensor& b) { return cross_entropy(a, b); });
  model.train();
  EXPECT_THAT(error_of([&] { trainer.evaluate(check); }),
              HasSubstr("item 23: the label 3 is no class"));
  EXPECT_TRUE(model.training()) << "the mode is put back";
}

TEST_F(Faults, EmptyDataAndDroppedBatches) {
  auto of_size = [](int64_t n) {
    return std::make_shared<data::TensorDataset>(
        std::vector<Tensor>{zeros({n, 6}), zeros({n}, DType::kI64)});
  };
  EXPECT_THAT(error_of([&] { data::DataLoader(of_size(0), {}); }),
              HasSubstr("the data set is empty"));
  EXPECT_THAT(error_of([&] { data::DataLoader(of_size(5), {.batch_size = 8, .drop_last = true}); }),
              AllOf(HasSubstr("drop_last"), HasSubstr("fewer items")));
  // A stream's length shows only when it is read.
  auto stream = [](int64_t n) -> std::shared_ptr<const data::IterableDataset> {
    return data::generate([n](uint64_t) {
      auto left = std::make_shared<int64_t>(n);
      return [left]() -> data::Item {
        if ((*left)-- == 0) return {};
        return {zeros({6}), zeros({}, DType::kI64)};
      };
    });
  };
  nn::Sequential model(nn::Linear(6, 3));
  optim::Adam optimizer(model.parameters(), {.lr = 0.01});
  Trainer trainer(model, optimizer,
                  [](const Tensor& a, const Tensor& b) { return cross_entropy(a, b); });
  data::DataLoader empty(stream(0), {.batch_size = 8});
  EXPECT_THAT(error_of([&] { trainer.fit(empty, nullptr, {}); }),
              HasSubstr("the stream gave no items"));
  data::DataLoader small(stream(5), {.batch_size = 8, .drop_last = true});
  EXPECT_THAT(error_of([&] { trainer.fit(small, nullptr, {}); }),
              AllOf(HasSubstr("gave no batch"), HasSubstr("drop_last")));
  data::DataLoader train(of_size(8), {.batch_size = 8});
  data::DataLoader none(stream(5), {.batch_size = 8, .drop_last = true});
  EXPECT_THAT(error_of([&] { trainer.fit(train, &none, {}); }),
              HasSubstr("the validation is empty"));
  auto inputs_only = std::make_shared<data::TensorDataset>(std::vector<Tensor>{zeros({8, 6})});
  data::DataLoader bare(inputs_only, {.batch_size = 8});
  EXPECT_THAT(error_of([&] { trainer.fit(bare, nullptr, {}); }),
              HasSubstr("batches must be {input, target}"));
}

}  // namespace
}  // namespace wick::loop
