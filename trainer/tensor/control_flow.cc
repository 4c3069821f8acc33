#include "trainer/tensor/control_flow.h"

#include <optional>

#include "trainer/tensor/control_call.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/view_info.h"

namespace wick {
namespace {
thread_local int64_t g_most_trips = INT64_MAX;
}  // namespace
TripLimitScope::TripLimitScope(int64_t most) : saved_(g_most_trips) { g_most_trips = most; }
TripLimitScope::~TripLimitScope() { g_most_trips = saved_; }
}  // namespace wick

namespace wick::detail {
namespace {

using Tensors = std::vector<Tensor>;

std::string type_text(const Tensor& t) {
  return std::string(dtype_name(t.dtype())) + to_text(t.raw_shape()).text;
}
std::string count_text(size_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

void need_all(const char* name, const char* what, const Tensors& tensors, const Where& where) {
  for (const Tensor& t : tensors) {
    if (!t.defined()) throw_error(name, std::string(what) + " is an undefined tensor", where);
  }
}

void need_one_bool(const char* name, const char* what, const Tensor& t, const Where& where) {
  if (!t.defined()) throw_error(name, std::string(what) + " is an undefined tensor", where);
  if (t.dtype() == DType::kBool && numel(t.raw_shape()) == 1) return;
  const bool one = numel(t.raw_shape()) == 1;
  throw_error(
      name,
      std::string(what) + " must be one bool, got " + type_text(t) +
          (one ? ": compare it, x > 0" : ": reduce it to one element, any(x > 0) or x.sum() > 0"),
      where, one ? Code::kTypeMismatch : Code::kShapeMismatch);
}

// Reads a bool without a tracer, which would refuse.
bool read_bool(const Tensor& t, const Where& where) {
  const TracerScope untraced(nullptr);
  return t.item_int(where) != 0;
}
// A tracer without support for control flow refuses this read.
bool read_condition(const Tensor& t, const Where& where) { return t.item_int(where) != 0; }

Tensors copies(const Tensors& of, const Where& where) {
  Tensors all;
  for (const Tensor& t : of) all.push_back(t.clone(where));
  return all;
}

// Ids increase: existing tensors have smaller ones.
uint64_t now() { return Tensor(IntrusivePtr<TensorCore>(new TensorImpl)).id(); }

// Makes results share no bytes with others: tensors that existed before `since`, or share the bytes
// of arguments, are copied.
Tensors own(Tensors made, const Tensors& given, uint64_t since, const Where& where) {
  for (Tensor& t : made) {
    bool shared = t.id() <= since || bytes_root(t.impl())->id <= since;
    for (const Tensor& g : given) shared = shared || &t.storage() == &g.storage();
    if (shared) t = t.clone(where);
  }
  return made;
}

// Checks that a function does not write to its arguments while it runs.
class Unwritten {
 public:
  Unwritten(const Tensors& given) : given_(given) {
    for (const Tensor& t : given_) versions_.push_back(t.version());
  }
  void check(const char* name, const char* what, const Where& where) const {
    for (size_t i = 0; i < given_.size(); ++i) {
      if (given_[i].version() == versions_[i]) continue;
      const std::string& own = given_[i].name();
      throw_error(name,
                  std::string(what) + " writes in place to " +
                      (own.empty() ? "tensor " + std::to_string(i) : "\"" + own + "\"") +
                      " of those it is given: return the new value",
                  where, Code::kUnsupported);
    }
  }

 private:
  const Tensors& given_;
  std::vector<uint32_t> versions_;
};

// Runs a function. If it is only traced, because the present data do not select it, its errors say
// so.
template <class F>
Tensors run_part(const char* what, bool taken, F f) {
  if (taken) return f();
  try {
    return f();
  } catch (const Error& e) {
    if (e.code() == Code::kUnsupported) throw;  // thrown by a tracer, which refuses it for any data
    throw Error(std::string(e.what()) + "; " + what +
                    " is not what today's data take, but a graph holds it, and so it is run once "
                    "while it is captured",
                e.code());
  }
}

void need_same_kinds(const Tensors& a, const Tensors& b, const Where& where) {
  if (a.size() != b.size()) {
    throw_error("cond",
                "then_fn returns " + count_text(a.size(), "tensor") + " and else_fn " +
                    std::to_string(b.size()) + ": both must return as many",
                where);
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype() == b[i].dtype()) continue;
    throw_error("cond",
                "output " + std::to_string(i) + " is " + type_text(a[i]) + " of then_fn and " +
                    type_text(b[i]) + " of else_fn: the dtypes must be the same, cast with .to()",
                where, Code::kTypeMismatch);
  }
}

// Checks that dtypes and shapes do not change from one trip to the next.
void need_same_state(const char* name, const char* what, const Tensors& was, const Tensors& is,
                     const Where& where) {
  if (was.size() != is.size()) {
    throw_error(name,
                std::string(what) + " is " + count_text(was.size(), "tensor") +
                    ", and the function returns " + std::to_string(is.size()) + " for it",
                where);
  }
  for (size_t i = 0; i < is.size(); ++i) {
    const bool dtype = was[i].dtype() == is[i].dtype();
    if (dtype && was[i].raw_shape() == is[i].raw_shape()) continue;
    throw_error(name,
                std::string(what) + (is.size() == 1 ? "" : " " + std::to_string(i)) + " is " +
                    type_text(was[i]) + ", and the function returns " + type_text(is[i]) +
                    " for it: dtype and shape stay the same from trip to trip" +
                    (dtype ? "" : ", cast with .to()"),
                where, dtype ? Code::kShapeMismatch : Code::kTypeMismatch);
  }
}

void check_trips(int64_t trips, const Where& where) {
  if (trips < g_most_trips) return;
  throw_error("while_loop",
              "it goes on after " + std::to_string(trips) +
                  " trips on data that capture() makes of the example: give it max_trips",
              where, Code::kBudgetExceeded);
}

Tensor scalar_of(Tensor t) {
  while (t.rank() > 0) t = t.squeeze(0);
  return t;
}

}  // namespace

void wrong_operands(const char* what, size_t takes, size_t given, const Where& where) {
  const std::string text = what;
  const size_t colon = text.find(": ");
  throw_error(text.substr(0, colon),
              text.substr(colon + 2) + " takes " + count_text(takes, "tensor") + ", and is given " +
                  std::to_string(given),
              where);
}

Tensors run_cond(const Arg& pred, const TensorsOf& then_fn, const TensorsOf& else_fn,
                 const Tensors& operands) {
  const Where& where = pred.where;
  need_one_bool("cond", "pred", pred.tensor, where);
  need_all("cond", "an operand", operands, where);
  auto branch = [&](bool yes) {
    const char* what = yes ? "then_fn" : "else_fn";
    const Unwritten kept(operands);
    Tensors made = (yes ? then_fn : else_fn)(operands);
    kept.check("cond", what, where);
    need_all("cond", yes ? "a result of then_fn" : "a result of else_fn", made, where);
    return made;
  };
  if (Tracer* tracer = active_tracer()) {
    const bool holds = read_bool(pred.tensor, where);
    Tensors made[2];
    auto region = [&](bool yes) {
      return ControlRegion{{}, [&, yes] {
                             Tensors& here = made[yes ? 0 : 1];
                             here = run_part(yes ? "then_fn" : "else_fn", yes == holds,
                                             [&] { return branch(yes); });
                             if (!yes) need_same_kinds(made[0], made[1], where);
                             return here;
                           }};
    };
    const NoAttrs none;
    const ControlCall call{OpId::kIf,
                           &none,
                           "cond",
                           {pred.tensor},
                           {region(true), region(false)},
                           [&] { return copies(made[holds ? 0 : 1], where); },
                           where};
    Tensors results;
    if (tracer->on_control(call, &results)) return results;
  }
  const bool holds = read_condition(pred.tensor, where);
  const uint64_t since = now();
  return own(branch(holds), operands, since, where);
}

Tensors run_while(const std::function<Tensor(const Tensors&)>& cond_fn, const TensorsOf& body_fn,
                  const Tensors& state, int64_t max_trips, const Where& where) {
  constexpr const char* kName = "while_loop";
  if (state.empty()) throw_error(kName, "there is no state: nothing would change", where);
  need_all(kName, "the state", state, where);
  auto going = [&](const Tensors& s) {
    const Unwritten kept(s);
    Tensor go_on = cond_fn(s);
    kept.check(kName, "cond_fn", where);
    need_one_bool(kName, "what cond_fn returns", go_on, where);
    return go_on;
  };
  auto trip = [&](const Tensors& s) {
    const Unwritten kept(s);
    Tensors next = body_fn(s);
    kept.check(kName, "body_fn", where);
    need_all(kName, "a result of body_fn", next, where);
    need_same_state(kName, "the state", s, next, where);
    return next;
  };
  if (Tracer* tracer = active_tracer()) {
    const Tensor before = scalar_of(going(state));
    const bool any = max_trips > 0 && read_bool(before, where);
    const LoopAttrs attrs{static_cast<int64_t>(state.size())};
    ControlCall call{OpId::kLoop, &attrs, kName, {}, {}, {}, where};
    Tensors inside, after;
    bool again = false;
    {
      const TracerScope untraced(nullptr);
      inside = copies(state, where);
      call.in = {full({}, max_trips, DType::kI64, where), before};
      call.regions.resize(1);
      call.regions[0].own = {full({}, 0, DType::kI64, where), full({}, true, DType::kBool, where)};
    }
    call.in.insert(call.in.end(), state.begin(), state.end());
    call.regions[0].own.insert(call.regions[0].own.end(), inside.begin(), inside.end());
    call.regions[0].run = [&] {
      Tensor go_on;
      run_part("body_fn", any, [&] {
        after = trip(inside);
        go_on = scalar_of(going(after));
        return after;
      });
      again = read_bool(go_on, where);
      Tensors made = after;
      made.insert(made.begin(), go_on);
      return made;
    };
    call.results = [&] {
      Tensors s = any ? after : inside;
      for (int64_t t = 1; any && again && t < max_trips; ++t) {
        check_trips(t, where);
        s = trip(s);
        again = read_bool(going(s), where);
      }
      return copies(s, where);
    };
    Tensors results;
    if (tracer->on_control(call, &results)) return results;
  }
  const uint64_t since = now();
  Tensors s = state;
  for (int64_t t = 0; t < max_trips && read_condition(going(s), where); ++t) {
    check_trips(t, where);
    s = trip(s);
  }
  return own(std::move(s), state, since, where);
}

namespace {

// Implements scan(): a loop over one dimension of tensors.
class Scan {
 public:
  Scan(const ScanStep& step, const Tensors& init, const Tensors& xs, int dim, bool reverse,
       const Where& where)
      : step_(step), init_(init), xs_(xs), reverse_(reverse), where_(where) {
    if (xs.empty()) throw_error(kName, "there is nothing to scan: xs has no tensor", where);
    need_all(kName, "init", init, where);
    need_all(kName, "xs", xs, where);
    for (const Tensor& x : xs) {
      dims_.push_back(wrap_dim(kName, dim, x.rank(), where));
      const int64_t size = x.raw_shape()[dims_.back()];
      if (dims_.size() == 1) trips_ = size;
      if (size == trips_) continue;
      throw_error(kName,
                  "xs have " + std::to_string(trips_) + " and " + std::to_string(size) +
                      " slices along dim " + std::to_string(dim) + ": " + type_text(xs[0]) +
                      " and " + type_text(x),
                  where, Code::kShapeMismatch);
    }
  }

  ScanResult eager() {
    const uint64_t since = now();
    Tensors carry = init_;
    for (int64_t n = 0; n < trips_; ++n) carry = next(carry, slices(n));
    if (trips_ == 0) {
      const NoGrad guard;
      next(init_, slices(0));
    }
    return {own(std::move(carry), init_, since, where_), stacks(reverse_)};
  }

  bool traced(Tracer& tracer, ScanResult* result) {
    const LoopAttrs attrs{static_cast<int64_t>(init_.size())};
    ControlCall call{OpId::kLoop, &attrs, kName, {}, {}, {}, where_};
    // The graph computes the number of slices itself.
    const ShapeOpAttrs of{dims_[0], dims_[0] + 1};
    const Tensor count = call_one(OpId::kShape, &of, {&xs_[0]}).squeeze(0, where_);
    Tensors inside, after;
    Tensor trip, go_on;
    {
      const TracerScope untraced(nullptr);
      inside = copies(init_, where_);
      trip = full({}, 0, DType::kI64, where_);
      go_on = full({}, true, DType::kBool, where_);
      call.in = {count, full({}, true, DType::kBool, where_)};
    }
    call.in.insert(call.in.end(), init_.begin(), init_.end());
    ControlRegion body;
    body.own = {trip, go_on};
    body.own.insert(body.own.end(), inside.begin(), inside.end());
    body.run = [&] {
      run_part("fn", trips_ > 0, [&] {
        after = next(inside, traced_slices(count, trip));
        return after;
      });
      Tensors made = {go_on};
      made.insert(made.end(), after.begin(), after.end());
      for (const Tensors& y : ys_) made.push_back(y[0]);
      return made;
    };
    call.regions.push_back(std::move(body));
    call.results = [&] {
      Tensors carry = trips_ > 0 ? after : inside;
      for (int64_t n = 1; n < trips_; ++n) carry = next(carry, slices(n));
      Tensors made = copies(carry, where_);
      for (const Tensor& y : stacks(false)) made.push_back(y);
      return made;
    };
    Tensors made;
    if (!tracer.on_control(call, &made)) return false;
    const auto carried = made.begin() + static_cast<long>(init_.size());
    *result = {{made.begin(), carried}, {carried, made.end()}};
    for (Tensor& y : result->stacked) {
      if (reverse_) y = flip({y, where_}, {0});
    }
    return true;
  }

 private:
  static constexpr const char* kName = "scan";

  Tensor call_one(OpId op, const void* attrs, std::vector<const Tensor*> in) const {
    Tensor out;
    call(op, attrs, in, {&out, 1}, where_);
    return out;
  }

  Tensors next(const Tensors& carry, const Tensors& at) {
    Tensors given = carry;
    given.insert(given.end(), at.begin(), at.end());
    const Unwritten kept(given);
    ScanResult made = step_(carry, at);
    kept.check(kName, "fn", where_);
    need_all(kName, "a result of fn", made.carry, where_);
    need_all(kName, "a result of fn", made.stacked, where_);
    need_same_state(kName, "the carry", carry, made.carry, where_);
    if (!begun_) ys_.resize(made.stacked.size());
    begun_ = true;
    if (made.stacked.size() != ys_.size()) {
      throw_error(kName,
                  "fn returns " + count_text(ys_.size(), "tensor") +
                      " beside the carry for one slice and " + std::to_string(made.stacked.size()) +
                      " for another",
                  where_);
    }
    for (size_t k = 0; k < ys_.size(); ++k) {
      const Tensor& y = made.stacked[k];
      if (!ys_[k].empty() &&
          (ys_[k][0].dtype() != y.dtype() || !(ys_[k][0].raw_shape() == y.raw_shape()))) {
        throw_error(kName,
                    "y" + (ys_.size() == 1 ? "" : " " + std::to_string(k)) + " is " +
                        type_text(ys_[k][0]) + " for one slice and " + type_text(y) +
                        " for another: they cannot be stacked",
                    where_, Code::kShapeMismatch);
      }
      ys_[k].push_back(y);
    }
    return std::move(made.carry);
  }

  int64_t place(int64_t n) const { return reverse_ ? trips_ - 1 - n : n; }

  // Returns the slice of trip n; zeros if there is no trip at all.
  Tensor slice(size_t k, int64_t n) const {
    const Tensor& x = xs_[k];
    if (trips_ > 0) return x.select(dims_[k], place(n), where_);
    Shape shape;
    for (int d = 0; d < x.rank(); ++d) {
      if (d != dims_[k]) shape.push_back(x.raw_shape()[d]);
    }
    return zeros(shape, x.dtype(), where_).to(x.device(where_), false, where_);
  }
  Tensors slices(int64_t n) const {
    Tensors all;
    for (size_t k = 0; k < xs_.size(); ++k) all.push_back(slice(k, n));
    return all;
  }
  // The first slices, which are by their number in the graph.
  Tensors traced_slices(const Tensor& count, const Tensor& trip) const {
    const Tensor at = reverse_ ? sub({sub({count, where_}, 1), where_}, {trip, where_}) : trip;
    Tensors all;
    for (size_t k = 0; k < xs_.size(); ++k) {
      Tensor x;
      {
        const TracerScope untraced(nullptr);
        x = slice(k, 0).clone(where_);
      }
      const AxisAttrs attrs{dims_[k]};
      const Tensor* in[] = {&xs_[k], &at};
      active_tracer()->on_call({OpId::kGather, &attrs, in, {&x, 1}, where_});
      all.push_back(x);
    }
    return all;
  }

  // Stacks the outputs by trip; with `backwards` the last trip comes first.
  Tensors stacks(bool backwards) {
    Tensors all;
    for (Tensors& y : ys_) {
      if (backwards) std::reverse(y.begin(), y.end());
      if (trips_ > 0) {
        all.push_back(stack(y, 0, where_));
        continue;
      }
      Shape shape{0};
      for (int64_t d : y[0].raw_shape()) shape.push_back(d);
      all.push_back(zeros(shape, y[0].dtype(), where_).to(y[0].device(where_), false, where_));
    }
    return all;
  }

  const ScanStep& step_;
  const Tensors &init_, &xs_;
  const bool reverse_;
  const Where& where_;
  std::vector<int> dims_;  // for each of xs
  int64_t trips_ = 0;
  bool begun_ = false;
  std::vector<Tensors> ys_;  // for each output, by trip
};

}  // namespace

ScanResult run_scan(const ScanStep& step, const Tensors& init, const Tensors& xs, int dim,
                    bool reverse, const Where& where) {
  Scan scan(step, init, xs, dim, reverse, where);
  ScanResult result;
  if (Tracer* tracer = active_tracer(); tracer != nullptr && scan.traced(*tracer, &result))
    return result;
  return scan.eager();
}

}  // namespace wick::detail
