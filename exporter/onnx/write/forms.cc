#include "exporter/onnx/write/forms.h"

#include <algorithm>

namespace wick::onnx {

FormFinder::FormFinder(const Graph& graph, int64_t at_opset)
    : g(graph),
      opset(at_opset),
      readers_(graph.users()),
      output_(graph.value_count()),
      taken_(graph.node_count()) {
  for (const GraphOutput& o : g.outputs()) output_[at(o.value)] = true;
}

void FormFinder::add(Form form) {
  for (NodeId id : form.nodes) taken_[at(id)] = true;
  forms.push_back(std::move(form));
}

const Node* SpelledOp::join(NodeId id, OpId op) {
  const Node &n = f_->g.node(id), &root = f_->g.node(root_);
  const bool like = n.name == root.name && n.module == root.module &&
                    n.source.file == root.source.file && n.source.line == root.source.line;
  if (n.op != op || !like || f_->taken(id)) return nullptr;
  nodes_.push_back(id);
  return &n;
}

const Node* SpelledOp::part(ValueId v, OpId op, size_t readers) {
  if (v == kNoValue || f_->g.value(v).origin != ValueOrigin::kNode || !f_->hidden(v) ||
      f_->readers(v).size() != readers)
    return nullptr;
  const Node* n = join(f_->g.value(v).producer, op);
  if (n != nullptr) std::rotate(nodes_.begin(), nodes_.end() - 1, nodes_.end());
  return n;
}

const Node* SpelledOp::reader(ValueId v, OpId op) {
  if (!f_->hidden(v) || f_->readers(v).size() != 1) return nullptr;
  const NodeId id = f_->readers(v)[0];
  return f_->g.node(id).inputs[0] == v ? join(id, op) : nullptr;
}

std::vector<Form> find_forms(const Graph& g, int64_t opset, std::vector<bool>* dropped) {
  FormFinder f(g, opset);
  find_norms(f);
  find_shuffles(f);
  dropped->assign(g.node_count(), false);
  if (f.forms.empty()) return {};
  std::vector<bool> read(g.value_count());
  for (const GraphOutput& o : g.outputs()) read[at(o.value)] = true;
  for (const Form& form : f.forms) {
    for (NodeId id : form.nodes) (*dropped)[at(id)] = true;
    for (ValueId v : form.inputs) read[at(v)] = true;
  }
  for (size_t i = g.node_count(); i-- > 0;) {
    const Node& n = g.node(static_cast<NodeId>(i));
    if (n.removed() || (*dropped)[i]) continue;
    const auto by = [&](ValueId v) { return read[at(v)]; };
    const auto had = [&](ValueId v) { return !f.readers(v).empty(); };
    if (std::none_of(n.outputs.begin(), n.outputs.end(), by) &&
        std::any_of(n.outputs.begin(), n.outputs.end(), had)) {
      (*dropped)[i] = true;  // sizes that only a form reads
      continue;
    }
    for (ValueId v : n.inputs) {
      if (v != kNoValue) read[at(v)] = true;
    }
  }
  return std::move(f.forms);
}

}  // namespace wick::onnx
