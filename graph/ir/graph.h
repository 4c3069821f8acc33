// Graph: the host-side IR. SSA values and nodes by integer id, a constant pool, symbolic dimensions
// with bounds. Nodes stand in topological order. Removed nodes leave holes that compact() closes;
// ids stay valid until then.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "graph/ir/sym_dim.h"
#include "runtime/ops/op_info.h"

namespace wick::ir {

using ValueId = int32_t;
using NodeId = int32_t;
inline constexpr ValueId kNoValue = -1;  // an absent optional input
// The place of a value or a node in a vector that holds one entry for each id.
inline size_t at(int32_t id) { return static_cast<size_t>(id); }

struct SourceLine {
  std::string file;  // empty: unknown
  int line = 0;
  std::string text() const { return file.empty() ? "" : file + ":" + std::to_string(line); }
};

enum class ValueOrigin : uint8_t { kInput, kConstant, kNode };

struct Value {
  ValueOrigin origin = ValueOrigin::kNode;
  DType dtype = DType::kNone;
  bool ranked = false;  // false: not even the rank is known before running
  SymShape shape;       // meaningful when ranked
  // Of a sequence or an optional: its elements' dtype. `ranked` and `shape` are then theirs: open
  // dims (dim_open) differ between elements or are not known. no_elements: certainly it has none,
  // so that any shape fits.
  DType element = DType::kNone;
  bool no_elements = false;
  bool declared = false;  // shape is what a file declares; the rule cannot tell it ahead of running
  std::string name;       // may be empty; inputs and outputs always have one
  NodeId producer = -1;   // kNode
  int output = 0;         // which of the producer's outputs
  HostTensor constant;    // kConstant
  // kConstant: name is a key of the state_dict, so that weights can be found and replaced
  bool parameter = false;
  // The integers of a small int64 value that describes shapes, known ahead of running.
  bool has_elements = false;
  std::vector<SymDim> elements;
};

class Graph;

struct Node {
  OpId op = OpId::kNone;  // kNone: removed
  AnyAttrs attrs;
  std::vector<ValueId> inputs;  // kNoValue where an optional input is absent
  std::vector<ValueId> outputs;
  std::string name;
  std::string module;  // path of the module that made it: "features.0"
  SourceLine source;
  // The bodies of a control node: If has then and else, Loop has one. Each is closed: its inputs
  // are the op's own values (Loop: trip, condition, carried), then what it captures from outside,
  // which are the last inputs of this node in the same order.
  std::vector<Graph> regions;
  bool removed() const { return op == OpId::kNone; }
};

struct GraphOutput {
  std::string name;
  ValueId value;
};

struct SymbolInfo {
  std::string name;
  int64_t min = 1, max = INT32_MAX;
};

class Graph {
 public:
  std::string name = "main";
  std::vector<std::string> labels;  // class names of the first output, if it classifies
  std::map<std::string, std::string> metadata;

  // Declares a symbol, or finds it again; throws Error when its bounds differ.
  SymDim symbol(const std::string& name, int64_t min = 1, int64_t max = INT32_MAX);
  bool has_symbol(const std::string& name) const;
  const SymbolInfo* find_symbol(const std::string& name) const;  // null: there is none
  // Named "d0", "d1", ... ("r0" in a region): a size only known when running.
  SymDim fresh_symbol(int64_t min = 0);
  const std::vector<SymbolInfo>& symbols() const { return symbols_; }

  ValueId add_input(const std::string& name, DType dtype, const SymShape& shape);
  // An input of any type.
  ValueId add_input(const std::string& name, const Value& type);
  ValueId add_constant(HostTensor tensor, const std::string& name = "", bool parameter = false);
  // Appends a node whose outputs' types come from the op's rule. `outputs` is needed only for ops
  // with as many outputs as the call has. Throws Error, the op's name first, when the rule refuses.
  NodeId add_node(OpId op, const AnyAttrs& attrs, std::vector<ValueId> inputs, int outputs = 1,
                  const std::string& name = "");
  // A node with regions; its outputs' types are those of the regions.
  NodeId add_control(OpId op, const AnyAttrs& attrs, std::vector<ValueId> inputs,
                     std::vector<Graph> regions, const std::string& name = "");
  // The same, of either kind, with outputs of types known before: what the rule leaves open keeps
  // them.
  NodeId add_typed(OpId op, const AnyAttrs& attrs, std::vector<ValueId> inputs,
                   std::vector<Graph> regions, std::vector<Value> outputs, const std::string& name);
  void add_output(const std::string& output_name, ValueId id);
  bool is_region() const { return depth_ > 0; }
  // An empty graph for a region of a node of this one: this one's symbols mean the same there.
  Graph region(const std::string& region_name) const;

  // Convenience: the first output of a new node.
  template <class A>
  ValueId emit(OpId op, const A& attrs, std::vector<ValueId> inputs, const std::string& name = "") {
    return node(add_node(op, AnyAttrs::of(attrs), std::move(inputs), 1, name)).outputs[0];
  }
  ValueId emit(OpId op, std::vector<ValueId> inputs, const std::string& name = "") {
    return emit(op, NoAttrs{}, std::move(inputs), name);
  }

  size_t value_count() const { return values_.size(); }
  size_t node_count() const { return nodes_.size(); }  // removed ones included
  const Value& value(ValueId id) const { return values_.at(static_cast<size_t>(id)); }
  Value& value(ValueId id) { return values_.at(static_cast<size_t>(id)); }
  const Node& node(NodeId id) const { return nodes_.at(static_cast<size_t>(id)); }
  Node& node(NodeId id) { return nodes_.at(static_cast<size_t>(id)); }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  std::vector<ValueId>& inputs() { return inputs_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  std::vector<GraphOutput>& outputs() { return outputs_; }
  bool is_constant(ValueId id) const {
    return id != kNoValue && value(id).origin == ValueOrigin::kConstant;
  }

  // For each value, the nodes that read it, in order (a node twice when it reads it twice).
  std::vector<std::vector<NodeId>> users() const;
  bool is_output(ValueId id) const;

  // Every reader of `from`, outputs included, reads `to` instead.
  void replace_all(ValueId from, ValueId to);
  void remove_node(NodeId id);
  // Drops removed nodes and values nobody can reach, renumbers the rest.
  void compact();
  // Constants in the order in which nodes and outputs first read them, before anything else, in
  // regions too.
  void sort_constants();

  // Rewriting appends nodes; this restores topological order (stable). Throws Error on a cycle.
  void sort_nodes();

  // Runs the rule of a node again and stores its outputs' types.
  void infer(NodeId id);

 private:
  // These values, in this order; the others go.
  void keep_values(const std::vector<ValueId>& order);

  std::vector<SymbolInfo> symbols_;
  std::unordered_map<std::string, size_t> symbol_at_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<ValueId> inputs_;
  std::vector<GraphOutput> outputs_;
  int fresh_ = 0;
  int depth_ = 0;  // 0: not a region
};

// How many of a control node's inputs its own values take (the rest are captures), and how many of
// its regions' inputs.
size_t own_inputs(const Node& node);
size_t own_region_inputs(const Node& node);

// Every broken invariant, one a line; empty when the graph is sound.
std::vector<std::string> verify_problems(const Graph& graph);
// Throws Error listing them all.
void verify(const Graph& graph, const std::string& when = "");

// The op's name and the node's for messages: "Conv conv1 (train.cpp:41)".
std::string node_text(const Graph& graph, NodeId id);

// Text form. With `weights` constants are written in full, and parse_graph(print(g)) prints the
// same.
std::string print(const Graph& graph, bool weights = false);
Graph parse_graph(const std::string& text);

}  // namespace wick::ir
