// The op rules over SymDim, and the values of small integer tensors (shapes) computed ahead of
// running.
#pragma once

#include "graph/ir/graph.h"

namespace wick::ir {

constexpr int64_t kMaxElements = 64;  // of a tensor whose values shapes may depend on

// One rule call over symbols. `out` has its size set. Throws Error (no op name in the text) when
// the rule refuses; false when a shape depends on a value not known yet: dtypes are set then,
// shapes are not.
bool infer_symbolic(OpId op, const void* attrs, Span<const ValueInfo<SymDim>> in,
                    Span<ValueInfo<SymDim>> out);

// The types of a control node: its inputs' into its regions, the regions' to its outputs. Throws
// Error (no op name in the text).
void infer_control(Graph& graph, NodeId id);

// The shapes that a body's outputs would have for inputs of these: for stacks of no trip. 0 where
// only running tells.
std::vector<Shape> output_shapes(const Graph& body, Span<const Shape> inputs);

// The types of a node that reads or gives a sequence or an optional. Throws Error (no op name).
void infer_container(Graph& graph, NodeId id);
bool has_container(const Graph& graph, const Node& node);
// `with` among the elements of the container type `of`: sizes that differ are open then. Throws
// Error where the dtypes differ.
void join_elements(Value& of, const Value& with);
// A type for messages and texts: "float32 [2,3]", "sequence<float32> [2,?]".
std::string type_text(const Value& v);

// Elements of output 0 of a shape-computing node (Shape, Gather, Concat, Add ...) from its inputs'
// elements. False when they cannot be known.
bool compute_elements(const Graph& graph, const Node& node, std::vector<SymDim>* out);

}  // namespace wick::ir
