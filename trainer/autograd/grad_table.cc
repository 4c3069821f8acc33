#include "trainer/autograd/grad_table.h"

#include "trainer/autograd/custom.h"
#include "trainer/autograd/node.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"

namespace wick {
namespace {

// Indexed by id: the dispatcher looks up a row for every call.
constexpr size_t kMaxId = 512;
struct Table {
  const GradRow* rows[kMaxId] = {};
};
constexpr Table make_table() {
  Table t;
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) \
  static_assert(id < kMaxId, "raise kMaxId");                        \
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

static const char* short_name(DType t) {
  switch (t) {
    case DType::kF16: return "f16";
    case DType::kBF16: return "bf16";
    case DType::kF32: return "f32";
    case DType::kF64: return "f64";
    default: return dtype_name(t);
  }
}

// Returns whether name() exists, the out-of-place form of the in-place name_(); zero_ and copy_
// have none.
static bool has_function(std::string_view name) {
#define WICK_INPLACE(function, ...) #function,
  static constexpr std::string_view kFunctions[] = {
#include "trainer/tensor/methods.def"
      "add",        "sub",       "mul",        "div",        "masked_fill", "masked_scatter",
      "scatter",    "index_add", "index_copy", "index_fill", "index_put",   "cumsum",
      "scatter_add"};
#undef WICK_INPLACE
  for (std::string_view f : kFunctions) {
    if (f == name) return true;
  }
  return false;
}

// Throws an Error of the form "mul (train.cpp:41) saved value 'h' [2,3] f32 at version 0; add_ at
// train.cpp:44 made it version 1. Use add(), or clone() before line 44."
[[noreturn]] static void modified_after_save(const Node& node, const SavedTensor& saved) {
  const Storage& bytes = saved.tensor.storage();
  const std::string& name = saved.tensor.name();
  auto* call = dynamic_cast<const OpNode*>(&node);
  std::string text = (call != nullptr ? display_name(call->op) : node.name()) + " (" +
                     to_text(node.where) + ") saved ";
  if (!name.empty()) {
    text += "value '" + name + "'";
  } else if (bytes.born().line() != 0) {
    text += "the value made at " + to_text(bytes.born());
  } else {
    text += "a value";
  }
  text += std::string(" ") + to_text(saved.tensor.raw_shape()).text + " " +
          short_name(saved.tensor.dtype()) + " at version " + std::to_string(saved.version) + "; ";
  std::string write = bytes.last_write() != nullptr ? bytes.last_write() : "a write";
  text += write + " at " + to_text(bytes.last_write_at()) + " made it version " +
          std::to_string(bytes.version()) + ". Use ";
  if (write.size() > 1 && write.back() == '_') {
    write.pop_back();
    if (has_function(write)) text += write + "(), or ";
  }
  throw Error(text + "clone() before line " + std::to_string(bytes.last_write_at().line()) + ".");
}

Tensor unpack_saved(const Node& node, const SavedTensor& saved) {
  if (saved.source) return saved.source->get(saved.index);
  if (saved.tensor.defined() && saved.tensor.version() != saved.version)
    modified_after_save(node, saved);
  return saved.tensor;
}

Tensor GradCtx::in(size_t i) const {
  Tensor t = unpack_saved(node_, node_.saved_in(i));
  if (!grad_enabled() || !t.defined()) return t;
  // Use the history that it had when it was saved, whatever happened to the handle since (detach_,
  // requires_grad_). An input that was a constant to this op is a constant here too.
  const Edge& e = node_.edges()[i];
  if (e.node ? t.impl()->grad_fn == e.node : e.leaf ? t.requires_grad() : !t.requires_grad()) {
    return t;
  }
  return e.leaf ? Tensor(e.leaf) : with_history(t, e.node, e.nr);
}

void GradCtx::done_with(size_t i) {
  if (node_.frees) node_.drop_saved_in(i);
}

Tensor GradCtx::out(size_t i) const {
  Tensor t = unpack_saved(node_, node_.saved_out(i));
  if (!grad_enabled()) return t;
  // It was saved without its history (a node that owned its own output would never be freed):
  // restore it.
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
