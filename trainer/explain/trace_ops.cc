#include "trainer/explain/trace_ops.h"

#include <cstdio>
#include <ostream>

#include "runtime/registry/registry.h"
#include "trainer/autograd/running_node.h"
#include "trainer/explain/node_text.h"
#include "trainer/explain/values.h"
#include "trainer/kernels/kernel_set.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/tensor_impl.h"

namespace wick {
namespace {

std::string list(Span<const TensorView> views) {
  std::string text;
  for (const TensorView& v : views) {
    if (!text.empty()) text += " ";
    text += v.present() ? type_text(v) : "-";
  }
  return text;
}
std::string list(Span<const Tensor* const> tensors) {
  std::string text;
  for (const Tensor* t : tensors) {
    if (!text.empty()) text += " ";
    text += t != nullptr && t->defined() ? type_text(t->layout()) : "-";
  }
  return text;
}
std::string list(Span<const Tensor> tensors) {
  std::string text;
  for (const Tensor& t : tensors) {
    if (!text.empty()) text += " ";
    text += t.defined() ? type_text(t.layout()) : "-";
  }
  return text;
}

bool in_backward() { return RunningNode::innermost() != nullptr; }

}  // namespace

TraceOps::TraceOps(std::ostream& out, TraceOptions options)
    : out_(out), options_(options), saved_(modes().trace_hook) {
  set_trace_hook(this);
}
TraceOps::~TraceOps() {
  flush();
  set_trace_hook(saved_);
}

std::string TraceOps::time_text(double us) const {
  if (!options_.times) return "";
  char text[32];
  snprintf(text, sizeof text, " %.1f us", us);
  return text;
}

void TraceOps::on_op(const TraceEvent& e) {
  ran_.push_back({e.op, e.kernel, list(e.in) + " -> " + list(e.out),
                  static_cast<double>(e.end_ns - e.begin_ns) / 1000});
}

// Prints kernels that ran without a call of their own.
void TraceOps::flush(size_t keep) {
  for (size_t i = 0; i + keep < ran_.size(); ++i) {
    const Ran& r = ran_[i];
    out_ << (in_backward() ? "  " : "") << ++number_ << " " << r.op << " " << r.text << " "
         << r.kernel << time_text(r.us) << "\n";
  }
  ran_.erase(ran_.begin(), ran_.end() - static_cast<std::ptrdiff_t>(keep));
}

void TraceOps::on_call(const TracedCall& call) {
  const bool own = !ran_.empty() && ran_.back().op == op_info(call.op)->name;
  flush(own ? 1 : 0);
  const std::string path = module_path();
  out_ << (in_backward() ? "  " : "") << ++number_ << " ";
  if (!path.empty()) out_ << path << " ";
  out_ << display_name(call.op) << " ";
  if (!call.in.empty()) out_ << list(call.in) << " ";
  out_ << "-> " << list(call.out) << " " << (own ? ran_.back().kernel : "view");
  if (own) out_ << time_text(ran_.back().us);
  if (!in_backward()) out_ << " (" << to_text(call.where) << ")";
  out_ << "\n";
  if (options_.detail) detail(call, own ? &ran_.back() : nullptr);
  ran_.clear();
}

void TraceOps::detail(const TracedCall& call, const Ran* ran) {
  const OpInfo* info = op_info(call.op);
  out_ << "    call      " << display_name(call.op) << "(" << list(call.in) << "), op "
       << info->name << "\n    shapes    the rule of " << info->name << ": -> " << list(call.out)
       << "\n";
  if (ran == nullptr) {
    out_ << "    dispatch  none: the result is a view of input 0, no bytes move\n";
  } else {
    SmallVector<TensorView, 6> in(call.in.size()), out(call.out.size());
    for (size_t i = 0; i < call.in.size(); ++i) {
      if (call.in[i] != nullptr) in[i] = call.in[i]->layout();
    }
    for (size_t i = 0; i < call.out.size(); ++i) out[i] = call.out[i].layout();
    const KernelQuery query{call.op, call.attrs, in, out, num_threads()};
    out_ << "    dispatch  ";
    if (modes().reference) out_ << "reference kernels were asked for; ";
    out_ << "first match of";
    bool found = false;
    for (const KernelSet* set : trainer_kernels(modes().reference)) {
      if (found) break;
      const KernelSet* const one[] = {set};
      const KernelRow* row = find_kernel(one, query);
      out_ << " " << set->name << ": " << (row != nullptr ? row->name : "none,");
      found = row != nullptr;
    }
    out_ << "\n    kernel    " << ran->kernel << ": " << ran->text << time_text(ran->us) << "\n";
  }
  const Node* node = nullptr;
  for (const Tensor& t : call.out) {
    if (t.defined() && t.impl()->grad_fn) node = t.impl()->grad_fn.get();
  }
  out_ << "    node      ";
  if (node == nullptr) {
    out_ << "none: no input requires grad, or recording is off\n";
    return;
  }
  out_ << op_of(*node) << ", gradient to";
  for (size_t i = 0; i < node->edges().size(); ++i) {
    const Edge& e = node->edges()[i];
    if (!e.needed()) continue;
    out_ << " input " << i << " (";
    if (e.node) {
      out_ << op_of(*e.node);
    } else {
      out_ << "leaf";
      if (!e.leaf->name.empty()) out_ << " '" << e.leaf->name << "'";
    }
    out_ << ")";
  }
  std::string kept;
  for_each_saved(*node, [&](const char* what, size_t i, const SavedTensor& saved) {
    if (saved.tensor.defined()) kept += std::string(" ") + what + " " + std::to_string(i);
  });
  out_ << "; keeps" << (kept.empty() ? " nothing" : kept) << " for backward\n";
}

void TraceOps::on_node_begin(const Node& node, Span<const Tensor> grads) {
  flush();
  out_ << "backward of " << op_of(node);
  if (const std::string path = module_of(node); !path.empty()) out_ << " in " << path;
  out_ << " (" << to_text(node.where) << "), gradient " << list(grads) << "\n";
}
void TraceOps::on_node_end(const Node&, Span<const Tensor>, Span<const Tensor>) { flush(); }

}  // namespace wick
