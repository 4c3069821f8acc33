#include "trainer/explain/report.h"
#include "trainer/explain/kept.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "trainer/autograd/node.h"
#include "trainer/autograd/running_node.h"
#include "trainer/autograd/sparse_slot.h"
#include "trainer/explain/values.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"
#include "trainer/tensor/watcher.h"

namespace wick {
namespace {

enum class Kind { kNone, kWeighted, kRectifier, kTanh, kSigmoid, kOther };

Kind layer_kind(OpId op) {
  const OpKind kind = kind_of(op);
  if (kind == OpKind::kProduct || kind == OpKind::kConv || kind == OpKind::kNorm)
    return Kind::kWeighted;
  if (op == OpId::kRelu) return Kind::kRectifier;
  if (op == OpId::kTanh) return Kind::kTanh;
  if (op == OpId::kSigmoid) return Kind::kSigmoid;
  constexpr OpId kOthers[] = {OpId::kLeakyRelu,   OpId::kPRelu,   OpId::kElu,
                              OpId::kGelu,        OpId::kSilu,    OpId::kHardSwish,
                              OpId::kHardSigmoid, OpId::kSoftplus};
  return std::find(std::begin(kOthers), std::end(kOthers), op) != std::end(kOthers) ? Kind::kOther
                                                                                    : Kind::kNone;
}

// Returns the fraction of units, along dimension 1, for which `idle` is true for every value.
template <class F>
double idle_units(const TensorView& v, const F& idle) {
  if (v.numel() == 0) return 0;
  const int64_t units = v.rank() >= 2 ? v.shape[1] : v.numel();
  int64_t inner = 1;
  for (int d = 2; d < v.rank(); ++d) inner *= v.shape[d];
  std::vector<bool> alive(static_cast<size_t>(units));
  for_each_element(v, [&](double x, int64_t i) {
    if (!idle(x)) alive[static_cast<size_t>(i / inner % units)] = true;
  });
  const auto dead = std::count(alive.begin(), alive.end(), false);
  return static_cast<double>(dead) / static_cast<double>(units);
}

double rms(const TensorView& v) {
  double sum = 0;
  for_each_element(v, [&](double x, int64_t) { sum += x * x; });
  return v.numel() > 0 ? std::sqrt(sum / static_cast<double>(v.numel())) : 0;
}
double norm(const TensorView& v) {
  return rms(v) * std::sqrt(static_cast<double>(std::max<int64_t>(v.numel(), 1)));
}

class Listener final : public Watcher {
 public:
  std::vector<LayerReport> layers;

 private:
  void on_call(const TracedCall& call) override {
    if (RunningNode::innermost() != nullptr) return;
    const Kind kind = layer_kind(call.op);
    if (kind == Kind::kNone) return;
    const TensorView y = call.out[0].raw();
    LayerReport r;
    r.layer = module_path();
    r.op = display_name(call.op);
    if (r.layer.empty()) r.layer = to_text(call.where);
    r.output = y.shape;
    double sum = 0, squares = 0, zeros = 0;
    for_each_element(y, [&](double x, int64_t) {
      sum += x, squares += x * x;
      if (x == 0) ++zeros;
    });
    const auto n = static_cast<double>(std::max<int64_t>(y.numel(), 1));
    r.mean = sum / n;
    r.std = std::sqrt(std::max(0.0, squares / n - r.mean * r.mean));
    r.zeros = zeros / n;
    if (kind == Kind::kRectifier) r.dead = idle_units(y, [](double x) { return x == 0; });
    if (kind == Kind::kTanh)
      r.saturated = idle_units(y, [](double x) { return std::abs(x) > 0.97; });
    if (kind == Kind::kSigmoid)
      r.saturated = idle_units(y, [](double x) { return x < 0.03 || x > 0.97; });
    if (const Node* node = call.out[0].impl()->grad_fn.get())
      of_node_[node->sequence] = layers.size();
    layers.push_back(std::move(r));
  }
  void on_node_begin(const Node& node, Span<const Tensor> grads) override {
    auto it = of_node_.find(node.sequence);
    if (it != of_node_.end() && grads[0].defined())
      layers[it->second].gradient_rms = rms(grads[0].raw());
  }

  std::unordered_map<uint64_t, size_t> of_node_;  // by sequence: a freed node's address is reused
};

// Adds the parameters of the module at `path` itself: "fc1.weight" belongs to "fc1".
void add_parameters(const nn::NamedTensors& parameters, double lr, LayerReport* r) {
  double weights = 0, gradients = 0;
  for (const auto& [name, p] : parameters) {
    const size_t dot = name.rfind('.');
    if ((dot == std::string::npos ? "" : name.substr(0, dot)) != r->layer) continue;
    weights += std::pow(norm(p.raw()), 2);
    const Tensor g = grad_or_dense(p);
    if (g.defined()) gradients += std::pow(norm(g.raw()), 2);
  }
  r->weight_norm = std::sqrt(weights);
  r->gradient_norm = std::sqrt(gradients);
  if (weights > 0) r->update_ratio = lr * r->gradient_norm / r->weight_norm;
}

constexpr double kMany = 0.5;       // of the units
constexpr double kVanished = 1e-3;  // limit of the first layer's gradient divided by the last one's
constexpr double kExploded = 1e3;

void judge_layers(ExplainReport* report) {
  for (LayerReport& r : report->layers) {
    r.verdict = "ok";
    if (!std::isfinite(r.mean) || !std::isfinite(r.gradient_rms)) {
      r.verdict = "not finite";
      report->advice.push_back(r.layer + ": " + r.op +
                               " has nan or inf; run one step under detect_anomaly() for the op "
                               "that made it.");
    } else if (r.dead > kMany) {
      r.verdict = "dead";
      report->advice.push_back(
          fmt::format("{}: {:.0f} % of its units are 0 for the whole batch (dead ReLU): they get "
                      "no gradient. Lower the learning rate, use He initialisation, or leaky_relu.",
                      r.layer, r.dead * 100));
    } else if (r.saturated > kMany) {
      r.verdict = "saturated";
      report->advice.push_back(
          fmt::format("{}: {:.0f} % of its units are at a flat end of {} for the whole batch. "
                      "Smaller initial weights, normalised inputs, or batch_norm before it.",
                      r.layer, r.saturated * 100, r.op));
    } else if (r.gradient_rms == 0) {
      r.verdict = "no gradient";
      report->advice.push_back(r.layer + ": no gradient reaches " + r.op +
                               ": a detach(), a NoGrad, or a dead layer after it.");
    } else if (r.update_ratio > 0.1) {
      r.verdict = "big steps";
      report->advice.push_back(
          fmt::format("{}: one SGD step would move its weights by {:.0f} %: lower the learning "
                      "rate (about 0.1 % is usual) or clip the gradients.",
                      r.layer, r.update_ratio * 100));
    }
  }
}

void judge(const nn::NamedTensors& parameters, ExplainReport* report) {
  judge_layers(report);
  for (const auto& [name, p] : parameters) {
    if (p.requires_grad() && !has_sparse_grad(p) && !p.grad().defined())
      report->advice.push_back("parameter '" + name +
                               "' got no gradient: the loss does not depend on it.");
  }
  const LayerReport *first = nullptr, *last = nullptr;
  for (const LayerReport& r : report->layers) {
    if (r.weight_norm == 0) continue;
    if (first == nullptr) first = &r;
    last = &r;
  }
  report->verdict = "ok";
  if (first == last || first == nullptr || !(last->gradient_rms > 0)) return;
  const double ratio = first->gradient_rms / last->gradient_rms;
  const std::string way = fmt::format("from {:.2g} at {} to {:.2g} at {}", last->gradient_rms,
                                      last->layer, first->gradient_rms, first->layer);
  if (ratio < kVanished) {
    report->verdict = "vanishing";
    report->advice.push_back("the gradient vanishes on its way back, " + way +
                             ": He (relu) or Xavier (tanh) initialisation, batch_norm, or "
                             "shortcuts around blocks.");
  } else if (ratio > kExploded) {
    report->verdict = "exploding";
    report->advice.push_back("the gradient explodes on its way back, " + way +
                             ": smaller initial weights, batch_norm, or clip the gradients.");
  }
}

}  // namespace

ExplainReport explain(nn::Module& model, const std::function<Tensor()>& loss,
                      const ExplainOptions& options, Where where) {
  Kept kept(model);
  GradMode recording(true);
  ExplainReport report;
  {
    Listener listener;
    Tensor value = loss();
    if (!value.defined() || value.layout().numel() != 1)
      throw_error("explain", "the function must return a loss of one element", where);
    report.loss = value.item(where);
    value.backward(Tensor(), false, false, {}, where);
    report.layers = std::move(listener.layers);
  }
  const nn::NamedTensors parameters = model.named_parameters();
  for (LayerReport& r : report.layers) add_parameters(parameters, options.lr, &r);
  judge(parameters, &report);
  return report;
}

std::string ExplainReport::text() const {
  size_t wide = 5;
  for (const LayerReport& r : layers) wide = std::max(wide, r.layer.size());
  std::string text = fmt::format(
      "loss {:.4g}\n{:<{}}  {:<11}{:<16}{:>9}{:>9}{:>7}{:>7}{:>7}{:>10}"
      "{:>9}{:>9}{:>9}  {}\n",
      loss, "layer", wide, "op", "output", "mean", "std", "zero", "dead", "satur", "grad rms",
      "|w|", "|grad|", "update", "verdict");
  auto percent = [](double f) {
    return f == 0 ? std::string("-") : fmt::format("{:.0f}%", f * 100);
  };
  auto number = [](double v) { return v == 0 ? std::string("-") : fmt::format("{:.2g}", v); };
  for (const LayerReport& r : layers) {
    text += fmt::format("{:<{}}  {:<11}{:<16}{:>9}{:>9}{:>7}{:>7}{:>7}{:>10}{:>9}{:>9}{:>9}  {}\n",
                        r.layer, wide, r.op, to_text(r.output).text, fmt::format("{:.2g}", r.mean),
                        fmt::format("{:.2g}", r.std), percent(r.zeros), percent(r.dead),
                        percent(r.saturated), number(r.gradient_rms), number(r.weight_norm),
                        number(r.gradient_norm), number(r.update_ratio), r.verdict);
  }
  text += "gradient: " + verdict + "\n";
  for (const std::string& line : advice) text += "- " + line + "\n";
  return text;
}

std::vector<InitPoint> compare_inits(InitActivation activation, int depth, int64_t width,
                                     uint64_t seed) {
  const auto n = static_cast<double>(width);
  const struct {
    const char* name;
    double std;
  } inits[] = {{"small (0.01)", 0.01},
               {"xavier", std::sqrt(1 / n)},
               {"he", std::sqrt(2 / n)},
               {"large (1.0)", 1.0}};
  std::vector<InitPoint> points;
  for (const auto& init : inits) {
    Generator g{seed, 0};
    Tensor h = randn({width, width}, DType::kF32, g);
    std::vector<Tensor> outputs;
    // Making each layer's output a leaf would cut the graph, so zeros are added whose gradient is
    // read.
    std::vector<Tensor> taps;
    for (int i = 0; i < depth; ++i) {
      Tensor w = randn({width, width}, DType::kF32, g) * init.std;
      Tensor tap = zeros({width, width}).requires_grad_();
      Tensor z = matmul(h, w);
      h = (activation == InitActivation::kTanh ? tanh(z) : relu(z)) + tap;
      outputs.push_back(h);
      taps.push_back(tap);
    }
    Tensor upstream = randn({width, width}, DType::kF32, g);
    (h * upstream).sum().backward();
    for (int i = 0; i < depth; ++i) {
      double sum = 0, squares = 0;
      const TensorView v = outputs[static_cast<size_t>(i)].raw();
      for_each_element(v, [&](double x, int64_t) { sum += x, squares += x * x; });
      const auto count = static_cast<double>(v.numel());
      const double mean = sum / count;
      points.push_back({init.name, i + 1, std::sqrt(std::max(0.0, squares / count - mean * mean)),
                        rms(taps[static_cast<size_t>(i)].grad().raw())});
    }
  }
  return points;
}

std::string init_csv(const std::vector<InitPoint>& points) {
  std::string text = "init,layer,activation_std,gradient_rms\n";
  for (const InitPoint& p : points) {
    text += fmt::format("{},{},{:.6g},{:.6g}\n", p.init, p.layer, p.activation_std, p.gradient_rms);
  }
  return text;
}

}  // namespace wick
