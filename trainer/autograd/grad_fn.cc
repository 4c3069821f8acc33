#include "trainer/autograd/grad_fn.h"

#include "trainer/autograd/node.h"

namespace wick {

GradFn::GradFn(IntrusivePtr<Node> node) : node_(std::move(node)) {}
GradFn::GradFn(IntrusivePtr<TensorImpl> leaf) : leaf_(std::move(leaf)) {}
GradFn::~GradFn() = default;
GradFn::GradFn(const GradFn&) = default;
GradFn& GradFn::operator=(const GradFn&) = default;

std::string GradFn::name() const {
  return node_ ? node_->name() : leaf_ ? "AccumulateGrad" : "None";
}

std::vector<std::pair<GradFn, uint32_t>> GradFn::next_functions() const {
  std::vector<std::pair<GradFn, uint32_t>> next;
  if (!node_) return next;
  const Node& node = *node_;
  for (const Edge& e : node.edges()) {
    next.emplace_back(e.node ? GradFn(e.node) : e.leaf ? GradFn(e.leaf) : GradFn(), e.nr);
  }
  return next;
}

Where GradFn::where() const { return node_ ? node_->where : Where(); }
std::string GradFn::module_path() const { return node_ && node_->path ? node_->path->text : ""; }
Tensor GradFn::variable() const { return Tensor(leaf_); }
uint64_t GradFn::sequence_nr() const { return node_ ? node_->sequence : ~uint64_t{0}; }

GradFn Tensor::grad_fn() const {
  return requires_grad() && impl()->grad_fn ? GradFn(impl()->grad_fn) : GradFn();
}

}  // namespace wick
