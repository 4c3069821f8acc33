#include "trainer/autograd/grad_table.h"

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

const GradRow& grad_row(OpId op) { return *kTable.rows[static_cast<size_t>(op)]; }

const void* GradCtx::raw_attrs() const { return node_.attrs.get(); }
bool GradCtx::needs(size_t i) const { return node_.edges[i].needed(); }
bool GradCtx::has(size_t i) const {
  return i < node_.in.size() && node_.in[i].dtype != DType::kNone;
}
const Shape& GradCtx::in_shape(size_t i) const { return node_.in[i].shape; }
const Shape& GradCtx::out_shape(size_t i) const { return node_.out[i].shape; }
DType GradCtx::in_dtype(size_t i) const { return node_.in[i].dtype; }

static Tensor unpack(const Node& node, const SavedTensor& saved, const char* role, size_t i) {
  if (saved.tensor.defined() && saved.tensor.version() != saved.version) {
    const std::string& name = saved.tensor.name();
    throw_error(display_name(node.op),
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

Tensor GradCtx::in(size_t i) const { return unpack(node_, node_.saved_in[i], "input", i); }

Tensor GradCtx::out(size_t i) const {
  Tensor t = unpack(node_, node_.saved_out[i], "output", i);
  if (!grad_enabled()) return t;
  // Saved without its history (a node that owned its own output would never be freed): give it
  // back.
  IntrusivePtr<TensorImpl> impl(new TensorImpl);
  impl->storage = t.impl()->storage;
  impl->view = t.impl()->view;
  impl->requires_grad = true;
  impl->grad_fn = IntrusivePtr<Node>(&node_);
  impl->output_nr = static_cast<uint32_t>(i);
  return Tensor(impl);
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
