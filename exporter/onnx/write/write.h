// Writes one graph node as ONNX, at opset 17 if that can express it. There is one row per op of
// role kInfer or kControl: kOnnx_<Name>; a missing one does not link.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "exporter/onnx/file/external.h"
#include "exporter/onnx/file/names.h"
#include "exporter/onnx/onnx.h"
#include "exporter/onnx/operators/table.h"
#include "graph/ir/graph.h"
#include "wick_onnx.pb.h"

namespace wick::onnx {

using namespace ir;  // NOLINT: the graph is what this room speaks about

// A model is written at the lowest opset, from the one that was asked for (kLeastOpset if none was)
// on, that has every form its nodes need. Rows write the forms of kLeastOpset and later; if the
// operator's row at an earlier opset takes them, they are that opset's, too.
constexpr int64_t kOldestOpset = 11, kLeastOpset = 17;
struct WriteOpset {
  int64_t now = kLeastOpset;     // of the model being written
  int64_t needed = kLeastOpset;  // by its nodes so far; if above `now`, it is written again
  std::string by;                // the node that needs more than what was asked for
  void need(int64_t opset, const std::string& who) {
    if (opset <= needed) return;
    needed = opset;
    by = who;
  }
};

// ModelNames has the state of a whole model: its opset, and its tensors' names.
struct ModelNames {
  WriteOpset* opset;
  Names names;
  ExternalData* external = nullptr;  // where large constants go; null: into the model
  int fresh = 0;                     // the number of the next made-up name
  QuantizedForm quantized = QuantizedForm::kOperators;
  bool microsoft = false;  // a node of that domain was written
  int64_t ml_opset = 0;    // of ai.onnx.ml, as its nodes need; 0: there are none
  std::set<std::string> node_names = {};
  std::map<std::string, int> last_number = {};  // the last number behind a node's name
};

class WriteCtx {
 public:
  WriteCtx(const Graph& graph, const Node& node, GraphProto& out,
           const std::vector<std::string>& names, ModelNames& model)
      : g(graph), node(node), out_(out), names_(names), model_(model) {}
  const Graph& g;
  const Node& node;

  template <class A>
  const A& as() const {
    return node.attrs.as<A>();
  }
  std::string in(size_t i) const;  // "" when absent
  std::string out(size_t i) const;
  std::string name(ValueId v) const { return names_[static_cast<size_t>(v)]; }
  bool has(size_t i) const { return i < node.inputs.size() && node.inputs[i] != kNoValue; }
  int rank(size_t i) const;  // of input i; throws when unknown

  int64_t opset() const { return model_.opset->now; }
  // Says that the form which the row writes is of opset n.
  void need(int64_t n);

  // Returns the operator's row at the opset that is written, whose inputs and attributes are the
  // form to write; need() asks for what only a later opset has.
  const OperatorVersion& form(const std::string& op_type) const;

  // Adds one ONNX node with these tensor names in and out. The opset is raised to the first that
  // has the operator for these dtypes (operators/default.def).
  NodeProto& add(const std::string& op_type, const std::vector<std::string>& in,
                 const std::vector<std::string>& out);
  // Adds the node with the graph node's own inputs and outputs.
  NodeProto& same(const std::string& op_type);
  // Adds a node of the domain com.microsoft.
  NodeProto& add_microsoft(const std::string& op_type, const std::vector<std::string>& in,
                           const std::vector<std::string>& out);
  // Adds a node of the domain ai.onnx.ml, in the form that it has since this version of the domain.
  NodeProto& add_ml(const std::string& op_type, const std::vector<std::string>& in,
                    const std::vector<std::string>& out, int64_t since);
  QuantizedForm quantized() const { return model_.quantized; }
  std::string fresh();                           // an unused tensor name
  std::string tensor(const HostTensor& t);       // an initializer
  std::string ints(Span<const int64_t> values);  // an int64 initializer
  std::string scalar(DType dtype, double value);
  std::string int_scalar(int64_t value);                // int64
  std::string cast(const std::string& from, DType to);  // the output of a new Cast
  // Returns the name of optional input i, else of an initializer with `fallback`, else "" if that
  // is empty.
  std::string ints_input(size_t i, Span<const int64_t> fallback);
  // Writes a region as an attribute; it reads its captures by their names outside.
  void subgraph(NodeProto& of, const std::string& attribute, const Graph& region);
  [[noreturn]] void fail(const std::string& why) const;

 private:
  std::string node_name();
  DType dtype_of(const std::string& name) const;  // kNone for intermediate values
  void check_types(const std::string& op_type, const std::vector<std::string>& in);
  std::string small(const HostTensor& t);  // a constant that stays in the model
  GraphProto& out_;
  const std::vector<std::string>& names_;
  ModelNames& model_;
  std::map<std::string, DType> made_;  // of initializers and casts
};

// Writes the nodes, constants and outputs of a graph or region. `names` are by value; the caller
// has set those that it knows.
void write_graph(const Graph& g, std::vector<std::string> names, GraphProto& out,
                 ModelNames& model);
void set_type(ValueInfoProto& info, const Value& value);

void set_int(NodeProto& node, const std::string& name, int64_t value);
void set_float(NodeProto& node, const std::string& name, double value);
void set_string(NodeProto& node, const std::string& name, const std::string& value);
void set_ints(NodeProto& node, const std::string& name, Span<const int64_t> values);
void set_floats(NodeProto& node, const std::string& name, Span<const float> values);
void set_strings(NodeProto& node, const std::string& name, const std::vector<std::string>& values);
void set_tensor(NodeProto& node, const std::string& name, const HostTensor& value);
// Sets a list attribute unless the list is empty.
template <class List>
void set_list(NodeProto& node, const char* name, const List& list) {
  if (!list.empty()) set_ints(node, name, list.span());
}
AttributeProto& add_attr(NodeProto& node, const std::string& name,
                         AttributeProto::AttributeType type);

struct WriteRow {
  OpId op;
  void (*write)(WriteCtx&);
};

#define WICK_WRITE_kInfer(Name) extern const WriteRow kOnnx_##Name;
#define WICK_WRITE_kControl(Name) WICK_WRITE_kInfer(Name)
#define WICK_WRITE_kTrain(Name)
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) WICK_WRITE_##Role(Name)
#include "runtime/ops/ops.def"
#undef WICK_OP
#undef WICK_WRITE_kInfer
#undef WICK_WRITE_kTrain
#undef WICK_WRITE_kControl

// Defines a row in a family file.
#define WICK_ONNX_ROW(Name, ...) \
  constinit const WriteRow kOnnx_##Name = {OpId::k##Name, __VA_ARGS__}
// Defines a row that writes the same op_type without attributes.
#define WICK_ONNX_PLAIN(Name) WICK_ONNX_ROW(Name, [](WriteCtx& c) { c.same(#Name); })

void write_cast(WriteCtx& c);  // Cast and CastString

// Writes a user's op: a node of its own domain, with its attributes by name.
void write_custom(WriteCtx& c);

// Returns null for ops of role kTrain and for custom ones.
const WriteRow* find_write_row(OpId op);

}  // namespace wick::onnx
