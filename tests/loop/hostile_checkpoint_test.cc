// Checkpoints with numbers that no training gives: the error of resuming names the file, the key,
// the value and the range, and no folder belongs to another run.
#include <cmath>
#include <fstream>
#include <thread>

#include "tests/loop/run_folder.h"
#include "trainer/checkpoint/json.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/loop/trainer.h"
#include "trainer/nn/layers.h"
#include "trainer/nn/loss.h"
#include "trainer/optim/adam.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"

namespace wick::loop {
namespace {

using test::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class HostileCheckpoint : public FolderTest {
 protected:
  std::string out() const { return in("run"); }
  void train(bool resume, std::function<void(int64_t)> on_step = {}) {
    manual_seed(3);
    nn::Sequential model(nn::Linear(4, 2));
    optim::Adam optimizer(model.parameters(), {.lr = 0.01});
    optim::StepLR schedule(optimizer, 3, 0.5);
    Generator g{5, 0};
    auto items = std::make_shared<data::TensorDataset>(
        std::vector<Tensor>{randn({8, 4}, DType::kF32, g), zeros({8, 2})});
    data::DataLoader loader(items, {.batch_size = 4, .shuffle = true, .seed = 2});
    Trainer trainer(
        model, optimizer, [](const Tensor& a, const Tensor& b) { return mse_loss(a, b); },
        &schedule);
    FitOptions options{.epochs = 2};
    options.out = out();
    options.resume = resume;
    options.handle_interrupt = false;
    options.on_step = std::move(on_step);
    trainer.fit(loader, nullptr, options);
  }
  // Returns the error of resuming after the saved state's value at `place` ("/run/epoch"; after a
  // second ':' a place within a text that is JSON itself) was replaced by `value`, given as JSON.
  std::string said(const std::string& place, const std::string& value) {
    const std::string path = out() + "/last.safetensors";
    const Safetensors file = load_safetensors(path);
    auto metadata = file.metadata;
    Json state = Json::parse(metadata.at("wick.training_state"));
    const size_t colon = place.find(':');
    const std::string own = place.substr(0, colon);
    if (colon == std::string::npos) {
      state[Json::json_pointer(own)] = "@here";
    } else {
      Json inner = Json::parse(state.at(Json::json_pointer(own)).get<std::string>());
      inner[Json::json_pointer(place.substr(colon + 1))] = "@here";
      state[Json::json_pointer(own)] = inner.dump();
    }
    std::string text = state.dump();
    std::string quoted = "\"@here\"", put = value;
    if (colon != std::string::npos) {
      quoted = "\\\"@here\\\"";
      put.clear();
      for (char c : value) put += c == '"' ? "\\\"" : std::string(1, c);
    }
    text.replace(text.find(quoted), quoted.size(), put);
    metadata["wick.training_state"] = text;
    save_safetensors(path, file.tensors, metadata);
    std::string error = error_of([&] { train(true); });
    save_safetensors(path, file.tensors, file.metadata);
    return error;
  }
};

TEST_F(HostileCheckpoint, NumbersOutOfTheirRangeAreNamed) {
  train(false);
  ASSERT_EQ(error_of([&] { train(true); }), "no error");
  struct Case {
    const char *place, *value, *key, *range;
  };
  for (const Case& c : {
           Case{"/run/epoch", "9223372036854775807", "run.epoch", "from 0 to"},
           Case{"/run/epoch", "-3", "run.epoch", "from 0 to"},
           Case{"/run/epoch", "3", "run.epoch", "from 0 to 2"},
           Case{"/run/step", "-9223372036854775808", "run.step", "from 0 to 9007199254740992"},
           Case{"/run/step", "1.5", "run.step", "a whole number"},
           Case{"/run/step", "18446744073709551615", "run.step", "a whole number"},
           Case{"/run/best_epoch", "7", "run.best_epoch", "from 0 to 2"},
           Case{"/run/loss_sum", "null", "run.loss_sum", "a number from"},
           Case{"/run/loss_sum", "\"nan\"", "run.loss_sum", "a number from"},
           Case{"/run/items", "true", "run.items", "a whole number"},
           Case{"/epochs", "-1", "epochs", "from 0 to 1000000000"},
           Case{"/loader/epoch", "-1", "loader.epoch", "from 0 to"},
           Case{"/loader/batch", "1e3", "loader.batch", "a whole number"},
           Case{"/generator/0", "-1", "generator[0]", "from 0 to 2^64 - 1"},
           Case{"/optimizer:/groups/0/lr", "null", "groups[0].lr", "a number from"},
           Case{"/optimizer:/groups/0/lr", "-1", "lr", "got -1"},
           Case{"/optimizer:/steps/0", "-4", "steps[0]", "from 0 to"},
           Case{"/optimizer:/groups/0/amsgrad", "1", "groups[0].amsgrad", "true or false"},
           Case{"/schedule:/last_step", "-9223372036854775808", "last_step", "from -1 to"},
           Case{"/schedule:/base/0", "\"inf\"", "base[0]", "a number from"},
       }) {
    EXPECT_THAT(said(c.place, c.value),
                AllOf(HasSubstr(out() + "/last.safetensors"), HasSubstr(c.key), HasSubstr(c.range)))
        << c.place << " " << c.value;
  }
  EXPECT_EQ(error_of([&] { train(true); }), "no error");
}

// The text that an error quotes has no end, or no bottom.
TEST_F(HostileCheckpoint, DeepAndLongStatesGiveShortMessages) {
  train(false);
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  const std::string wide = "\"" + std::string(200'000, 'w') + "\"";
  for (const char* place : {"/loader/seed", "/fit/monitor", "/run/epoch", "/schedule", "/optimizer",
                            "/optimizer:/groups/0/lr", "/schedule:/last_lr"}) {
    for (const std::string& value : {deep, wide}) {
      const std::string text = said(place, value);
      EXPECT_THAT(text, HasSubstr("[trainer]")) << place;
      EXPECT_LT(text.size(), 700u) << place;
    }
  }
}

// A folder that came from elsewhere may have links in it, to any file of its user.
TEST_F(HostileCheckpoint, NothingIsWrittenThroughALink) {
  train(false);
  const std::string mine = in("mine");
  std::ofstream(mine) << "mine";
  for (const char* name : {"last.safetensors", "best.safetensors", "metrics.csv", "metrics.json",
                           "config.json", "validation.json"}) {
    const std::string link = out() + "/" + name;
    std::filesystem::remove(link);
    std::filesystem::create_symlink(mine, link);
    for (const bool resume : {false, true}) {
      EXPECT_THAT(error_of([&] { train(resume); }), HasSubstr(link + " is a symbolic link"));
    }
    EXPECT_EQ(std::filesystem::file_size(mine), 4u) << name;
    std::filesystem::remove(link);
  }
}

TEST_F(HostileCheckpoint, AFolderIsOneRunsAtATime) {
  std::string other;
  train(false, [&](int64_t step) {
    if (step == 2) std::thread([&] { other = error_of([&] { train(false); }); }).join();
  });
  EXPECT_THAT(
      other, AllOf(HasSubstr("process " + std::to_string(getpid())), HasSubstr("writes " + out())));
  EXPECT_FALSE(std::filesystem::exists(out() + "/.wick.lock"));
  EXPECT_EQ(error_of([&] { train(false); }), "no error");
}

}  // namespace
}  // namespace wick::loop
