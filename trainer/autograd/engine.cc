// The engine: nodes in descending order of creation, which is reverse topological, so every sum of
// gradients is made in one fixed order. No recursion; one thread (kernels use the pool).
#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "trainer/autograd/autograd.h"
#include "trainer/autograd/node.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/view_info.h"
#include "trainer/tensor/watcher.h"

namespace wick {
namespace {

std::atomic<uint64_t> g_epoch{1};

// True when `t` is the only handle on its bytes: they may be overwritten or kept.
bool sole_owner(const Tensor& t) {
  return t.handle()->unique() && t.impl()->storage->unique() && t.is_contiguous();
}

// Adds `g` into `slot`. The slot's own bytes are reused where nobody else sees them.
void add_into(Tensor* slot, Tensor g, bool create_graph) {
  if (!slot->defined()) {
    *slot = std::move(g);
  } else if (!create_graph && sole_owner(*slot) && slot->raw_shape() == g.raw_shape()) {
    accumulate(*slot, g);
  } else {
    *slot = add(*slot, g);
  }
}

// .grad of a leaf: always bytes of its own.
void add_to_leaf(TensorImpl* leaf, Tensor g, bool create_graph) {
  Tensor now = leaf->grad ? Tensor(leaf->grad) : Tensor();
  if (!now.defined()) {
    if (!create_graph && !sole_owner(g)) g = g.clone();
    leaf->grad = g.handle();
  } else if (create_graph) {
    leaf->grad = add(now, g).handle();
    leaf->grad->storage->accumulated_from(now.storage());
  } else {
    now.storage().bump_accumulated();
    accumulate(now, now.is_contiguous() ? g : g.contiguous());
  }
}

// A gradient formula's own views are written by nobody: they need not keep their bases alive.
struct TrackViews {
  explicit TrackViews(bool on) : saved(modes().track_views) { modes().track_views = on; }
  ~TrackViews() { modes().track_views = saved; }
  bool saved;
};

struct Run {
  bool retain_graph = false, create_graph = false;
  bool to_leaves = true;  // add to .grad
  // grad(): where the gradients of chosen tensors are collected
  std::unordered_map<const TensorImpl*, std::vector<size_t>> leaf_slots;
  std::unordered_map<const Node*, std::vector<std::pair<uint32_t, size_t>>> node_slots;
  std::vector<Tensor> collected;

  void send(const Edge& edge, Tensor g) {
    if (edge.node) {
      if (edge.node->pending.size() <= edge.nr) edge.node->pending.resize(edge.node->out.size());
      add_into(&edge.node->pending[edge.nr], std::move(g), create_graph);
    } else if (to_leaves) {
      add_to_leaf(edge.leaf.get(), std::move(g), create_graph);
    } else if (auto it = leaf_slots.find(edge.leaf.get()); it != leaf_slots.end()) {
      for (size_t slot : it->second) add_into(&collected[slot], g, create_graph);
    }
  }
  void execute(std::vector<std::pair<Edge, Tensor>> roots);

 private:
  struct Visit {
    Node* node;
    bool useful = true;  // false: only collected from, its formula is not run
  };
  std::vector<Visit> reachable(const std::vector<std::pair<Edge, Tensor>>& roots) const;
  void collect(Node& node);
  void run_node(Node& node);
};

// The nodes to run, newest first.
std::vector<Run::Visit> Run::reachable(const std::vector<std::pair<Edge, Tensor>>& roots) const {
  uint64_t epoch = g_epoch.fetch_add(1, std::memory_order_relaxed);
  std::vector<Node*> nodes, stack;
  auto visit = [&](Node* n) {
    if (n == nullptr || n->visited == epoch) return;
    n->visited = epoch;
    nodes.push_back(n);
    stack.push_back(n);
  };
  for (const auto& [edge, g] : roots) visit(edge.node.get());
  while (!stack.empty()) {
    Node* n = stack.back();
    stack.pop_back();
    for (const Edge& e : n->edges) visit(e.node.get());
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const Node* a, const Node* b) { return a->sequence > b->sequence; });
  std::vector<Visit> visits;
  if (to_leaves) {
    for (Node* n : nodes) visits.push_back({n});
    return visits;
  }
  // Only what lies between the outputs and the inputs asked for: oldest first, a node counts when
  // an input of it does.
  uint64_t useful = g_epoch.fetch_add(1, std::memory_order_relaxed);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    for (const Edge& e : (*it)->edges) {
      bool leads =
          e.leaf ? leaf_slots.count(e.leaf.get()) != 0
                 : e.node && (e.node->visited == useful || node_slots.count(e.node.get()) != 0);
      if (leads) (*it)->visited = useful;
    }
  }
  for (Node* n : nodes) {
    if (n->visited == useful || node_slots.count(n) != 0)
      visits.push_back({n, n->visited == useful});
  }
  return visits;
}

void Run::collect(Node& node) {
  auto it = node_slots.find(&node);
  if (it == node_slots.end()) return;
  for (auto [nr, slot] : it->second) {
    if (nr < node.pending.size() && node.pending[nr].defined()) collected[slot] = node.pending[nr];
  }
}

void Run::run_node(Node& node) {
  SmallVector<Tensor, 1> grads = std::move(node.pending);
  node.pending.clear();
  bool any = false;
  for (const Tensor& g : grads) any = any || g.defined();
  if (!any) return;
  if (node.released) {
    throw_error("backward",
                std::string("the saved tensors of ") + display_name(node.op) +
                    " were already freed by an earlier backward: pass retain_graph = true to it",
                node.where);
  }
  SmallVector<Tensor, 3> results(node.edges.size());
  GradCtx ctx(node, grads, results);
  const bool watched = modes().watcher != nullptr;
  if (watched) [[unlikely]] {
    watch_node_begin(node, grads);
  }
  node.row->formula(ctx);
  if (watched) [[unlikely]] {
    watch_node_end(node, grads, results);
  }
  if (!retain_graph) {
    node.saved_in.clear();
    node.saved_out.clear();
    node.released = true;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined() || !node.edges[i].needed()) continue;
    if (!(results[i].raw_shape() == node.in[i].shape) || results[i].dtype() != node.in[i].dtype) {
      throw_error("backward",
                  "the gradient of input " + std::to_string(i) + " of " + display_name(node.op) +
                      " is " + to_text(results[i].raw_shape()).text + " " +
                      dtype_name(results[i].dtype()) + ", the input " +
                      to_text(node.in[i].shape).text,
                  node.where, Code::kInternal);
    }
    send(node.edges[i], std::move(results[i]));
  }
}

void Run::execute(std::vector<std::pair<Edge, Tensor>> roots) {
  std::vector<Visit> visits = reachable(roots);
  // Releasing a saved tensor may drop the last handle on a later node.
  std::vector<IntrusivePtr<Node>> alive;
  alive.reserve(visits.size());
  for (const Visit& v : visits) {
    v.node->pending.clear();  // what a failed run left behind
    alive.emplace_back(v.node);
  }
  GradMode mode(create_graph);
  TrackViews views(create_graph);
  retain_graph = retain_graph || create_graph;
  for (auto& [edge, g] : roots) send(edge, std::move(g));
  for (const Visit& v : visits) {
    collect(*v.node);
    if (v.useful) run_node(*v.node);
    v.node->pending.clear();
  }
}

Edge edge_of(const Tensor& t) {
  Edge e;
  refresh_history(t.impl(), Where::current());
  if (t.impl()->grad_fn) {
    e.node = t.impl()->grad_fn;
    e.nr = t.impl()->output_nr;
  } else {
    e.leaf = t.handle();
  }
  return e;
}

std::pair<Edge, Tensor> root(const char* op, const Tensor& t, const Tensor& gradient,
                             const Where& where) {
  if (!t.requires_grad())
    throw_error(op, "the tensor does not require grad and has no history", where);
  if (!gradient.defined()) {
    if (t.raw().numel() != 1) {
      throw_error(op,
                  std::string("needs a gradient for an output of shape ") +
                      to_text(t.raw_shape()).text + " (only a scalar's is implied)",
                  where, Code::kShapeMismatch);
    }
    return {edge_of(t), ones_like(t)};
  }
  if (!(gradient.raw_shape() == t.raw_shape()) || gradient.dtype() != t.dtype()) {
    throw_error(op,
                std::string("the gradient is ") + to_text(gradient.raw_shape()).text + " " +
                    dtype_name(gradient.dtype()) + ", the output " + to_text(t.raw_shape()).text +
                    " " + dtype_name(t.dtype()),
                where, Code::kShapeMismatch);
  }
  return {edge_of(t), gradient};
}

}  // namespace

void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph,
                      Where where) const {
  TracerScope untraced(nullptr);
  Run run;
  run.retain_graph = retain_graph;
  run.create_graph = create_graph;
  std::vector<std::pair<Edge, Tensor>> roots;
  roots.push_back(root("backward", *this, gradient, where));
  run.execute(std::move(roots));
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs, bool retain_graph,
                         bool create_graph, bool allow_unused, Where where) {
  TracerScope untraced(nullptr);
  Run run;
  run.retain_graph = retain_graph;
  run.create_graph = create_graph;
  run.to_leaves = false;
  run.collected.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) {
      throw_error("grad", "input " + std::to_string(i) + " does not require grad", where);
    }
    Edge e = edge_of(inputs[i]);
    if (e.node) {
      run.node_slots[e.node.get()].emplace_back(e.nr, i);
    } else {
      run.leaf_slots[e.leaf.get()].push_back(i);
    }
  }
  std::vector<std::pair<Edge, Tensor>> roots;
  for (size_t i = 0; i < outputs.size(); ++i) {
    roots.push_back(
        root("grad", outputs[i], i < grad_outputs.size() ? grad_outputs[i] : Tensor(), where));
  }
  run.execute(std::move(roots));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (run.collected[i].defined() || allow_unused) continue;
    throw_error("grad",
                "the outputs do not depend on input " + std::to_string(i) +
                    " (allow_unused = true gives an undefined gradient)",
                where);
  }
  return std::move(run.collected);
}

}  // namespace wick
