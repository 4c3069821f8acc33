#include "quantize/observe/calibrate.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "quantize/observe/observer.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

class Calibrator {
 public:
  Calibrator(const Graph& g, const Recipe& r, const std::vector<ObserverSpec>& specs,
             const CalibrateOptions& o)
      : g_(g),
        r_(r),
        o_(o),
        specs_(specs),
        plan_(plan_quantization(g, r)),
        users_(g.users()),
        watched_(g.value_count(), nullptr) {
    // One observer sees the values for all of them: the first that keeps a histogram, if one does.
    ObserverSpec all = specs_.front();
    for (const ObserverSpec& spec : specs_) {
      if (keeps_histogram(spec.kind) && !keeps_histogram(all.kind)) all = spec;
    }
    all.averaging = r.activation_observer.averaging;
    for (const auto& [name, sources] : plan_.sources) {
      Observer& seen = observers_.emplace(name, Observer(all)).first->second;
      for (ValueId v : sources) watched_[static_cast<size_t>(v)] = &seen;
    }
  }

  std::vector<Calibration> run(const Batches& batches) {
    for (int64_t i = 0;; ++i) {
      const std::optional<Batch> batch = batches(i);
      if (!batch) break;
      run_batch(*batch, i);
      result_.batches = i + 1;
      if (o_.progress) o_.progress(i + 1);
    }
    if (result_.batches == 0) throw_error("calibrate", "there is no batch to calibrate with");
    for (auto& [name, observer] : observers_) conclude(name, observer);
    for (auto& [v, mean] : result_.means) {
      for (double& m : mean) m /= static_cast<double>(counts_[v]);
    }
    std::vector<Calibration> all;
    for (const ObserverSpec& spec : specs_) {
      all.push_back(result_);
      for (const auto& [name, observer] : observers_)
        all.back().params[name] = observer.params(spec, r_.activation, r_.activation_symmetric);
    }
    return all;
  }

 private:
  void run_batch(const Batch& batch, int64_t index) {
    const std::vector<HostTensor> inputs = graph_inputs(g_, batch, index);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ir::Value& v = g_.value(g_.inputs()[i]);
      // The run refuses another dtype with a clearer message.
      if (inputs[i].dtype() != v.dtype) continue;
      try {
        observe(g_.inputs()[i], inputs[i]);
      } catch (const Error& e) {
        throw in_batch(index, "input \"" + v.name + "\"", e);
      }
    }
    ir::InterpreterOptions run;
    run.kernels = o_.kernels;
    run.after_node = [&](NodeId id, Span<const HostTensor> out) {
      const Node& n = g_.node(id);
      for (size_t k = 0; k < out.size(); ++k) observe_node(id, k, out[k]);
      if (r_.bias_correction && index < r_.correction_batches) add_mean(n, out[0]);
    };
    try {
      ir::run(g_, inputs, run);
    } catch (const Error& e) {
      const std::string text = e.what();
      if (!refused_)
        throw Error("[calibrate] batch " + std::to_string(index) + ": " + text, e.code());
    }
    if (refused_) throw in_batch(index, refused_at_ + what_to_skip(), *refused_);
    for (auto& [name, observer] : observers_) observer.end_batch();
  }

  static Error in_batch(int64_t batch, const std::string& what, const Error& e) {
    return Error("[calibrate] batch " + std::to_string(batch) + ", " + what + ": " + e.what(),
                 e.code());
  }

  void observe(ValueId v, const HostTensor& t) {
    Observer* observer = watched_[static_cast<size_t>(v)];
    if (observer != nullptr) observer->add(t);
  }

  // Goes on behind a value that cannot be observed, so that one error names all that is to be
  // skipped.
  void observe_node(NodeId id, size_t output, const HostTensor& t) {
    const ValueId v = g_.node(id).outputs[output];
    try {
      observe(v, t);
    } catch (const Error& e) {
      if (!refused_) {
        refused_ = e;
        refused_at_ = ir::node_text(g_, id);
      }
      if (!plan_.quantized(id) && t.dtype() == DType::kF32) note_readers(v, t);
    }
  }

  // A float op's infinities, as of a mask, are no fault where their readers stay float, too.
  void note_readers(ValueId v, const HostTensor& t) {
    const float* const x = t.as<float>();
    if (std::any_of(x, x + t.numel(), [](float f) { return std::isnan(f); })) return;
    for (NodeId reader : users_[static_cast<size_t>(v)]) {
      if (plan_.quantized(reader)) readers_.insert(display_name(g_, reader));
    }
  }

  std::string what_to_skip() const {
    std::string names;
    for (const std::string& name : readers_) names += (names.empty() ? "" : ", ") + name;
    if (names.empty()) return "";
    return " (if infinities are meant, as in a mask, keep what reads them float: skip " + names +
           ")";
  }

  void add_mean(const Node& n, const HostTensor& out) {
    if ((n.op != OpId::kConv && n.op != OpId::kLinear) || out.dtype() != DType::kF32) return;
    const int axis = n.op == OpId::kConv ? 1 : out.shape().rank() - 1;
    add_channel_sums(out, axis, &result_.means[n.outputs[0]], &counts_[n.outputs[0]]);
  }

  std::string name_of(ValueId v) const {
    const ir::Value& value = g_.value(v);
    if (!value.name.empty()) return "\"" + value.name + "\"";
    return value.origin == ir::ValueOrigin::kNode ? ir::node_text(g_, value.producer)
                                                  : "value " + std::to_string(v);
  }

  void conclude(ValueId name, const Observer& observer) {
    if (observer.count() == 0)
      throw_error("calibrate", "no number came out of " + name_of(name) + " in any batch");
    result_.seen[name] = observer.seen();
    if (observer.constant()) {
      result_.notes.push_back(name_of(name) + " was " + std::to_string(observer.seen().lo) +
                              " everywhere in all batches: its scale says nothing of other data");
    }
  }

  const Graph& g_;
  const Recipe& r_;
  const CalibrateOptions& o_;
  const std::vector<ObserverSpec>& specs_;
  const Plan plan_;
  const std::vector<std::vector<NodeId>> users_;
  std::optional<Error> refused_;  // of the first value that cannot be observed
  std::string refused_at_;
  std::set<std::string> readers_;  // of infinities
  std::map<ValueId, Observer> observers_;
  std::vector<Observer*> watched_;  // by value; null: not observed
  std::map<ValueId, int64_t> counts_;
  Calibration result_;  // without the parameters, which each observer chooses for itself
};

}  // namespace

Batches batches_of(std::vector<Batch> all) {
  return [all = std::move(all)](int64_t i) -> std::optional<Batch> {
    if (i >= static_cast<int64_t>(all.size())) return std::nullopt;
    return all[static_cast<size_t>(i)];
  };
}

std::vector<HostTensor> graph_inputs(const Graph& g, const Batch& batch, int64_t index) {
  const std::string where = "batch " + std::to_string(index);
  std::vector<HostTensor> inputs;
  std::string names;
  for (ValueId v : g.inputs()) {
    const std::string& name = g.value(v).name;
    names += (names.empty() ? "" : ", ") + name;
    const auto found = batch.find(name);
    if (found == batch.end()) throw_error("calibrate", where + " has no input \"" + name + "\"");
    // An input may be empty, as the past is of a first call, but a batch has items.
    if (found->second.numel() == 0 && found->second.shape()[0] == 0) {
      throw_error("calibrate", where + ": input \"" + name +
                                   "\" is empty: " + to_text(found->second.shape()).text);
    }
    inputs.push_back(found->second);
  }
  for (const auto& [name, tensor] : batch) {
    bool known = false;
    for (ValueId v : g.inputs()) known = known || g.value(v).name == name;
    if (!known)
      throw_error("calibrate", where + ": the graph has no input \"" + name + "\", but " + names);
  }
  return inputs;
}

void add_channel_sums(const HostTensor& x, int axis, std::vector<double>* sums, int64_t* count) {
  const Shape& s = x.shape();
  int64_t inner = 1;
  for (int d = axis + 1; d < s.rank(); ++d) inner *= s[d];
  const int64_t channels = s[axis];
  sums->resize(static_cast<size_t>(channels), 0);
  if (x.numel() == 0) return;
  const float* v = x.as<float>();
  for (int64_t row = 0; row < x.numel() / inner; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < inner; ++i) sum += v[row * inner + i];
    (*sums)[static_cast<size_t>(row % channels)] += sum;
  }
  *count += x.numel() / channels;
}

Calibration calibrate(const Graph& graph, const Batches& batches, const Recipe& recipe,
                      const CalibrateOptions& options) {
  return calibrate_all(graph, batches, recipe, {recipe.activation_observer}, options).front();
}

std::vector<Calibration> calibrate_all(const Graph& graph, const Batches& batches,
                                       const Recipe& recipe,
                                       const std::vector<ObserverSpec>& observers,
                                       const CalibrateOptions& options) {
  if (observers.empty()) throw_error("calibrate", "there is no observer");
  return Calibrator(graph, recipe, observers, options).run(batches);
}

}  // namespace wick::quantize
