#include "trainer/autograd/grad_table.h"

#include "trainer/autograd/custom.h"
#include "trainer/autograd/node.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"

namespace wick {
namespace {

// Dense by id: the door looks a row up at every call.
constexpr size_t kMaxId = 256;
struct Table {
  const GradRow* rows[kMaxId] = {};
};
constexpr Table make_table() {
  Table t;
#define WICK_OP(Name, id, Attrs, min_in, max_in, outs, rule, Role) \
  static_assert(id < kMaxId, "raise kMaxId");                      \
  t.rows[id] = &kGrad_##Name;
#include "runtime/ops/ops.def"
#undef WICK_OP
  return t;
}
constinit const Table kTable = make_table();

}  // namespace

const GradRow& grad_row(OpId op) {
  if (is_custom(op)) [[unlikely]]
    return custom_grad_row(op);
  return *kTable.rows[static_cast<size_t>(op)];
}

const void* GradCtx::raw_attrs() const { return node_.attrs(); }
OpId GradCtx::op() const { return node_.op; }
const Where& GradCtx::where() const { return node_.where; }
bool GradCtx::needs(size_t i) const { return node_.wants(i); }
bool GradCtx::has(size_t i) const {
  return i < node_.in().size() && node_.in()[i].dtype != DType::kNone;
}
Shape GradCtx::in_shape(size_t i) const { return node_.in()[i].shape(); }
Shape GradCtx::out_shape(size_t i) const { return node_.out()[i].shape(); }
DType GradCtx::in_dtype(size_t i) const { return node_.in()[i].dtype; }
DType GradCtx::out_dtype(size_t i) const { return node_.out()[i].dtype; }

const Tensor& unpack_saved(const Node& node, const SavedTensor& saved, const char* role, size_t i) {
  if (saved.tensor.defined() && saved.tensor.version() != saved.version) {
    const std::string& name = saved.tensor.name();
    std::string op = node.name();
    if (auto* call = dynamic_cast<const OpNode*>(&node)) op = display_name(call->op);
    throw_error(op.c_str(),
                std::string("its saved ") + role + " " + std::to_string(i) +
                    (name.empty() ? "" : " ('" + name + "')") + " " +
                    to_text(saved.tensor.raw_shape()).text +
                    " was modified in place before backward: version " +
                    std::to_string(saved.tensor.version()) + ", saved at " +
                    std::to_string(saved.version),
                node.where);
  }
  return saved.tensor;
}

// Another handle on t's bytes with the history given by (node, nr) or, where both are null, none.
static Tensor with_history(const Tensor& t, const IntrusivePtr<Node>& node, uint32_t nr) {
  Tensor other = alias(t, t.raw());
  if (!t.name().empty()) other.impl()->name = t.name();
  if (node) {
    other.impl()->requires_grad = true;
    other.impl()->grad_fn = node;
    other.impl()->output_nr = nr;
  }
  return other;
}

Tensor GradCtx::in(size_t i) const {
  const Tensor& t = unpack_saved(node_, node_.saved_in(i), "input", i);
  if (!grad_enabled() || !t.defined()) return t;
  // The history it had when it was saved, whatever became of the handle since (detach_,
  // requires_grad_). An input this op is constant in is a constant here too.
  const Edge& e = node_.edges()[i];
  if (e.node ? t.impl()->grad_fn == e.node : e.leaf ? t.requires_grad() : !t.requires_grad()) {
    return t;
  }
  return e.leaf ? Tensor(e.leaf) : with_history(t, e.node, e.nr);
}

Tensor GradCtx::out(size_t i) const {
  const Tensor& t = unpack_saved(node_, node_.saved_out(i), "output", i);
  if (!grad_enabled()) return t;
  // Saved without its history (a node that owned its own output would never be freed): give it
  // back.
  return with_history(t, IntrusivePtr<Node>(&node_), static_cast<uint32_t>(i));
}

Tensor sum_to(const Tensor& g, const Shape& shape) {
  if (g.raw_shape() == shape) return g;
  int lead = g.rank() - shape.rank();
  Dims dims;
  for (int i = 0; i < g.rank(); ++i) {
    if (i < lead || (shape[i - lead] == 1 && g.raw_shape()[i] != 1)) dims.values[dims.count++] = i;
  }
  Tensor s = dims.empty() ? g : sum(g, dims, true);
  return s.raw_shape() == shape ? s : s.reshape(shape);
}

}  // namespace wick
