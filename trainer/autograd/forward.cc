#include "trainer/autograd/forward.h"

#include <atomic>
#include <utility>

#include "trainer/autograd/autograd.h"
#include "trainer/autograd/hooks.h"
#include "trainer/autograd/node.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/view_info.h"

namespace wick {
namespace {

constinit std::atomic<uint64_t> g_next_level{1};

// While tangents are pushed through a node, an input that has a tangent but needs no gradient gets
// a temporary edge, so that the formula computes its result.
class Opened {
 public:
  Opened(Node& node, uint64_t wanted) : node_(node), wanted_(std::exchange(node.wanted, wanted)) {}
  ~Opened() {
    node_.wanted = wanted_;
    for (size_t i : edges_) node_.edges()[i].leaf = {};
  }
  void open(size_t i, const Tensor& t) {
    node_.edges()[i].leaf = IntrusivePtr<TensorImpl>(t.impl());
    edges_.push_back(i);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

 private:
  Node& node_;
  uint64_t wanted_;
  std::vector<size_t> edges_;
};

TensorHooks& extras_of(const TensorImpl* t) {
  std::shared_ptr<TensorHooks>& extras = const_cast<TensorImpl*>(t)->hooks;
  if (!extras) extras = std::make_shared<TensorHooks>();
  return *extras;
}

uint32_t tangent_writes(const TensorImpl* t) { return t->hooks ? t->hooks->tangent_writes : 0; }

// Applies a view op to a tangent. The call is recorded if the tangent has a history, but neither
// traced nor given tangents.
Tensor along(OpId op, const void* attrs, std::initializer_list<Tensor> in, const Where& where) {
  ForwardPause pause;
  TracerScope untraced(nullptr);
  EnableGrad on;
  const Tensor* pointers[2] = {};
  size_t n = 0;
  for (const Tensor& t : in) pointers[n++] = &t;
  Tensor out;
  call(op, attrs, Span<const Tensor* const>(pointers, n), Span<Tensor>(&out, 1), where);
  return out.impl()->view_of ? out.clone(where) : out;  // a tangent has its own bytes
}

// Recomputes the tangent of a view whose base was written since, by the view's op on the parent's
// tangent.
void refresh_tangent(const Tensor& t, const TensorImpl* root) {
  const ViewInfo& view = *t.impl()->view_of;
  Tensor whole = tangent_of(Tensor(IntrusivePtr<TensorImpl>(view_parent(view)))), part;
  if (whole.defined() && view.kind != ViewKind::kBits)
    part = along(view.op, view.attrs(), {whole}, Where::current());
  set_tangent(t, part);
  extras_of(t.impl()).tangent_writes = tangent_writes(root);
}

bool constant_in(const Node& node, size_t i) {
  auto* op = dynamic_cast<const OpNode*>(&node);
  return op != nullptr && in_mask(op->row.nondiff_in, i);
}

}  // namespace

DualLevel::DualLevel() {
  if (modes().forward != 0) {
    throw Error("[DualLevel] nested forward mode is not supported: levels do not nest",
                Code::kUnsupported);
  }
  modes().forward = g_next_level.fetch_add(1, std::memory_order_relaxed);
}
DualLevel::~DualLevel() { modes().forward = 0; }

ForwardPause::ForwardPause() : saved_(std::exchange(modes().forward, 0)) {}
ForwardPause::~ForwardPause() { modes().forward = saved_; }

Tensor tangent_of(const Tensor& t) {
  if (!t.defined() || modes().forward == 0) return {};
  if (t.impl()->view_of) {
    TensorImpl* root = history_root(t.impl());
    if (root != t.impl() && tangent_writes(root) != tangent_writes(t.impl()))
      refresh_tangent(t, root);
  }
  const TensorHooks* extras = t.impl()->hooks.get();
  bool has = extras != nullptr && extras->level != 0 && extras->level == modes().forward;
  return has ? extras->tangent : Tensor();
}

void set_tangent(const Tensor& t, const Tensor& tangent) {
  if (!t.impl()->hooks && !tangent.defined()) return;
  TensorHooks& extras = extras_of(t.impl());
  extras.tangent = tangent;
  extras.level = tangent.defined() ? modes().forward : 0;
  TensorImpl* root = t.impl()->view_of ? history_root(t.impl()) : t.impl();
  if (root != t.impl()) extras.tangent_writes = tangent_writes(root);
}

bool any_tangent(const std::vector<Tensor>& list) {
  if (modes().forward == 0) return false;
  for (const Tensor& t : list) {
    if (tangent_of(t).defined()) return true;
  }
  return false;
}

Tensor make_dual(const Tensor& primal, const Tensor& tangent, Where where) {
  if (modes().forward == 0) {
    throw_error("make_dual", "needs a DualLevel around it: { DualLevel level; ... }", where);
  }
  if (!is_float(primal.dtype()) || primal.dtype() != tangent.dtype() ||
      !(primal.raw_shape() == tangent.raw_shape())) {
    throw_error("make_dual",
                std::string("the tangent must have the primal's floating-point dtype and shape: ") +
                    dtype_name(primal.dtype()) + to_text(primal.raw_shape()).text + " and " +
                    dtype_name(tangent.dtype()) + to_text(tangent.raw_shape()).text,
                where, Code::kShapeMismatch);
  }
  Tensor dual;
  {
    ForwardPause pause;
    dual = primal.requires_grad() ? primal.reshape(primal.raw_shape(), where)
                                  : alias(primal, primal.layout());
  }
  set_tangent(dual, tangent);
  return dual;
}

Dual unpack_dual(const Tensor& t) {
  ForwardPause pause;
  Tensor primal = t.requires_grad() ? t.reshape(t.raw_shape()) : alias(t, t.layout());
  uint64_t level = t.impl()->hooks ? t.impl()->hooks->level : 0;
  if (level == 0 && t.impl()->view_of) {
    const TensorImpl* root = history_root(t.impl());
    level = root->hooks ? root->hooks->level : 0;
  }
  modes().forward = level;
  Tensor tangent = tangent_of(t);
  modes().forward = 0;
  return {primal, tangent};
}

void push_tangents(Node& node, Span<const Tensor* const> in, Span<const Tensor> out,
                   const Where& where) {
  std::vector<Tensor> tangents(in.size());
  bool follow = false;  // the tangents are differentiable themselves
  uint64_t wanted = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] == nullptr || !in[i]->defined()) continue;
    tangents[i] = constant_in(node, i) ? Tensor() : tangent_of(*in[i]);
    if (tangents[i].defined()) wanted |= uint64_t{1} << (i < 63 ? i : 63);
    follow = follow || in[i]->requires_grad() || tangents[i].requires_grad();
  }
  if (wanted == 0) return;
  follow = follow && grad_enabled();

  std::vector<Tensor> made(out.size());
  {
    ForwardPause pause;
    TracerScope untraced(nullptr);
    EnableGrad on;
    Opened opened(node, wanted);
    for (size_t i = 0; i < in.size(); ++i) {
      if (tangents[i].defined() && !node.edges()[i].needed()) opened.open(i, *in[i]);
    }
    // The formula is linear in g, so its value does not matter.
    std::vector<Tensor> g(out.size()), asked;
    std::vector<size_t> places;
    for (size_t k = 0; k < out.size(); ++k) {
      if (!out[k].defined() || !is_float(out[k].dtype())) continue;
      g[k] = zeros_like({out[k], where}).requires_grad_();
      asked.push_back(g[k]);
      places.push_back(k);
    }
    std::vector<Tensor> results(node.edges().size()), rows, along;
    if (!asked.empty()) node.apply(g, results);
    for (size_t i = 0; i < results.size(); ++i) {
      if (!tangents[i].defined() || !results[i].defined() || !results[i].requires_grad()) continue;
      rows.push_back(results[i]);
      along.push_back(tangents[i]);
    }
    if (!rows.empty()) {
      std::vector<Tensor> t = grad(rows, asked, along, false, follow, true, where);
      for (size_t k = 0; k < places.size(); ++k)
        made[places[k]] = t[k].defined() && t[k].impl()->view_of ? t[k].clone(where) : t[k];
    }
  }
  for (size_t k = 0; k < out.size(); ++k) {
    if (out[k].defined()) set_tangent(out[k], made[k]);
  }
  node.outputs_have_tangents(out);
}

void forward_call(OpId op, const void* attrs, Span<const Tensor* const> in, Span<const Tensor> out,
                  const Where& where) {
  bool any = false;
  for (const Tensor* t : in) any = any || (t != nullptr && tangent_of(*t).defined());
  if (!any || grad_row(op).formula == nullptr) return;
  IntrusivePtr<Node> node;
  for (const Tensor& t : out) {
    if (t.impl()->grad_fn) node = t.impl()->grad_fn;
  }
  if (!node) node = make_op_node(op, attrs, in, out, where);
  push_tangents(*node, in, out, where);
}

void forward_write(const Tensor& target, const Tensor& result, const char* what,
                   const Where& where) {
  TensorImpl *at = target.impl(), *root = history_root(at);
  Tensor base{IntrusivePtr<TensorImpl>(root)}, tangent = tangent_of(result);
  if (!tangent.defined() && !tangent_of(target).defined() && !tangent_of(base).defined()) return;
  if (tangent.defined() && !(tangent.raw_shape() == target.raw_shape())) {
    ForwardPause pause;
    tangent = tangent.expand(target.raw_shape(), where);
  }
  auto or_zero = [&](const Tensor& t, const TensorImpl* like) {
    return t.defined() ? t : zeros(like->view.shape, like->view.dtype, where);
  };
  Tensor value = tangent;
  if (at != root) value = or_zero(tangent, at);
  while (at != root) {
    if (at->view_of->kind == ViewKind::kBits) {
      throw_error(what, "no tangent passes through a view of another dtype", where,
                  Code::kUnsupported);
    }
    ViewInverse inverse = invert_view(at, root, what, where);
    at = inverse.parent;
    if (inverse.replaces) {
      Tensor old = or_zero(tangent_of(Tensor(IntrusivePtr<TensorImpl>(at))), at);
      value = along(inverse.op, inverse.attrs.get(), {old, value}, where);
    } else {
      value = along(inverse.op, inverse.attrs.get(), {value}, where);
    }
  }
  set_tangent(base, value);
  ++extras_of(root).tangent_writes;
  if (root != target.impl()) set_tangent(target, tangent);
}

}  // namespace wick
