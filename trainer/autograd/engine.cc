// The engine runs nodes in descending order of creation, which is a reverse topological order, so
// that every sum of gradients is made in one fixed order. There is no recursion, and only one
// thread (kernels use the pool).
//
// Sums for .grad are made separately and accumulated when the run is over, so that a backward that
// throws leaves every .grad unchanged.
#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <utility>

#include "trainer/autograd/autograd.h"
#include "trainer/autograd/checkpoint.h"
#include "trainer/autograd/hooks.h"
#include "trainer/autograd/leaf_grad.h"
#include "trainer/autograd/node.h"
#include "trainer/autograd/part_sum.h"
#include "trainer/autograd/running_node.h"
#include "trainer/autograd/sparse_slot.h"
#include "trainer/profile/range.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/recorder.h"
#include "trainer/tensor/view_info.h"
#include "trainer/tensor/watcher.h"

namespace wick {
namespace {

constinit std::atomic<uint64_t> g_epoch{1};
constinit thread_local uint64_t g_runs = 0;
constinit thread_local RunningNode* g_running = nullptr;
class Run;
constinit thread_local Run* g_run = nullptr;  // the innermost

// Views inside a gradient formula are never written to, so they need not keep their bases alive.
struct TrackViews {
  explicit TrackViews(bool on) : saved(modes().track_views) { modes().track_views = on; }
  ~TrackViews() { modes().track_views = saved; }
  bool saved;
};

// Values that checkpoints recomputed live until the thread's outermost run is over.
struct RunDepth {
  RunDepth() : autocast(std::exchange(modes().autocast, nullptr)) {
    if (modes().run_depth++ == 0) ++g_runs;
  }
  ~RunDepth() {
    modes().autocast = autocast;
    if (--modes().run_depth == 0) forget_recomputed();
  }
  AutocastState* autocast;  // gradients have the dtypes of the forward
};

using Roots = std::vector<std::pair<Edge, Tensor>>;

class Run {
 public:
  bool retain_graph = false, create_graph = false;
  bool to_leaves = true;  // accumulate into .grad; else only the requested gradients are collected
  Where where;            // the line that called backward
  std::vector<Tensor> collected;

  // Requests the gradient of `t` for collected[slot].
  void want(const Tensor& t, size_t slot) {
    if (t.impl()->grad_fn) {
      node_slots_[t.impl()->grad_fn.get()].emplace_back(t.impl()->output_nr, slot);
    } else {
      leaf_slots_[t.impl()].push_back(slot);
    }
  }
  void execute(Roots roots);
  void take_rows(const Tensor& leaf, SparseGrad rows, const Where& line);

 private:
  struct Visit {
    IntrusivePtr<Node> node;  // releasing a saved tensor may drop the last other handle
    bool useful = true;       // false: its gradient is collected, but its formula is not run
    uint64_t wanted = ~uint64_t{0};
    Tensor* outer_pending = nullptr;  // that of an outer run, which this one may be nested in
    uint64_t outer_wanted = 0;
  };
  struct Leaf {
    Tensor sum;
    uint32_t waiting = 0;  // edges that may still deliver a gradient
  };
  // Makes this the innermost run while it lives.
  struct Current {
    explicit Current(Run* run) : outer(std::exchange(g_run, run)) {}
    ~Current() { g_run = outer; }
    Run* outer;
  };
  // Restores the nodes' state of an outer run.
  struct Restore {
    std::vector<Visit>& visits;
    ~Restore() {
      for (const Visit& v : visits) {
        v.node->pending = v.outer_pending;
        v.node->wanted = v.outer_wanted;
      }
    }
  };

  void find_visits(const Roots& roots);
  bool leads(const Edge& e, uint64_t useful) const;
  Tensor* sum_at(const Edge& edge);
  void send(const Edge& edge, Tensor g);
  void leaf_done(TensorImpl* leaf, Leaf& sum);
  void after_hooks(Node& node);
  bool add_part(const Node& node, const Tensor& g);
  void run_node(Node& node);
  [[noreturn]] void refuse(const Node& node, const std::string& op) const;
  void check_result(const Node& node, size_t i, const Tensor& result) const;

  std::vector<Visit> visits_;
  std::unordered_map<TensorImpl*, Leaf> leaves_;
  PartSums parts_;
  std::vector<std::pair<Tensor, SparseGrad>> rows_;  // of leaves, in order of arrival
  std::vector<TensorImpl*> ready_;  // leaves whose sum is complete, in order of completion
  std::unordered_map<const TensorImpl*, std::vector<size_t>> leaf_slots_;
  std::unordered_map<const Node*, std::vector<std::pair<uint32_t, size_t>>> node_slots_;
};

bool Run::leads(const Edge& e, uint64_t useful) const {
  if (e.leaf) return leaf_slots_.count(e.leaf.get()) != 0;
  return e.node && (e.node->visited == useful || node_slots_.count(e.node.get()) != 0);
}

// Finds the nodes to run, newest first, and how many edges lead to each leaf.
void Run::find_visits(const Roots& roots) {
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
    for (const Edge& e : n->edges()) visit(e.node.get());
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const Node* a, const Node* b) { return a->sequence > b->sequence; });
  uint64_t useful = epoch;
  if (!to_leaves) {
    // Only nodes between the outputs and the requested inputs are needed: going from the oldest, a
    // node is needed if one of its inputs is.
    useful = g_epoch.fetch_add(1, std::memory_order_relaxed);
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      for (const Edge& e : (*it)->edges()) {
        if (leads(e, useful)) (*it)->visited = useful;
      }
    }
  }
  auto count = [&](const Edge& e) {
    if (e.leaf && (to_leaves || leaf_slots_.count(e.leaf.get()) != 0)) {
      ++leaves_[e.leaf.get()].waiting;
    }
  };
  for (const auto& [edge, g] : roots) count(edge);
  visits_.reserve(nodes.size());
  for (Node* n : nodes) {
    bool runs = n->visited == useful;
    if (!runs && node_slots_.count(n) == 0) continue;
    visits_.push_back({IntrusivePtr<Node>(n), runs});
    if (!runs) continue;
    if (!to_leaves) {
      uint64_t wanted = 0;
      Span<const Edge> edges = std::as_const(*n).edges();
      for (size_t i = 0; i < edges.size(); ++i) {
        if (leads(edges[i], useful)) wanted |= uint64_t{1} << (i < 63 ? i : 63);
      }
      visits_.back().wanted = wanted;
    }
    for (const Edge& e : n->edges()) count(e);
  }
}

// Called when a leaf's gradient is complete: runs its hooks, then updates .grad or the caller's
// slots.
void Run::leaf_done(TensorImpl* impl, Leaf& leaf) {
  if (!leaf.sum.defined()) return;
  if (impl->hooks) leaf.sum = run_hooks(*impl->hooks, std::move(leaf.sum));
  if (!to_leaves) {
    for (size_t slot : leaf_slots_.at(impl)) collected[slot] = leaf.sum;
    leaf.sum = Tensor();
  } else if (impl->hooks && !impl->hooks->after.empty()) {
    add_to_grad(impl, std::move(leaf.sum), create_graph, where);
    run_after_hooks(impl);
  } else {
    ready_.push_back(impl);
  }
}

// Returns the sum that the edge leads to; null: there is none.
Tensor* Run::sum_at(const Edge& edge) {
  if (edge.node) return edge.node->pending == nullptr ? nullptr : &edge.node->pending[edge.nr];
  const auto it = leaves_.find(edge.leaf.get());
  return it == leaves_.end() ? nullptr : &it->second.sum;
}

void Run::send(const Edge& edge, Tensor g) {
  if (edge.node) {
    // pending is null if no requested gradient depends on the node
    if (edge.node->pending != nullptr && g.defined()) {
      add_into(&edge.node->pending[edge.nr], std::move(g), create_graph);
    }
    return;
  }
  if (!edge.leaf) return;
  auto it = leaves_.find(edge.leaf.get());
  if (it == leaves_.end()) return;
  Leaf& leaf = it->second;
  if (g.defined()) add_into(&leaf.sum, std::move(g), create_graph);
  if (--leaf.waiting == 0) leaf_done(edge.leaf.get(), leaf);
}

// Called when the gradients of a node's outputs are complete: runs hooks, retain_grad, and stores
// those that grad() asked for.
void Run::after_hooks(Node& node) {
  if (node.hooks) {
    for (size_t k = 0; k < node.hooks->outputs.size(); ++k) {
      NodeHooks::Output o = node.hooks->outputs[k];  // a hook may add hooks
      Tensor& g = node.pending[o.nr];
      if (!g.defined()) continue;
      if (o.hooks) g = run_hooks(*o.hooks, std::move(g));
      if (o.retains == nullptr) continue;
      add_to_grad(o.retains, g, create_graph, where);
    }
  }
  auto it = node_slots_.find(&node);
  if (it == node_slots_.end()) return;
  for (auto [nr, slot] : it->second) {
    if (node.pending[nr].defined()) collected[slot] = node.pending[nr];
  }
}

void Run::check_result(const Node& node, size_t i, const Tensor& result) const {
  const ValueMeta& in = node.in()[i];
  if (in.dtype == result.dtype() && in.shape() == result.raw_shape()) return;
  throw_error("backward",
              node.name() + " returned an invalid gradient at index " + std::to_string(i) +
                  ": got " + to_text(result.raw_shape()).text + " " + dtype_name(result.dtype()) +
                  ", the input is " + to_text(in.shape()).text + " " + dtype_name(in.dtype),
              node.where, Code::kInternal);
}

// Names all such nodes at once: otherwise a user who freezes the parameters before this one would
// hit the next.
void Run::refuse(const Node& node, const std::string& op) const {
  std::string text = op +
                     " has no gradient: freeze the parameters before it "
                     "(requires_grad_(false)), or detach() its inputs";
  std::vector<std::string> others;
  for (const Visit& v : visits_) {
    const std::string other = v.useful && &*v.node != &node ? v.node->without_gradient() : "";
    if (!other.empty() && std::find(others.begin(), others.end(), other) == others.end())
      others.push_back(other);
  }
  for (size_t i = 0; i < others.size(); ++i) text += (i == 0 ? "; neither has " : ", ") + others[i];
  throw_error("backward", text, node.where, Code::kUnsupported);
}

// Adds the gradient of a slice to its part of the sum, if nothing has to see the ops of its
// formula.
bool Run::add_part(const Node& node, const Tensor& g) {
  const OpNode* slice = node.slice();
  const Modes& m = modes();
  if (slice == nullptr || create_graph || m.forward != 0 || m.recorder != nullptr) return false;
  Tensor* sum = node.wants(0) ? sum_at(node.edges()[0]) : nullptr;
  if (sum == nullptr) return false;
  if (parts_.add(sum, *slice, g)) return true;
  parts_.added(sum, *slice);
  return false;
}

void Run::run_node(Node& node) {
  size_t num_out = node.out().size();
  SmallVector<Tensor, 1> grads(num_out);
  bool any = false;
  for (size_t i = 0; i < num_out; ++i) {
    grads[i] = std::move(node.pending[i]);
    any = any || grads[i].defined();
  }
  Span<Edge> edges = node.edges();
  SmallVector<Tensor, 3> results(edges.size());
  if (any) {
    if (node.released()) {
      throw_error("backward",
                  "trying to backward through the graph a second time: the saved tensors of " +
                      node.name() +
                      " were already freed by an earlier backward or grad(); pass retain_graph = "
                      "true to it",
                  node.where);
    }
    if (const std::string op = node.without_gradient(); !op.empty()) [[unlikely]] {
      refuse(node, op);
    }
    const bool watched = modes().watcher != nullptr;
    if (watched) [[unlikely]] {
      watch_node_begin(node, grads);
    }
    RunningNode running(node);
    node.frees = !retain_graph;
    if (watched || !add_part(node, grads[0])) node.apply(grads, results);
    if (watched) [[unlikely]] {
      watch_node_end(node, grads, results);
    }
    if (!retain_graph) node.release();
    grads.clear();  // a gradient passed on as it came may be added into
  }
  for (size_t i = 0; i < edges.size(); ++i) {
    if (!node.wants(i)) {
      results[i] = Tensor();
    } else if (results[i].defined()) {
      check_result(node, i, results[i]);
    }
    send(edges[i], std::move(results[i]));
  }
}

void Run::take_rows(const Tensor& leaf, SparseGrad rows, const Where& line) {
  note_break("embedding", "has a sparse gradient, whose size depends on the indices",
             "make the Embedding without sparse", line);
  const char* why = nullptr;
  if (create_graph) {
    why = "has no history: call backward() without create_graph";
  } else if (leaf.impl()->hooks && !leaf.impl()->hooks->before.empty()) {
    why = "passes no hook of the table: remove it";
  } else if (!to_leaves) {
    if (leaf_slots_.count(leaf.impl()) == 0) return;
    why = "is kept beside the table only: call backward() without inputs, not grad()";
  }
  if (why == nullptr) {
    rows_.emplace_back(leaf, std::move(rows));
    return;
  }
  throw_error("backward",
              gradient_of_text(leaf.impl()) + " is sparse and " + why +
                  ", or make the Embedding without sparse",
              line, Code::kUnsupported);
}

void Run::execute(Roots roots) {
  ProfileRange range("backward");
  Current current(this);
  find_visits(roots);
  RunDepth depth;
  GradMode mode(create_graph);
  TrackViews views(create_graph);
  retain_graph = retain_graph || create_graph;
  size_t outputs = 0;
  for (const Visit& v : visits_) outputs += v.node->out().size();
  std::vector<Tensor> pending(outputs);
  Tensor* at = pending.data();
  for (Visit& v : visits_) {
    v.outer_pending = std::exchange(v.node->pending, at);
    v.outer_wanted = std::exchange(v.node->wanted, v.wanted);
    at += v.node->out().size();
  }
  {
    Restore restore{visits_};
    for (auto& [edge, g] : roots) send(edge, std::move(g));
    for (const Visit& v : visits_) {
      after_hooks(*v.node);
      if (v.useful) run_node(*v.node);
      for (size_t i = 0; i < v.node->out().size(); ++i) v.node->pending[i] = Tensor();
    }
  }
  check_grads(where, ready_.size(),
              [&](size_t i) { return std::pair(ready_[i], &leaves_[ready_[i]].sum); });
  for (const auto& [leaf, rows] : rows_) check_rows(leaf, rows, where);
  for (TensorImpl* leaf : ready_)
    add_to_grad(leaf, std::move(leaves_[leaf].sum), create_graph, where);
  for (const auto& [leaf, rows] : rows_) {
    add_rows(leaf, rows, where);
    run_after_hooks(leaf.impl());
  }
}

std::pair<Edge, Tensor> root(const char* op, const Tensor& t, size_t index, const Tensor& gradient,
                             const Where& where) {
  if (!t.defined() || !t.requires_grad()) {
    throw_error(op,
                "element " + std::to_string(index) +
                    " of tensors does not require grad and does not have a grad_fn",
                where);
  }
  if (!gradient.defined()) {
    if (t.layout().numel() != 1) {
      throw_error(op,
                  std::string("grad can be implicitly created only for scalar outputs: needs a "
                              "gradient for an output of shape ") +
                      to_text(t.raw_shape()).text,
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

Roots make_roots(const char* op, const std::vector<Tensor>& outputs,
                 const std::vector<Tensor>& gradients, const Where& where) {
  if (!gradients.empty() && gradients.size() != outputs.size()) {
    throw_error(op,
                "got " + std::to_string(outputs.size()) + " tensors and " +
                    std::to_string(gradients.size()) + " gradients",
                where);
  }
  Roots roots;
  for (size_t i = 0; i < outputs.size(); ++i) {
    roots.push_back(root(op, outputs[i], i, gradients.empty() ? Tensor() : gradients[i], where));
  }
  return roots;
}

// Collects the gradients of `inputs`; undefined for an input that the outputs do not depend on.
std::vector<Tensor> collect(const char* op, Roots roots, const std::vector<Tensor>& inputs,
                            bool retain_graph, bool create_graph, const Where& where) {
  Run run;
  run.retain_graph = retain_graph;
  run.create_graph = create_graph;
  run.where = where;
  run.to_leaves = false;
  run.collected.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) {
      throw_error(
          op, "one of the differentiated tensors does not require grad: input " + std::to_string(i),
          where);
    }
    run.want(inputs[i], i);
  }
  run.execute(std::move(roots));
  return std::move(run.collected);
}

}  // namespace

void deliver_rows(const Tensor& leaf, SparseGrad rows, const Where& where) {
  if (g_run == nullptr) throw_error("backward", "rows of a gradient outside of a backward", where);
  g_run->take_rows(leaf, std::move(rows), where);
}

RunningNode::RunningNode(const Node& running) : node_(running), outer_(g_running) {
  g_running = this;
}
RunningNode::~RunningNode() { g_running = outer_; }
const Node* RunningNode::innermost() { return g_running != nullptr ? &g_running->node_ : nullptr; }
size_t RunningNode::depth() {
  size_t n = 0;
  for (const RunningNode* r = g_running; r != nullptr; r = r->outer_) ++n;
  return n;
}
uint64_t RunningNode::runs() { return g_runs; }

void backward(const std::vector<Tensor>& tensors, const std::vector<Tensor>& gradients,
              bool retain_graph, bool create_graph, const std::vector<Tensor>& inputs,
              Where where) {
  if (Tracer* t = active_tracer()) t->on_gradient(tensors, "backward", where);
  TracerScope untraced(nullptr);
  Roots roots = make_roots("backward", tensors, gradients, where);
  if (!inputs.empty()) {
    std::vector<Tensor> g =
        collect("backward", std::move(roots), inputs, retain_graph, create_graph, where);
    check_grads(where, inputs.size(), [&](size_t i) { return std::pair(inputs[i].impl(), &g[i]); });
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!g[i].defined()) continue;
      add_to_grad(inputs[i].impl(), std::move(g[i]), create_graph, where);
      run_after_hooks(inputs[i].impl());
    }
    return;
  }
  Run run;
  run.retain_graph = retain_graph;
  run.create_graph = create_graph;
  run.where = where;
  run.execute(std::move(roots));
}

void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph,
                      const std::vector<Tensor>& inputs, Where where) const {
  wick::backward({*this}, {gradient}, retain_graph, create_graph, inputs, where);
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs, bool retain_graph,
                         bool create_graph, bool allow_unused, Where where) {
  if (Tracer* t = active_tracer()) t->on_gradient(outputs, "grad", where);
  TracerScope untraced(nullptr);
  std::vector<Tensor> g = collect("grad", make_roots("grad", outputs, grad_outputs, where), inputs,
                                  retain_graph, create_graph, where);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (g[i].defined() || allow_unused) continue;
    throw_error("grad",
                "one of the differentiated tensors appears to not have been used in the graph: the "
                "outputs do not depend on input " +
                    std::to_string(i) + " (allow_unused = true gives an undefined gradient)",
                where);
  }
  return g;
}

}  // namespace wick
