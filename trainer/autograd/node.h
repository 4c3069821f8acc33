// Nodes of the graph that backward walks: one per recorded call (OpNode). Other functions with a
// gradient of their own (custom Function, in-place writes) are subclasses. A node is one pooled
// block: the node itself, then its edges and the metadata of its inputs and outputs.
#pragma once

#include <memory>
#include <source_location>
#include <string>

#include "runtime/ops/op_info.h"
#include "trainer/autograd/grad_table.h"
#include "trainer/autograd/live_node.h"
#include "trainer/tensor/small_vector.h"
#include "trainer/tensor/tensor_impl.h"

namespace wick {

struct NodeHooks;
class Node;
class OpNode;

// The destination of an input's gradient: output `nr` of `node`, or a leaf's .grad. If both are
// null, no gradient is needed.
struct Edge {
  IntrusivePtr<Node> node;
  IntrusivePtr<TensorImpl> leaf;
  uint32_t nr = 0;
  bool needed() const { return node || leaf; }
};
// Returns the destination of the gradient of `t`, which must require grad.
Edge edge_of(const Tensor& t);

// dtype and shape of an input or output of the forward call; the dims are stored in the node's
// block.
struct ValueMeta {
  const int64_t* dims = nullptr;
  uint8_t rank = 0;
  DType dtype = DType::kNone;  // kNone: absent
  Shape shape() const { return Shape(Span<const int64_t>(dims, rank)); }
};

// Recomputes saved tensors when backward asks for them (gradient checkpointing).
class SavedSource : public Counted {
 public:
  virtual ~SavedSource() = default;
  virtual Tensor get(uint32_t index) = 0;
  virtual void drop(uint32_t index) = 0;  // it will not be asked for again
};

// A tensor saved for backward, with the version that its bytes had then; or its index in a
// SavedSource.
struct SavedTensor {
  Tensor tensor;
  uint32_t version = 0;
  uint32_t index = 0;
  IntrusivePtr<SavedSource> source;
  void drop() {
    if (source) source->drop(index);
  }
};
// While one is set (Modes::saver), tensors are offered to it first. If save() returns false, the
// tensor is saved the usual way.
class Saver {
 public:
  virtual bool save(const Tensor& t, SavedTensor* slot) = 0;

 protected:
  ~Saver() = default;
};
// The ways to save a tensor for backward. Inputs and outputs are saved as a new handle, in their
// present state and without their history, which the node's edges have: the caller's handle may
// change its shape, or get a history that leads to the node, which would then never be freed. A
// leaf that requires grad is saved itself.
enum class SaveAs : uint8_t { kInput, kOutput, kItself };
void save_tensor(const Tensor& t, SaveAs as, const Node& node, SavedTensor* slot);
// Returns the tensor as it was saved. Throws an Error that names both lines if it was written
// since.
Tensor unpack_saved(const Node& node, const SavedTensor& saved);
// Returns another handle on t's bytes with the history (node, nr), or with none if node is null.
Tensor with_history(const Tensor& t, const IntrusivePtr<Node>& node, uint32_t nr);
// Returns another handle on t's bytes whose history is an identity of t, for a tensor that takes
// over bytes and history: with t's own the two would share hooks and retain_grad(), and a leaf has
// none.
Tensor identity_of(const Tensor& t, const Where& where);

class Node : public Counted, public LiveNode {
 public:
  // "MulBackward0"
  virtual std::string name() const = 0;
  // grads: one per output, undefined where nothing arrived (at least one did). results: one per
  // edge, left undefined where the gradient is zero. May be called again unless released.
  virtual void apply(Span<const Tensor> grads, Span<Tensor> results) = 0;
  // Frees the saved tensors. After this apply() is an error.
  virtual void release() {}
  virtual bool released() const { return false; }
  // For an op without a gradient, where backward stops, returns its description: "[lp_pool] in
  // module 'halve'".
  virtual std::string without_gradient() const { return {}; }
  // Called after forward mode set the tangents of the outputs: saved outputs get them too.
  virtual void outputs_have_tangents(Span<const Tensor> /*out*/) {}
  // Returns itself if it is a slice of a tensor by numbers.
  virtual const OpNode* slice() const { return nullptr; }

  Span<Edge> edges() { return {edges_, num_in_}; }
  Span<const Edge> edges() const { return {edges_, num_in_}; }
  Span<const ValueMeta> in() const { return {in_, num_in_}; }
  Span<const ValueMeta> out() const { return {out_, num_out_}; }

  uint64_t sequence = 0;  // increases with creation: a node's consumers have higher numbers
  Where where;            // the forward call's line
  IntrusivePtr<const PathText> path;  // the module the call was made in; null: none
  std::unique_ptr<NodeHooks> hooks;   // on the output tensors

  // Used by the engine during a run: the sums of the gradients that arrived, one per output (null
  // outside of runs), and a mask of the edges that lead to a requested gradient (bit 63: all from
  // 63 on).
  Tensor* pending = nullptr;
  uint64_t wanted = ~uint64_t{0};
  uint64_t visited = 0;
  bool frees = false;  // this run frees what the node saved
  bool wants(size_t i) const {
    return edges_[i].needed() && (wanted >> (i < 63 ? i : 63) & 1) != 0;
  }

  // Called when the last handle is gone. A chain of nodes is freed without recursion.
  static void dispose(Node* node);

 protected:
  Node();
  virtual ~Node();

 private:
  template <class N, class... Args>
  friend IntrusivePtr<N> make_node(Span<const Tensor* const> in, Span<const Tensor> out,
                                   uint32_t nondiff_in, const Where& where, size_t extra,
                                   Args&&... args);
  struct Layout {
    size_t edges, metas, dims, extra, bytes;  // offsets from the node, and the block's size
  };
  static Layout layout(size_t header, Span<const Tensor* const> in, Span<const Tensor> out,
                       size_t extra);
  static void* take(size_t bytes);
  void fill(const Layout& at, Span<const Tensor* const> in, Span<const Tensor> out,
            uint32_t nondiff_in, const Where& where);

  Edge* edges_ = nullptr;
  ValueMeta *in_ = nullptr, *out_ = nullptr;
  uint32_t num_in_ = 0, num_out_ = 0;
  size_t block_bytes_ = 0;
  Node* next_dead_ = nullptr;

 protected:
  char* extra_ = nullptr;  // the bytes asked for with make_node, 8-byte aligned
};

// Makes a node of type N for a call with these inputs and outputs, with its edges set. attach()
// makes it their grad_fn.
template <class N, class... Args>
IntrusivePtr<N> make_node(Span<const Tensor* const> in, Span<const Tensor> out, uint32_t nondiff_in,
                          const Where& where, size_t extra, Args&&... args) {
  Node::Layout at = Node::layout(sizeof(N), in, out, extra);
  void* block = Node::take(at.bytes);
  IntrusivePtr<N> node(new (block) N(std::forward<Args>(args)...));
  node->fill(at, in, out, nondiff_in, where);
  return node;
}
// Makes `node` the history of `t`, as its output nr.
void attach(const Tensor& t, IntrusivePtr<Node> node, size_t nr);

// A recorded call of an op row.
class OpNode final : public Node {
 public:
  OpNode(OpId id, const GradRow& r, size_t saved) : op(id), row(r), saved_(saved) {}
  ~OpNode() override = default;
  std::string name() const override;
  void apply(Span<const Tensor> grads, Span<Tensor> results) override;
  void release() override;
  bool released() const override { return released_; }
  const OpNode* slice() const override {
    return op == OpId::kSlice && in().size() == 1 ? this : nullptr;
  }
  void outputs_have_tangents(Span<const Tensor> out) override;

  const void* attrs() const { return extra_; }
  void set_attrs(const void* attrs, size_t bytes);
  // The tensors that the row's formula asks for: the inputs of saves_in in order, then the outputs
  // of saves_out.
  Span<SavedTensor> saved() { return saved_; }
  // Drops saved input i before the other saved tensors.
  void drop_saved_in(size_t i);
  const SavedTensor& saved_in(size_t i) const;
  const SavedTensor& saved_out(size_t i) const;

  const OpId op;
  const GradRow& row;

 private:
  bool released_ = false;
  SmallVector<SavedTensor, 2> saved_;
};

// Returns a number that no existing node has: nodes made from now on have at least this sequence.
uint64_t next_node_sequence();

// Records a call with at least one input that requires grad: makes its node and sets grad_fn of the
// differentiable outputs.
void record(OpId op, const void* attrs, Span<const Tensor* const> in, Span<Tensor> out,
            const Where& where);

// Makes the node of such a call, whether an input requires grad or not. It is not yet the grad_fn
// of any tensor.
IntrusivePtr<OpNode> make_op_node(OpId op, const void* attrs, Span<const Tensor* const> in,
                                  Span<const Tensor> out, const Where& where);

// Returns "MulBackward0" for "mul".
std::string backward_name(const std::string& op);

inline bool in_mask(uint32_t mask, size_t i) { return (mask >> (i < 31 ? i : 31) & 1) != 0; }

}  // namespace wick
