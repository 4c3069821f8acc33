#include "trainer/optim/grad_scaler.h"

#include <fmt/core.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "runtime/core/thread_pool.h"
#include "trainer/autograd/sparse_slot.h"
#include "trainer/checkpoint/json.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/ops.h"

namespace wick::optim {
namespace {

void check_growth(double f, const char* op, const Where& where) {
  if (std::isfinite(f) && f > 1) return;
  throw_error(op, fmt::format("growth_factor must be finite and > 1, got {}", f), where);
}
void check_backoff(double f, const char* op, const Where& where) {
  if (f > 0 && f < 1) return;
  throw_error(op, fmt::format("backoff_factor must be in (0, 1), got {}", f), where);
}
void check_interval(int64_t n, const char* op, const Where& where) {
  if (n >= 1) return;
  throw_error(op, fmt::format("growth_interval must be at least 1, got {}", n), where);
}
// Returns the value as a float, the type of the scale; throws unless it is finite and positive.
float check_scale(double s, const char* op, const char* name, const Where& where) {
  const auto f = static_cast<float>(s);
  if (std::isfinite(f) && f > 0) return f;
  throw_error(op, fmt::format("{} must be a finite float32 > 0, got {}", name, s), where);
}

// Multiplies by `by`; returns whether all values were finite before.
template <class T>
bool multiply(T* g, int64_t n, T by) {
  // x - x is 0 for finite x, else NaN: a sum of these can be vectorized, a branch could not.
  T off = 0;
  for (int64_t i = 0; i < n; ++i) {
    off += g[i] - g[i];
    g[i] *= by;
  }
  return off == 0;
}

struct Slice {
  void* at;
  int64_t n;
  DType dtype;
};
constexpr int64_t kSlice = 1 << 14;

void add_slices(const Tensor& g, std::vector<Slice>* slices) {
  const bool f32 = g.dtype() == DType::kF32;
  char* data = f32 ? reinterpret_cast<char*>(g.mutable_data<float>())
                   : reinterpret_cast<char*>(g.mutable_data<double>());
  const int64_t n = g.layout().numel();
  for (int64_t at = 0; at < n; at += kSlice) {
    slices->push_back({data + static_cast<size_t>(at) * dtype_size(g.dtype()),
                       std::min(kSlice, n - at), g.dtype()});
  }
}

}  // namespace

GradScaler::GradScaler(const GradScalerOptions& options, Where where) : options_(options) {
  constexpr const char* kOp = "GradScaler";
  scale_ = check_scale(options.init_scale, kOp, "init_scale", where);
  check_growth(options.growth_factor, kOp, where);
  check_backoff(options.backoff_factor, kOp, where);
  check_interval(options.growth_interval, kOp, where);
}

void GradScaler::set_growth_factor(double factor, Where where) {
  check_growth(factor, "set_growth_factor", where);
  options_.growth_factor = factor;
}
void GradScaler::set_backoff_factor(double factor, Where where) {
  check_backoff(factor, "set_backoff_factor", where);
  options_.backoff_factor = factor;
}
void GradScaler::set_growth_interval(int64_t interval, Where where) {
  check_interval(interval, "set_growth_interval", where);
  options_.growth_interval = interval;
}

Tensor GradScaler::scale(const Arg& output) {
  if (!options_.enabled) return output.tensor;
  if (!is_float(output.tensor.dtype())) {
    throw_error(
        "GradScaler.scale",
        std::string("needs a floating-point loss, got ") + dtype_name(output.tensor.dtype()),
        output.where, Code::kTypeMismatch);
  }
  scaled_ = true;
  // 65536 exceeds float16's largest number.
  const DType t = output.tensor.dtype();
  const bool narrow = t == DType::kF16 || t == DType::kBF16;
  const Tensor wide = narrow ? output.tensor.to(DType::kF32, output.where) : output.tensor;
  return mul(Arg(wide, output.where), static_cast<double>(scale_));
}

std::vector<Tensor> GradScaler::scale(const std::vector<Tensor>& outputs, Where where) {
  std::vector<Tensor> scaled;
  for (const Tensor& t : outputs) scaled.push_back(scale(Arg(t, where)));
  return scaled;
}

GradScaler::Seen* GradScaler::find(const Optimizer& optimizer) {
  for (Seen& s : seen_) {
    if (s.optimizer == &optimizer) return &s;
  }
  return nullptr;
}

// Returns whether a gradient was not finite. Parameters of two groups have separate gradients.
bool GradScaler::unscale(Optimizer& optimizer, const char* op, const Where& where) {
  if (!scaled_) {
    throw_error(op, "no loss was scaled: call scaler.scale(loss).backward() before", where);
  }
  NoGrad guard;
  const double by = 1.0 / static_cast<double>(scale_);
  std::vector<Slice> slices;
  std::vector<std::pair<Tensor, Tensor>> back;  // strided gradients, and their copies
  int64_t gradients = 0;
  for (int group = 0; group < optimizer.groups(); ++group) {
    for (const Tensor& p : optimizer.params(group)) {
      need_dense_grad(op, p, where);
      const Tensor g = p.grad().defined() ? p.grad().detach() : Tensor();
      if (!g.defined()) continue;
      if (g.dtype() != DType::kF32 && g.dtype() != DType::kF64) {
        throw_error(op,
                    std::string("a gradient is ") + dtype_name(g.dtype()) +
                        ": parameters must be float32 (autocast casts them for the products)",
                    where, Code::kTypeMismatch);
      }
      ++gradients;
      if (g.is_contiguous()) {
        add_slices(g, &slices);
      } else {
        back.emplace_back(g, g.clone());
        add_slices(back.back().second, &slices);
      }
    }
  }
  if (gradients == 0) {
    throw_error(op, "no parameter of the optimizer has a gradient: call backward() before", where);
  }
  std::atomic<bool> finite{true};
  parallel_for(thread_pool(), static_cast<int64_t>(slices.size()), [&](int64_t task, int) {
    const Slice& s = slices[static_cast<size_t>(task)];
    const bool ok = s.dtype == DType::kF32
                        ? multiply(static_cast<float*>(s.at), s.n, static_cast<float>(by))
                        : multiply(static_cast<double*>(s.at), s.n, by);
    if (!ok) finite.store(false, std::memory_order_relaxed);
  });
  for (const auto& [g, copy] : back) g.copy_(copy);
  return !finite.load();
}

void GradScaler::unscale_(Optimizer& optimizer, Where where) {
  constexpr const char* kOp = "GradScaler.unscale_";
  if (!options_.enabled || !optimizer.acts_next()) return;
  if (const Seen* s = find(optimizer); s != nullptr) {
    throw_error(kOp,
                s->stage == Stage::kStepped
                    ? "called after step(): unscale before it, once"
                    : "was already called on this optimizer since the last update()",
                where);
  }
  const bool found = unscale(optimizer, kOp, where);
  seen_.push_back({&optimizer, Stage::kUnscaled, found});
}

bool GradScaler::step(Optimizer& optimizer, Where where) {
  constexpr const char* kOp = "GradScaler.step";
  const auto allow = [&] {
    for (int group = 0; group < optimizer.groups(); ++group) {
      for (const Tensor& p : optimizer.params(group)) forget_float16(p);
    }
  };
  if (!options_.enabled) {
    allow();
    const bool acts = optimizer.acts_next();
    optimizer.step();
    return acts;
  }
  if (!optimizer.acts_next()) {
    optimizer.step();
    counted_ = true;
    return false;
  }
  Seen* s = find(optimizer);
  if (s != nullptr && s->stage == Stage::kStepped) {
    throw_error(kOp, "was already called on this optimizer since the last update()", where);
  }
  if (s == nullptr) {
    const bool found = unscale(optimizer, kOp, where);
    seen_.push_back({&optimizer, Stage::kUnscaled, found});
    s = &seen_.back();
  }
  s->stage = Stage::kStepped;
  allow();
  if (s->found_inf) {
    optimizer.skip_step();
    return false;
  }
  optimizer.step();
  return true;
}

void GradScaler::update(std::optional<double> new_scale, Where where) {
  constexpr const char* kOp = "GradScaler.update";
  if (!options_.enabled) return;
  if (new_scale) {
    scale_ = check_scale(*new_scale, kOp, "new_scale", where);
  } else if (seen_.empty()) {
    if (!counted_) {
      throw_error(kOp, "no gradients were looked at: call step() or unscale_() before", where);
    }
  } else {
    bool found = false;
    for (const Seen& s : seen_) found = found || s.found_inf;
    if (found) {
      // Never to 0, from which nothing grows again.
      const float less = scale_ * static_cast<float>(options_.backoff_factor);
      if (less > 0) scale_ = less;
      growth_tracker_ = 0;
    } else if (++growth_tracker_ >= options_.growth_interval) {
      const float more = scale_ * static_cast<float>(options_.growth_factor);
      if (std::isfinite(more)) scale_ = more;
      growth_tracker_ = 0;
    }
  }
  seen_.clear();
  counted_ = false;
}

std::string GradScaler::state_dict() const {
  if (!options_.enabled) return "{}";
  JsonWriter json;
  json.open('{').field("scale", static_cast<double>(scale_));
  json.field("growth_factor", options_.growth_factor);
  json.field("backoff_factor", options_.backoff_factor);
  json.field("growth_interval", options_.growth_interval);
  json.field("_growth_tracker", growth_tracker_);
  return json.close().done();
}

void GradScaler::load_state_dict(const std::string& state, Where where) {
  constexpr const char* kOp = "GradScaler.load_state_dict";
  if (!options_.enabled) return;
  GradScalerOptions o = options_;
  float scale = 0;
  int64_t tracker = 0;
  try {
    constexpr double kMost = std::numeric_limits<double>::max();
    const nlohmann::json tree = read_json(state, "scaler");
    const JsonPlace saved(tree, "scaler");
    scale = check_scale(saved.at("scale").number(-kMost, kMost), kOp, "scale", where);
    o.growth_factor = saved.at("growth_factor").number(-kMost, kMost);
    o.backoff_factor = saved.at("backoff_factor").number(-kMost, kMost);
    o.growth_interval = saved.at("growth_interval").integer(0, kMaxJsonCount);
    tracker = saved.at("_growth_tracker").integer(0, kMaxJsonCount);
  } catch (const JsonError& e) {
    throw_error(kOp, std::string("the state is not one of an enabled scaler: ") + e.what(), where);
  }
  check_growth(o.growth_factor, kOp, where);
  check_backoff(o.backoff_factor, kOp, where);
  check_interval(o.growth_interval, kOp, where);
  options_ = o;
  scale_ = scale;
  growth_tracker_ = tracker;
}

static GradScalerOptions scaler_of(const AmpOptions& o) {
  GradScalerOptions s = o.scaler;
  s.enabled = s.enabled && o.autocast == DType::kF16;
  return s;
}

Amp::Amp(const AmpOptions& options, Where where)
    : autocast_(options.autocast), scaler_(scaler_of(options), where) {
  { AutocastScope check(autocast_, true, where); }
  if (autocast_ == DType::kF16 && !scaler_.is_enabled()) {
    throw_error("Amp", "float16 needs its scaler: leave scaler.enabled set, or use bfloat16",
                where);
  }
}

void Amp::backward(const Tensor& loss, Where where) {
  scaler_.scale(Arg(loss, where)).backward({}, false, false, {}, where);
}
void Amp::unscale_(Optimizer& optimizer, Where where) { scaler_.unscale_(optimizer, where); }
bool Amp::step(Optimizer& optimizer, Where where) {
  if (!scaler_.is_enabled()) {  // not through the scaler: float16 of another scope stays refused
    const bool acts = optimizer.acts_next();
    optimizer.step();
    return acts;
  }
  const bool acted = scaler_.step(optimizer, where);
  scaler_.update({}, where);
  return acted;
}

}  // namespace wick::optim
