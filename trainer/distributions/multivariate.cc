#include "trainer/distributions/multivariate.h"

#include "trainer/distributions/check.h"
#include "trainer/tensor/device/vulkan_memory.h"

namespace wick::distributions {
namespace {

// log of the square root of the determinant of L L^T.
Tensor half_log_det(const Tensor& l) { return sum(log(diagonal(l, 0, -2, -1)), {-1}); }

// |L^-1 off|^2 of vectors off[..., n].
Tensor squared_distance(const Tensor& l, const Tensor& off, const Where& line) {
  const Tensor x = linalg::solve_triangular({l, line}, {off.unsqueeze(-1, line), line}, false);
  return sum(square(x.squeeze(-1, line)), {-1});
}

Shape head(const Shape& s, int drop) {
  Shape h = s;
  h.set_rank(s.rank() - drop);
  return h;
}
Shape tail(const Shape& s, int from) {
  Shape t;
  for (int i = from; i < s.rank(); ++i) t.push_back(s[i]);
  return t;
}

}  // namespace

MultivariateNormal::Parts MultivariateNormal::parts_of(const Param& loc, const Param& matrix,
                                                       bool is_covariance, bool validate) {
  constexpr const char* kOp = "MultivariateNormal";
  const char* name = is_covariance ? "covariance" : "scale_tril";
  const Where& line = loc.where;
  const Tensor &m = loc.tensor, &a = matrix.tensor;
  if (!m.defined() || !a.defined() || m.rank() < 1 || a.rank() < 2 ||
      dim_of(a, -1) != dim_of(m, -1) || dim_of(a, -2) != dim_of(m, -1)) {
    auto shape = [](const Tensor& t) { return t.defined() ? text(t) : std::string("a number"); };
    bad_shape(kOp,
              std::string("needs loc [..., n] and ") + name + " [..., n, n], got " + shape(m) +
                  " and " + shape(a),
              line);
  }
  if (m.dtype() != a.dtype() || (m.dtype() != DType::kF32 && m.dtype() != DType::kF64)) {
    throw_error(kOp,
                std::string("loc and ") + name + " must both be float32 or float64, got " +
                    dtype_name(m.dtype()) + " and " + dtype_name(a.dtype()) + ": convert with to()",
                line, Code::kTypeMismatch);
  }
  Tensor l = a;
  if (validate) require_real(kOp, "loc", m, line);
  if (is_covariance) {
    if (validate) {
      const Tensor other = mt(a.detach(), At(line));
      require(kOp, "covariance must be symmetric", a, line,
              [&](const Tensor& x) { return isclose(x, other, 1e-5, 1e-6); });
    }
    l = linalg::cholesky({a, line});
  } else if (validate) {
    require(kOp, "scale_tril must be 0 above the diagonal", a, line,
            [](const Tensor& x) { return eq(x, tril(x)); });
    require_positive(kOp, "the diagonal of scale_tril", diagonal(a.detach(), 0, -2, -1), line);
  }
  // loc gets the dims that L has more: a column of L has loc's dims.
  const Tensor rows = select(l.detach(), -1, 0);
  const Shape wide = broadcast_tensors({m, rows}, line)[0].raw_shape();
  return {broadcast_to({m, line}, wide), l};
}

MultivariateNormal::MultivariateNormal(const Param& loc, const Param& covariance,
                                       bool validate_args)
    : MultivariateNormal(parts_of(loc, covariance, true, validate_args), validate_args) {}
MultivariateNormal MultivariateNormal::from_scale_tril(const Param& loc, const Param& scale_tril,
                                                       bool validate_args) {
  return {parts_of(loc, scale_tril, false, validate_args), validate_args};
}
MultivariateNormal::MultivariateNormal(const Parts& parts, bool validate_args)
    : Distribution("MultivariateNormal", head(parts.loc.raw_shape(), 1), {dim_of(parts.loc, -1)},
                   validate_args),
      loc_(parts.loc),
      scale_tril_(parts.scale_tril) {}

Tensor MultivariateNormal::covariance_matrix() const {
  return matmul(scale_tril_, scale_tril_.transpose(-2, -1));
}
Tensor MultivariateNormal::variance() const {
  return broadcast_to(sum(square(scale_tril_), {-1}), loc_.raw_shape());
}

Tensor MultivariateNormal::log_prob(const Arg& value) const {
  constexpr const char* kOp = "MultivariateNormal.log_prob";
  Composite composite(kOp, value.where);
  need_event(kOp, value);
  if (validates()) require_real(kOp, "a value", value.tensor, value.where);
  const Tensor off = value - loc_;
  const double constant = static_cast<double>(dim_of(loc_, -1)) * kLog2Pi;
  return (squared_distance(scale_tril_, off, value.where) + constant) * -0.5 -
         half_log_det(scale_tril_);
}

Tensor MultivariateNormal::entropy() const {
  const double constant = static_cast<double>(dim_of(loc_, -1)) * (1 + kLog2Pi) / 2;
  return broadcast_to(half_log_det(scale_tril_) + constant, batch_shape());
}

Tensor MultivariateNormal::draw(const Shape& shape, Generator& g, const Where& line) const {
  const Tensor noise =
      unrecorded([&] { return moved_beside(loc_, randn(shape, loc_.dtype(), g, line), line); });
  return loc_ + matmul(scale_tril_, noise.unsqueeze(-1, line)).squeeze(-1, line);
}

Tensor MultivariateNormal::kl_to(const Distribution& other, const Where& line) const {
  const MultivariateNormal& q = of_family(*this, other, line);
  const int64_t n = dim_of(loc_, -1);
  if (n != dim_of(q.loc_, -1)) {
    bad_shape("kl_divergence",
              "one is of vectors of " + std::to_string(n) + " numbers, the other of " +
                  std::to_string(dim_of(q.loc_, -1)),
              line);
  }
  const Tensor turned = linalg::solve_triangular({q.scale_tril_, line}, {scale_tril_, line}, false);
  const Tensor trace = sum(square(turned), {-2, -1});
  const Tensor apart = squared_distance(q.scale_tril_, q.loc_ - loc_, line);
  return half_log_det(q.scale_tril_) - half_log_det(scale_tril_) +
         (trace + apart - static_cast<double>(n)) * 0.5;
}

static const Distribution& checked(const std::shared_ptr<const Distribution>& base, int dims,
                                   const Where& line) {
  if (base == nullptr) throw_error("Independent", "got no distribution", line);
  const int rank = base->batch_shape().rank();
  if (dims < 0 || dims > rank) {
    throw_error("Independent",
                "dims must be 0 to " + std::to_string(rank) + ", the dims of the batch " +
                    to_text(base->batch_shape()).text + ", got " + std::to_string(dims),
                line);
  }
  return *base;
}
static Shape joined_event(const Distribution& base, int dims) {
  Shape event = tail(base.batch_shape(), base.batch_shape().rank() - dims);
  for (int64_t d : base.event_shape()) event.push_back(d);
  return event;
}

Independent::Independent(std::shared_ptr<const Distribution> base, int dims, Where where)
    : Distribution("Independent", head(checked(base, dims, where).batch_shape(), dims),
                   joined_event(checked(base, dims, where), dims), false),
      base_(std::move(base)),
      dims_(dims) {}

Tensor Independent::log_prob(const Arg& value) const {
  return sum_of_last(base_->log_prob(value), dims_);
}
Tensor Independent::entropy() const { return sum_of_last(base_->entropy(), dims_); }

Tensor Independent::draw(const Shape& shape, Generator& g, const Where& line) const {
  return draw_of(*base_, shape, g, line);
}

Tensor Independent::kl_to(const Distribution& other, const Where& line) const {
  const Independent& q = of_family(*this, other, line);
  if (dims_ != q.dims_) {
    bad_shape("kl_divergence",
              "one has " + std::to_string(dims_) + " independent dims, the other " +
                  std::to_string(q.dims_),
              line);
  }
  return sum_of_last(kl_divergence(*base_, *q.base_, line), dims_);
}

}  // namespace wick::distributions
