#include "trainer/tensor/ops/loss/label_loss.h"

#include <cmath>

#include "trainer/tensor/autocast.h"
#include "trainer/tensor/compose.h"

namespace wick {
namespace {

void need_labels(const char* op, const Arg& x, const Arg& target) {
  if (!is_float(x.tensor.dtype()) || target.tensor.dtype() != DType::kI64) {
    throw_error(op,
                std::string("needs floats and int64 targets, got ") + dtype_name(x.tensor.dtype()) +
                    " and " + dtype_name(target.tensor.dtype()) + ": convert with to()",
                x.where, Code::kTypeMismatch);
  }
  if (x.tensor.rank() < 1 || x.tensor.rank() > 2) {
    bad_shape(op, "needs [N, C] or [C], got " + text(x.tensor), x.where);
  }
}

// Checks that the target's values are in [low, C); in a capture nothing is read.
void need_classes(const char* op, const Arg& x, const Arg& target, int64_t low) {
  if (active_tracer() != nullptr) return;
  const int64_t classes = dim_of(x.tensor, -1);
  const std::vector<int64_t> v = target.tensor.to_vector<int64_t>(x.where);
  const int64_t row = target.tensor.rank() > 0 ? dim_of(target.tensor, -1) : 1;
  for (size_t i = 0; i < v.size(); ++i) {
    if (v[i] >= low && v[i] < classes) continue;
    const auto flat = static_cast<int64_t>(i);
    Shape place;
    if (target.tensor.rank() == 2) place.push_back(flat / row);
    if (target.tensor.rank() > 0) place.push_back(flat % row);
    throw_error(op,
                "target " + std::to_string(v[i]) + " at " + to_text(place).text +
                    " is no class: there are " + std::to_string(classes) + ", " +
                    std::to_string(low) + " to " + std::to_string(classes - 1) +
                    (low < 0 ? " (-1: no more labels)" : ""),
                x.where);
  }
}

}  // namespace

Tensor multilabel_margin_loss(const Arg& x, const Arg& target, Reduction reduction) {
  const char* op = "multilabel_margin_loss";
  const At at(x);
  const AutocastWide wide;
  need_labels(op, x, target);
  if (!(x.tensor.raw_shape() == target.tensor.raw_shape())) {
    bad_shape(
        op,
        "target must have the input's shape, got " + text(x.tensor) + " and " + text(target.tensor),
        x.where);
  }
  need_classes(op, x, target, -1);
  const int64_t classes = dim_of(x.tensor, -1);
  const DType t = x.tensor.dtype();
  // Labels up to the first -1.
  Tensor counts = cumprod(at(ge(target, 0).to(DType::kI64)), -1);
  Tensor label = where(at(eq(at(counts), 1)), target, at(full({}, 0, DType::kI64)));
  Tensor none = zeros(x.tensor.raw_shape(), DType::kI64);
  Tensor is_label = gt(at(scatter_add(at(none), -1, at(label), at(counts))), 0);
  Tensor own = gather(x, -1, at(label));
  // [..., label, other class]
  Tensor over =
      relu(at(sub(at(x.tensor.unsqueeze(-2, x.where)), at(own.unsqueeze(-1, x.where))) + 1.0));
  Tensor counted = mul(at(counts.unsqueeze(-1, x.where)),
                       at(logical_not(at(is_label)).to(DType::kI64).unsqueeze(-2, x.where)));
  Tensor loss = sum(at(mul(at(over), at(counted.to(t)))), {-2, -1});
  return reduced(mul(at(loss), 1.0 / static_cast<double>(std::max<int64_t>(classes, 1))), reduction,
                 at);
}

Tensor multilabel_soft_margin_loss(const Arg& x, const Arg& target, const Tensor& weight,
                                   Reduction reduction) {
  const char* op = "multilabel_soft_margin_loss";
  const At at(x);
  const AutocastWide wide;
  if (!(x.tensor.raw_shape() == target.tensor.raw_shape()) || x.tensor.rank() < 1) {
    bad_shape(
        op,
        "target must have the input's shape, got " + text(x.tensor) + " and " + text(target.tensor),
        x.where);
  }
  // -(t log sigmoid(x) + (1 - t) log sigmoid(-x)) = softplus(-x) + (1 - t) x
  Tensor loss = at(softplus(at(neg(x)))) + at(mul(at(1 - target), x));
  if (weight.defined()) loss = mul(at(loss), at(weight));
  return reduced(mean(at(loss), {-1}), reduction, at);
}

Tensor multi_margin_loss(const Arg& x, const Arg& target, int64_t p, double margin,
                         const Tensor& weight, Reduction reduction) {
  const char* op = "multi_margin_loss";
  const At at(x);
  const AutocastWide wide;
  need_labels(op, x, target);
  if (p != 1 && p != 2) {
    throw_error(op, "p must be 1 or 2, got " + std::to_string(p), x.where);
  }
  const int64_t classes = dim_of(x.tensor, -1);
  const int rank = x.tensor.rank();
  const bool fits = target.tensor.rank() == rank - 1 &&
                    (rank == 1 || dim_of(target.tensor, 0) == dim_of(x.tensor, 0));
  if (!fits) {
    bad_shape(op,
              "needs [N, C] and targets [N], got " + text(x.tensor) + " and " + text(target.tensor),
              x.where);
  }
  if (weight.defined() && !(weight.raw_shape() == Shape{classes})) {
    bad_shape(op, "weight must be [" + std::to_string(classes) + "], got " + text(weight), x.where);
  }
  need_classes(op, x, target, 0);
  Tensor row = target.tensor.unsqueeze(-1, x.where);
  Tensor over = relu(at(sub(x, at(gather(x, -1, at(row)))) + margin));
  if (p == 2) over = square(at(over));
  if (weight.defined()) {
    over = mul(at(over), at(index_select(at(weight), 0, target).unsqueeze(-1, x.where)));
  }
  Tensor other = ne(at(arange(classes)), at(row));
  Tensor loss = sum(at(where(at(other), at(over), 0)), {-1});
  return reduced(mul(at(loss), 1.0 / static_cast<double>(classes)), reduction, at);
}

Tensor triplet_margin_with_distance_loss(const Arg& anchor, const Arg& positive,
                                         const Arg& negative, const Distance& distance,
                                         double margin, bool swap, Reduction reduction) {
  const At at(anchor);
  const AutocastWide wide;
  auto d = [&](const Tensor& a, const Tensor& b) {
    return distance ? distance(a, b) : pairwise_distance(at(a), at(b));
  };
  Tensor to_near = d(anchor.tensor, positive.tensor), to_far = d(anchor.tensor, negative.tensor);
  if (swap) to_far = minimum(at(to_far), at(d(positive.tensor, negative.tensor)));
  return reduced(relu(at(sub(at(to_near), at(to_far)) + margin)), reduction, at);
}

}  // namespace wick
