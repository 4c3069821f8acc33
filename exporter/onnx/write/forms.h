// Operators of ONNX that the graph spells out in ops (a norm: mean, difference, square, mean, root,
// quotient): written as the one they are. A family's file finds those whose reader it has, and that
// reader makes the same ops again, in the same arithmetic.
#pragma once

#include <functional>
#include <vector>

#include "exporter/onnx/write/write.h"

namespace wick::onnx {

struct Form {
  std::vector<NodeId> nodes;             // all that it stands for
  NodeId last = -1;                      // which of them makes its value
  std::vector<ValueId> inputs;           // what is written of it reads these
  std::function<void(WriteCtx&)> write;  // the context's node is `last`
};

class FormFinder {
 public:
  FormFinder(const Graph& graph, int64_t at_opset);
  const Graph& g;
  const int64_t opset;
  const std::vector<NodeId>& readers(ValueId v) const { return readers_[at(v)]; }
  // Nobody sees the value but the nodes that read it: it has no name and is no output.
  bool hidden(ValueId v) const { return g.value(v).name.empty() && !output_[at(v)]; }
  bool taken(NodeId id) const { return taken_[at(id)]; }
  void add(Form form);

  std::vector<Form> forms;

 private:
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> output_, taken_;
};

// Nodes that may become one operator: of one name, module and line, as what one call or one
// operator of a file became, with values between them that nobody else sees.
class SpelledOp {
 public:
  SpelledOp(const FormFinder& finder, NodeId root) : f_(&finder), root_(root), nodes_{root} {}
  // The node of that op which makes v, whose readers are so many; null: there is none.
  const Node* part(ValueId v, OpId op, size_t readers = 1);
  // The node of that op which alone reads v, as its first input.
  const Node* reader(ValueId v, OpId op);
  Form form() const { return {nodes_, nodes_.back(), {}, {}}; }

 private:
  const Node* join(NodeId id, OpId op);
  const FormFinder* f_;
  NodeId root_;
  std::vector<NodeId> nodes_;
};

// All forms of a graph at an opset, the regions' left out; `dropped`: nodes that are not written,
// those included that only such nodes read.
std::vector<Form> find_forms(const Graph& g, int64_t opset, std::vector<bool>* dropped);

// The families' finders.
void find_norms(FormFinder& f);     // norm.cc
void find_shuffles(FormFinder& f);  // layout.cc

}  // namespace wick::onnx
