#include "tests/fuzz/run_formats.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/fuzz/scratch.h"
#include "tests/support/idx_images.h"
#include "tests/support/where.h"
#include "tools/submission/submission.h"
#include "trainer/loop/recipe_parts.h"
#include "trainer/loop/recipes.h"
#include "trainer/loop/trainer.h"
#include "trainer/nn/layers.h"
#include "trainer/nn/loss.h"
#include "trainer/optim/averaged_model.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"
#include "wick/error.h"

namespace wick::fuzz {
namespace {

namespace fs = std::filesystem;

// A file of these formats is a safetensors file without the header's length, which a change would
// make wrong, and with this between header and tensors.
const std::string kBetween = "\n\n";

struct Parts {
  std::string header, data;
};
Parts parts_of(const std::string& file) {
  uint64_t length = 0;
  memcpy(&length, file.data(), sizeof(length));
  return {file.substr(8, length), file.substr(8 + length)};
}
void write_parts(const std::string& path, const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::ofstream(path, std::ios::binary)
      << std::string(reinterpret_cast<const char*>(&length), sizeof(length)) << header << data;
}

// The least training that has all that a checkpoint holds: of each optimizer in turn, with a
// schedule, an average, a scale of the loss or none of them.
class SmallRun {
 public:
  explicit SmallRun(size_t kind) {
    manual_seed(3);
    model_.emplace(nn::Linear(3, 2));
    const auto& optimizers = loop::optimizer_names();
    const auto& schedules = loop::schedule_names();
    const Where where = Where::current();
    optimizer_ = loop::make_optimizer(optimizers[kind % optimizers.size()], model_->parameters(),
                                      0.01, 0, where);
    schedule_ = loop::make_schedule(schedules[kind % schedules.size()], *optimizer_, 8, 1, where);
    if (kind % 3 == 0) {
      average_.emplace(*model_, std::make_shared<nn::Sequential>(nn::Linear(3, 2)),
                       optim::ema_avg_fn(0.5), true, where);
    }
    if (kind % 4 == 1) options_.amp.autocast = DType::kF16;
  }
  static size_t kinds() { return loop::optimizer_names().size(); }

  // Some steps of two epochs of two steps each.
  void fit(const std::string& out, bool resume) {
    Generator g{5, 0};
    const auto items = std::make_shared<data::TensorDataset>(
        std::vector<Tensor>{randn({4, 3}, DType::kF32, g), zeros({4, 2})});
    data::DataLoader loader(items, {.batch_size = 2, .shuffle = true, .seed = 2});
    loop::Trainer trainer(
        *model_, *optimizer_, [](const Tensor& a, const Tensor& b) { return mse_loss(a, b); },
        schedule_.get());
    options_.epochs = 2;
    options_.out = out;
    options_.resume = resume;
    options_.handle_interrupt = false;
    options_.average = average_ ? &*average_ : nullptr;
    (void)trainer.fit(loader, nullptr, options_);
  }

 private:
  std::optional<nn::Sequential> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<optim::LrScheduler> schedule_;
  std::optional<optim::AveragedModel> average_;
  loop::FitOptions options_;
};

// Its first byte says which kind of run goes on from it.
std::vector<std::string> checkpoints() {
  std::vector<std::string> made;
  for (size_t kind = 0; kind < SmallRun::kinds(); ++kind) {
    const std::string out = scratch() + "/seed";
    SmallRun(kind).fit(out, false);
    const Parts parts = parts_of(contents(out + "/last.safetensors"));
    made.push_back(std::string(1, static_cast<char>('a' + kind)) + parts.header + kBetween +
                   parts.data);
    fs::remove_all(out);
  }
  return made;
}
void read_checkpoint(const std::string& bytes) {
  if (bytes.empty()) throw Error("nothing");
  const std::string out = scratch() + "/fit";
  fs::create_directories(out);
  const size_t header = bytes.find(kBetween, 1);
  if (header == std::string::npos) throw Error("no header");
  write_parts(out + "/last.safetensors", bytes.substr(1, header - 1),
              bytes.substr(header + kBetween.size()));
  SmallRun(static_cast<uint8_t>(bytes[0] - 'a') % SmallRun::kinds()).fit(out, true);
}

// The header alone: the weights are zeros.
size_t& trained_bytes() {
  static size_t bytes = 0;
  return bytes;
}
std::vector<std::string> trained() {
  const std::string images = scratch() + "/images";
  test::write_images(images, 20, 10);
  loop::TrainConfig config;
  config.model = "mlp", config.data = images, config.epochs = 1, config.batch = 20;
  config.out = scratch() + "/seed";
  (void)loop::run_training(config);
  const Parts parts = parts_of(contents(config.out + "/best.safetensors"));
  trained_bytes() = parts.data.size();
  fs::remove_all(config.out);
  return {parts.header};
}
void read_trained(const std::string& header) {
  const std::string out = scratch() + "/trained";
  fs::create_directories(out);
  write_parts(out + "/best.safetensors", header, std::string(trained_bytes(), '\0'));
  (void)loop::load_trained(out);
}

std::vector<std::string> submissions() {
  const auto all =
      nlohmann::json::parse(contents(source_dir("/tests/submission/submissions.json")));
  nlohmann::json one = all.at("sound");
  std::vector<std::string> made = {one.dump(1)};
  for (const char* part : {"optimized", "improvements", "targets"}) one.erase(part);
  made.push_back(one.dump());
  return made;
}

}  // namespace

std::vector<Format> run_formats() {
  return {
      {"checkpoint",
       checkpoints,
       {"optimizer/",
        "average/",
        "state.0.",
        "\"dtype\"",
        "\"F16\"",
        "\"I64\"",
        "[0,0]",
        "wick.training_state",
        "\\\"epoch\\\":",
        "\\\"loader\\\":{",
        "\\\"steps\\\":[",
        "\\\"groups\\\":[",
        "\\\\\\\"lr\\\\\\\":",
        "\\\\\\\"betas\\\\\\\":",
        "null",
        "[[",
        "{}",
        "-1",
        "1e30",
        "1e-320",
        "true",
        "nan"},
       read_checkpoint},
      {"trained",
       trained,
       {"wick.config", "wick.data", "\\\"model\\\":\\\"lenet\\\"", "\\\"classes\\\":[",
        "\\\"shape\\\":[", "\\\"divisor\\\":", "\"F64\"", "\"F16\"", "[0,0]", "null", "[[", "{}",
        "-1", "1e30", "\\\\u0000"},
       read_trained},
      {"submission",
       submissions,
       {"{", "}", "[", "]", "null", "true", "-1", "1e999", "1e308", "\"metrics\"", "\"system\"",
        "\"targets\"", "\"met\"", "2026-02-30T25:61:00Z", "\\u0000", "\\ud800", "\xFF"},
       [](const std::string& b) { validate_submission_schema(b); }},
  };
}

}  // namespace wick::fuzz
