#include "trainer/autograd/node.h"

#include <atomic>
#include <bit>
#include <cctype>
#include <cstring>
#include <new>

#include "runtime/registry/registry.h"
#include "trainer/autograd/forward.h"
#include "trainer/autograd/hooks.h"
#include "trainer/tensor/block_pool.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/view_info.h"

namespace wick {
namespace {

constinit std::atomic<uint64_t> g_sequence{1};

// Nodes that died while another node's destructor was running; that one frees them.
constinit thread_local Node* g_dead = nullptr;
constinit thread_local bool g_freeing = false;

size_t align8(size_t n) { return (n + 7) / 8 * 8; }

}  // namespace

Edge edge_of(const Tensor& t) {
  Edge e;
  refresh_history(t.impl());
  if (t.impl()->grad_fn) {
    e.node = t.impl()->grad_fn;
    e.nr = t.impl()->output_nr;
  } else {
    e.leaf = IntrusivePtr<TensorImpl>(t.impl());
  }
  return e;
}

void save_tensor(const Tensor& t, SaveAs as, const Node& node, SavedTensor* slot) {
  if (t.is_inference()) {
    throw_error(node.name(),
                "inference tensors cannot be saved for backward: clone() it outside of "
                "InferenceMode and use the clone",
                node.where);
  }
  if (Saver* saver = modes().saver; saver != nullptr && saver->save(t, slot)) return;
  const TensorImpl& impl = *t.impl();
  if (as == SaveAs::kOutput) {
    slot->tensor = alias(t, t.layout());
  } else if (as == SaveAs::kItself || impl.operand || (impl.requires_grad && !impl.grad_fn)) {
    slot->tensor = t;
  } else {
    slot->tensor = with_history(t, {}, 0);
  }
  slot->version = t.version();
}

Tensor with_history(const Tensor& t, const IntrusivePtr<Node>& node, uint32_t nr) {
  Tensor other = alias(t, t.layout());
  if (!t.name().empty()) other.impl()->name = t.name();
  if (modes().forward != 0) set_tangent(other, tangent_of(t));
  if (node) {
    other.impl()->requires_grad = true;
    other.impl()->grad_fn = node;
    other.impl()->output_nr = nr;
  }
  return other;
}

Tensor identity_of(const Tensor& t, const Where& where) {
  Tensor own = with_history(t, {}, 0);
  const Tensor* in[] = {&t};
  record(OpId::kIdentity, nullptr, in, {&own, 1}, where);
  return own;
}

Node::Node() = default;
Node::~Node() {
  for (size_t i = 0; i < num_in_; ++i) edges_[i].~Edge();
}

void Node::dispose(Node* node) {
  if (g_freeing) {
    node->next_dead_ = g_dead;
    g_dead = node;
    return;
  }
  g_freeing = true;
  while (node != nullptr) {
    size_t bytes = node->block_bytes_;
    node->unlink();
    node->~Node();
    pool_give(node, bytes);
    node = g_dead;
    if (node != nullptr) g_dead = node->next_dead_;
  }
  g_freeing = false;
}

void* Node::take(size_t bytes) {
  void* block = pool_take(bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

// Inputs and outputs with the first output's shape share its dims.
Node::Layout Node::layout(size_t header, Span<const Tensor* const> in, Span<const Tensor> out,
                          size_t extra) {
  Layout at{};
  at.edges = align8(header);
  at.metas = at.edges + in.size() * sizeof(Edge);
  at.dims = at.metas + (in.size() + out.size()) * sizeof(ValueMeta);
  size_t dims = 0;
  const Shape* first = !out.empty() && out[0].defined() ? &out[0].raw_shape() : nullptr;
  if (first != nullptr) dims += static_cast<size_t>(first->rank());
  for (size_t i = 1; i < out.size(); ++i) {
    if (out[i].defined()) dims += static_cast<size_t>(out[i].rank());
  }
  for (const Tensor* t : in) {
    if (t == nullptr || !t->defined()) continue;
    if (first == nullptr || !(t->raw_shape() == *first)) dims += static_cast<size_t>(t->rank());
  }
  at.extra = at.dims + dims * sizeof(int64_t);
  at.bytes = at.extra + align8(extra);
  return at;
}

void Node::fill(const Layout& at, Span<const Tensor* const> in, Span<const Tensor> out,
                uint32_t nondiff_in, const Where& line) {
  char* block = reinterpret_cast<char*>(this);
  block_bytes_ = static_cast<uint32_t>(at.bytes);
  sequence = g_sequence.fetch_add(1, std::memory_order_relaxed);
  where = line;
  path = module_path_text();
  extra_ = block + at.extra;
  edges_ = reinterpret_cast<Edge*>(block + at.edges);
  in_ = reinterpret_cast<ValueMeta*>(block + at.metas);
  out_ = in_ + in.size();
  auto* dims = reinterpret_cast<int64_t*>(block + at.dims);
  auto describe = [&](ValueMeta* meta, const Tensor& t) {
    const Shape& s = t.raw_shape();
    new (meta) ValueMeta{dims, static_cast<uint8_t>(s.rank()), t.dtype()};
    if (meta != out_ && num_out_ > 0 && out[0].defined() && s == out[0].raw_shape()) {
      meta->dims = out_[0].dims;
      return;
    }
    for (int64_t d : s) *dims++ = d;
  };
  for (size_t i = 0; i < out.size(); ++i) {
    new (&out_[i]) ValueMeta;
    if (out[i].defined()) describe(&out_[i], out[i]);
    num_out_ = static_cast<uint32_t>(i + 1);
  }
  for (size_t i = 0; i < in.size(); ++i) {
    auto* e = new (&edges_[i]) Edge;
    new (&in_[i]) ValueMeta;
    num_in_ = static_cast<uint32_t>(i + 1);
    if (in[i] == nullptr || !in[i]->defined()) continue;
    describe(&in_[i], *in[i]);
    if (requires_grad_of(*in[i]) && !in_mask(nondiff_in, i)) *e = edge_of(*in[i]);
  }
}

void attach(const Tensor& t, IntrusivePtr<Node> node, size_t nr) {
  TensorImpl* impl = t.impl();
  bool retains = impl->retains_grad;
  if (retains) stop_retaining(impl);
  impl->requires_grad = true;
  impl->grad_fn = std::move(node);
  impl->output_nr = static_cast<uint32_t>(nr);
  if (retains) start_retaining(impl);
}

std::string backward_name(const std::string& op) {
  std::string name;
  bool up = true;
  for (char c : op) {
    if (c == '_') {
      up = true;
      continue;
    }
    name += up ? static_cast<char>(toupper(static_cast<unsigned char>(c))) : c;
    up = isdigit(static_cast<unsigned char>(c)) != 0;  // max_pool2d: MaxPool2D
  }
  return name + "Backward0";
}

std::string OpNode::name() const { return backward_name(display_name(op)); }

void OpNode::apply(Span<const Tensor> grads, Span<Tensor> results) {
  GradCtx ctx(*this, grads, results);
  row.formula(ctx);
}

void OpNode::release() {
  released_ = released_ || !saved_.empty();
  for (SavedTensor& s : saved_) s.drop();
  saved_.clear();
}

void OpNode::set_attrs(const void* attrs, size_t bytes) { memcpy(extra_, attrs, bytes); }

namespace {
// Returns how many of the n inputs below i the mask selects.
size_t rank_in_mask(uint32_t mask, size_t i) {
  if (i < 31) return static_cast<size_t>(std::popcount(mask & ((uint32_t{1} << i) - 1)));
  return static_cast<size_t>(std::popcount(mask & 0x7fffffffu)) + (mask >> 31 != 0 ? i - 31 : 0);
}
}  // namespace

const SavedTensor& OpNode::saved_in(size_t i) const {
  return saved_[rank_in_mask(row.saves_in, i)];
}
void OpNode::drop_saved_in(size_t i) {
  released_ = true;
  SavedTensor& saved = saved_[rank_in_mask(row.saves_in, i)];
  saved.drop();
  saved.tensor = Tensor();
}
const SavedTensor& OpNode::saved_out(size_t i) const {
  return saved_[rank_in_mask(row.saves_in, in().size()) + rank_in_mask(row.saves_out, i)];
}

uint64_t next_node_sequence() { return g_sequence.load(std::memory_order_relaxed); }

void OpNode::outputs_have_tangents(Span<const Tensor> out) {
  size_t at = rank_in_mask(row.saves_in, in().size());
  for (size_t i = 0; i < out.size() && at < saved_.size(); ++i) {
    if (!in_mask(row.saves_out, i)) continue;
    if (saved_[at].tensor.defined()) set_tangent(saved_[at].tensor, tangent_of(out[i]));
    ++at;
  }
}

IntrusivePtr<OpNode> make_op_node(OpId op, const void* attrs, Span<const Tensor* const> in,
                                  Span<const Tensor> out, const Where& where) {
  const GradRow& listed = grad_row(op);
  const GradRow& row = listed.of_attrs != nullptr ? *listed.of_attrs(attrs) : listed;
  size_t kept = rank_in_mask(row.saves_in, in.size()) + rank_in_mask(row.saves_out, out.size());
  size_t attr_bytes = attrs != nullptr ? op_info(op)->attrs->size : 0;
  auto node = make_node<OpNode>(in, out, row.nondiff_in, where, attr_bytes, op, row, kept);
  if (attr_bytes > 0) node->set_attrs(attrs, attr_bytes);
  if (kept == 0) return node;
  SavedTensor* slot = node->saved().data();
  for (size_t i = 0; i < in.size() && row.saves_in != 0; ++i) {
    if (!in_mask(row.saves_in, i)) continue;
    if (in[i] != nullptr && in[i]->defined()) save_tensor(*in[i], SaveAs::kInput, *node, slot);
    ++slot;
  }
  for (size_t i = 0; i < out.size() && row.saves_out != 0; ++i) {
    if (in_mask(row.saves_out, i)) save_tensor(out[i], SaveAs::kOutput, *node, slot++);
  }
  return node;
}

namespace {

// The node of an op that has no gradient although models have it: if backward stopped here
// silently, everything before it would stay untrained.
class NoGradientNode final : public Node {
 public:
  explicit NoGradientNode(OpId op) : op_(op) {}
  std::string name() const override { return backward_name(display_name(op_)); }
  std::string without_gradient() const override {
    return std::string("[") + display_name(op_) + "]" +
           (path ? " in module '" + path->text + "'" : "");
  }
  // Called in forward mode only: backward stops before it.
  void apply(Span<const Tensor>, Span<Tensor>) override {
    throw_error("jvp", without_gradient() + " has no gradient", where, Code::kUnsupported);
  }

 private:
  OpId op_;
};

bool stops_gradients(NonDiff why) {
  return why != NonDiff::kInferenceOnly && why != NonDiff::kRandom && why != NonDiff::kControlFlow;
}

void record_refusal(OpId op, Span<const Tensor* const> in, Span<Tensor> out, const Where& where) {
  bool any = false, float_out = false;
  for (const Tensor* t : in) any = any || (t != nullptr && t->requires_grad());
  for (const Tensor& t : out) float_out = float_out || is_float(t.dtype());
  if (!any || !float_out) return;
  auto node = make_node<NoGradientNode>(in, out, 0, where, 0, op);
  for (size_t i = 0; i < out.size(); ++i) {
    if (is_float(out[i].dtype())) attach(out[i], node, i);
  }
}

}  // namespace

void record(OpId op, const void* attrs, Span<const Tensor* const> in, Span<Tensor> out,
            const Where& where) {
  const GradRow& listed = grad_row(op);
  if (listed.formula == nullptr) {
    if (!stops_gradients(listed.why)) record_refusal(op, in, out, where);
    return;
  }
  const GradRow& row = listed.of_attrs != nullptr ? *listed.of_attrs(attrs) : listed;
  bool any = false;
  for (size_t i = 0; i < in.size(); ++i) {
    any = any || (in[i] != nullptr && requires_grad_of(*in[i]) && !in_mask(row.nondiff_in, i));
  }
  bool float_out = false;
  for (const Tensor& t : out) float_out = float_out || is_float(t.dtype());
  if (!any || !float_out) return;

  IntrusivePtr<OpNode> node = make_op_node(op, attrs, in, out, where);
  for (size_t i = 0; i < out.size(); ++i) {
    if (is_float(out[i].dtype())) attach(out[i], node, i);
  }
}

}  // namespace wick
