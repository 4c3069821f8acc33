#include "trainer/loop/run_report.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "runtime/core/atomic_file.h"
#include "runtime/core/regular_file.h"
#include "trainer/autograd/running_node.h"
#include "trainer/autograd/sparse_slot.h"
#include "trainer/checkpoint/json.h"
#include "trainer/data/step_profile.h"
#include "trainer/loop/answers.h"
#include "trainer/loop/histogram.h"
#include "trainer/profile/profiler.h"
#include "trainer/profile/step_memory.h"
#include "trainer/profile/timer.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/watcher.h"

namespace wick::loop {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr size_t kLayers = 64;                     // histograms per epoch, of each kind
constexpr int kMemoryStep = 1;                     // the first step has no optimizer state yet
constexpr int kProfiledFrom = 2, kProfiledTo = 7;  // steps of this process, counted from 0

OrderedJson parsed(const std::string& path) {
  std::string text;
  const Status read = read_regular_file(path.c_str(), &text);
  if (read.code() == Code::kNotFound) return {};
  check_status(read);
  try {
    check_json(text, path);
  } catch (const JsonError&) {
    return {};  // damaged: continue without it
  }
  return OrderedJson::parse(text);
}

// Returns the epochs of an existing file up to `last`; none if it is damaged.
OrderedJson kept_epochs(const std::string& path, int64_t last) {
  OrderedJson kept = OrderedJson::array();
  if (last < 1) return kept;
  const OrderedJson old = parsed(path);
  if (!old.is_object() || !old.contains("epochs") || !old["epochs"].is_array()) return kept;
  for (const OrderedJson& e : old["epochs"]) {
    if (e.is_object() && e.contains("epoch") && e["epoch"].is_number_integer() &&
        e["epoch"].get<int64_t>() <= last)
      kept.push_back(e);
  }
  return kept;
}

OrderedJson json_of(const Histogram& h) {
  return {{"name", h.name}, {"elements", h.elements}, {"bad", h.bad},
          {"min", h.min},   {"max", h.max},           {"mean", h.mean},
          {"std", h.std},   {"zeros", h.zeros},       {"counts", h.counts}};
}

// Returns what limits the speed of an epoch: the last line of data::StepReport.
std::string verdict_of(const EpochTimes& t, const data::ReadTotals& before) {
  using data::Phase;
  const data::ReadTotals now = data::read_totals();
  data::StepReport r;
  auto set = [&](Phase phase, double s) { r.seconds[static_cast<size_t>(phase)] = s; };
  set(Phase::kWait, t.loader);
  set(Phase::kForward, t.forward + t.loss);
  set(Phase::kBackward, t.backward);
  set(Phase::kOptimizer, t.zero_grad + t.optimizer);
  set(Phase::kOther, t.other);
  for (double s : r.seconds) r.wall += s;
  r.reading = now.read_seconds - before.read_seconds;
  r.making = now.make_seconds - before.make_seconds;
  r.verdict = data::judge(r);
  const std::string text = r.to_text();
  const size_t at = text.rfind("verdict: ");
  return at == std::string::npos ? "" : text.substr(at + 9, text.size() - at - 10);
}

// Records the last value that each module computed: its output.
class Layers final : Watcher {
 public:
  struct Layer {
    std::string path, op;
    Tensor value;
  };
  std::vector<Layer> found;  // in order of their first op

 private:
  void on_call(const TracedCall& call) override {
    if (call.out.empty() || !call.out[0].defined()) return;
    const std::string path = module_path();
    auto [at, fresh] = number_.emplace(path, found.size());
    if (!fresh) {
      found[at->second].op = display_name(call.op);
      found[at->second].value = call.out[0].detach();
    } else if (found.size() < kLayers) {
      found.push_back(
          {path.empty() ? "(output)" : path, display_name(call.op), call.out[0].detach()});
    } else {
      number_.erase(at);
    }
  }
  std::map<std::string, size_t> number_;
};

// The bytes of live tensors over the steps of this process: at most kPoints of them, evenly spread.
class MemoryCurve {
 public:
  void forward_ends() { forward_ = static_cast<int64_t>(live_bytes()); }
  void step_ends(int step) {
    if (step % every_ != 0) return;
    if (points_.size() == kPoints) {  // every second one goes
      for (size_t i = 0; i < kPoints / 2; ++i) points_[i] = points_[2 * i];
      points_.erase(points_.begin() + kPoints / 2, points_.end());
      every_ *= 2;
      if (step % every_ != 0) return;
    }
    points_.push_back(
        {{"step", step + 1}, {"forward", forward_}, {"after", static_cast<int64_t>(live_bytes())}});
  }
  const OrderedJson& points() const { return points_; }

 private:
  static constexpr size_t kPoints = 256;
  OrderedJson points_ = OrderedJson::array();
  int every_ = 1;
  int64_t forward_ = 0;
};

}  // namespace

struct RunReport::State {
  std::filesystem::path folder;
  std::vector<std::string> classes;
  OrderedJson metrics, histograms;
  EpochTimes times;
  Timer lap, epoch;
  double accounted = 0;  // seconds of the epoch, before validation
  data::ReadTotals before;
  std::string verdict;
  int step = 0;  // in this process
  bool forward_seen = false;
  std::unique_ptr<StepMemoryRecorder> memory;
  std::unique_ptr<Profiler> profiler;
  OrderedJson memory_doc, profile_doc;
  MemoryCurve curve;
  std::optional<Layers> layers;
  std::optional<Answers> answers;
  OrderedJson gradients = OrderedJson::array(), activations = OrderedJson::array();

  void write(const char* name, const OrderedJson& doc) const {
    const std::string path = (folder / name).string();
    // Invalid UTF-8 in names becomes U+FFFD; numbers that are not finite become null.
    const std::string text = doc.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
    check_status(write_file_atomically(path.c_str(), text.data(), text.size()));
  }
  void stop_profile();
};

void RunReport::State::stop_profile() {
  if (!profiler) return;
  const Profile p = profiler->stop();
  profiler.reset();
  const Roofline roof = machine_roofline();
  const StepAnatomy a = p.anatomy();
  OrderedJson doc = {{"steps", a.steps},
                     {"seconds", p.seconds},
                     {"threads", p.threads},
                     {"peak_flops_per_second", roof.flops_per_second},
                     {"peak_bytes_per_second", roof.bytes_per_second},
                     {"anatomy",
                      {{"loader", a.loader},
                       {"zero_grad", a.zero_grad},
                       {"forward", a.forward},
                       {"loss", a.loss},
                       {"backward", a.backward},
                       {"optimizer", a.optimizer},
                       {"other", a.other}}}};
  auto rows = [&](ProfileBy by) {
    OrderedJson list = OrderedJson::array();
    for (const ProfileRow& r : p.rows(by, roof)) {
      if (list.size() == 15) break;
      list.push_back({{"name", r.name},
                      {"calls", r.calls},
                      {"seconds", r.seconds},
                      {"backward_seconds", r.backward_seconds},
                      {"flops", r.flops},
                      {"bytes", r.bytes},
                      {"bound", r.bound},
                      {"of_roof", r.of_roof}});
    }
    return list;
  };
  doc["ops"] = rows(ProfileBy::kOp);
  doc["modules"] = rows(ProfileBy::kModule);
  doc["lines"] = rows(ProfileBy::kLine);
  profile_doc = std::move(doc);
}

const std::vector<const char*>& report_files() {
  static const std::vector<const char*> kFiles = {"metrics.json", "histograms.json",
                                                  "validation.json", "memory.json", "profile.json"};
  return kFiles;
}

RunReport::RunReport(const std::string& folder, int64_t keep_epochs,
                     std::vector<std::string> classes) {
  if (folder.empty()) return;
  state_ = std::make_unique<State>();
  state_->folder = folder;
  state_->classes = std::move(classes);
  state_->metrics = kept_epochs((state_->folder / "metrics.json").string(), keep_epochs);
  state_->histograms = kept_epochs((state_->folder / "histograms.json").string(), keep_epochs);
}
RunReport::~RunReport() = default;

void RunReport::epoch_begins() {
  if (!state_) return;
  state_->times = {};
  state_->gradients = state_->activations = OrderedJson::array();
  state_->before = data::read_totals();
  state_->epoch.restart();
  state_->lap.restart();
}

void RunReport::part_ends(double EpochTimes::*part) {
  if (!state_) return;
  // With several batches per step only the first: later ones would count gradients as activations.
  if (part == &EpochTimes::loss && state_->memory && !state_->forward_seen) {
    state_->memory->forward_done();
    state_->forward_seen = true;
  }
  if (part == &EpochTimes::loss) state_->curve.forward_ends();
  state_->times.*part += state_->lap.seconds();
  state_->lap.restart();
}
void RunReport::loaded() { part_ends(&EpochTimes::loader); }

void RunReport::step_begins(const nn::Module& model, const optim::Optimizer& optimizer,
                            const data::Batch& batch) {
  if (!state_) return;
  if (state_->step == kMemoryStep) {
    try {
      state_->memory = std::make_unique<StepMemoryRecorder>(model, optimizer, batch);
    } catch (const Error&) {  // the user records storages too; the report omits them
    }
  }
  if (state_->step == kProfiledFrom) state_->profiler = std::make_unique<Profiler>();
  state_->lap.restart();
}

void RunReport::step_ends() {
  if (!state_) return;
  if (state_->memory) {
    const MemoryBreakdown m = state_->memory->end();
    state_->memory.reset();
    state_->memory_doc = {{"total", m.total()},           {"parameters", m.parameters},
                          {"buffers", m.buffers},         {"gradients", m.gradients},
                          {"optimizer", m.optimizer},     {"inputs", m.inputs},
                          {"activations", m.activations}, {"temporaries", m.temporaries}};
  }
  state_->curve.step_ends(state_->step);
  if (++state_->step == kProfiledTo) state_->stop_profile();
  state_->lap.restart();
}

void RunReport::training_ends(const nn::Module& model) {
  if (!state_) return;
  state_->stop_profile();  // if the epoch had few steps
  const EpochTimes& t = state_->times;
  state_->accounted = t.loader + t.zero_grad + t.forward + t.loss + t.backward + t.optimizer;
  state_->times.other = std::max(0.0, state_->epoch.seconds() - state_->accounted);
  state_->verdict = verdict_of(t, state_->before);
  for (const auto& [name, p] : model.named_parameters()) {
    const Tensor g = grad_or_dense(p);
    if (!g.defined()) continue;
    if (state_->gradients.size() == kLayers) break;
    state_->gradients.push_back(json_of(histogram_of(name, g)));
  }
}

void RunReport::validation_begins() {
  if (!state_) return;
  state_->answers.emplace();
  state_->layers.emplace();
  state_->lap.restart();
}

void RunReport::batch_validated(const data::Batch& batch, const Tensor& logits) {
  if (!state_ || !state_->answers) return;
  if (state_->layers) {
    for (const auto& l : state_->layers->found) {
      if (!is_float(l.value.layout().dtype)) continue;
      OrderedJson h = json_of(histogram_of(l.path, l.value));
      h["op"] = l.op;  // the module's last op
      state_->activations.push_back(std::move(h));
    }
    state_->layers.reset();
  }
  state_->answers->add(batch, logits);
}

void RunReport::epoch_ends(const EpochMetrics& m) {
  if (!state_) return;
  State& s = *state_;
  s.layers.reset();
  if (s.answers) s.times.validation = s.lap.seconds();
  OrderedJson row = {
      {"epoch", m.epoch}, {"step", m.step}, {"lr", m.lr}, {"train_loss", m.train_loss}};
  if (m.train_predicts) row["train_accuracy"] = m.train_accuracy;
  if (m.validated) row["val_loss"] = m.val_loss;
  if (m.validated && m.val_predicts) row["val_accuracy"] = m.val_accuracy;
  if (m.validated && !m.own.empty()) row["metrics"] = m.own;
  row["images_per_second"] = m.items_per_second;
  row["seconds"] = m.seconds;
  const EpochTimes& t = s.times;
  row["time"] = {{"loader", t.loader},         {"zero_grad", t.zero_grad},
                 {"forward", t.forward},       {"loss", t.loss},
                 {"backward", t.backward},     {"optimizer", t.optimizer},
                 {"validation", t.validation}, {"other", t.other}};
  row["verdict"] = s.verdict;
  s.metrics.push_back(std::move(row));
  s.histograms.push_back(
      {{"epoch", m.epoch}, {"gradients", s.gradients}, {"activations", s.activations}});
  s.write("metrics.json", {{"epochs", s.metrics}});
  s.write("histograms.json", {{"epochs", s.histograms}});
  if (!s.memory_doc.is_null()) {
    s.memory_doc["steps"] = s.curve.points();
    s.write("memory.json", s.memory_doc);
  }
  if (!s.profile_doc.is_null()) s.write("profile.json", s.profile_doc);
  if (!s.answers || s.answers->items() == 0) return;
  OrderedJson worst = OrderedJson::array();
  for (const Mistake& w : s.answers->worst()) {
    worst.push_back({{"index", w.index},
                     {"target", w.target},
                     {"predicted", w.predicted},
                     {"loss", w.loss},
                     {"probability", w.probability},
                     {"width", w.width},
                     {"height", w.height},
                     {"channels", w.channels},
                     {"pixels", w.pixels}});
  }
  s.write("validation.json", {{"epoch", m.epoch},
                              {"items", s.answers->items()},
                              {"classes", s.answers->classes()},
                              {"names", s.classes},
                              {"confusion", s.answers->confusion()},
                              {"worst", std::move(worst)}});
  s.answers.reset();
}

}  // namespace wick::loop
