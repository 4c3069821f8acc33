// The op rules over SymDim, and the values of small integer tensors (shapes) that are computed
// before running.
#pragma once

#include "graph/ir/graph.h"

namespace wick::ir {

constexpr int64_t kMaxElements = 64;  // of a tensor whose values shapes may depend on

// Runs one rule over symbols. `out` has its size set. Throws Error (without the op's name) if the
// rule refuses; returns false if a shape depends on a value that is not known yet: then dtypes are
// set and shapes are not.
bool infer_symbolic(OpId op, const void* attrs, Span<const ValueInfo<SymDim>> in,
                    Span<ValueInfo<SymDim>> out);

// Infers the types of a control node: from its inputs into its regions, and from the regions to its
// outputs. Throws Error (without the op's name).
void infer_control(Graph& graph, NodeId id);

// Returns the shapes that a body's outputs would have for inputs of these shapes, for stacked
// outputs of a loop without trips. A size that only running tells is 0.
std::vector<Shape> output_shapes(const Graph& body, Span<const Shape> inputs);

// Infers the types of a node that takes or returns a sequence or an optional. Throws Error (without
// the op's name).
void infer_container(Graph& graph, NodeId id);
bool has_container(const Graph& graph, const Node& node);
// Joins `with` into the elements of the container type `of`: sizes that differ become open. Throws
// Error if the dtypes differ.
void join_elements(Value& of, const Value& with);
// Returns a type for messages and texts: "float32 [2,3]", "sequence<float32> [2,?]".
std::string type_text(const Value& v);

// Computes the elements of output 0 of a shape-computing node (Shape, Gather, Concat, Add ...) from
// its inputs' elements. Returns false if they cannot be known.
bool compute_elements(const Graph& graph, const Node& node, std::vector<SymDim>* out);

}  // namespace wick::ir
