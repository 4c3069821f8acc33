#include "trainer/autograd/node.h"

#include <atomic>
#include <vector>

#include "trainer/tensor/internal.h"
#include "trainer/tensor/view_info.h"

namespace wick {
namespace {

std::atomic<uint64_t> g_sequence{1};

// A long chain of nodes must not be freed by recursion: nodes wait here for the outermost
// destructor, which owns the list (a pointer, so that nothing is destroyed at thread exit before
// the last tensor).
thread_local std::vector<IntrusivePtr<Node>>* g_waiting = nullptr;

void save(const Tensor& t, bool strip_history, SavedTensor* slot) {
  slot->tensor = strip_history ? alias(t, t.raw()) : t;
  slot->version = t.version();
}

bool in_mask(uint32_t mask, size_t i) { return (mask >> (i < 31 ? i : 31) & 1) != 0; }

}  // namespace

// Nodes are kept alive through both edges and saved inputs, so the edges go first.
Node::~Node() {
  unlink();
  std::vector<IntrusivePtr<Node>> own;
  bool outermost = g_waiting == nullptr;
  if (outermost) g_waiting = &own;
  for (Edge& e : edges) {
    if (e.node) g_waiting->push_back(std::move(e.node));
  }
  saved_in.clear();
  saved_out.clear();
  if (!outermost) return;
  while (!own.empty()) {
    IntrusivePtr<Node> next = std::move(own.back());
    own.pop_back();
  }
  g_waiting = nullptr;
}

void record(OpId op, const void* attrs, Span<const Tensor* const> in, Span<Tensor> out,
            const Where& where) {
  const GradRow& row = grad_row(op);
  if (row.formula == nullptr) return;
  bool any = false;
  for (size_t i = 0; i < in.size(); ++i) {
    any = any || (in[i] != nullptr && in[i]->requires_grad() && !in_mask(row.nondiff_in, i));
  }
  bool float_out = false;
  for (const Tensor& t : out) float_out = float_out || is_float(t.dtype());
  if (!any || !float_out) return;

  IntrusivePtr<Node> node(new Node);
  node->op = op;
  node->row = &row;
  if (size_t bytes = find_op(op)->attrs->size; attrs != nullptr && bytes > 0)
    memcpy(node->attrs.bytes, attrs, bytes);
  node->sequence = g_sequence.fetch_add(1, std::memory_order_relaxed);
  node->where = where;
  node->edges.resize(in.size());
  node->in.resize(in.size());
  node->saved_in.resize(in.size());
  node->out.resize(out.size());
  node->saved_out.resize(out.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] == nullptr || !in[i]->defined()) continue;
    const Tensor& t = *in[i];
    node->in[i] = {t.dtype(), t.raw_shape()};
    if (in_mask(row.saves_in, i)) save(t, false, &node->saved_in[i]);
    if (!t.requires_grad() || in_mask(row.nondiff_in, i)) continue;
    Edge& e = node->edges[i];
    refresh_history(t.impl(), where);
    if (t.impl()->grad_fn) {
      e.node = t.impl()->grad_fn;
      e.nr = t.impl()->output_nr;
    } else {
      e.leaf = t.handle();
    }
  }
  for (size_t i = 0; i < out.size(); ++i) {
    node->out[i] = {out[i].dtype(), out[i].raw_shape()};
    if (in_mask(row.saves_out, i)) save(out[i], true, &node->saved_out[i]);
    if (!is_float(out[i].dtype())) continue;
    TensorImpl* impl = out[i].impl();
    impl->requires_grad = true;
    impl->grad_fn = node;
    impl->output_nr = static_cast<uint32_t>(i);
  }
}

}  // namespace wick
