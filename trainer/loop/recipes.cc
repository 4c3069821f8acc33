#include "trainer/loop/recipes.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/core/atomic_file.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/nn/models.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/sgd.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/philox.h"

namespace wick::loop {
namespace {

using Json = nlohmann::json;
constexpr const char* kConfigKey = "wick.config";

struct Recipe {
  const char* model;
  bool adam;
  double lr, weight_decay;
  int64_t batch, epochs;
  double warmup;  // epochs
};
constexpr Recipe kRecipes[] = {
    {"lenet", false, 0.05, 5e-4, 64, 3, 0.25},
    {"mlp", true, 1e-3, 0, 128, 8, 0.25},
    {"resnet8", false, 0.1, 5e-4, 128, 5, 0.5},
};

const Recipe& recipe_of(const std::string& model) {
  std::string known;
  for (const Recipe& r : kRecipes) {
    if (model == r.model) return r;
    known += std::string(known.empty() ? "" : ", ") + r.model;
  }
  throw Error("[train] no recipe for the model '" + model + "'; there are " + known,
              Code::kNotFound);
}

template <class C, class F>
void config_fields(C& c, F&& f) {
  f("model", c.model), f("data", c.data), f("epochs", c.epochs), f("batch", c.batch);
  f("lr", c.lr), f("seed", c.seed);
}

Json fields_of(const RunConfig& config) {
  Json json;
  config_fields(config, [&](const char* name, const auto& value) { json[name] = value; });
  return json;
}

Json describe(const RunConfig& config, const data::ImageData& images) {
  Json json = fields_of(config);
  json["classes"] = images.classes;
  json["input"] = {{"divisor", images.normalization.divisor},
                   {"mean", images.normalization.mean},
                   {"std", images.normalization.std},
                   {"shape", {1, images.height, images.width}}};
  return json;
}

std::string file_in(const std::string& folder, const char* name) {
  return (std::filesystem::path(folder) / name).string();
}

RunConfig config_of(const Json& json) {
  RunConfig config;
  config_fields(config, [&](const char* name, auto& value) { json.at(name).get_to(value); });
  return config;
}

Json parse_config(const Safetensors& file, const std::string& path) {
  auto it = file.metadata.find(kConfigKey);
  if (it == file.metadata.end()) throw Error("[train] " + path + " was not written by wick train");
  try {
    return Json::parse(it->second);
  } catch (const Json::exception& e) {
    throw Error("[train] " + path + ": damaged config: " + e.what());
  }
}

// `config` with what the caller says in place of its own.
RunConfig with(RunConfig config, const TrainConfig& given) {
  auto take = [](auto& field, const auto& said) {
    if (said) field = *said;
  };
  take(config.model, given.model), take(config.data, given.data);
  take(config.epochs, given.epochs), take(config.batch, given.batch);
  take(config.lr, given.lr), take(config.seed, given.seed);
  const Recipe& recipe = recipe_of(config.model);
  if (config.epochs == 0) config.epochs = recipe.epochs;
  if (config.batch == 0) config.batch = recipe.batch;
  if (config.lr == 0) config.lr = recipe.lr;
  return config;
}

// The saved run decides; what the caller also says must not contradict it.
RunConfig resumed(const TrainConfig& given, const Where& where) {
  std::string path = file_in(given.out, "last.safetensors");
  RunConfig config;
  try {
    config = config_of(parse_config(load_safetensors(path), path));
  } catch (const Json::exception& e) {
    throw_error("train", path + ": damaged config: " + e.what(), where);
  }
  std::string differ;
  Json saved = fields_of(config), said = fields_of(with(config, given));
  for (const auto& [name, value] : saved.items()) {
    if (said[name] == value) continue;
    differ += std::string(differ.empty() ? "" : ", ") + name + " (saved " + value.dump() + ")";
  }
  if (differ.empty()) return config;
  throw_error("train", "cannot resume " + given.out + " with another " + differ, where);
}

void check_fits(const std::string& model, const data::ImageData& images, const Where& where) {
  bool size = model == "resnet8" || (images.height == 28 && images.width == 28);
  if (size && images.classes.size() <= 10) return;
  throw_error("train",
              model + " takes 1x28x28 images of at most ten classes; " + images.name + " has " +
                  std::to_string(images.height) + "x" + std::to_string(images.width) + ", " +
                  std::to_string(images.classes.size()) + " classes",
              where, Code::kShapeMismatch);
}

}  // namespace

TrainResult run_training(const TrainConfig& given, Where where) {
  if (given.resume && given.out.empty()) {
    throw_error("train", "resume needs the folder of the run", where);
  }
  RunConfig config = given.resume ? resumed(given, where) : with(RunConfig(), given);
  config.out = given.out;
  manual_seed(config.seed);
  std::shared_ptr<nn::Module> model = nn::make_model(config.model, where);
  const Recipe& recipe = recipe_of(config.model);
  data::ImageData images = data::open_images(config.data);
  check_fits(config.model, images, where);
  set_num_threads(given.threads);

  std::unique_ptr<optim::Optimizer> optimizer;
  if (recipe.adam) {
    optim::AdamOptions options;
    options.lr = config.lr;
    options.weight_decay = recipe.weight_decay;
    optimizer = std::make_unique<optim::Adam>(model->parameters(), options, where);
  } else {
    optim::SgdOptions options;
    options.lr = config.lr;
    options.momentum = 0.9;
    options.weight_decay = recipe.weight_decay;
    options.nesterov = true;
    optimizer = std::make_unique<optim::SGD>(model->parameters(), options, where);
  }
  data::LoaderOptions reading;
  reading.batch_size = config.batch;
  reading.shuffle = true;
  reading.seed = config.seed;
  reading.workers = given.workers;
  data::DataLoader train(images.train, reading, where);
  data::LoaderOptions testing;
  testing.batch_size = 250;
  testing.workers = given.workers;
  data::DataLoader test(images.test, testing, where);
  int64_t steps = config.epochs * train.batches();
  auto warmup = static_cast<int64_t>(recipe.warmup * static_cast<double>(train.batches()));
  optim::CosineAnnealingLR schedule(*optimizer, steps, 0, std::min(warmup, steps - 1), where);

  FitOptions options;
  options.epochs = config.epochs;
  options.out = config.out;
  options.classes = images.classes;
  options.resume = given.resume;
  options.save_every_steps = given.save_every_steps;
  options.resume_command = given.resume_command;
  options.progress = given.progress;
  options.on_step = given.on_step;
  Json description = describe(config, images);
  options.metadata[kConfigKey] = description.dump();
  if (!config.out.empty()) {
    std::error_code ignored;  // fit() reports a folder that cannot be made
    if (std::filesystem::create_directories(config.out, ignored) ||
        std::filesystem::is_directory(config.out)) {
      std::string file = file_in(config.out, "config.json"), text = description.dump(2) + "\n";
      check_status(write_file_atomically(file.c_str(), text.data(), text.size()));
    }
  }
  Trainer trainer(
      *model, *optimizer,
      [](const Tensor& output, const Tensor& target) { return cross_entropy(output, target); },
      &schedule);
  TrainResult result;
  result.fit = trainer.fit(train, &test, options, where);
  result.config = config;
  for (const Tensor& p : model->parameters()) result.parameters += p.raw().numel();
  return result;
}

TrainedModel load_trained(const std::string& folder, Where where) {
  TrainedModel trained;
  for (const char* name : {"best.safetensors", "last.safetensors"}) {
    if (trained.file.empty() && std::filesystem::exists(file_in(folder, name))) {
      trained.file = file_in(folder, name);
    }
  }
  if (trained.file.empty()) {
    throw_error("train",
                folder +
                    " holds no trained model (no best.safetensors, no last.safetensors); make one "
                    "with wick train --out " +
                    folder,
                where, Code::kNotFound);
  }
  Safetensors file = load_safetensors(trained.file);
  Json json = parse_config(file, trained.file);
  std::string last = file_in(folder, "last.safetensors");
  if (trained.file != last && std::filesystem::exists(last) &&
      parse_config(load_safetensors(last), last) != json) {
    throw_error("train",
                folder +
                    ": best.safetensors and last.safetensors are of different runs (their "
                    "wick.config differs); remove the one that is not wanted",
                where);
  }
  try {
    trained.config = config_of(json);
    trained.config.out = folder;
    json.at("classes").get_to(trained.classes);
    const Json& input = json.at("input");
    input.at("divisor").get_to(trained.normalization.divisor);
    input.at("mean").get_to(trained.normalization.mean);
    input.at("std").get_to(trained.normalization.std);
    for (const Json& d : input.at("shape")) trained.input_shape.push_back(d.get<int64_t>());
  } catch (const Json::exception& e) {
    throw_error("train", trained.file + ": damaged config: " + e.what(), where);
  }
  std::erase_if(file.tensors, [](const auto& t) { return t.first.starts_with("optimizer/"); });
  trained.module = nn::make_model(trained.config.model, where);
  trained.module->load_state_dict(file.tensors, where);
  trained.module->eval();
  trained.weights_sha256 = state_sha256(trained.module->state_dict());
  return trained;
}

}  // namespace wick::loop
