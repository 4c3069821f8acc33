// wick plan: which way of training on several ranks fits a net, with predicted bytes and times.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/wick/command.h"
#include "trainer/distributed/plan/parallel_plan.h"
#include "trainer/nn/models/models.h"
#include "trainer/profile/roofline.h"
#include "trainer/tensor/ops.h"

namespace wick::tool {
namespace {

constexpr double kMostRanks = 100000;  // tens are what it is made for

struct PlanCommand {
  std::string model, optimizer = "adam";
  int64_t ranks = 1, batch = 64, shards = 0;
  double memory = 0, net = 1.25, latency = 20;
  std::optional<double> gflops;
  int64_t layers = 12, width = 768, heads = 12, vocab = 50257, context = 1024;
  bool json = false, checkpoint = false;
};

distributed::NetCost cost_of(const PlanCommand& c) {
  if (c.model == "gpt") {
    nn::GptOptions o;
    o.vocab_size = c.vocab;
    o.embed_dim = c.width;
    o.num_layers = c.layers;
    o.num_heads = c.heads;
    o.max_seq_len = c.context;
    if (c.width % c.heads != 0)
      wrong_usage("--heads", fmt::format("{} do not divide the width {}", c.heads, c.width));
    return distributed::gpt_cost(o);
  }
  const std::vector<std::string> known = nn::model_names();
  if (std::find(known.begin(), known.end(), c.model) == known.end()) {
    throw Error(
        fmt::format("plan: unknown model '{}'; known: gpt, {}", c.model, fmt::join(known, ", ")));
  }
  const std::shared_ptr<nn::Module> net = nn::make_model(c.model);
  net->eval();  // one image has no statistics of a batch
  return distributed::measured_cost(*net, zeros({1, 1, 28, 28}), c.model);
}

nlohmann::json json_of(const distributed::PlanChoice& c) {
  return {{"way", distributed::to_text(c.way)},
          {"data", c.data},
          {"pipe", c.pipe},
          {"tensor", c.tensor},
          {"bytes", c.bytes},
          {"sent_bytes", c.sent},
          {"compute_ms", 1e3 * c.compute_s},
          {"exposed_ms", 1e3 * c.exposed_s},
          {"bubble", c.bubble},
          {"step_ms", 1e3 * c.step_s},
          {"fits", c.fits}};
}

// Why a GPT is not cut into as many ranks as it has heads; empty: it is.
std::string uncut_text(const PlanCommand& c, const distributed::NetCost& net) {
  if (c.model != "gpt" || net.most_tensor >= c.heads) return "";
  const int64_t whole = (c.vocab + c.heads - 1) / c.heads * c.heads;
  return fmt::format(
      "Tensor parallel cuts {} heads and a vocabulary of {} alike: into at most {}, and into {} "
      "with --vocab {}.\n",
      c.heads, c.vocab, net.most_tensor, c.heads, whole);
}

void plan(const PlanCommand& c, const Command& command) {
  for (const char* option : {"--layers", "--width", "--heads", "--vocab", "--context"}) {
    if (c.model != "gpt" && command.given(option)) wrong_usage(option, "is for gpt");
  }
  const distributed::NetCost net = cost_of(c);
  distributed::PlanRequest r;
  r.ranks = static_cast<int>(c.ranks);
  r.memory_bytes = 1e9 * c.memory;
  r.net_bytes_per_s = 1e9 * c.net;
  r.latency_s = 1e-6 * c.latency;
  r.flops_per_s = c.gflops ? 1e9 * *c.gflops : machine_roofline().flops_per_second;
  r.batch = c.batch;
  r.shards = static_cast<int>(c.shards);
  r.checkpoint = c.checkpoint;
  r.optimizer_states = c.optimizer == "sgd" ? 0 : c.optimizer == "momentum" ? 1 : 2;
  const distributed::ParallelPlan p = distributed::plan_parallel(net, r);
  if (c.json) {
    nlohmann::json choices = nlohmann::json::array();
    for (const distributed::PlanChoice& choice : p.choices) choices.push_back(json_of(choice));
    return print_json({{"model", net.name},
                       {"parameters", net.parameters()},
                       {"forward_flops", net.forward_flops()},
                       {"shards", p.shards},
                       {"choices", choices},
                       {"chosen", p.chosen},
                       {"rule", p.rule}});
  }
  fmt::print(
      "{}: {} parameters, {:.3g} FLOPs forward and {:.3g} bytes kept a sample; {} rank{} "
      "of {:.3g} GFLOP/s, {:.3g} GB/s\n{}",
      net.name, net.parameters(), net.forward_flops(), net.kept_bytes(), r.ranks,
      r.ranks == 1 ? "" : "s", r.flops_per_s / 1e9, c.net, p.text() + uncut_text(c, net));
  if (p.chosen < 0) throw Differs{};
}

}  // namespace

void add_plan(CommandLine& app) {
  auto c = std::make_shared<PlanCommand>();
  Command command =
      app.add_command("plan", "Say how to train a net on several ranks, and what that takes");
  command.add_option("model", c->model, "gpt, or a model of wick train").required();
  command.add_option("--ranks", c->ranks, "processes").at_least(1).between(1, kMostRanks);
  command.add_option("--memory", c->memory, "GB that a rank may use; 0: any").not_negative();
  command.add_option("--net", c->net, "GB/s that a rank sends while it receives").above_zero();
  command.add_option("--latency", c->latency, "microseconds of a message").not_negative();
  command.add_option("--gflops", c->gflops, "of a rank; without it this machine's are measured")
      .above_zero();
  command.add_option("--batch", c->batch, "samples of all ranks").at_least(1);
  command.add_option("--shards", c->shards, "parts of a batch; 0: at least 8 and the ranks")
      .at_least(0)
      .between(0, kMostRanks);
  command.add_option("--optimizer", c->optimizer, "what it keeps: sgd, momentum, adam")
      .one_of(std::vector<std::string>{"sgd", "momentum", "adam"});
  command.add_option("--layers", c->layers, "of a gpt").at_least(1);
  command.add_option("--width", c->width, "of a gpt").at_least(1);
  command.add_option("--heads", c->heads, "of a gpt").at_least(1);
  command.add_option("--vocab", c->vocab, "of a gpt").at_least(1);
  command.add_option("--context", c->context, "tokens of a gpt's sample").at_least(1);
  command.add_flag("--checkpoint", c->checkpoint, "layers run forward again before backward");
  command.add_flag("--json", c->json, "print JSON");
  command.footer(
      "Example:\n  wick plan gpt --layers 24 --width 1024 --heads 16 --ranks 8 --memory 8 --net "
      "1.25");
  command.callback([c, command] { plan(*c, command); });
}

}  // namespace wick::tool
