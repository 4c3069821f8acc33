#include "trainer/autograd/sparse_grad.h"

#include "trainer/autograd/hooks.h"
#include "trainer/autograd/sparse_slot.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/ops.h"

namespace wick {

SparseGrad::SparseGrad(const Shape& table, const Tensor& indices, const Tensor& values,
                       bool coalesced, Where where)
    : shape_(table), indices_(indices.detach()), values_(values.detach()), coalesced_(coalesced) {
  constexpr const char* kOp = "SparseGrad";
  bool fits = table.rank() >= 1 && indices.dtype() == DType::kI64 && indices.rank() == 1 &&
              values.rank() == table.rank() && values.raw_shape()[0] == indices.raw_shape()[0];
  for (int i = 1; fits && i < table.rank(); ++i) fits = values.raw_shape()[i] == table[i];
  if (!fits) {
    bad_shape(kOp,
              std::string("a table ") + to_text(table).text +
                  " needs int64 indices [k] and values [k, ...] of its rows, got " +
                  dtype_name(indices.dtype()) + text(indices) + " and " + text(values),
              where);
  }
  if (indices.layout().numel() == 0) return;
  NoGrad guard;
  const int64_t low = amin(indices_).item_int(), high = amax(indices_).item_int();
  if (low >= 0 && high < table[0]) return;
  throw_error(kOp,
              "row " + std::to_string(low < 0 ? low : high) + " is not in a table of " +
                  std::to_string(table[0]),
              where);
}

SparseGrad SparseGrad::coalesce() const {
  if (coalesced_) return *this;
  if (indices_.layout().numel() == 0) return {shape_, indices_, values_, true};
  NoGrad guard;
  const UniqueResult rows = unique(indices_, true, true);
  Shape kept = values_.raw_shape();
  kept[0] = rows.values.raw_shape()[0];
  const Tensor sums = zeros(kept, values_.dtype());
  sums.index_add_(0, rows.inverse, values_);  // in the order of the rows
  return {shape_, rows.values, sums, true};
}

Tensor SparseGrad::to_dense() const {
  NoGrad guard;
  const Tensor all = zeros(shape_, values_.dtype());
  if (indices_.layout().numel() > 0) all.index_add_(0, indices_, values_);
  return all;
}

SparseGrad SparseGrad::plus(const SparseGrad& more) const {
  NoGrad guard;
  return {shape_, cat({indices_, more.indices_}, 0), cat({values_, more.values_}, 0)};
}

bool has_sparse_grad(const Tensor& t) { return t.defined() && sparse_slot(t.impl()) != nullptr; }

std::optional<SparseGrad> sparse_grad(const Tensor& t) {
  if (!has_sparse_grad(t)) return {};
  return sparse_slot(t.impl())->grad;
}

SparseSlot* sparse_slot(const TensorImpl* t) {
  return t->hooks == nullptr ? nullptr : t->hooks->sparse.get();
}

void set_sparse_slot(TensorImpl* t, std::optional<SparseGrad> g) {
  if (!g) {
    if (t->hooks) t->hooks->sparse = nullptr;
    return;
  }
  if (!t->hooks) t->hooks = std::make_shared<TensorHooks>();
  if (SparseSlot* slot = sparse_slot(t)) {
    slot->added_to = slot->added_to || slot->applied_step != 0;
    slot->grad = *std::move(g);
  } else {
    t->hooks->sparse = std::make_shared<SparseSlot>(SparseSlot{*std::move(g)});
  }
}

AnyGrad AnyGrad::to(DType dtype) const {
  AnyGrad g;
  if (dense.defined()) g.dense = dense.detach().to(dtype);
  if (rows != nullptr) {
    const SparseGrad& r = rows->grad;
    const SparseGrad cast(r.shape(), r.indices(), r.values().to(dtype), r.is_coalesced());
    g.rows = std::make_shared<SparseSlot>(SparseSlot{cast, rows->applied_step, rows->added_to});
  }
  return g;
}

AnyGrad any_grad(const Tensor& t) {
  if (has_sparse_grad(t)) return {Tensor(), t.impl()->hooks->sparse};
  return {t.grad(), nullptr};
}

void set_any_grad(const Tensor& t, const AnyGrad& g) {
  t.set_grad(g.dense);
  if (g.rows == nullptr) return;
  if (!t.impl()->hooks) t.impl()->hooks = std::make_shared<TensorHooks>();
  t.impl()->hooks->sparse = g.rows;
}

std::vector<Tensor> gradient_tensors(const Tensor& t) {
  if (!has_sparse_grad(t)) return {t.grad()};
  const SparseGrad& g = sparse_slot(t.impl())->grad;
  return {g.indices(), g.values()};
}

void set_no_rows(const Tensor& table) {
  Shape none = table.raw_shape();
  none[0] = 0;
  table.set_grad(Tensor());
  set_sparse_slot(table.impl(), SparseGrad(table.raw_shape(), zeros({0}, DType::kI64),
                                           zeros(none, table.dtype()), true));
}

Tensor grad_or_dense(const Tensor& t) {
  return has_sparse_grad(t) ? sparse_slot(t.impl())->grad.to_dense() : t.grad();
}

std::string gradient_of_text(const TensorImpl* t) {
  return t->name.empty() ? "a gradient" : "the gradient of '" + t->name + "'";
}

void need_dense_grad(const char* op, const Tensor& t, const Where& where) {
  if (!has_sparse_grad(t)) return;
  throw_error(op,
              gradient_of_text(t.impl()) +
                  " is sparse, which this does not take: make its Embedding without sparse, or "
                  "leave the table out here",
              where, Code::kUnsupported);
}

}  // namespace wick
