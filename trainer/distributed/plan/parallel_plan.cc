#include "trainer/distributed/plan/parallel_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "trainer/distributed/comm/tree.h"
#include "trainer/distributed/pipeline/pipe_steps.h"
#include "trainer/tensor/internal.h"

namespace wick::distributed {
namespace {

constexpr double kElementBytes = 4;  // float32
constexpr Way kWays[] = {Way::kData,   Way::kZero1,    Way::kZero2, Way::kZero3,
                         Way::kTensor, Way::kPipeline, Way::kMesh};

// What a stage of a pipeline, whose layers may be cut, has of the net.
struct Share {
  double parameter_bytes = 0, largest_layer_bytes = 0, kept_bytes = 0;  // of a rank
  double flops_part = 1;  // of all, times the stages: 1 where they are even
  double hop_bytes = 0;   // between two stages, of a sample
};

Share share_of(const NetCost& net, int pipe, int tensor, bool checkpoint) {
  std::vector<double> weights;
  double all = 0;
  for (const LayerCost& l : net.layers) {
    weights.push_back(1 + static_cast<double>(l.parameters));  // as take_stage() cuts
    all += l.forward_flops;
  }
  std::vector<size_t> begins = balanced_cuts(weights, pipe);
  begins.insert(begins.begin(), 0);
  begins.push_back(net.layers.size());
  Share s;
  double slowest = 0;
  for (size_t stage = 0; stage + 1 < begins.size(); ++stage) {
    double parameters = 0, kept = 0, again = 0, flops = 0;
    for (size_t i = begins[stage]; i < begins[stage + 1]; ++i) {
      const double bytes = kElementBytes * static_cast<double>(net.layers[i].parameters);
      parameters += bytes / tensor;
      const double all_of_it = net.layers[i].kept_bytes / tensor;
      kept += checkpoint ? net.layers[i].output_bytes : all_of_it;
      if (checkpoint) again = std::max(again, all_of_it);
      flops += net.layers[i].forward_flops;
      s.largest_layer_bytes = std::max(s.largest_layer_bytes, bytes / tensor);
    }
    if (begins[stage + 1] < net.layers.size())
      s.hop_bytes = std::max(s.hop_bytes, net.layers[begins[stage + 1] - 1].output_bytes);
    s.parameter_bytes = std::max(s.parameter_bytes, parameters);
    s.kept_bytes = std::max(s.kept_bytes, kept + again);
    slowest = std::max(slowest, flops);
  }
  s.flops_part = all > 0 ? slowest * pipe / all : 1;
  return s;
}

PlanChoice predict(const NetCost& net, const PlanRequest& r, int shards, Way way, int data,
                   int pipe, int tensor) {
  PlanChoice c{way, data, pipe, tensor, 0, 0, 0, 0, 0, 0, false};
  const Share s = share_of(net, pipe, tensor, r.checkpoint);
  const double n = data, p = s.parameter_bytes, others = (n - 1) / n;
  const double parts = std::ceil(static_cast<double>(shards) / n);  // of the rank that has most
  const auto each = static_cast<double>(r.batch / shards);    // samples of a part; the first have
  const auto longer = static_cast<double>(r.batch % shards);  // one more
  const double samples = each * parts + std::min(longer, parts);     // of that rank
  const double kept = s.kept_bytes * (each + (longer > 0 ? 1 : 0));  // of a part
  // A sum of gradients has a node for each level of the tree of own parts, and the part that runs.
  const double nodes = parts > 1 ? std::floor(std::log2(parts)) + 1 : 1;
  const double states = r.optimizer_states;
  switch (way) {
    case Way::kZero1: c.bytes = p * (1 + 1 + nodes) + p / n * (2 + states) + kept; break;
    case Way::kZero2: c.bytes = p * (1 + nodes) + p / n * (2 + states) + kept; break;
    case Way::kZero3:  // all parts go through a layer together
      c.bytes = p / n * (2 + states) + s.largest_layer_bytes * (3 + nodes) + s.kept_bytes * samples;
      break;
    default: {
      const double in_flight = pipe > 1 ? std::min<double>(parts, pipe) : 1;
      c.bytes = p * (1 + 1 + states + nodes) + kept * in_flight;
    }
  }

  // A backward is two forwards' work; checkpointing adds one.
  const double flops = (r.checkpoint ? 4 : 3) * net.forward_flops() * samples / (pipe * tensor);
  c.compute_s = flops * s.flops_part / r.flops_per_s;
  const double buckets = std::max(1.0, std::ceil(p / r.bucket_bytes));
  auto time_of = [&](double bytes, double messages) {
    return bytes / r.net_bytes_per_s + messages * r.latency_s;
  };
  // Gradients travel under the backward of the last part; the last bucket under nothing.
  double summed = 0, gathered = 0, window = 2.0 / 3 * c.compute_s / parts;
  if (data > 1) {
    summed = (way == Way::kZero2 || way == Way::kZero3 ? 1 : 2) * others * p;
    if (way == Way::kZero1 || way == Way::kZero2) gathered = others * p;
    if (way == Way::kZero3) gathered = 2 * others * p, window *= parts;
  }
  const double layers = static_cast<double>(net.layers.size());
  const double sum_s = time_of(summed, data > 1 ? 2 * buckets : 0);
  c.exposed_s = std::max(sum_s / buckets, sum_s - window);
  c.exposed_s += time_of(gathered, gathered > 0 ? (way == Way::kZero3 ? 2 * layers : buckets) : 0);
  c.sent = summed + gathered;
  if (tensor > 1) {  // forward and backward
    const double t = tensor;
    const double bytes = 2 * net.tensor_sum_bytes * samples / pipe * 2 * (t - 1) / t;
    c.sent += bytes;
    c.exposed_s += time_of(bytes, 8 * layers / pipe * parts);
  }
  c.step_s = c.compute_s + c.exposed_s;
  if (pipe > 1) {
    const auto micro_batches = static_cast<size_t>(parts);
    c.bubble = bubble_of(pipe, micro_batches);
    const double bytes = 2 * s.hop_bytes * samples;
    c.sent += bytes;
    c.exposed_s += (pipe - 1) * time_of(2 * s.hop_bytes * samples / parts, 4);
    c.step_s = c.compute_s / (1 - c.bubble) + c.exposed_s;
  }
  c.fits = r.memory_bytes <= 0 || c.bytes <= r.memory_bytes;
  return c;
}

// Whether a is to be shown, and taken, instead of b of the same way.
bool better(const PlanChoice& a, const PlanChoice& b) {
  if (a.fits != b.fits) return a.fits;
  return a.fits ? a.step_s < b.step_s : a.bytes < b.bytes;
}

std::string size_text(double bytes) {
  char text[32];
  if (bytes >= 1e9) {
    snprintf(text, sizeof text, "%.2f GB", bytes / 1e9);
  } else {
    snprintf(text, sizeof text, "%.2f MB", bytes / 1e6);
  }
  return text;
}

// How many of the ranks that share a batch have no sample: those behind the parts that have one.
int idle_ranks(int data, int shards, int64_t batch) {
  int idle = 0;
  while (idle < data && shards_of(data - 1 - idle, data, shards).begin >= batch) ++idle;
  return idle;
}

// Why a way has no row.
std::string why_not(Way way, const NetCost& net, const PlanRequest& r, int shards,
                    int64_t smallest) {
  const std::string ranks = std::to_string(r.ranks), k = std::to_string(shards);
  const std::string batch = std::to_string(r.batch);
  if (way > Way::kZero3) {
    if (way != Way::kPipeline && net.most_tensor <= 1) return "the net's layers cannot be cut";
    if (way != Way::kTensor && net.most_stages <= 1) return "the net has no stages";
    return "no cut into " + ranks + " ranks leaves each a layer's part, a shard, and a sample";
  }
  if (r.ranks > shards)
    return "a data rank needs a shard, and there are " + k + " for " + ranks + " ranks";
  if (const int idle = idle_ranks(r.ranks, shards, r.batch); idle > 0) {
    return std::to_string(idle) + " of " + ranks + " ranks would have no sample: the batch has " +
           batch + ", in " + k + " shards";
  }
  if (r.batch < shards)
    return "each of the " + k + " shards needs a sample, and the batch has " + batch;
  return "each rank needs an element of each layer, and the smallest has " +
         std::to_string(smallest);
}

// A sentence for each reason, with the ways that it excludes.
std::string reasons(const ParallelPlan& plan, const NetCost& net, const PlanRequest& r,
                    int64_t smallest) {
  if (r.ranks == 1) return "";  // the other ways are for several
  std::vector<std::pair<std::string, std::string>> found;
  for (const Way way : kWays) {
    if (std::any_of(plan.choices.begin(), plan.choices.end(),
                    [way](const PlanChoice& c) { return c.way == way; })) {
      continue;
    }
    const std::string why = why_not(way, net, r, plan.shards, smallest);
    if (found.empty() || found.back().first != why) found.emplace_back(why, "");
    std::string& ways = found.back().second;
    ways += (ways.empty() ? "" : ", ") + std::string(to_text(way));
  }
  std::string text;
  for (const auto& [why, ways] : found) text += "Not " + ways + ": " + why + ". ";
  return text;
}

std::string shape_text(const PlanChoice& c) {
  return std::to_string(c.data) + " x " + std::to_string(c.pipe) + " x " + std::to_string(c.tensor);
}

}  // namespace

const char* to_text(Way way) {
  switch (way) {
    case Way::kData: return "data parallel";
    case Way::kZero1: return "ZeRO-1";
    case Way::kZero2: return "ZeRO-2";
    case Way::kZero3: return "ZeRO-3";
    case Way::kTensor: return "tensor parallel";
    case Way::kPipeline: return "pipeline";
    case Way::kMesh: return "mesh of all";
  }
  return "";
}

ParallelPlan plan_parallel(const NetCost& net, const PlanRequest& r, Where where) {
  if (r.ranks < 1 || r.batch < 1 || !(r.net_bytes_per_s > 0) || !(r.flops_per_s > 0) ||
      net.layers.empty()) {
    throw_error("plan", "takes a net, and ranks, batch, network and FLOP/s above 0", where);
  }
  ParallelPlan plan;
  plan.shards = r.shards;
  if (plan.shards <= 0) {
    for (plan.shards = 8; plan.shards < r.ranks;) plan.shards *= 2;
  }
  // Stage 3 wants a sample in each part, and an element of each layer for each rank.
  const bool samples_for_all = r.batch >= plan.shards;
  int64_t smallest = std::numeric_limits<int64_t>::max();
  for (const LayerCost& l : net.layers) {
    if (l.parameters > 0) smallest = std::min(smallest, l.parameters);
  }
  for (Way way : kWays) {
    PlanChoice best;
    bool any = false;
    for (int pipe = 1; pipe <= std::min(r.ranks, net.most_stages); ++pipe) {
      for (int tensor = 1; tensor <= std::min(r.ranks / pipe, net.most_tensor); ++tensor) {
        if (r.ranks % (pipe * tensor) != 0) continue;
        const int data = r.ranks / pipe / tensor;
        const bool work_for_all =
            data <= plan.shards && idle_ranks(data, plan.shards, r.batch) == 0;
        const bool possible = work_for_all && net.most_tensor % tensor == 0 &&
                              (way != Way::kZero3 || (samples_for_all && data <= smallest));
        const bool right = way <= Way::kZero3      ? pipe == 1 && tensor == 1
                           : way == Way::kTensor   ? pipe == 1 && tensor > 1
                           : way == Way::kPipeline ? pipe > 1 && tensor == 1
                                                   : pipe > 1 && tensor > 1;
        const bool pointless = way >= Way::kZero1 && way <= Way::kZero3 && data == 1;
        if (!possible || !right || pointless) continue;
        const PlanChoice c = predict(net, r, plan.shards, way, data, pipe, tensor);
        if (!any || better(c, best)) best = c;
        any = true;
      }
    }
    if (any) plan.choices.push_back(best);
  }

  std::string rule;
  for (size_t i = 0; i < plan.choices.size(); ++i) {
    const PlanChoice& c = plan.choices[i];
    if (!c.fits) {
      rule += std::string(to_text(c.way)) + " needs " + size_text(c.bytes) + " of " +
              size_text(r.memory_bytes) + ". ";
    } else if (plan.chosen < 0) {
      plan.chosen = static_cast<int>(i);
      rule += std::string(to_text(c.way)) + " is the first that fits. ";
    } else if (c.step_s < 0.9 * plan.choices[static_cast<size_t>(plan.chosen)].step_s) {
      rule += std::string(to_text(c.way)) +
              " is predicted to be a tenth faster, or more: " + shape_text(c) + ". ";
      plan.chosen = static_cast<int>(i);
    }
  }
  if (plan.choices.empty()) {
    rule = "No way is for " + std::to_string(r.ranks) + " ranks: a data rank needs a shard, of " +
           std::to_string(plan.shards) + ", and the net cannot be cut so. ";
  } else if (plan.chosen < 0) {
    rule += "Nothing fits: take more ranks, or smaller parts (more shards). ";
  }
  rule += reasons(plan, net, r, smallest);
  if (!rule.empty()) rule.pop_back();
  plan.rule = rule;
  return plan;
}

std::string ParallelPlan::text() const {
  std::string all =
      "                  data x pipe x tensor   bytes of a rank   sent a step   step      compute  "
      " "
      "exposed   bubble\n";
  char line[256];
  for (size_t i = 0; i < choices.size(); ++i) {
    const PlanChoice& c = choices[i];
    snprintf(line, sizeof line,
             "%s %-15s %-22s %-17s %-13s %7.2f ms %7.2f ms %7.2f ms %5.1f %%%s\n",
             static_cast<int>(i) == chosen ? "*" : " ", to_text(c.way), shape_text(c).c_str(),
             size_text(c.bytes).c_str(), size_text(c.sent).c_str(), 1e3 * c.step_s,
             1e3 * c.compute_s, 1e3 * c.exposed_s, 100 * c.bubble, c.fits ? "" : "  too large");
    all += line;
  }
  return all + "shards = " + std::to_string(shards) + ". " + rule + "\n";
}

}  // namespace wick::distributed
