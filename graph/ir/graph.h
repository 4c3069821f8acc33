// Graph is the host-side IR: SSA values and nodes by integer id, a constant pool, and symbolic
// dimensions with bounds. Nodes are in topological order. Removed nodes leave holes that compact()
// closes; ids stay valid until then.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "graph/ir/node_attrs.h"
#include "graph/ir/sym_dim.h"
#include "runtime/core/edition.h"
#include "runtime/ops/op_info.h"

namespace wick::ir {

// The index of a value, and of a node, in its graph. Neither is used again.
using ValueId = int32_t;
using NodeId = int32_t;
inline constexpr ValueId kNoValue = -1;  // an absent optional input
// Returns the index of a value or a node in a vector that has one entry for each id.
inline size_t at(int32_t id) { return static_cast<size_t>(id); }

// A line of the user's code: its file, the number, and both as "net.cc:12".
struct SourceLine {
  std::string file;  // empty: unknown
  int line = 0;
  std::string text() const {
    return file.empty() ? "" : file + ":" + std::to_string(line);
  }  // "" where the file is unknown
};

// The caller, nobody, or a node makes a value.
enum class ValueOrigin : uint8_t { kInput, kConstant, kNode };

// A value of a graph and its type.
struct Value {
  // These say what makes it, and the type of its elements.
  ValueOrigin origin = ValueOrigin::kNode;
  DType dtype = DType::kNone;
  // For a sequence or an optional: its elements' dtype. `ranked` and `shape` then describe the
  // elements: open dims (dim_open) differ between elements or are not known. no_elements: it
  // certainly has none, so that any shape fits.
  DType element = DType::kNone;
  bool no_elements = false;
  bool ranked = false;    // false: not even the rank is known before running
  bool declared = false;  // the file declares the shape; the rule cannot infer it before running
  // For kConstant: the name is a key of the state_dict, so that weights can be found and replaced.
  bool parameter = false;
  bool has_elements = false;  // `elements` are known
  SymShape shape;             // meaningful when ranked
  std::string name;           // may be empty; inputs and outputs always have one
  NodeId producer = -1;       // kNode
  int output = 0;             // which of the producer's outputs
  HostTensor constant;        // kConstant
  // The integers of a small int64 value that describes shapes, if known before running.
  std::vector<SymDim> elements;
};

class Graph;

// A node: an op on values.
struct Node {
  OpId op = OpId::kNone;         // kNone: removed
  NodeAttrs attrs;               // the op's struct
  std::vector<ValueId> inputs;   // kNoValue where an optional input is absent
  std::vector<ValueId> outputs;  // its results
  std::string name;              // "features.0.conv"; may be ""
  std::string module;            // path of the module that made it: "features.0"
  SourceLine source;             // the user's line that made it
  // The bodies of a control node: If has then and else, Loop has one. Each is closed: its inputs
  // are the op's own values (Loop: trip, condition, carried), then its captures, which are the last
  // inputs of this node in the same order.
  std::vector<Graph> regions;
  // Returns whether a pass took the node out of the graph.
  bool removed() const { return op == OpId::kNone; }
};

// An output: its name, and the value that it is.
struct GraphOutput {
  std::string name;
  ValueId value;
};

// A symbol of the shapes: its name, and the bounds of its extent, both included.
struct SymbolInfo {
  std::string name;
  int64_t min = 1, max = INT32_MAX;  // of its extent
};

// A graph of ops on values. Nodes are in order of execution, except those that rewriting appended.
class Graph {
 public:
  std::string name = "main";                    // of the entry point
  std::vector<std::string> labels;              // class names of the first output, if it classifies
  std::map<std::string, std::string> metadata;  // texts by key, which files keep

  // The edition of the functions' order of operations: one for the whole graph.
  Edition edition() const { return edition_; }
  void set_edition(Edition edition);  // of its regions, too

  // Declares a symbol, or finds it again; throws Error if its bounds differ.
  SymDim symbol(const std::string& name, int64_t min = 1, int64_t max = INT32_MAX);
  // Returns whether there is such a symbol.
  bool has_symbol(const std::string& name) const;
  const SymbolInfo* find_symbol(const std::string& name) const;  // null: there is none
  // Returns a symbol named "d0", "d1", ... ("r0" in a region): a size that is known only at run
  // time.
  SymDim fresh_symbol(int64_t min = 0);
  // Returns all symbols, in order of declaration.
  const std::vector<SymbolInfo>& symbols() const { return symbols_; }

  // Adds an input of this name and type at the end; returns its value.
  ValueId add_input(const std::string& name, DType dtype, const SymShape& shape);
  // Adds an input of any type.
  ValueId add_input(const std::string& name, const Value& type);
  // Adds a constant; returns its value. `parameter`: it is a weight that training may change.
  ValueId add_constant(HostTensor tensor, const std::string& name = "", bool parameter = false);
  // Appends a node whose outputs' types are inferred by the op's rule. `outputs` is needed only for
  // ops whose number of outputs depends on the call. Throws Error, the op's name first, if the rule
  // refuses.
  NodeId add_node(OpId op, const AnyAttrs& attrs, std::vector<ValueId> inputs, int outputs = 1,
                  const std::string& name = "");
  // Adds a node with regions; its outputs' types are those of the regions.
  NodeId add_control(OpId op, const AnyAttrs& attrs, std::vector<ValueId> inputs,
                     std::vector<Graph> regions, const std::string& name = "");
  // Adds a node of either kind with outputs of types known before: where the rule leaves a type
  // open, it keeps the given one.
  NodeId add_typed(OpId op, const AnyAttrs& attrs, std::vector<ValueId> inputs,
                   std::vector<Graph> regions, std::vector<Value> outputs, const std::string& name);
  // Makes a value the next output, under this name.
  void add_output(const std::string& output_name, ValueId id);
  // Returns whether this is the body of a control node.
  bool is_region() const { return depth_ > 0; }
  // Returns an empty graph for a region of a node of this one: this one's symbols mean the same
  // there.
  Graph region(const std::string& region_name) const;

  // Makes room for so many nodes and values in all, so that adding them moves none.
  void reserve(size_t nodes, size_t values);

  // A shorthand for the first output of a new node.
  template <class A>
  ValueId emit(OpId op, const A& attrs, std::vector<ValueId> inputs, const std::string& name = "") {
    return node(add_node(op, AnyAttrs::of(attrs), std::move(inputs), 1, name)).outputs[0];
  }
  ValueId emit(OpId op, std::vector<ValueId> inputs, const std::string& name = "") {
    return emit(op, NoAttrs{}, std::move(inputs), name);
  }

  // Return the number of values, a value, a node, and all nodes. An id out of range throws
  // std::out_of_range.
  size_t value_count() const { return values_.size(); }
  size_t node_count() const { return nodes_.size(); }  // removed ones included
  const Value& value(ValueId id) const { return values_.at(static_cast<size_t>(id)); }
  Value& value(ValueId id) { return values_.at(static_cast<size_t>(id)); }
  const Node& node(NodeId id) const { return nodes_.at(static_cast<size_t>(id)); }
  Node& node(NodeId id) { return nodes_.at(static_cast<size_t>(id)); }
  const std::vector<Node>& nodes() const { return nodes_; }
  // Return the inputs and the outputs, in order.
  const std::vector<ValueId>& inputs() const { return inputs_; }
  std::vector<ValueId>& inputs() { return inputs_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  std::vector<GraphOutput>& outputs() { return outputs_; }
  // Returns whether the value is a constant.
  bool is_constant(ValueId id) const {
    return id != kNoValue && value(id).origin == ValueOrigin::kConstant;
  }

  // Returns, for each value, the nodes that read it, in order (a node twice if it reads it twice).
  std::vector<std::vector<NodeId>> users() const;
  // Returns whether the value is an output of the graph.
  bool is_output(ValueId id) const;

  // Makes every reader of `from`, outputs included, read `to` instead.
  void replace_all(ValueId from, ValueId to);
  // Marks the node as removed: its op becomes kNone.
  void remove_node(NodeId id);
  // Drops removed nodes and unreachable values, and renumbers the rest.
  void compact();
  // Sorts constants in the order in which nodes and outputs first read them, before all other
  // values, in regions too.
  void sort_constants();

  // Restores topological order (stable), since rewriting appends nodes. Throws Error on a cycle.
  void sort_nodes();

  // Runs a node's rule again and stores its outputs' types.
  void infer(NodeId id);

 private:
  // Keeps these values, in this order, and drops the others.
  void keep_values(const std::vector<ValueId>& order);

  std::vector<SymbolInfo> symbols_;
  std::unordered_map<std::string, size_t> symbol_at_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<ValueId> inputs_;
  std::vector<GraphOutput> outputs_;
  Edition edition_ = kNewestEdition;
  int fresh_ = 0;
  int depth_ = 0;  // 0: not a region
};

// Return how many of a control node's inputs are the op's own (the rest are captures), and how many
// of its regions' inputs.
size_t own_inputs(const Node& node);
size_t own_region_inputs(const Node& node);

// Returns every broken invariant, one per line; empty if the graph is sound.
std::vector<std::string> verify_problems(const Graph& graph);
// Throws Error that lists them all.
void verify(const Graph& graph, const std::string& when = "");

// Returns the names of the op and the node for messages: "Conv conv1 (train.cpp:41)".
std::string node_text(const Graph& graph, NodeId id);

// Returns the characters of a field of kind kText.
std::string attr_text(const AttrField& field, const void* attrs);

// Returns the text form. With `weights` constants are written in full, and parse_graph(print(g))
// prints the same.
std::string print(const Graph& graph, bool weights = false);
Graph parse_graph(const std::string& text);

}  // namespace wick::ir
