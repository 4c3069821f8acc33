#include "trainer/profile/step_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_map>

#include "trainer/autograd/sparse_slot.h"
#include "trainer/explain/values.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/philox.h"
#include "trainer/tensor/storage.h"

namespace wick {
namespace {

enum class Part : uint8_t {
  kParameter,
  kBuffer,
  kGradient,
  kOptimizer,
  kInput,
  kActivation,
  kTemporary
};

int64_t MemoryBreakdown::*const kParts[] = {
    &MemoryBreakdown::parameters, &MemoryBreakdown::buffers, &MemoryBreakdown::gradients,
    &MemoryBreakdown::optimizer,  &MemoryBreakdown::inputs,  &MemoryBreakdown::activations,
    &MemoryBreakdown::temporaries};

}  // namespace

// Storages of the step are numbered; those that existed before come first.
class StepPlan {
 public:
  struct Block {
    int64_t bytes = 0;
    Part part = Part::kTemporary;
  };
  struct Event {
    bool made = false;
    size_t block = 0;
    friend bool operator==(const Event&, const Event&) = default;
  };
  std::vector<Block> blocks;
  size_t before = 0;  // number of blocks that existed when the step began
  std::vector<Event> events;

  bool same_form(const StepPlan& o) const {
    if (before != o.before || events != o.events || blocks.size() != o.blocks.size()) return false;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].part != o.blocks[i].part) return false;
    }
    return true;
  }
  // Returns the blocks that are alive at the (first) moment of the peak.
  MemoryBreakdown peak() const {
    MemoryBreakdown now, most;
    auto add = [&](const Block& b, int64_t sign) {
      now.*kParts[static_cast<int>(b.part)] += sign * b.bytes;
    };
    for (size_t i = 0; i < before; ++i) add(blocks[i], 1);
    most = now;
    int64_t live = now.total(), highest = live;
    for (const Event& e : events) {
      add(blocks[e.block], e.made ? 1 : -1);
      live += e.made ? blocks[e.block].bytes : -blocks[e.block].bytes;
      if (live > highest) highest = live, most = now;
    }
    return most;
  }
  static const StepPlan& of(const StepMemoryRecorder& recorder);
};

// Observes every storage of the process, and keeps those that its own thread makes.
struct StepMemoryRecorder::Tape {
  StepPlan plan;
  std::unordered_map<const Storage*, size_t> block_of;  // live ones
  std::thread::id thread = std::this_thread::get_id();
  size_t forward_end = 0;  // number of events when forward ended
  bool forward_over = false;

  void know(const Tensor& t, Part part) {
    if (!t.defined()) return;
    const Storage* s = &t.storage();
    if (!block_of.emplace(s, plan.blocks.size()).second) return;
    plan.blocks.push_back({static_cast<int64_t>(s->bytes()), part});
  }
  void rename(const Tensor& t, Part part) {
    if (!t.defined()) return;
    auto it = block_of.find(&t.storage());
    if (it != block_of.end() && it->second >= plan.before) plan.blocks[it->second].part = part;
  }
  void made(const Storage& s) {
    if (std::this_thread::get_id() != thread) return;
    block_of[&s] = plan.blocks.size();
    plan.events.push_back({true, plan.blocks.size()});
    plan.blocks.push_back({static_cast<int64_t>(s.bytes()), Part::kTemporary});
  }
  void freed(const Storage& s) {
    auto it = block_of.find(&s);
    if (it == block_of.end()) return;
    plan.events.push_back({false, it->second});
    block_of.erase(it);
  }
};

const StepPlan& StepPlan::of(const StepMemoryRecorder& recorder) { return recorder.tape_->plan; }

namespace {

// Never destroyed, and the process's watcher while a recorder lives: a thread that was about to
// call it may still do so after the recorder is gone.
class Ear final : public StorageWatcher {
 public:
  void on_create(const Storage& s) override {
    std::lock_guard lock(mutex);
    if (made) made(s);
  }
  void on_free(const Storage& s) override {
    std::lock_guard lock(mutex);
    if (freed) freed(s);
  }
  std::mutex mutex;
  std::function<void(const Storage&)> made, freed;
};
Ear& ear() {
  alignas(Ear) static char memory[sizeof(Ear)];
  static Ear* e = new (memory) Ear;
  return *e;
}

// Keeps the state in bytes outside of tensors, so that they are not measured.
class KeptState {
 public:
  explicit KeptState(const TrainingStep& step) : step_(step), generator_(default_generator()) {
    for (const auto& [name, t] : step.model.state_dict()) keep(t);
    for (const Tensor& p : step.model.parameters()) gradients_.emplace_back(p, any_grad(p));
    optim::OptimizerState state = step.optimizer.state_dict();
    settings_ = state.settings;
    for (const auto& [name, t] : state.tensors) {
      const TensorView v = t.raw();
      const char* p = static_cast<const char*>(v.data);
      state_.push_back({name, v.dtype, v.shape, {p, p + v.nbytes()}});
    }
    // Existing gradients are kept: the steps make and clear others.
    for (const Tensor& p : step.model.parameters()) p.set_grad(Tensor());
  }
  ~KeptState() {
    NoGrad guard;
    for (const auto& [t, bytes] : values_) {
      if (!bytes.empty()) std::memcpy(t.raw().data, bytes.data(), bytes.size());
    }
    for (const auto& [t, copy] : strided_) t.copy_(copy);
    for (const auto& [p, g] : gradients_) set_any_grad(p, g);
    default_generator() = generator_;
    optim::OptimizerState state;
    state.settings = settings_;
    for (const State& s : state_) {
      Tensor t = new_tensor(s.shape, s.dtype);
      if (!s.bytes.empty()) std::memcpy(t.raw().data, s.bytes.data(), s.bytes.size());
      state.tensors.emplace_back(s.name, t);
    }
    step_.optimizer.load_state_dict(state);
  }
  KeptState(const KeptState&) = delete;
  KeptState& operator=(const KeptState&) = delete;

 private:
  struct State {
    std::string name;
    DType dtype;
    Shape shape;
    std::vector<char> bytes;
  };
  void keep(const Tensor& t) {
    const TensorView v = t.raw();
    if (!v.contiguous()) {
      strided_.emplace_back(t.detach(), t.detach().clone());
      return;
    }
    const char* p = static_cast<const char*>(v.data);
    values_.emplace_back(t, std::vector<char>(p, p + v.nbytes()));
  }
  const TrainingStep& step_;
  Generator generator_;
  std::vector<std::pair<Tensor, std::vector<char>>> values_;
  std::vector<std::pair<Tensor, Tensor>> strided_;  // made before a recorder listens
  std::vector<std::pair<Tensor, AnyGrad>> gradients_;
  std::vector<State> state_;
  std::string settings_;
};

StepPlan record(const TrainingStep& step, int64_t batch, const Where& where) {
  StepPlan plan;
  for (int i = 0; i < 2; ++i) {  // the first step makes the optimizer's state
    const std::vector<Tensor> inputs = step.inputs(batch);
    std::unique_ptr<StepMemoryRecorder> recorder;
    if (i == 1)
      recorder = std::make_unique<StepMemoryRecorder>(step.model, step.optimizer, inputs, where);
    step.optimizer.zero_grad();
    Tensor loss = step.loss(inputs);
    if (!loss.defined()) throw_error("measure_memory", "the step gave no loss", where);
    if (recorder) recorder->forward_done();
    loss.backward();
    step.optimizer.step();
    if (!recorder) continue;
    recorder->end();
    plan = StepPlan::of(*recorder);
  }
  return plan;
}

void check(const char* op, const TrainingStep& step, int64_t batch, const Where& where) {
  if (batch < 1) throw_error(op, "batch must be at least 1, got " + std::to_string(batch), where);
  if (!step.inputs || !step.loss) throw_error(op, "the step lacks inputs or loss", where);
}

// Extrapolates from (2, a), (3, b), (4, c) to n: exact for polynomials of second degree.
int64_t carried_on(int64_t a, int64_t b, int64_t c, int64_t n) {
  const int64_t first = b - a, second = c - 2 * b + a;
  const int64_t k = n - 2;
  return a + k * first + k * (k - 1) / 2 * second;
}

}  // namespace

StepMemoryRecorder::StepMemoryRecorder(const nn::Module& model, const optim::Optimizer& optimizer,
                                       const std::vector<Tensor>& inputs, Where where)
    : tape_(std::make_unique<Tape>()), model_(model), optimizer_(optimizer) {
  for (const Tensor& p : model.parameters()) tape_->know(p, Part::kParameter);
  for (const auto& [name, b] : model.named_buffers()) tape_->know(b, Part::kBuffer);
  for (const auto& [name, t] : optimizer.state_dict().tensors) tape_->know(t, Part::kOptimizer);
  for (const Tensor& p : model.parameters()) {
    for (const Tensor& g : gradient_tensors(p)) tape_->know(g, Part::kGradient);
  }
  for (const Tensor& t : inputs) tape_->know(t, Part::kInput);
  tape_->plan.before = tape_->plan.blocks.size();
  Ear& e = ear();
  {
    std::lock_guard lock(e.mutex);
    if (e.made) throw_error("StepMemoryRecorder", "one is recording already", where);
    e.made = [tape = tape_.get()](const Storage& s) { tape->made(s); };
    e.freed = [tape = tape_.get()](const Storage& s) { tape->freed(s); };
  }
  StorageWatcher* former = set_storage_watcher(&e);
  if (former == nullptr || former == &e) return;
  set_storage_watcher(former);
  std::lock_guard lock(e.mutex);
  e.made = e.freed = nullptr;
  throw_error("StepMemoryRecorder", "a MemoryRecorder is recording already", where);
}

StepMemoryRecorder::~StepMemoryRecorder() {
  Ear& e = ear();
  std::lock_guard lock(e.mutex);
  if (!e.made) return;
  set_storage_watcher(nullptr);
  e.made = e.freed = nullptr;
}

void StepMemoryRecorder::forward_done() {
  std::lock_guard lock(ear().mutex);
  for (const auto& [storage, block] : tape_->block_of) {
    if (block >= tape_->plan.before) tape_->plan.blocks[block].part = Part::kActivation;
  }
}

MemoryBreakdown StepMemoryRecorder::end() {
  const std::vector<Tensor> parameters = model_.parameters();
  const optim::OptimizerState state = optimizer_.state_dict();
  Ear& e = ear();
  std::lock_guard lock(e.mutex);
  if (e.made) {
    set_storage_watcher(nullptr);
    e.made = e.freed = nullptr;
    for (const Tensor& p : parameters) {
      for (const Tensor& g : gradient_tensors(p)) tape_->rename(g, Part::kGradient);
    }
    for (const auto& [name, t] : state.tensors) tape_->rename(t, Part::kOptimizer);
  }
  return tape_->plan.peak();
}

MemoryBreakdown measure_memory(const TrainingStep& step, int64_t batch, Where where) {
  check("measure_memory", step, batch, where);
  KeptState kept(step);
  return record(step, batch, where).peak();
}

MemoryBreakdown predict_memory(const TrainingStep& step, int64_t batch, Where where) {
  check("predict_memory", step, batch, where);
  KeptState kept(step);
  StepPlan a = record(step, 2, where);
  const StepPlan b = record(step, 3, where), c = record(step, 4, where);
  if (!a.same_form(b) || !b.same_form(c)) {
    throw_error("predict_memory",
                fmt::format("steps of 2, 3 and 4 items do not make the same tensors in the same "
                            "order ({}, {} and {} of them): what the model does depends on the "
                            "size of its batch. Run measure_memory() with the batch itself",
                            a.blocks.size(), b.blocks.size(), c.blocks.size()),
                where, Code::kUnsupported);
  }
  for (size_t i = 0; i < a.blocks.size(); ++i) {
    a.blocks[i].bytes = std::max<int64_t>(
        0, carried_on(a.blocks[i].bytes, b.blocks[i].bytes, c.blocks[i].bytes, batch));
  }
  return a.peak();
}

std::string MemoryBreakdown::text() const {
  static constexpr const char* kNames[] = {"parameters", "buffers",     "gradients",  "optimizer",
                                           "inputs",     "activations", "temporaries"};
  std::string text;
  for (size_t i = 0; i < std::size(kNames); ++i) {
    const int64_t bytes = this->*kParts[i];
    text += fmt::format(
        "{:<12} {:>14} bytes  {:>5.1f}%\n", kNames[i], bytes,
        total() > 0 ? 100. * static_cast<double>(bytes) / static_cast<double>(total()) : 0.);
  }
  text += fmt::format("{:<12} {:>14} bytes\n", "total", total());
  return text;
}

}  // namespace wick
