#include "trainer/nn/change/compress.h"

#include <algorithm>
#include <cmath>

#include "trainer/nn/layers.h"
#include "trainer/tensor/ops.h"

namespace wick::nn {
namespace {

constexpr const char* kLayers[] = {"Linear", "Conv1d", "Conv2d", "Conv3d"};
constexpr const char* kNorms[] = {"BatchNorm1d", "BatchNorm2d", "BatchNorm3d"};
// Modules with f(0) = 0 that treat each channel separately.
constexpr const char* kKeepZero[] = {"ReLU",
                                     "ReLU6",
                                     "LeakyReLU",
                                     "GELU",
                                     "SiLU",
                                     "Tanh",
                                     "Hardswish",
                                     "Identity",
                                     "Dropout",
                                     "Dropout1d",
                                     "Dropout2d",
                                     "Dropout3d",
                                     "MaxPool1d",
                                     "MaxPool2d",
                                     "MaxPool3d",
                                     "AvgPool1d",
                                     "AvgPool2d",
                                     "AvgPool3d",
                                     "AdaptiveAvgPool1d",
                                     "AdaptiveAvgPool2d",
                                     "AdaptiveAvgPool3d",
                                     "AdaptiveMaxPool1d",
                                     "AdaptiveMaxPool2d",
                                     "AdaptiveMaxPool3d",
                                     "Flatten",
                                     "Mish",
                                     "Softsign",
                                     "Tanhshrink",
                                     "ELU",
                                     "CELU",
                                     "SELU",
                                     "Hardtanh"};

template <size_t N>
bool one_of(const char* const (&list)[N], const char* kind) {
  for (const char* k : list) {
    if (std::string(k) == kind) return true;
  }
  return false;
}

// The modules of a Sequential in the order they run, with a stop ("", null) where the order is
// unknown.
using Chain = std::vector<std::pair<std::string, Module*>>;
void unroll(const std::string& path, Module& m, Chain* chain) {
  if (dynamic_cast<Sequential*>(&m) != nullptr) {
    for (const auto& [name, child] : m.children())
      unroll(path.empty() ? name : path + "." + name, *child, chain);
  } else if (m.children().empty()) {
    chain->emplace_back(path, &m);
  } else {
    chain->emplace_back("", nullptr);
    // Its descendants may include other Sequentials.
    for (const auto& [name, child] : m.children()) {
      unroll(path.empty() ? name : path + "." + name, *child, chain);
      chain->emplace_back("", nullptr);
    }
  }
}

Tensor places(const std::vector<int64_t>& keep, int64_t each) {
  std::vector<int64_t> all;
  for (int64_t c : keep) {
    for (int64_t j = 0; j < each; ++j) all.push_back(c * each + j);
  }
  return tensor(all);
}

void shrink(const Tensor& t, int dim, const Tensor& at) {
  if (t.defined()) t.set_data(index_select(t.detach(), dim, at).contiguous());
}

std::vector<int64_t> dropped(const ChannelGroup& g) {
  std::vector<int64_t> all;
  for (int64_t c = 0; c < g.channels; ++c) {
    if (!std::binary_search(g.keep.begin(), g.keep.end(), c)) all.push_back(c);
  }
  return all;
}

uint64_t state_bytes(const Module& m) {
  uint64_t bytes = 0;
  for (const auto& [name, t] : m.state_dict()) bytes += t.nbytes();
  return bytes;
}

int64_t parameters_of(const Module& m) {
  int64_t n = 0;
  for (const Tensor& t : m.parameters()) n += t.numel();
  return n;
}

// Returns whether m is a grouped convolution. All groups have equally many outputs, so none of them
// can be removed alone.
bool grouped(const Module& m) {
  const auto* conv = dynamic_cast<const ConvNd*>(&m);
  return conv != nullptr && conv->groups() != 1;
}
bool plain(Module& m) { return m.find_tensor("weight").defined() && !m.is_computed("weight"); }

}  // namespace

std::vector<ChannelGroup> plan_channels(Module& model, prune::Amount amount, double n,
                                        Where where) {
  NoGrad guard;
  Chain chain;
  unroll("", model, &chain);
  std::vector<ChannelGroup> plan;
  ChannelGroup open;
  Module* layer = nullptr;  // the layer whose channels pass here; null: none may be removed
  for (const auto& [path, m] : chain) {
    if (m == nullptr) {
      layer = nullptr;
    } else if (one_of(kLayers, m->kind()) && plain(*m)) {
      const Tensor w = m->find_tensor("weight");
      const int64_t in = w.raw_shape()[1];
      // The filters of a grouped convolution have fewer inputs than there are channels.
      if (layer != nullptr && open.channels > 1 && in >= open.channels && in % open.channels == 0) {
        Tensor score = linalg::vector_norm(layer->find_tensor("weight").detach().flatten(1), n, 1);
        const int64_t drop =
            std::min(amount.resolve("plan_channels", open.channels, where), open.channels - 1);
        open.keep = argsort(score, 0).narrow(0, drop, open.channels - drop).to_vector<int64_t>();
        std::sort(open.keep.begin(), open.keep.end());
        open.next = path;
        plan.push_back(open);
      }
      layer = grouped(*m) ? nullptr : m;
      open = {path, {}, "", {}, w.raw_shape()[0]};
    } else if (one_of(kNorms, m->kind()) && m->find_tensor("weight").defined()) {
      open.norms.push_back(path);  // without a weight to zero it would move zeros to -mean / std
    } else if (!one_of(kKeepZero, m->kind())) {
      layer = nullptr;
    }
  }
  if (plan.empty()) {
    throw_error("plan_channels",
                "no two layers of a Sequential follow each other so that channels between them "
                "could go",
                where, Code::kUnsupported);
  }
  return plan;
}

void zero_channels(Module& model, const std::vector<ChannelGroup>& plan) {
  NoGrad guard;
  for (const ChannelGroup& g : plan) {
    const std::vector<int64_t> gone = dropped(g);
    if (gone.empty()) continue;
    const Tensor at = tensor(gone);
    std::vector<std::string> paths = g.norms;
    paths.push_back(g.layer);
    for (const std::string& path : paths) {
      for (const auto& [name, t] : model.get_submodule(path).named_parameters("", false))
        t.index_fill_(0, at, 0);
    }
  }
}

void remove_channels(Module& model, const std::vector<ChannelGroup>& plan, Where where) {
  NoGrad guard;
  for (const ChannelGroup& g : plan) {
    Module& layer = model.get_submodule(g.layer, where);
    Module& next = model.get_submodule(g.next, where);
    const Tensor weight = layer.get_parameter("weight", where);
    if (weight.raw_shape()[0] != g.channels || g.keep.empty() || g.keep.back() >= g.channels) {
      throw_error("remove_channels",
                  "the plan is for " + std::to_string(g.channels) + " channels, '" + g.layer +
                      "' has " + std::to_string(weight.raw_shape()[0]),
                  where);
    }
    const Tensor at = tensor(g.keep);
    shrink(weight, 0, at);
    shrink(layer.find_tensor("bias"), 0, at);
    for (const std::string& path : g.norms) {
      for (const char* name : {"weight", "bias", "running_mean", "running_var"})
        shrink(model.get_submodule(path, where).find_tensor(name), 0, at);
    }
    const Tensor reads = next.get_parameter("weight", where);
    shrink(reads, 1, places(g.keep, reads.raw_shape()[1] / g.channels));
  }
}

std::vector<ChannelGroup> structured_prune(Module& model, prune::Amount amount, double n,
                                           Where where) {
  std::vector<ChannelGroup> plan = plan_channels(model, amount, n, where);
  remove_channels(model, plan, where);
  return plan;
}

LowRank low_rank_approximate(const Arg& weight, int64_t rank) {
  NoGrad guard;
  const Tensor& w = weight.tensor;
  if (w.rank() != 2) {
    throw_error("low_rank_approximate",
                std::string("expected a matrix, got ") + to_text(w.raw_shape()).text, weight.where);
  }
  const int64_t most = std::min(w.raw_shape()[0], w.raw_shape()[1]);
  if (rank < 1 || rank > most) {
    throw_error("low_rank_approximate",
                "rank " + std::to_string(rank) + " of " + to_text(w.raw_shape()).text + ": 1 to " +
                    std::to_string(most),
                weight.where);
  }
  auto [u, s, vh] = linalg::svd({w.detach(), weight.where}, false);
  LowRank r;
  r.left = (u.narrow(1, 0, rank) * s.narrow(0, 0, rank)).contiguous();
  r.right = vh.narrow(0, 0, rank).contiguous();
  for (double v : s.narrow(0, rank, most - rank).to(DType::kF64).to_vector<double>())
    r.error += v * v;
  r.error = std::sqrt(r.error);
  return r;
}

bool low_rank_helps(int64_t out, int64_t in, int64_t rank) {
  return static_cast<double>(rank) * static_cast<double>(out + in) <
         static_cast<double>(out) * static_cast<double>(in);
}

double low_rank_linear(Module& model, const std::string& path, int64_t rank, Where where) {
  NoGrad guard;
  Module& old = model.get_submodule(path, where);
  if (old.kind() != std::string("Linear") || !plain(old))
    throw_error("low_rank_linear", "'" + path + "' is no plain Linear", where, Code::kUnsupported);
  const Tensor w = old.get_parameter("weight", where), bias = old.find_tensor("bias");
  LowRank r = low_rank_approximate({w, where}, rank);
  Linear right(w.raw_shape()[1], rank, false), left(rank, w.raw_shape()[0], bias.defined());
  right.weight.set_data(r.right);
  left.weight.set_data(r.left);
  if (bias.defined()) left.bias.set_data(bias.detach().clone());
  model.replace_module(path, std::make_shared<Sequential>(std::move(right), std::move(left)),
                       where);
  return r.error;
}

CompressReport compress_model(Module& model, const CompressOptions& o, Where where) {
  NoGrad guard;
  if (!(o.rank_energy > 0 && o.rank_energy <= 1))
    throw_error("compress_model",
                "rank_energy must be in (0, 1], got " + std::to_string(o.rank_energy), where);
  CompressReport report;
  report.parameters_before = parameters_of(model);
  report.bytes_before = state_bytes(model);
  if (o.channels.relative ? o.channels.fraction != 0 : o.channels.count != 0) {
    for (const ChannelGroup& g : structured_prune(model, o.channels, 2, where)) {
      report.steps.push_back(g.layer + ": " + std::to_string(g.keep.size()) + " of " +
                             std::to_string(g.channels) + " channels");
    }
  }
  if (o.rank_energy < 1) {
    std::vector<std::string> linears;
    for (const auto& [path, m] : model.named_modules()) {
      if (!path.empty() && m->kind() == std::string("Linear") && plain(*m)) linears.push_back(path);
    }
    for (const std::string& path : linears) {
      const Tensor w = model.get_parameter(path + ".weight").detach();
      std::vector<double> s = linalg::svdvals(w).to(DType::kF64).to_vector<double>();
      double all = 0, sum = 0;
      for (double v : s) all += v * v;
      int64_t rank = 0;
      while (rank < static_cast<int64_t>(s.size()) && (rank == 0 || sum < o.rank_energy * all)) {
        const double v = s[static_cast<size_t>(rank++)];
        sum += v * v;
      }
      if (!low_rank_helps(w.raw_shape()[0], w.raw_shape()[1], rank)) continue;
      low_rank_linear(model, path, rank, where);
      report.steps.push_back(path + ": rank " + std::to_string(rank) + " of " +
                             std::to_string(s.size()));
    }
  }
  if (o.magnitude.relative ? o.magnitude.fraction != 0 : o.magnitude.count != 0) {
    const auto weights = prune::prunable(model);
    prune::global_unstructured(weights, o.magnitude, where);
    for (const auto& [m, name] : weights) prune::remove(*m, name, where);
    report.steps.push_back("zeros by magnitude in " + std::to_string(weights.size()) + " weights");
  }
  report.parameters_after = parameters_of(model);
  report.bytes_after = state_bytes(model);
  for (const Tensor& t : model.parameters())
    report.nonzero_after += count_nonzero(t.detach()).item_int();
  report.sparsity = prune::measure_sparsity(model);
  return report;
}

std::string CompressReport::text() const {
  std::string out = "parameters " + std::to_string(parameters_before) + " -> " +
                    std::to_string(parameters_after) + " (" + std::to_string(nonzero_after) +
                    " not zero), bytes " + std::to_string(bytes_before) + " -> " +
                    std::to_string(bytes_after) + "\n";
  for (const std::string& s : steps) out.append("  ").append(s).append("\n");
  return out;
}

std::vector<WeightDistribution> analyze_weight_distribution(const Module& model, int64_t bins) {
  if (bins < 1) throw_error("analyze_weight_distribution", "bins must be positive");
  NoGrad guard;
  std::vector<WeightDistribution> all;
  for (const auto& [name, t] : model.named_parameters()) {
    if (t.numel() == 0) continue;
    WeightDistribution d;
    d.name = name;
    d.shape = t.raw_shape();
    const std::vector<double> v = t.detach().to(DType::kF64).to_vector<double>();
    const double n = static_cast<double>(v.size());
    d.min = *std::min_element(v.begin(), v.end());
    d.max = *std::max_element(v.begin(), v.end());
    const double largest = std::max(std::abs(d.min), std::abs(d.max));
    for (double x : v) {
      d.mean += x / n;
      d.mean_abs += std::abs(x) / n;
      d.sparsity += (x == 0) / n;
      d.near_zero += (std::abs(x) < largest / 100) / n;
    }
    d.histogram.assign(static_cast<size_t>(bins), 0);
    const double width = (d.max - d.min) / static_cast<double>(bins);
    for (double x : v) {
      d.std += (x - d.mean) * (x - d.mean);
      // NaN is in no bin
      double at = width > 0 ? (x - d.min) / width : 0;
      if (at >= 0) ++d.histogram[static_cast<size_t>(std::min(at, static_cast<double>(bins - 1)))];
    }
    d.std = std::sqrt(d.std / std::max(1.0, n - 1));
    all.push_back(std::move(d));
  }
  return all;
}

}  // namespace wick::nn
