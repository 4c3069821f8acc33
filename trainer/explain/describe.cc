#include "trainer/explain/describe.h"

#include "trainer/autograd/sparse_grad.h"
#include "trainer/explain/node_text.h"
#include "trainer/explain/values.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/view_info.h"

namespace wick {

Description description(const Tensor& t) {
  Description d;
  if (!t.defined()) return d;
  const TensorView v = t.layout();
  d.defined = true;
  d.name = t.name();
  d.storage_bytes = t.storage().bytes();
  d.storage_shared = !t.impl()->storage->unique();
  d.shape = v.shape;
  d.strides = v.strides;
  d.dtype = v.dtype;
  d.device = t.is_vulkan() ? t.device().to_string() : "cpu";
  d.requires_grad = t.requires_grad();
  const auto bytes =
      static_cast<const char*>(v.data) - static_cast<const char*>(t.storage().data());
  d.offset = bytes * 8 / dtype_bits(v.dtype);
  d.contiguous = t.is_contiguous();
  d.version = t.version();
  d.is_leaf = t.is_leaf();
  if (const Node* node = t.impl()->grad_fn.get()) {
    d.grad_fn = op_of(*node);
    d.output_nr = t.impl()->output_nr;
    d.made_at = to_text(node->where);
    d.module = module_of(*node);
  } else if (t.storage().born().line() > 0) {
    d.made_at = to_text(t.storage().born());
  }
  if (t.impl()->view_of) {
    const TensorImpl* parent = view_parent(*t.impl()->view_of);
    d.view_of = display_name(t.impl()->view_of->op) + " of ";
    if (!parent->name.empty()) d.view_of += joined("'", parent->name, "' ");
    d.view_of += type_text(parent->view);
  }
  if (const std::optional<SparseGrad> rows = sparse_grad(t)) {
    d.grad = "sparse, " + type_text(rows->values().layout()) + " of the rows";
  } else if (t.grad().defined()) {
    d.grad = type_text(t.grad().layout());
  }
  return d;
}

std::string Description::text() const {
  if (!defined) return "undefined tensor\n";
  std::string s = "tensor";
  if (!name.empty()) s += " '" + name + "'";
  s += "\n";
  auto line = [&](const char* key, const std::string& value) {
    std::string k = key;
    k.resize(15, ' ');
    s += "  " + k + value + "\n";
  };
  line("storage",
       bytes_text(storage_bytes) + (storage_shared ? ", shared with other tensors" : ""));
  line("offset", std::to_string(offset));
  line("shape", to_text(shape).text);
  line("stride",
       std::string(to_text(strides).text) + (contiguous ? ", contiguous" : ", not contiguous"));
  line("dtype", dtype_name(dtype));
  line("device", device);
  line("requires_grad", requires_grad ? "true" : "false");
  line("version", std::to_string(version));
  if (is_leaf) {
    line("grad_fn", "none: a leaf");
  } else {
    std::string fn = grad_fn;
    if (output_nr != 0) fn += ", its output " + std::to_string(output_nr);
    if (!module.empty()) fn += ", in module '" + module + "'";
    line("grad_fn", fn);
  }
  if (!view_of.empty()) line("view", view_of);
  if (!made_at.empty()) line("made at", made_at);
  line("grad", grad.empty() ? "none" : grad);
  return s;
}

}  // namespace wick
