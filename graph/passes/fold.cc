// Constant folding: runs nodes of constants once and for all.
#include <algorithm>
#include <set>

#include "graph/interpreter/interpreter.h"
#include "graph/rewrite/pass.h"
#include "graph/rewrite/substitution.h"
#include "runtime/ops/op_cost.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::ir {
namespace {

// Folding must not turn a small file into a large one: Expand of a scalar stays.
constexpr uint64_t kMaxGrowth = 1 << 16;
constexpr uint64_t kMaxFolded = uint64_t{1} << 31;
constexpr uint64_t kMaxFoldedNodes = 1 << 14;  // of a loop over constants
// Nor must it take hours. What is there may be read and written a few times, as weights are that
// are transposed and cast; the limit on other work is the same for every file.
constexpr double kPasses = 32;
// The work of a node of shape arithmetic, of which there may be many thousands.
constexpr double kCheap = 1e4;
constexpr double kMostCheap = 1e8;

// All folded constants may take a few times what there was, and this much in any graph.
constexpr uint64_t kTimesHeld = 5;
constexpr uint64_t kMaxHeld = 1 << 24;

// For elements of less than a byte, returns their size as reals, too, since they are multiplied as
// reals.
uint64_t as_reals(const HostTensor& t) {
  const auto bits = static_cast<uint64_t>(dtype_bits(t.dtype()));
  return bits > 0 && bits < 8 ? t.held_bytes() * (32 / bits) : 0;
}

// Visits the constants of the graph and its regions, shared ones once.
template <class F>
void each_constant(const Graph& g, std::set<const void*>* counted, const F& visit) {
  for (size_t i = 0; i < g.value_count(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (!g.is_constant(id)) continue;
    const HostTensor& t = g.value(id).constant;
    if (counted->insert(t.address()).second) visit(t);
  }
  for (const Node& node : g.nodes()) {
    for (const Graph& region : node.regions) each_constant(region, counted, visit);
  }
}

// A tensor that is given twice counts once: joining it with itself is growth.
uint64_t bytes_of(Span<const HostTensor> tensors) {
  uint64_t n = 0;
  std::set<const void*> counted;
  for (const HostTensor& t : tensors) {
    if (counted.insert(t.address()).second) n += t.held_bytes();
  }
  return n;
}

// A shape value whose numbers are all known is a constant, whatever made it.
bool known_elements(const Value& v, HostTensor* out) {
  if (!v.has_elements || v.dtype != DType::kI64 || v.shape.rank() > 1) return false;
  std::vector<int64_t> values;
  for (const SymDim& d : v.elements) {
    if (!d.known()) return false;
    values.push_back(d.constant());
  }
  const Shape shape = v.shape.rank() == 0 ? Shape{} : Shape{static_cast<int64_t>(values.size())};
  if (numel(shape) != static_cast<int64_t>(values.size())) return false;
  *out = HostTensor(DType::kI64, shape, values.data(), values.size() * sizeof(int64_t));
  return true;
}

// Finds weights in blocks that only linear layers read and BlockLinear does not take (2 bits,
// blocks of other sizes). No kernel multiplies by them as they are, and dequantizing them in every
// run takes a hundred times as long as the product: they are dequantized once and for all, unless
// they are so many that memory matters more.
constexpr uint64_t kMaxDequantized = uint64_t{1} << 29;
std::vector<bool> dequantized_weights(const Graph& g) {
  std::vector<bool> found(g.node_count(), false);
  std::vector<std::vector<NodeId>> users;
  uint64_t bytes = 0;
  for (size_t i = 0; i < g.node_count(); ++i) {
    const Node& n = g.node(static_cast<NodeId>(i));
    if (n.op != OpId::kDequantizeLinear ||
        static_cast<const DequantizeAttrs*>(n.attrs.get())->block_size == 0)
      continue;
    if (users.empty()) users = g.users();
    const ValueId made = n.outputs[0];
    bool weight = !g.is_output(made) && !users[static_cast<size_t>(made)].empty();
    for (ValueId v : n.inputs) weight = weight && (v == kNoValue || g.is_constant(v));
    for (NodeId u : users[static_cast<size_t>(made)]) {
      const Node& user = g.node(u);
      weight =
          weight && user.op == OpId::kLinear && user.inputs[1] == made && user.inputs[0] != made;
    }
    if (!weight) continue;
    found[i] = true;
    const HostTensor& q = g.value(n.inputs[0]).constant;
    bytes += static_cast<uint64_t>(q.numel()) * 4;
  }
  if (bytes > kMaxDequantized) found.assign(g.node_count(), false);
  return found;
}

bool folds(const Node& n) {
  // These say how a model is quantized: a weight stays as small as it is.
  if (n.op == OpId::kQuantizeLinear || n.op == OpId::kDequantizeLinear) return false;
  return !n.removed() && op_info(n.op)->role != OpRole::kTrain;
}

// Returns the node's outputs, computed from its constants; empty if it has other inputs, or if the
// outputs are too large.
std::vector<HostTensor> outputs_of(const Graph& g, const Node& n, uint64_t growth,
                                   WorkAhead* work) {
  HostTensor elements;
  if (n.outputs.size() == 1 && n.op != OpId::kIdentity &&
      known_elements(g.value(n.outputs[0]), &elements)) {
    return {elements};
  }
  if (n.inputs.empty()) return {};
  for (ValueId v : n.outputs) {  // no constant is a sequence or an optional
    if (is_container(g.value(v).dtype)) return {};
  }
  std::vector<HostTensor> in;
  for (ValueId v : n.inputs) {
    if (v != kNoValue && !g.is_constant(v)) return {};
    in.push_back(v == kNoValue ? HostTensor() : g.value(v).constant);
  }
  InterpreterOptions options;
  options.max_bytes =
      std::min({kMaxFolded, bytes_of(in) + growth, work->memory.limits().bytes - work->held});
  options.max_nodes = kMaxFoldedNodes;
  const double cheap = std::min(kCheap, work->cheap);
  double cheap_left = cheap, *pots[] = {&cheap_left, &work->left};
  std::vector<HostTensor> out;
  for (double* work_left : pots) {
    options.work_left = work_left;
    try {
      out = run_any(g, n, in, options);
      break;
    } catch (const Error& e) {
      // It is too large, takes too long, or has no kernel: the run will report it if it matters.
      if (e.code() != Code::kBudgetExceeded) break;
    }
  }
  work->cheap -= cheap - cheap_left;
  const uint64_t made = bytes_of(out);
  if (!work->memory.take(made).ok()) return {};
  work->held += made;
  return out;
}

}  // namespace

void infer_behind(Graph& g, std::vector<bool> marked) {
  marked.resize(g.value_count(), false);
  for (size_t i = 0; i < g.node_count(); ++i) {
    const auto id = static_cast<NodeId>(i);
    bool reads = false;
    for (ValueId v : g.node(id).inputs)
      reads = reads || (v != kNoValue && marked[static_cast<size_t>(v)]);
    if (g.node(id).removed() || !reads) continue;
    std::vector<Value> before;
    for (ValueId v : g.node(id).outputs) before.push_back(g.value(v));
    g.infer(id);
    for (size_t k = 0; k < before.size(); ++k) {
      const Value& now = g.value(g.node(id).outputs[k]);
      const bool same = now.dtype == before[k].dtype && now.ranked == before[k].ranked &&
                        now.no_elements == before[k].no_elements && now.shape == before[k].shape &&
                        now.has_elements == before[k].has_elements &&
                        now.elements == before[k].elements;
      if (!same) marked[static_cast<size_t>(g.node(id).outputs[k])] = true;
    }
  }
}

WorkAhead::WorkAhead(const Graph& graph, uint64_t most) : left(kMostWorkAhead), cheap(kMostCheap) {
  std::set<const void*> counted;
  uint64_t bytes = 0, reals = 0;
  each_constant(graph, &counted, [&](const HostTensor& t) {
    bytes += t.held_bytes();
    reals += as_reals(t);
  });
  left += kPasses * static_cast<double>(bytes);
  all = left + cheap;
  memory = Ledger({.bytes = most != 0 ? most : kMaxHeld + kTimesHeld * bytes + reals});
  recount(graph);
}

void WorkAhead::recount(const Graph& graph) {
  std::set<const void*> counted;
  uint64_t bytes = 0;
  each_constant(graph, &counted, [&](const HostTensor& t) { bytes += t.held_bytes(); });
  memory.give_back(held);
  held = std::min(bytes, memory.limits().bytes);  // other passes make constants too
  check_status(memory.take(held));
}

bool fold_constants(Graph& g) {
  WorkAhead work(g);
  return fold_constants(g, &work);
}

bool fold_constants(Graph& g, WorkAhead* work) {
  const std::vector<bool> weights = dequantized_weights(g);
  Substitution sub(g);
  std::vector<bool> made(g.value_count(), false);
  for (size_t i = 0; i < g.node_count(); ++i) {
    const auto id = static_cast<NodeId>(i);
    sub.apply(g.node(id));
    const bool weight = i < weights.size() && weights[i];
    if (!weight && !folds(g.node(id))) continue;
    std::vector<HostTensor> out =
        outputs_of(g, g.node(id), weight ? kMaxDequantized + kMaxGrowth : kMaxGrowth, work);
    if (out.empty()) continue;
    for (size_t k = 0; k < out.size(); ++k) {
      const ValueId from = g.node(id).outputs[k];
      sub.replace(from, g.add_constant(std::move(out[k]), g.value(from).name));
      made.resize(g.value_count(), false);
      made.back() = true;
    }
    g.remove_node(id);
  }
  if (!sub.finish()) return false;
  infer_behind(g, std::move(made));  // made values are now known: shapes behind may be, too
  g.compact();
  return true;
}

}  // namespace wick::ir
