// ONNX operators that the graph spells out in several ops (a norm: mean, difference, square, mean,
// root, quotient) are written as the one operator that they are. A family's file finds those that
// it also reads, and its reader makes the same ops again, in the same arithmetic.
#pragma once

#include <functional>
#include <vector>

#include "exporter/onnx/write/write.h"

namespace wick::onnx {

struct Form {
  std::vector<NodeId> nodes;             // all nodes that it stands for
  NodeId last = -1;                      // the one of them that makes its value
  std::vector<ValueId> inputs;           // the inputs of the written operator
  std::function<void(WriteCtx&)> write;  // the context's node is `last`
};

class FormFinder {
 public:
  FormFinder(const Graph& graph, int64_t at_opset);
  const Graph& g;
  const int64_t opset;
  const std::vector<NodeId>& readers(ValueId v) const { return readers_[at(v)]; }
  // Returns whether only the nodes that read the value see it: it has no name and is no output.
  bool hidden(ValueId v) const { return g.value(v).name.empty() && !output_[at(v)]; }
  bool taken(NodeId id) const { return taken_[at(id)]; }
  void add(Form form);

  std::vector<Form> forms;

 private:
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> output_, taken_;
};

// SpelledOp collects nodes that may become one operator: they have one name, module and line, as
// nodes made from one call or one operator of a file have, and nothing else sees the values between
// them.
class SpelledOp {
 public:
  SpelledOp(const FormFinder& finder, NodeId root) : f_(&finder), root_(root), nodes_{root} {}
  // Returns the node of that op which makes v, if v has so many readers; else null.
  const Node* part(ValueId v, OpId op, size_t readers = 1);
  // Returns the node of that op which is the only reader of v and has it as its first input.
  const Node* reader(ValueId v, OpId op);
  Form form() const { return {nodes_, nodes_.back(), {}, {}}; }

 private:
  const Node* join(NodeId id, OpId op);
  const FormFinder* f_;
  NodeId root_;
  std::vector<NodeId> nodes_;
};

// Finds all forms of a graph at an opset, except those of its regions; `dropped` marks nodes that
// are not written, including those that only such nodes read.
std::vector<Form> find_forms(const Graph& g, int64_t opset, std::vector<bool>* dropped);

// The families' finders.
void find_norms(FormFinder& f);     // norm.cc
void find_shuffles(FormFinder& f);  // layout.cc

}  // namespace wick::onnx
