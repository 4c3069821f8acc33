// Reading one ONNX node into the graph. A family file lists its rows (op_type -> function);
// semantics that changed over opsets end here: the graph has one meaning per op.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "runtime/registry/registry.h"
#include "wick_onnx.pb.h"

namespace wick::onnx {

using namespace ir;  // NOLINT: the graph is what this room speaks about

class ReadCtx {
 public:
  ReadCtx(Graph& graph, const NodeProto& node, int64_t opset,
          std::map<std::string, ValueId>& values, const std::string& folder)
      : g(graph), node(node), opset(opset), values_(values), folder_(folder) {}

  Graph& g;
  const NodeProto& node;
  const int64_t opset;

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
  HostTensor attr_tensor(const std::string& name) const;          // not present() when absent

  // Emits an op named after this node.
  template <class A>
  ValueId emit(OpId op, const A& attrs, std::vector<ValueId> in) {
    return g.emit(op, attrs, std::move(in), node.name());
  }
  ValueId emit(OpId op, std::vector<ValueId> in) { return g.emit(op, std::move(in), node.name()); }
  void set(int i, ValueId value);  // output i of the node

  DType dtype(ValueId v) const { return g.value(v).dtype; }
  // Rank, or an error saying that this op needs it known.
  int rank(ValueId v) const;
  // A scalar constant of `like`'s dtype.
  ValueId scalar(ValueId like, double value);
  ValueId int_constant(const std::vector<int64_t>& values);
  // The integers of a constant (or of a shape value that is known), else nothing.
  std::optional<std::vector<int64_t>> known_ints(ValueId v) const;
  [[noreturn]] void fail(const std::string& why) const;  // "Conv 'conv1': why"

  // Copies a list attribute into an attribute struct's IntList; fails when it is too long.
  template <class List>
  void fill(List& list, const std::vector<int64_t>& values, const char* name) const {
    if (values.size() > static_cast<size_t>(List::kCapacity))
      fail(std::string(name) + " is too long");
    list = List(Span<const int64_t>(values));
  }

 private:
  std::map<std::string, ValueId>& values_;
  const std::string& folder_;
};

struct ReadRow {
  const char* op_type;
  void (*read)(ReadCtx&);
};

// The families' rows.
Span<const ReadRow> unary_rows();
Span<const ReadRow> binary_rows();
Span<const ReadRow> bit_rows();
Span<const ReadRow> matmul_rows();
Span<const ReadRow> conv_rows();
Span<const ReadRow> norm_rows();
Span<const ReadRow> reduce_rows();
Span<const ReadRow> layout_rows();
Span<const ReadRow> index_rows();
Span<const ReadRow> generate_rows();
Span<const ReadRow> function_rows();

// A node of a user's own op, registered under the node's domain and op_type.
void read_custom(ReadCtx& c, const CustomOp& op);

// Null: not supported.
const ReadRow* find_read_row(const std::string& op_type);

}  // namespace wick::onnx
