// Reading one ONNX node into the graph. A family's file says which function reads which operator
// (WICK_READ); semantics that changed over opsets end here: the graph has one meaning per op.
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

// Its name, else its first output's; "?" where it has neither.
std::string node_name(const NodeProto& node);
// What no other node of its graph has: its first output's name.
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

// What reading needs of the whole model.
struct ModelCtx {
  const Functions& functions;
  const std::string& folder;
  Ledger& ledger;  // what the file may take; its work is that of all questions of ReadCtx::known()
  int64_t opset = 1;
  int depth = 0;                                 // of subgraphs and functions
  std::vector<const FunctionProto*> calls = {};  // being read, the outermost first

  // A graph in another knows all of that one's sizes.
  Graph region(const Graph& around, const std::string& name) {
    visit(around.symbols().size());
    return around.region(name);
  }
  // Throws Error where that is more than the file may ask for.
  void visit(uint64_t n);
};

// The names a node sees: those of its own graph, then those around it. A value of a graph around it
// that is read becomes an input of the region (a constant: a constant there).
class Scope {
 public:
  Scope(Graph& graph, ModelCtx& model_ctx) : g(graph), model(model_ctx) {}
  // A subgraph's, in `graph`. `place`: which of its node's.
  Scope(Graph& graph, Scope& outside, const NodeProto& node, const std::string& place)
      : g(graph), model(outside.model), outside_(&outside), around_(&outside) {
    path = outside.path + node_place(node) + place + '/';
  }
  // A function's, which sees none of the names around the call.
  Scope(Scope& caller, const NodeProto& call) : g(caller.g), model(caller.model), around_(&caller) {
    path = caller.path + node_place(call) + '/';
  }
  Graph& g;
  ModelCtx& model;
  std::map<std::string, ValueId> values;

  // What tells one reading of a node from another, for operators that draw random numbers: the
  // subgraphs and calls that lead here ("" for the model's own graph), and the number of the trip
  // of every loop around, the outermost first.
  std::string path;
  ValueId trip = kNoValue;  // where this is a loop's body
  std::vector<ValueId> trips();

  ValueId find(const std::string& name);  // kNoValue: nobody defines it
  // A value of the graph outside, seen from inside.
  ValueId capture(ValueId outer);
  ValueId add_input(const std::string& name, const Value& type);
  // Of the graph outside, in the order of the region's last inputs.
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
  // An op of several outputs, which are the node's own.
  template <class A>
  void emit_all(OpId op, A attrs, std::vector<ValueId> in, int outputs) {
    settle(attrs, in);
    const NodeId id = g.add_node(op, AnyAttrs::of(attrs), std::move(in), outputs, node.name());
    for (int i = 0; i < outputs; ++i) set(i, g.node(id).outputs[static_cast<size_t>(i)]);
  }
  // The integer of input i where it is known becomes the attribute, else the input is returned.
  ValueId int_or_input(int i, int64_t* attribute) const;
  // What emit() does first to ops that take lists by input or by attribute: known ones are
  // attributes (known_lists.cc).
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
  // Rank, or an error saying that this op needs it known.
  int rank(ValueId v) const;
  // A scalar constant of `like`'s dtype. An integer must be that very number; `what` is the
  // attribute it comes from, for the error.
  ValueId scalar(ValueId like, double value, const char* what = "a number of its formula");
  ValueId int_constant(const std::vector<int64_t>& values);
  // The integers of a constant (or of a shape value that is known), else nothing.
  std::optional<std::vector<int64_t>> known_ints(ValueId v) const;
  // The value, where constants and known sizes decide it.
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
  // True when the list is known: an attribute, which input i becomes where it can.
  template <class List>
  bool take_list(std::vector<ValueId>& in, size_t i, List& list, bool empty_too);
};

// The nodes of a graph or a function, listed in any order, into the scope.
void read_nodes(Scope& scope, Span<const NodeProto* const> nodes, int64_t opset);
// A graph's initializers, sparse ones made dense, into the scope.
void read_initializers(Scope& scope, const GraphProto& graph);
// A subgraph's initializers and nodes into the scope, which has its inputs; its outputs.
std::vector<ValueId> read_subgraph(Scope& scope, const GraphProto& graph, int64_t opset);

// What reads an operator of operators/default.def, in a family's file; microsoft.def and
// preview.def have their own.
#define WICK_READ_IN(domain, Name, ...)                         \
  void read_##domain##_##Name(ReadCtx& c);                      \
  void read_##domain##_##Name(ReadCtx& c) { (__VA_ARGS__)(c); } \
  static_assert(true)
#define WICK_READ(Name, ...) WICK_READ_IN(onnx, Name, __VA_ARGS__)
#define WICK_READ_MS(Name, ...) WICK_READ_IN(ms, Name, __VA_ARGS__)
#define WICK_READ_PREVIEW(Name, ...) WICK_READ_IN(preview, Name, __VA_ARGS__)

// sequence.cc: a tensor or a sequence as an optional that holds it, and what an optional holds (a
// value that is none: itself).
ValueId wrap_optional(ReadCtx& c, ValueId v);
ValueId unwrap_optional(ReadCtx& c, ValueId v);
// Sequences and optionals that only the reader needed.
void drop_unread_containers(Graph& g);

// A node of a user's own op, registered under the node's domain and op_type.
void read_custom(ReadCtx& c, const CustomOp& op);

// Why an operator without a reader has none.
std::string why_unread(const std::string& op_type, const std::string& domain = "");

}  // namespace wick::onnx
