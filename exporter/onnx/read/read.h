// Reads one ONNX node into the graph. A family's file says which function reads which operator
// (WICK_READ); semantics that differ between opsets end here: the graph has one meaning per op.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "graph/ir/graph.h"
#include "runtime/core/ledger.h"
#include "runtime/registry/registry.h"
#include "wick_onnx.pb.h"

namespace wick::onnx {

using namespace ir;  // NOLINT: the graph is what this room speaks about

// Returns its name, else its first output's, else its first input's; "?" if it has none.
std::string node_name(const NodeProto& node);
// Returns its first output's name, which no other node of its graph has; else as node_name().
std::string node_place(const NodeProto& node);

// A model's own functions. An operator of the default domain or com.microsoft that is read at the
// model's opset wins over one of its name (ONNX leaves that to the runtime; so does ONNX Runtime).
class Functions {
 public:
  explicit Functions(const ModelProto& model);
  const FunctionProto* find(const NodeProto& call) const;  // null: the node calls none

 private:
  std::map<std::tuple<std::string, std::string, std::string>, const FunctionProto*> by_name_;
};

// ModelCtx has what reading a node needs of the whole model.
struct ModelCtx {
  const Functions& functions;
  const std::string& folder;
  Ledger& ledger;  // what the file may use; its work is that of all calls of ReadCtx::known()
  int64_t opset = 1;
  int64_t ml_opset = 0;                          // of ai.onnx.ml; 0: it is not imported
  int depth = 0;                                 // of subgraphs and functions
  std::vector<const FunctionProto*> calls = {};  // being read, the outermost first
  std::set<std::string> maps = {};               // outputs of ZipMap, which are tensors here
  std::vector<std::string> notes = {};           // what the user should know of the reading
  std::map<const void*, uint64_t> made_of = {};  // bytes of constants made of one, by its address

  // A graph in another one knows all sizes of that one.
  Graph region(const Graph& around, const std::string& name) {
    visit(around.symbols().size());
    return around.region(name);
  }
  // Throws Error if that is more than the file may use.
  void visit(uint64_t n);
};

// Scope has the names that a node sees: those of its own graph, then those around it. A value of an
// outer graph that is read becomes an input of the region (a constant: a constant there).
class Scope {
 public:
  Scope(Graph& graph, ModelCtx& model_ctx) : g(graph), model(model_ctx) {}
  // The scope of a subgraph, in `graph`. `place` says which of its node's subgraphs it is.
  Scope(Graph& graph, Scope& outside, const NodeProto& node, const std::string& place)
      : g(graph), model(outside.model), outside_(&outside), around_(&outside) {
    path = outside.path + node_place(node) + place + '/';
  }
  // The scope of a function, which sees none of the names around the call.
  Scope(Scope& caller, const NodeProto& call) : g(caller.g), model(caller.model), around_(&caller) {
    path = caller.path + node_place(call) + '/';
  }
  Graph& g;
  ModelCtx& model;
  std::map<std::string, ValueId> values;

  // Distinguishes one reading of a node from another, for operators that draw random numbers: by
  // the subgraphs and calls that lead here ("" for the model's own graph), and by the trip number
  // of every loop around, the outermost first.
  std::string path;
  ValueId trip = kNoValue;  // if this is a loop's body
  std::vector<ValueId> trips();

  ValueId find(const std::string& name);  // kNoValue: it is not defined
  // Makes a value of the graph outside visible inside.
  ValueId capture(ValueId outer);
  ValueId add_input(const std::string& name, const Value& type);
  // Returns values of the graph outside, in the order of the region's last inputs.
  const std::vector<ValueId>& captured() const { return captured_; }

 private:
  Scope* outside_ = nullptr;  // whose names it sees
  Scope* around_ = nullptr;
  std::vector<ValueId> captured_;
  std::map<ValueId, ValueId> inside_;  // of captured values and constants
  std::set<std::string> input_names_;
};

class ReadCtx {
 public:
  ReadCtx(Scope& names, const NodeProto& proto, int64_t version)
      : g(names.g), node(proto), opset(version), scope(names) {}

  Graph& g;
  const NodeProto& node;
  const int64_t opset;
  Scope& scope;

  int inputs() const { return node.input_size(); }
  int outputs() const { return node.output_size(); }
  bool has(int i) const { return i < node.input_size() && !node.input(i).empty(); }
  bool wants(int i) const { return i < node.output_size() && !node.output(i).empty(); }
  ValueId in(int i) const;        // required: throws when absent
  ValueId optional(int i) const;  // kNoValue when absent
  std::vector<ValueId> all_inputs() const;

  const AttributeProto* attr(const std::string& name) const;
  int64_t attr_int(const std::string& name, int64_t fallback) const;
  double attr_float(const std::string& name, double fallback) const;
  std::string attr_string(const std::string& name, const std::string& fallback) const;
  std::vector<int64_t> attr_ints(const std::string& name) const;  // empty when absent
  std::vector<double> attr_floats(const std::string& name) const;
  std::vector<std::string> attr_strings(const std::string& name) const;
  HostTensor attr_tensor(const std::string& name) const;        // not present() when absent
  const GraphProto& attr_graph(const std::string& name) const;  // required

  // Emits an op named after this node.
  template <class A>
  ValueId emit(OpId op, A attrs, std::vector<ValueId> in) {
    settle(attrs, in);
    return g.emit(op, attrs, std::move(in), node.name());
  }
  ValueId emit(OpId op, std::vector<ValueId> in) { return g.emit(op, std::move(in), node.name()); }
  // Emits an op of several outputs, which become the node's own.
  template <class A>
  void emit_all(OpId op, A attrs, std::vector<ValueId> in, int outputs) {
    settle(attrs, in);
    const NodeId id = g.add_node(op, AnyAttrs::of(attrs), std::move(in), outputs, node.name());
    for (int i = 0; i < outputs; ++i) set(i, g.node(id).outputs[static_cast<size_t>(i)]);
  }
  // Moves the integer of input i into the attribute if it is known, else returns the input.
  ValueId int_or_input(int i, int64_t* attribute) const;
  // Moves known lists into attributes, for ops that take lists by input or by attribute; emit()
  // does this first (known_lists.cc).
  template <class A>
  void settle(A&, std::vector<ValueId>&) {}
  void settle(ReshapeAttrs& a, std::vector<ValueId>& in);
  void settle(ShapeAttrs& a, std::vector<ValueId>& in);
  void settle(AxesAttrs& a, std::vector<ValueId>& in);
  void settle(SplitAttrs& a, std::vector<ValueId>& in);
  void settle(SliceAttrs& a, std::vector<ValueId>& in);
  void settle(PadAttrs& a, std::vector<ValueId>& in);
  void set(int i, ValueId value);  // output i of the node

  DType dtype(ValueId v) const { return g.value(v).dtype; }
  // Returns the rank; fails if it is not known.
  int rank(ValueId v) const;
  // Returns a scalar constant of `like`'s dtype. An integer must be exactly that number; `what` is
  // the attribute it comes from, for the error.
  ValueId scalar(ValueId like, double value, const char* what = "a number of its formula");
  ValueId int_constant(const std::vector<int64_t>& values);
  // Adds a constant that the reader makes, for which the ledger is charged: a small file makes no
  // large constants. Those made of a constant `of` the file are free until they come to twice its
  // bytes. Throws Error with kBudgetExceeded.
  ValueId constant(HostTensor tensor, const std::string& name = "", ValueId of = kNoValue);
  // Returns the integers of a constant (or of a shape value that is known), else nothing.
  std::optional<std::vector<int64_t>> known_ints(ValueId v) const;
  // Returns the value, if constants and known sizes decide it.
  std::optional<HostTensor> known(ValueId v) const;
  [[noreturn]] void fail(const std::string& why) const;  // "Conv 'conv1': why"

  // Copies a list attribute into an attribute struct's IntList; fails when it is too long.
  template <class List>
  void fill(List& list, const std::vector<int64_t>& values, const char* name) const {
    if (values.size() > static_cast<size_t>(List::kCapacity))
      fail(std::string(name) + " is too long");
    list = List(Span<const int64_t>(values));
  }

 private:
  // Moves the list of input i into the attribute if it is known. Returns whether the attribute has
  // the list.
  template <class List>
  bool take_list(std::vector<ValueId>& in, size_t i, List& list, bool empty_too);
};

// Reads the nodes of a graph or a function, listed in any order, into the scope.
void read_nodes(Scope& scope, Span<const NodeProto* const> nodes, int64_t opset);
// Reads a graph's initializers into the scope, sparse ones made dense.
void read_initializers(Scope& scope, const GraphProto& graph);
// Reads a subgraph's initializers and nodes into the scope, which has its inputs; returns its
// outputs.
std::vector<ValueId> read_subgraph(Scope& scope, const GraphProto& graph, int64_t opset);

// Defines the reader of an operator of operators/default.def, in a family's file; microsoft.def,
// ml.def and preview.def have their own macros.
#define WICK_READ_IN(domain, Name, ...)                         \
  void read_##domain##_##Name(ReadCtx& c);                      \
  void read_##domain##_##Name(ReadCtx& c) { (__VA_ARGS__)(c); } \
  static_assert(true)
#define WICK_READ(Name, ...) WICK_READ_IN(onnx, Name, __VA_ARGS__)
#define WICK_READ_MS(Name, ...) WICK_READ_IN(ms, Name, __VA_ARGS__)
#define WICK_READ_PREVIEW(Name, ...) WICK_READ_IN(preview, Name, __VA_ARGS__)
#define WICK_READ_ML(Name, ...) WICK_READ_IN(ml, Name, __VA_ARGS__)

// sequence.cc: wraps a tensor or a sequence in an optional, and returns what an optional holds (a
// value that is no optional: itself).
ValueId wrap_optional(ReadCtx& c, ValueId v);
ValueId unwrap_optional(ReadCtx& c, ValueId v);
// Removes sequences and optionals that only the reader needed.
void drop_unread_containers(Graph& g);

// Reads a node of a user's own op, registered under the node's domain and op_type.
void read_custom(ReadCtx& c, const CustomOp& op);

// Returns why an operator has no reader.
std::string why_unread(const std::string& op_type, const std::string& domain = "");

}  // namespace wick::onnx
