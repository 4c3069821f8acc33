// wick explain: how signals and gradients pass through a model, layer by layer.
#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/wick/command.h"
#include "tools/wick/first_batch.h"
#include "trainer/explain/report.h"
#include "trainer/nn/models/models.h"
#include "trainer/tensor/ops.h"

namespace wick::tool {
namespace {

struct ExplainCommand {
  FirstBatchOptions first;
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
  const FirstBatch first = first_batch(c.first);
  ExplainReport report =
      explain(*first.module,
              [&] { return cross_entropy((*first.module)(first.images), first.labels); }, {c.lr});
  if (c.json) {
    nlohmann::json document = to_json(report);
    document["model"] = first.model;
    document["data"] = first.data;
    document["batch"] = first.images.raw_shape()[0];
    print_json(document);
    return;
  }
  fmt::print("{} on {} of {}\n{}", first.model, counted(first.images.raw_shape()[0], "image"),
             first.data, report.text());
}

}  // namespace

void add_explain(CommandLine& app) {
  auto c = std::make_shared<ExplainCommand>();
  Command command =
      app.add_command("explain", "Activations and gradients of a model, layer by layer");
  const Option model = command
                           .add_option("model", c->first.model,
                                       "lenet, mlp, mobilenet or resnet8, freshly initialised")
                           .one_of(nn::model_names());
  command.add_option("--run", c->first.run, "the trained weights of a folder of wick train instead")
      .excludes(model);
  accept_batch(command, &c->first);
  command.add_option("--lr", c->lr, "for the update column").not_negative();
  command.add_flag("--json", c->json, "print the report as JSON");
  command.footer("Example:\n  wick explain lenet --data fashion-mnist --lr 0.05");
  command.callback([c] { run_explain(*c); });
}

}  // namespace wick::tool
