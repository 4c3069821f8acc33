#include "trainer/autograd/checkpoint.h"

#include <algorithm>
#include <optional>

#include "trainer/autograd/forward.h"
#include "trainer/autograd/node.h"
#include "trainer/tensor/autocast.h"
#include "trainer/tensor/draws.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"

namespace wick {
namespace {

using Body = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

struct SaverScope {
  explicit SaverScope(Saver* s) : saved(std::exchange(modes().saver, s)) {}
  ~SaverScope() { modes().saver = saved; }
  Saver* saved;
};

// Stands for the checkpoint in errors about a saved input, which name it.
class InputNode final : public Node {
 public:
  ~InputNode() override = default;
  std::string name() const override { return "checkpoint"; }
  void apply(Span<const Tensor>, Span<Tensor>) override {}
};

// One checkpointed call. Saved tensors are numbered in the order they are saved, which is the same
// in the second run.
class Frame final : public SavedSource, public Saver {
 public:
  Frame(Body f, bool preserve_rng_state, const Where& where)
      : f_(std::move(f)), preserve_(preserve_rng_state), autocast_(autocast_dtype()) {
    node_ = make_node<InputNode>({}, {}, 0, where, 0);
  }

  std::vector<Tensor> run(const std::vector<Tensor>& inputs) {
    for (const Tensor& t : inputs) {
      inputs_.emplace_back();
      requires_grad_.push_back(t.requires_grad());
      if (t.defined()) save_tensor(t, SaveAs::kItself, *node_, &inputs_.back());
    }
    SaverScope scope(this);
    std::optional<DrawScope> draws;
    if (preserve_) draws.emplace(&draws_, DrawScope::kNote);
    FirstRun running(this, inputs);
    return f_(inputs);
  }

  // Called as the Saver of the first run. A parameter that f captured is saved the usual way.
  bool save(const Tensor& t, SavedTensor* slot) override {
    if (stays(t, current_)) return false;
    slot->source = IntrusivePtr<SavedSource>(this);
    slot->index = static_cast<uint32_t>(made_of_.size());
    made_of_.push_back({t.dtype(), t.raw_shape()});
    return true;
  }

  Tensor get(uint32_t index) override {
    if (first_) {
      throw_error("checkpoint",
                  "the function itself runs backward through what it computes: a checkpoint keeps "
                  "nothing for that; call it without checkpoint()",
                  node_->where, Code::kUnsupported);
    }
    if (again_.empty()) run_again();
    const Tensor t = unpack_saved(*node_, again_[index]);
    return t.requires_grad() ? alias(t, t.layout()) : t;  // the second run's graph is not wanted
  }
  void drop(uint32_t index) override {
    if (index < again_.size()) again_[index] = SavedTensor();
  }
  void forget() { again_.clear(); }

 private:
  // Marks the first run, until it ends or throws.
  struct FirstRun {
    FirstRun(Frame* f, const std::vector<Tensor>& inputs) : frame(f) {
      f->current_ = inputs;
      f->first_ = true;
    }
    ~FirstRun() {
      frame->current_.clear();
      frame->first_ = false;
    }
    Frame* frame;
  };
  struct Meta {
    DType dtype;
    Shape shape;
  };
  struct Second final : Saver {  // the second run: values are collected
    explicit Second(const std::vector<Tensor>& in) : inputs(in) {}
    bool save(const Tensor& t, SavedTensor*) override {
      if (stays(t, inputs)) return false;
      SavedTensor s;
      // An in-place write gives the old bytes to this very handle.
      s.tensor = t.impl()->operand ? t : alias(t, t.layout());
      s.version = t.version();
      got.push_back(std::move(s));
      return true;
    }
    const std::vector<Tensor>& inputs;
    std::vector<SavedTensor> got;
  };

  static bool stays(const Tensor& t, const std::vector<Tensor>& inputs) {
    if (!t.requires_grad() || !t.is_leaf()) return false;
    for (const Tensor& in : inputs) {
      if (in.is_same(t)) return false;
    }
    return true;
  }
  void run_again();

  Body f_;
  bool preserve_;
  DType autocast_;      // of the first run
  bool first_ = false;  // true until the first run is over
  std::vector<Draw> draws_;
  IntrusivePtr<Node> node_;
  std::vector<SavedTensor> inputs_;
  std::vector<bool> requires_grad_;
  std::vector<Tensor> current_;
  std::vector<Meta> made_of_;
  std::vector<SavedTensor> again_;
};

// Frames that hold recomputed values. A pointer, so that nothing is destroyed at thread exit before
// the last tensor.
constinit thread_local std::vector<IntrusivePtr<SavedSource>>* g_recomputed = nullptr;

void Frame::run_again() {
  std::vector<Tensor> in;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    SaverScope plain(nullptr);
    Tensor t = unpack_saved(*node_, inputs_[i]);
    // An input saved by an outer checkpoint: it is unpacked without its history.
    if (requires_grad_[i] && !t.requires_grad()) t = alias(t, t.layout()).requires_grad_();
    in.push_back(std::move(t));
  }
  Second second(in);
  {
    std::optional<DrawScope> draws;
    if (preserve_) draws.emplace(&draws_, DrawScope::kAgain);
    SaverScope scope(&second);
    TracerScope untraced(nullptr);
    ForwardPause pause;
    EnableGrad on;
    const bool casts = autocast_ != DType::kNone;
    AutocastScope autocast(casts ? autocast_ : DType::kBF16, casts);
    f_(in);
    if (draws && draws->draws() != draws_.size()) {
      throw_error("checkpoint",
                  "the original forward drew random tensors " + std::to_string(draws_.size()) +
                      " times, the recomputation " + std::to_string(draws->draws()) +
                      ": the function must do the same twice",
                  node_->where);
    }
  }
  if (second.got.size() != made_of_.size()) {
    throw_error("checkpoint",
                "a different number of tensors was saved during the original forward (" +
                    std::to_string(made_of_.size()) + ") and the recomputation (" +
                    std::to_string(second.got.size()) + "): the function must do the same twice",
                node_->where);
  }
  for (size_t i = 0; i < made_of_.size(); ++i) {
    const Tensor& t = second.got[i].tensor;
    if (t.dtype() == made_of_[i].dtype && t.raw_shape() == made_of_[i].shape) continue;
    throw_error("checkpoint",
                "recomputed value " + std::to_string(i) + " is " + dtype_name(t.dtype()) +
                    to_text(t.raw_shape()).text + ", in the original forward it was " +
                    dtype_name(made_of_[i].dtype) + to_text(made_of_[i].shape).text,
                node_->where);
  }
  again_ = std::move(second.got);
  if (g_recomputed == nullptr) g_recomputed = new std::vector<IntrusivePtr<SavedSource>>;
  g_recomputed->emplace_back(this);
}

}  // namespace

void forget_recomputed() {
  if (g_recomputed == nullptr) return;
  std::vector<IntrusivePtr<SavedSource>>* frames = std::exchange(g_recomputed, nullptr);
  for (const auto& frame : *frames) static_cast<Frame*>(frame.get())->forget();
  delete frames;
}

std::vector<Tensor> checkpoint(Body f, const std::vector<Tensor>& inputs, bool preserve_rng_state,
                               Where where) {
  // Without recording nothing is saved; tangents need no saved tensors.
  if (!grad_enabled() || modes().forward != 0) return f(inputs);
  IntrusivePtr<Frame> frame(new Frame(std::move(f), preserve_rng_state, where));
  return frame->run(inputs);
}

Tensor checkpoint(std::function<Tensor(const Tensor&)> f, const Arg& x, bool preserve_rng_state) {
  return checkpoint(
      [f = std::move(f)](const std::vector<Tensor>& in) { return std::vector<Tensor>{f(in[0])}; },
      {x.tensor}, preserve_rng_state, x.where)[0];
}

Tensor checkpoint_sequential(const std::vector<std::function<Tensor(const Tensor&)>>& functions,
                             size_t segments, const Arg& x, bool preserve_rng_state) {
  if (segments < 1 || segments > std::max<size_t>(functions.size(), 1)) {
    throw_error("checkpoint_sequential",
                "needs 1 to " + std::to_string(functions.size()) + " segments, got " +
                    std::to_string(segments),
                x.where);
  }
  Tensor h = x.tensor;
  size_t size = functions.size() / segments, at = 0;
  for (size_t s = 0; s + 1 < segments; ++s, at += size) {
    std::vector<std::function<Tensor(const Tensor&)>> part(
        functions.begin() + static_cast<std::ptrdiff_t>(at),
        functions.begin() + static_cast<std::ptrdiff_t>(at + size));
    h = checkpoint(
        [part](const Tensor& in) {
          Tensor y = in;
          for (const auto& f : part) y = f(y);
          return y;
        },
        {h, x.where}, preserve_rng_state);
  }
  for (; at < functions.size(); ++at) h = functions[at](h);
  return h;
}

}  // namespace wick
