#include "trainer/loop/recipes.h"

#include <cmath>
#include <filesystem>
#include <limits>

#include "runtime/core/atomic_file.h"
#include "runtime/core/sha256.h"
#include "trainer/checkpoint/json.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/data/datasets.h"
#include "trainer/loop/fit_state.h"
#include "trainer/loop/recipe_parts.h"
#include "trainer/loop/run_folder.h"
#include "trainer/nn/models/models.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/philox.h"

namespace wick::loop {
namespace {

using Json = nlohmann::json;
constexpr const char* kConfigKey = "wick.config";
constexpr const char* kDataKey = "wick.data_sha256";

struct Recipe {
  const char* model;
  const char* optimizer;
  double lr, weight_decay;
  int64_t batch, epochs;
  double warmup;  // in epochs
};
constexpr Recipe kRecipes[] = {
    {"lenet", "sgd", 0.05, 5e-4, 64, 3, 0.25},
    {"mlp", "adam", 1e-3, 0, 128, 8, 0.25},
    {"mobilenet", "sgd", 0.1, 1e-4, 128, 5, 0.5},
    {"resnet8", "sgd", 0.1, 5e-4, 128, 5, 0.5},
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

// Fields that were added later: a file without them has their defaults.
template <class C, class F>
void later_fields(C& c, F&& f) {
  f("optimizer", c.optimizer), f("schedule", c.schedule), f("weight_decay", c.weight_decay);
  f("accumulate", c.accumulate), f("clip_norm", c.clip_norm), f("patience", c.patience);
  f("val_split", c.val_split), f("ema", c.ema), f("label_smoothing", c.label_smoothing);
  f("autocast", c.autocast);
}

Json fields_of(const RunConfig& config) {
  Json json;
  auto keep = [&](const char* name, const auto& value) { json[name] = value; };
  config_fields(config, keep);
  later_fields(config, keep);
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

// -1 stands for a weight decay that was not given, 0 for a value that the recipe decides.
void read_field(const JsonPlace& place, std::string* value) { *value = place.text(); }
void read_field(const JsonPlace& place, uint64_t* value) { *value = place.count(); }
void read_field(const JsonPlace& place, int64_t* value) {
  *value = place.integer(0, 1'000'000'000);
}
void read_field(const JsonPlace& place, double* value) {
  *value = place.number(-1, std::numeric_limits<double>::max());
}

RunConfig config_of(const JsonPlace& json) {
  RunConfig config;
  config_fields(config, [&](const char* name, auto& value) { read_field(json.at(name), &value); });
  later_fields(config, [&](const char* name, auto& value) {
    if (json.has(name)) read_field(json.at(name), &value);
  });
  return config;
}

Json parse_config(const Safetensors& file, const std::string& path) {
  auto it = file.metadata.find(kConfigKey);
  if (it == file.metadata.end()) throw Error("[train] " + path + " was not written by wick train");
  return read_json(it->second, "[train] damaged config: " + path);
}

// Returns `config` with the values that the caller gave.
RunConfig with(RunConfig config, const TrainConfig& given) {
  auto take = [](auto& field, const auto& said) {
    if (said) field = *said;
  };
  take(config.model, given.model), take(config.data, given.data);
  take(config.epochs, given.epochs), take(config.batch, given.batch);
  take(config.lr, given.lr), take(config.seed, given.seed);
  take(config.optimizer, given.optimizer), take(config.schedule, given.schedule);
  take(config.weight_decay, given.weight_decay), take(config.accumulate, given.accumulate);
  take(config.clip_norm, given.clip_norm), take(config.patience, given.patience);
  take(config.val_split, given.val_split), take(config.ema, given.ema);
  take(config.label_smoothing, given.label_smoothing), take(config.autocast, given.autocast);
  const Recipe& recipe = recipe_of(config.model);
  if (config.optimizer.empty()) config.optimizer = recipe.optimizer;
  if (config.schedule.empty()) config.schedule = "cosine";
  const bool own = config.optimizer == recipe.optimizer;
  if (config.weight_decay < 0) {
    config.weight_decay = own ? recipe.weight_decay : default_weight_decay(config.optimizer);
  }
  if (config.epochs == 0) config.epochs = recipe.epochs;
  if (config.batch == 0) config.batch = recipe.batch;
  if (config.lr == 0) config.lr = own ? recipe.lr : default_lr(config.optimizer);
  return config;
}

// The saved run decides; values that the caller gives must not differ.
RunConfig resumed(const TrainConfig& given, const Where& where) {
  std::string path = in_folder(given.out, "last.safetensors");
  const Json tree = parse_config(load_safetensors(path), path);
  const RunConfig config =
      with(config_of(JsonPlace(tree, "[train] damaged config: " + path)), TrainConfig());
  std::string differ;
  Json saved = fields_of(config), said = fields_of(with(config, given));
  for (const auto& [name, value] : saved.items()) {
    if (said[name] == value) continue;
    differ += std::string(differ.empty() ? "" : ", ") + name + " (saved " + shown(value) + ")";
  }
  if (differ.empty()) return config;
  throw_error("train", "cannot resume " + given.out + " with another " + differ, where);
}

// Refuses to resume with other images. Old checkpoints have no digest.
void check_same_data(const RunConfig& config, const std::string& digest, const Where& where) {
  const Safetensors last = load_safetensors(in_folder(config.out, "last.safetensors"));
  const auto saved = last.metadata.find(kDataKey);
  if (saved == last.metadata.end() || saved->second == digest) return;
  throw_error("train",
              "cannot resume " + config.out + ": the images of '" + config.data +
                  "' are not those it was trained on (sha256 " + saved->second + ", now " + digest +
                  ")",
              where);
}

// Refuses values that would be taken for 0, or be divided by.
void check_ranges(const RunConfig& c, const Where& where) {
  if (c.accumulate < 1) {
    throw_error("train", "accumulate must be at least 1, got " + std::to_string(c.accumulate),
                where);
  }
  auto share = [&](const char* name, double value) {
    if (value >= 0 && value <= 1) return;
    throw_error("train", std::string(name) + " must be in [0, 1], got " + std::to_string(value),
                where);
  };
  share("ema", c.ema), share("val_split", c.val_split), share("label_smoothing", c.label_smoothing);
}

void check_fits(const std::string& model, const data::ImageData& images, const Where& where) {
  bool size =
      model == "resnet8" || model == "mobilenet" || (images.height == 28 && images.width == 28);
  if (size && images.classes.size() <= 10) return;
  throw_error("train",
              model + " takes 1x28x28 images of at most ten classes; " + images.name + " has " +
                  std::to_string(images.height) + "x" + std::to_string(images.width) + ", " +
                  std::to_string(images.classes.size()) + " classes",
              where, Code::kShapeMismatch);
}

struct TrainingData {
  std::shared_ptr<const data::Dataset> trained, held_out;  // held_out is null without val_split
};
TrainingData split_off(const data::ImageData& images, const RunConfig& config, const Where& where) {
  if (config.val_split <= 0) return {images.train, nullptr};
  const int64_t n = images.train->size();
  const auto held = std::llround(config.val_split * static_cast<double>(n));
  if (held < 1 || held >= n) {
    throw_error("train",
                "val_split " + std::to_string(config.val_split) + " of " + std::to_string(n) +
                    " images leaves none on one side",
                where);
  }
  auto parts =
      data::random_split(images.train, std::vector<int64_t>{n - held, held}, config.seed, where);
  return {parts[0], parts[1]};
}

// Returns the digest of the training images and labels, in order.
std::string data_sha256(const data::ImageData& images) {
  Sha256 sha;
  for (const data::HostArray* array : {&images.train->images(), &images.train->labels()})
    sha.update({array->bytes.data(), array->bytes.size()});
  return sha.finish_text().text;
}

FitOptions fit_options(const RunConfig& config, const TrainConfig& given) {
  FitOptions options;
  options.epochs = config.epochs;
  options.out = config.out;
  options.resume = given.resume;
  options.save_every_steps = given.save_every_steps;
  options.tensorboard = given.tensorboard;
  options.resume_command = given.resume_command;
  options.progress = given.progress;
  options.on_step = given.on_step;
  options.accumulation_steps = config.accumulate;
  options.clip_grad_norm = config.clip_norm;
  options.patience = config.patience;
  options.verdict = given.verdict;
  options.amp.autocast = autocast_named(config.autocast);
  return options;
}

// Writes config.json, for people who look into the folder.
void write_config(const std::string& out, const Json& description) {
  std::string file = in_folder(out, "config.json"), text = description.dump(2) + "\n";
  check_status(write_file_atomically(file.c_str(), text.data(), text.size()));
}

Loss loss_with(double smoothing) {
  return [smoothing](const Tensor& output, const Tensor& target) {
    if (smoothing == 0) return cross_entropy(output, target);
    ClassLossOptions smoothed;
    smoothed.label_smoothing = smoothing;
    return cross_entropy(output, target, smoothed);
  };
}

}  // namespace

TrainResult run_training(const TrainConfig& given, Where where) {
  if (given.resume && given.out.empty()) {
    throw_error("train", "resume needs the folder of the run", where);
  }
  RunConfig config = given.resume ? resumed(given, where) : with(RunConfig(), given);
  config.out = given.out;
  check_ranges(config, where);
  manual_seed(config.seed);
  std::shared_ptr<nn::Module> model = nn::make_model(config.model, where);
  const Recipe& recipe = recipe_of(config.model);
  data::ImageData images = data::open_images(config.data);
  check_fits(config.model, images, where);
  set_num_threads(given.threads);

  std::unique_ptr<optim::Optimizer> optimizer =
      make_optimizer(config.optimizer, model->parameters(), config.lr, config.weight_decay, where);
  const TrainingData parts = split_off(images, config, where);
  data::LoaderOptions reading;
  reading.batch_size = config.batch;
  reading.shuffle = true;
  reading.seed = config.seed;
  reading.workers = given.workers;
  data::DataLoader train(parts.trained, reading, where);
  data::LoaderOptions testing;
  testing.batch_size = 250;
  testing.workers = given.workers;
  data::DataLoader test(images.test, testing, where);
  std::optional<data::DataLoader> validation;
  if (parts.held_out) validation.emplace(parts.held_out, testing, where);
  const int64_t steps_per_epoch = (train.batches() + config.accumulate - 1) / config.accumulate;
  auto warmup = static_cast<int64_t>(recipe.warmup * static_cast<double>(steps_per_epoch));
  std::unique_ptr<optim::LrScheduler> schedule =
      make_schedule(config.schedule, *optimizer, config.epochs * steps_per_epoch, warmup, where);
  std::optional<optim::AveragedModel> average;
  if (config.ema > 0) {
    const Generator drawn = default_generator();  // the copy's initial weights are overwritten
    average.emplace(*model, nn::make_model(config.model, where), optim::ema_avg_fn(config.ema),
                    true, where);
    default_generator() = drawn;
  }

  FitOptions options = fit_options(config, given);
  options.classes = images.classes;
  options.average = average ? &*average : nullptr;
  const Json description = describe(config, images);
  options.metadata[kConfigKey] = description.dump();
  options.metadata[kDataKey] = data_sha256(images);
  if (given.resume) check_same_data(config, options.metadata[kDataKey], where);
  FileLock lock;  // taken before any file in the folder could be another run's
  if (!config.out.empty()) {
    hold_folder(config.out, &lock, where);
    write_config(config.out, description);
  }
  Trainer trainer(*model, *optimizer, loss_with(config.label_smoothing), schedule.get());
  TrainResult result;
  result.fit = trainer.fit(train, validation ? &*validation : &test, options, where);
  result.test = result.fit.validation;
  if (validation && !result.fit.interrupted) {
    std::shared_ptr<nn::Module> best = model;
    if (!config.out.empty() && std::filesystem::exists(in_folder(config.out, "best.safetensors"))) {
      best = load_trained(config.out, where).module;
    } else if (average) {
      best = std::shared_ptr<nn::Module>(model, &average->module());
    }
    Trainer judge(*best, *optimizer, loss_with(0));
    AutocastScope scope(options.amp.autocast);
    result.test = judge.evaluate(test);
  }
  result.config = config;
  for (const Tensor& p : model->parameters()) result.parameters += p.layout().numel();
  return result;
}

// Reads the data that the model was trained on, and the normalization of its inputs.
static void read_data(const JsonPlace& saved, TrainedModel* trained) {
  trained->config = config_of(saved);
  const JsonPlace classes = saved.at("classes"), input = saved.at("input");
  for (size_t i = 0; i < classes.size(); ++i) trained->classes.push_back(classes.at(i).text());
  using Float = std::numeric_limits<float>;
  const auto real = [&](const char* name, float least) {
    return static_cast<float>(input.at(name).number(least, Float::max()));
  };
  trained->normalization = {real("divisor", Float::min()), real("mean", Float::lowest()),
                            real("std", Float::min())};
  const JsonPlace shape = input.at("shape");
  if (shape.size() != 3) shape.refuse("a list of three sizes");
  for (size_t i = 0; i < shape.size(); ++i) {
    trained->input_shape.push_back(shape.at(i).integer(0, INT32_MAX));
  }
  // An example of this shape is made: a few bytes must not cost as much memory as they say.
  constexpr size_t kMost = size_t{1} << 28;
  Result<size_t> bytes = checked_bytes(trained->input_shape, dtype_bits(DType::kF32));
  if (!bytes.ok() || *bytes > kMost) shape.refuse("three sizes of at most 256 MB of float32");
}

TrainedModel load_trained(const std::string& folder, Where where) {
  TrainedModel trained;
  for (const char* name : {"best.safetensors", "last.safetensors"}) {
    if (trained.file.empty() && std::filesystem::exists(in_folder(folder, name))) {
      trained.file = in_folder(folder, name);
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
  std::string last = in_folder(folder, "last.safetensors");
  // A file that lacks some of the fields has their defaults.
  auto filled = [](Json fields, const std::string& path) {
    const JsonPlace place(fields, "[train] damaged config: " + path);
    const Json all = fields_of(with(config_of(place), TrainConfig()));
    fields.update(all);
    return fields;
  };
  if (trained.file != last && std::filesystem::exists(last) &&
      filled(parse_config(load_safetensors(last), last), last) != filled(json, trained.file)) {
    throw_error("train",
                folder +
                    ": best.safetensors and last.safetensors are of different runs (their "
                    "wick.config differs); remove the one that is not wanted",
                where);
  }
  read_data(JsonPlace(json, "[train] damaged config: " + trained.file), &trained);
  trained.config.out = folder;
  std::erase_if(file.tensors, [](const auto& t) { return t.first.find('/') != std::string::npos; });
  trained.module = nn::make_model(trained.config.model, where);
  trained.module->load_state_dict(file.tensors, where);
  trained.module->eval();
  trained.weights_sha256 = state_sha256(trained.module->state_dict());
  const auto digest = file.metadata.find(kDataKey);
  if (digest != file.metadata.end()) trained.data_sha256 = digest->second;
  return trained;
}

}  // namespace wick::loop
