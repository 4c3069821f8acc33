#include "trainer/nn/summary.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "runtime/ops/op_cost.h"
#include "trainer/nn/mode_scope.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/watcher.h"

namespace wick::nn {
namespace {

// Counts each op for the module whose forward runs it.
class Meter final : Watcher {
 public:
  explicit Meter(ModelSummary* s, std::string root) : s_(s), root_(std::move(root)) {
    for (size_t i = 0; i < s->modules.size(); ++i) at_[s->modules[i].path] = i;
  }
  ~Meter() override = default;
  std::string path() const {
    std::string path = module_path();
    // The paths of a module that has a parent start with its name.
    if (!root_.empty() && path.starts_with(root_))
      path.erase(0, std::min(path.size(), root_.size() + 1));
    return path;
  }

 private:
  void on_call(const TracedCall& call) override {
    std::string at = path();
    auto it = at_.find(at);
    while (it == at_.end() && !at.empty()) {  // an unregistered module: use its parent
      size_t dot = at.rfind('.');
      at.resize(dot == std::string::npos ? 0 : dot);
      it = at_.find(at);
    }
    if (it == at_.end()) return;
    SmallVector<TensorView, 6> in(call.in.size()), out(call.out.size());
    for (size_t i = 0; i < call.in.size(); ++i) {
      if (call.in[i] != nullptr) in[i] = call.in[i]->layout();
    }
    for (size_t i = 0; i < call.out.size(); ++i) out[i] = call.out[i].layout();
    const OpCost cost = op_cost(call.op, call.attrs, in, out);
    ModuleCost& m = s_->modules[it->second];
    m.called = true;
    m.macs += cost.macs;
    m.other_flops += cost.other;
  }
  ModelSummary* s_;
  std::string root_;
  std::map<std::string, size_t> at_;
};

std::string shape_text(const std::vector<Shape>& shapes) {
  if (shapes.empty()) return "-";
  return to_text(shapes.back()).text;  // that of the last call
}

std::string grouped(double v) {
  char digits[32];
  const int n = snprintf(digits, sizeof digits, "%.0f", v);
  std::string s;
  for (int i = 0; i < n; ++i) {
    if (i > 0 && (n - i) % 3 == 0) s += ',';
    s += digits[i];
  }
  return s;
}

std::string bytes_text(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t u = 0;
  while (bytes >= 1024 && u + 1 < 5) {
    bytes /= 1024;
    ++u;
  }
  char text[32];
  snprintf(text, sizeof text, u == 0 ? "%.0f %s" : "%.2f %s", bytes, units[u]);
  return text;
}

nlohmann::json shapes_json(const std::vector<Shape>& shapes) {
  auto list = nlohmann::json::array();
  for (const Shape& s : shapes) list.push_back(std::vector<int64_t>(s.begin(), s.end()));
  return list;
}

// Sets eval mode and keeps hook handles; restores the modes and removes the hooks at the end.
class Visit {
 public:
  explicit Visit(Module& root) : mode_(root, false) {}
  ~Visit() {
    for (HookHandle& h : hooks) h.remove();
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  std::vector<HookHandle> hooks;

 private:
  ModeScope mode_;
};

}  // namespace

ModelSummary summary(Module& model, const Tensor& example, Where where) {
  ModelSummary s;
  s.input = example.raw_shape(where);
  s.input_bytes = example.nbytes();
  const auto named = model.named_modules();
  std::unordered_set<uint64_t> seen;
  for (const auto& [path, m] : named) {
    ModuleCost c;
    c.path = path;
    c.kind = m->kind();
    c.depth = path.empty() ? 0 : 1 + static_cast<int>(std::count(path.begin(), path.end(), '.'));
    c.leaf = m->children().empty();
    for (const auto& [name, t] : m->named_parameters("", false)) {
      c.parameters += t.numel();
      c.parameter_bytes += t.nbytes();
      if (t.requires_grad()) c.trainable += t.numel();
      if (!seen.insert(t.id()).second) continue;
      s.parameters += t.numel();
      s.parameter_bytes += t.nbytes();
      if (t.requires_grad()) s.trainable += t.numel();
    }
    for (const auto& [name, t] : m->named_buffers("", false)) c.buffer_bytes += t.nbytes();
    s.buffer_bytes += c.buffer_bytes;
    s.modules.push_back(std::move(c));
  }
  {
    Visit visit(model);
    NoGrad guard;
    for (size_t i = 0; i < named.size(); ++i) {
      visit.hooks.push_back(named[i].second->register_forward_hook(
          [&s, i](Module&, const Tensor& in, const Tensor& out) {
            ModuleCost& c = s.modules[i];
            c.called = true;
            if (in.defined()) c.inputs.push_back(in.raw_shape());
            if (!out.defined()) return;
            c.outputs.push_back(out.raw_shape());
            c.output_bytes += out.nbytes();
          }));
    }
    Meter meter(&s, model.name());
    model({example, where});
  }
  for (const ModuleCost& c : s.modules) {
    s.macs += c.macs;
    s.other_flops += c.other_flops;
    if (c.leaf) s.activation_bytes += c.output_bytes;
  }
  return s;
}

ModelSummary summary(Module& model, const Shape& input, DType dtype, Where where) {
  for (int64_t d : input) {
    if (d < 1) {
      throw_error("summary",
                  std::string("the input's shape is ") + to_text(input).text +
                      ": every dimension must be positive, the batch included",
                  where);
    }
  }
  return summary(model, zeros(input, dtype, where), where);
}

ModuleCost ModelSummary::total(const std::string& path) const {
  ModuleCost sum;
  for (const ModuleCost& c : modules) {
    if (c.path == path) {
      sum.path = c.path;
      sum.kind = c.kind;
      sum.depth = c.depth;
      sum.leaf = c.leaf;
      sum.inputs = c.inputs;
      sum.outputs = c.outputs;
    } else if (!path.empty() && !c.path.starts_with(path + ".")) {
      continue;
    }
    sum.called = sum.called || c.called;
    sum.parameters += c.parameters;
    sum.trainable += c.trainable;
    sum.macs += c.macs;
    sum.other_flops += c.other_flops;
    sum.parameter_bytes += c.parameter_bytes;
    sum.buffer_bytes += c.buffer_bytes;
    sum.output_bytes += c.output_bytes;
  }
  return sum;
}

std::string ModelSummary::text() const {
  std::vector<std::vector<std::string>> rows = {
      {"module", "output", "params", "FLOPs", "bytes of params"}};
  for (const ModuleCost& c : modules) {
    const ModuleCost t = total(c.path);
    const size_t dot = c.path.rfind('.');
    std::string name = std::string(2 * static_cast<size_t>(c.depth), ' ') + c.kind;
    if (!c.path.empty()) name += " (" + c.path.substr(dot == std::string::npos ? 0 : dot + 1) + ")";
    rows.push_back({name, c.called ? shape_text(c.outputs) : "not run",
                    grouped(static_cast<double>(t.parameters)), grouped(2 * t.macs),
                    bytes_text(static_cast<double>(t.parameter_bytes))});
  }
  size_t width[5] = {};
  for (const auto& row : rows) {
    for (size_t i = 0; i < 5; ++i) width[i] = std::max(width[i], row[i].size());
  }
  std::string out;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t i = 0; i < 5; ++i) {
      std::string gap(width[i] - rows[r][i].size(), ' ');
      out += i < 2 ? rows[r][i] + gap : gap + rows[r][i];
      out += i < 4 ? "  " : "\n";
    }
    if (r == 0)
      out += std::string(width[0] + width[1] + width[2] + width[3] + width[4] + 8, '-') + "\n";
  }
  out += "input " + std::string(to_text(input).text) + " (" +
         bytes_text(static_cast<double>(input_bytes)) + "); parameters " +
         grouped(static_cast<double>(parameters)) + ", trainable " +
         grouped(static_cast<double>(trainable)) + "\nmultiply-adds " + grouped(macs) + ", FLOPs " +
         grouped(flops()) + ", other operations " + grouped(other_flops) + "\nparameters " +
         bytes_text(static_cast<double>(parameter_bytes)) + ", buffers " +
         bytes_text(static_cast<double>(buffer_bytes)) + ", activations " +
         bytes_text(static_cast<double>(activation_bytes)) + "\n";
  return out;
}

std::string ModelSummary::json() const {
  nlohmann::ordered_json doc = {{"input", std::vector<int64_t>(input.begin(), input.end())},
                                {"parameters", parameters},
                                {"trainable", trainable},
                                {"macs", macs},
                                {"flops", flops()},
                                {"other_flops", other_flops},
                                {"input_bytes", input_bytes},
                                {"parameter_bytes", parameter_bytes},
                                {"buffer_bytes", buffer_bytes},
                                {"activation_bytes", activation_bytes}};
  doc["modules"] = nlohmann::json::array();
  for (const ModuleCost& c : modules) {
    nlohmann::ordered_json row = {{"path", c.path},
                                  {"kind", c.kind},
                                  {"called", c.called},
                                  {"inputs", shapes_json(c.inputs)},
                                  {"outputs", shapes_json(c.outputs)},
                                  {"parameters", c.parameters},
                                  {"macs", c.macs},
                                  {"other_flops", c.other_flops},
                                  {"parameter_bytes", c.parameter_bytes},
                                  {"buffer_bytes", c.buffer_bytes},
                                  {"output_bytes", c.output_bytes}};
    doc["modules"].push_back(std::move(row));
  }
  return doc.dump(1) + "\n";
}

int64_t count_parameters(const Module& model, bool trainable_only) {
  int64_t n = 0;
  for (const auto& [name, t] : model.named_parameters()) {
    if (!trainable_only || t.requires_grad()) n += t.numel();
  }
  return n;
}
double count_flops(Module& model, const Shape& input, Where where) {
  return summary(model, input, DType::kF32, where).flops();
}

}  // namespace wick::nn
