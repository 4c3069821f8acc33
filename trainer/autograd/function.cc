#include "trainer/autograd/function.h"

#include <cxxabi.h>

#include <cstdlib>

#include "trainer/autograd/forward.h"
#include "trainer/autograd/function_node.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/view_info.h"

namespace wick {
namespace {

bool holds(const variable_list& list, const Tensor& t) {
  for (const Tensor& e : list) {
    if (e.is_same(t)) return true;
  }
  return false;
}

// Returns whether `shape` broadcasts to `wide`.
bool expands_to(const Shape& shape, const Shape& wide) {
  if (shape.rank() > wide.rank()) return false;
  for (int i = 1; i <= shape.rank(); ++i) {
    int64_t d = shape[shape.rank() - i];
    if (d != 1 && d != wide[wide.rank() - i]) return false;
  }
  return true;
}

// The grad_fn of gradients that must not be differentiated again.
class OnceNode final : public Node {
 public:
  ~OnceNode() override = default;
  std::string name() const override { return "Error"; }
  void apply(Span<const Tensor>, Span<Tensor>) override {
    throw_error("backward",
                "trying to differentiate twice a function that was marked with "
                "once_differentiable",
                where);
  }
};

}  // namespace

std::string function_name(const std::type_info& type) {
  int status = 0;
  char* text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : type.name();
  free(text);
  if (size_t at = name.rfind("::"); at != std::string::npos) name.erase(0, at + 2);
  return name + "Backward";
}

void FunctionCall::add(const Tensor& t) {
  inputs.push_back(t);
  argument_of.push_back(arguments++);
}
void FunctionCall::add(const variable_list& list) {
  for (const Tensor& t : list) add(t);
}

variable_list FunctionCall::run(const std::function<variable_list(AutogradContext&)>& forward) {
  bool recorded = false;
  for (const Tensor& t : inputs) recorded = recorded || t.requires_grad();
  recorded = recorded && grad_enabled();
  bool dual = any_tangent(inputs);
  AutogradContext ctx;
  variable_list out;
  {
    NoGrad guard;
    ForwardPause pause;  // tangents are computed from backward, as gradients are
    out = forward(ctx);
  }
  if (!recorded && !dual) return out;

  std::vector<bool> differentiable, dirty;
  for (Tensor& t : out) {
    bool d = t.defined() && is_float(t.dtype()) && !holds(ctx.non_differentiable_, t);
    bool written = t.defined() && holds(ctx.dirty_, t);
    if (written && recorded && t.requires_grad() && t.is_leaf()) {
      throw_error(name, "a leaf that requires grad has been used in an in-place operation", where);
    }
    // An input or a view that is returned as it is gets a new handle: the caller's keeps its
    // history.
    if (d && !written) {
      NoGrad guard;
      t = alias(t, t.layout());
    }
    differentiable.push_back(d);
    dirty.push_back(written);
  }
  variable_list described = out;
  std::vector<const Tensor*> in;
  for (const Tensor& t : inputs) in.push_back(&t);
  variable_list to_save = std::move(ctx.to_save_);
  auto node = make_node<FunctionNode>(in, described, 0, where, 0, std::move(ctx), *this);
  node->keep(inputs, out, to_save);
  if (recorded) {
    for (size_t i = 0; i < out.size(); ++i) {
      if (!differentiable[i]) continue;
      if (dirty[i]) {
        Tensor result = alias(out[i], out[i].layout());
        attach(result, node, i);
        rebase_history(out[i].impl(), result, name.c_str(), where);
      } else {
        attach(out[i], node, i);
      }
    }
  }
  if (dual) {
    variable_list followed = out;
    for (size_t i = 0; i < out.size(); ++i) {
      if (!differentiable[i]) followed[i] = Tensor();
    }
    push_tangents(*node, in, followed, where);
  }
  return out;
}

FunctionNode::FunctionNode(AutogradContext&& ctx, const FunctionCall& call)
    : ctx_(std::move(ctx)),
      name_(call.name),
      once_differentiable_(call.once_differentiable),
      backward_(call.backward),
      argument_of_(call.argument_of),
      arguments_(call.arguments) {
  ctx_.node_ = this;
  // Handles on the outputs would form a cycle: they own this node, which would never be freed.
  ctx_.non_differentiable_.clear();
  ctx_.dirty_.clear();
}

void FunctionNode::keep(const variable_list& inputs, const variable_list& outputs,
                        const variable_list& tensors) {
  for (const Tensor& t : tensors) {
    Saved s;
    if (t.defined()) {
      for (size_t i = 0; i < outputs.size(); ++i) {
        bool same = outputs[i].defined() && t.impl()->storage == outputs[i].impl()->storage &&
                    t.layout().data == outputs[i].layout().data &&
                    t.raw_shape() == outputs[i].raw_shape() && !t.requires_grad();
        if (same || t.is_same(outputs[i])) s.output = static_cast<int>(i);
      }
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (t.is_same(inputs[i])) s.input = static_cast<int>(i);
      }
      const SaveAs as = s.output >= 0  ? SaveAs::kOutput
                        : s.input >= 0 ? SaveAs::kInput
                                       : SaveAs::kItself;
      save_tensor(t, as, *this, &s.tensor);
    }
    saved_.push_back(std::move(s));
  }
}

variable_list FunctionNode::saved() const {
  variable_list list;
  for (size_t i = 0; i < saved_.size(); ++i) {
    Tensor t = unpack_saved(*this, saved_[i].tensor);
    if (saved_[i].output >= 0 && grad_enabled() && t.defined() && is_float(t.dtype())) {
      t = with_history(t, IntrusivePtr<Node>(const_cast<FunctionNode*>(this)),
                       static_cast<uint32_t>(saved_[i].output));
    } else if (saved_[i].input >= 0 && grad_enabled() && !t.requires_grad()) {
      const Edge& e = edges()[static_cast<size_t>(saved_[i].input)];
      if (e.leaf) t = Tensor(e.leaf);
      if (e.node) t = with_history(t, e.node, e.nr);
    }
    list.push_back(std::move(t));
  }
  return list;
}

variable_list AutogradContext::get_saved_variables() const {
  if (node_ == nullptr) throw Error("[get_saved_variables] is for backward");
  return node_->saved();
}
bool AutogradContext::needs_input_grad(size_t argument) const {
  return node_ != nullptr && node_->wants_argument(argument);
}

bool FunctionNode::wants_argument(size_t argument) const {
  for (size_t i = 0; i < argument_of_.size(); ++i) {
    if (argument_of_[i] == argument) return wants(i);
  }
  return false;
}

void FunctionNode::release() {
  released_ = released_ || !saved_.empty();
  for (Saved& s : saved_) s.tensor.drop();
  saved_.clear();
}

void FunctionNode::outputs_have_tangents(Span<const Tensor> out) {
  for (Saved& s : saved_) {
    if (s.output < 0 || !s.tensor.tensor.defined()) continue;
    set_tangent(s.tensor.tensor, tangent_of(out[static_cast<size_t>(s.output)]));
  }
}

variable_list FunctionNode::call_backward(const variable_list& grads) {
  if (!once_differentiable_ || !grad_enabled()) return backward_(ctx_, grads);
  variable_list results;
  {
    NoGrad guard;
    results = backward_(ctx_, grads);
  }
  // Differentiating these results is an error instead of a silent zero.
  std::vector<const Tensor*> in;
  variable_list made, kept = saved();
  for (const Tensor& g : grads) in.push_back(&g);
  for (const Tensor& t : kept) in.push_back(&t);
  bool any = false;
  for (const Tensor* t : in) any = any || t->requires_grad();
  if (!any) return results;
  for (Tensor& r : results) {
    if (!r.defined()) continue;
    r = alias(r, r.layout());
    made.push_back(r);
  }
  auto node = make_node<OnceNode>(in, made, 0, where, 0);
  for (size_t i = 0; i < made.size(); ++i) attach(made[i], node, i);
  return results;
}

void FunctionNode::apply(Span<const Tensor> grads, Span<Tensor> results) {
  variable_list g(grads.begin(), grads.end());
  Tensor some;  // gives the device of the zeros
  for (const Tensor& t : g) some = t.defined() ? t : some;
  for (size_t i = 0; i < g.size(); ++i) {
    if (!g[i].defined() && ctx_.materialize_ && is_float(out()[i].dtype)) {
      g[i] = zeros_beside(some, out()[i].shape(), out()[i].dtype);
    }
  }
  variable_list r = call_backward(g);
  // More gradients than arguments are accepted if the surplus is undefined.
  bool fits = r.size() >= arguments_;
  for (size_t i = arguments_; i < r.size(); ++i) fits = fits && !r[i].defined();
  if (!fits) {
    throw_error(name_,
                "returned an incorrect number of gradients: expected " +
                    std::to_string(arguments_) + ", got " + std::to_string(r.size()),
                where);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor& t = r[argument_of_[i]];
    if (!t.defined() || !wants(i)) continue;
    const ValueMeta& want = in()[i];
    Shape shape = want.shape();
    if (!(t.raw_shape() == shape)) {
      if (!expands_to(shape, t.raw_shape())) {
        throw_error(name_,
                    "returned an invalid gradient at index " + std::to_string(argument_of_[i]) +
                        ": got " + to_text(t.raw_shape()).text +
                        " but expected a shape compatible with " + to_text(shape).text,
                    where, Code::kShapeMismatch);
      }
      t = sum_to(t, shape);
    }
    results[i] = t.to(want.dtype, where);
  }
}

// -- straight-through

namespace {

struct StraightThrough : Function<StraightThrough> {
  static Tensor forward(AutogradContext&, const Tensor& x, const Tensor& value) {
    static_cast<void>(x);
    return value.detach();
  }
  static variable_list backward(AutogradContext&, const variable_list& g) {
    return {g[0], Tensor()};
  }
};

}  // namespace

Tensor straight_through(const Arg& value, const Arg& x) {
  const Tensor &v = value.tensor, &t = x.tensor;
  if (!v.defined() || !t.defined() || !(v.raw_shape() == t.raw_shape()) || v.dtype() != t.dtype()) {
    throw_error("straight_through", "the value and x must agree in shape and dtype", x.where,
                Code::kShapeMismatch);
  }
  return StraightThrough::apply(x, v);
}
Tensor round_ste(const Arg& x) {
  Tensor value;
  {
    NoGrad guard;
    value = round(x);
  }
  return straight_through({value, x.where}, x);
}
Tensor sign_ste(const Arg& x) {
  Tensor value;
  {
    NoGrad guard;
    value = sign(x);
  }
  return straight_through({value, x.where}, x);
}

}  // namespace wick
