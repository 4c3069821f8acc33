// wick explain: how signals and gradients pass through a model, layer by layer.
#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/wick/command.h"
#include "trainer/data/image/images.h"
#include "trainer/data/loader.h"
#include "trainer/explain/report.h"
#include "trainer/loop/recipes.h"
#include "trainer/nn/models/models.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"

namespace wick::tool {
namespace {

struct ExplainCommand {
  std::string model = "lenet", data, run;
  int64_t batch = 64;
  uint64_t seed = 0;
  double lr = 0.01;
  bool json = false;
};

// JSON has no nan and no inf.
nlohmann::json finite(double v) { return std::isfinite(v) ? nlohmann::json(v) : nullptr; }

nlohmann::json to_json(const ExplainReport& report) {
  nlohmann::json layers = nlohmann::json::array();
  for (const LayerReport& r : report.layers) {
    layers.push_back({{"layer", r.layer},
                      {"op", r.op},
                      {"output", std::vector<int64_t>(r.output.begin(), r.output.end())},
                      {"mean", finite(r.mean)},
                      {"std", finite(r.std)},
                      {"zeros", r.zeros},
                      {"dead", r.dead},
                      {"saturated", r.saturated},
                      {"gradient_rms", finite(r.gradient_rms)},
                      {"weight_norm", finite(r.weight_norm)},
                      {"gradient_norm", finite(r.gradient_norm)},
                      {"update_ratio", finite(r.update_ratio)},
                      {"verdict", r.verdict}});
  }
  return {{"loss", finite(report.loss)},
          {"verdict", report.verdict},
          {"layers", layers},
          {"advice", report.advice}};
}

void run_explain(const ExplainCommand& c) {
  std::shared_ptr<nn::Module> model;
  std::string model_name = c.model, data_name = c.data.empty() ? "fashion-mnist" : c.data;
  if (!c.run.empty()) {
    loop::TrainedModel trained = loop::load_trained(c.run);
    model = trained.module;
    model_name = trained.config.model;
    if (c.data.empty()) data_name = trained.config.data;
  }
  manual_seed(c.seed);
  if (!model) model = nn::make_model(model_name);
  model->train();
  data::ImageData images = data::open_images(data_name);
  data::LoaderOptions reading;
  reading.batch_size = c.batch;
  reading.shuffle = true;
  reading.seed = c.seed;
  data::DataLoader loader(images.train, reading);
  data::Batch batch;
  if (!loader.next(batch)) throw Error("[explain] " + data_name + " has no images");
  ExplainReport report =
      explain(*model, [&] { return cross_entropy((*model)(batch.at(0)), batch.at(1)); }, {c.lr});
  if (c.json) {
    nlohmann::json document = to_json(report);
    document["model"] = model_name;
    document["data"] = data_name;
    document["batch"] = batch.at(0).raw_shape()[0];
    print_json(document);
    return;
  }
  fmt::print("{} on {} images of {}\n{}", model_name, batch.at(0).raw_shape()[0], data_name,
             report.text());
}

}  // namespace

void add_explain(CommandLine& app) {
  auto c = std::make_shared<ExplainCommand>();
  Command command =
      app.add_command("explain", "Activations and gradients of a model, layer by layer");
  const Option model =
      command.add_option("model", c->model, "lenet, mlp, mobilenet or resnet8, freshly initialised")
          .one_of(nn::model_names());
  command.add_option("--run", c->run, "the trained weights of a folder of wick train instead")
      .excludes(model);
  command.add_option("--data", c->data,
                     "fashion-mnist (default), mnist, tinydigits, or a folder of IDX files");
  command.add_option("--batch", c->batch, "images looked at").at_least(1);
  command.add_option("--seed", c->seed, "of weights and of the choice of images");
  command.add_option("--lr", c->lr, "for the update column").not_negative();
  command.add_flag("--json", c->json, "print the report as JSON");
  command.footer("Example:\n  wick explain lenet --data fashion-mnist --lr 0.05");
  command.callback([c] { run_explain(*c); });
}

}  // namespace wick::tool
