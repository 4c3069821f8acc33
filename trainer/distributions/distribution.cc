#include "trainer/distributions/distribution.h"

#include "trainer/distributions/check.h"
#include "trainer/tensor/compose.h"

namespace wick::distributions {

Shape Distribution::extended(const SizeList& shape, const Where& where) const {
  Shape all = shape;
  for (int64_t d : batch_shape_) all.push_back(d);
  for (int64_t d : event_shape_) all.push_back(d);
  if (all.overflowed()) {
    throw_error(name_,
                std::string("samples of shape ") + to_text(shape).text + " of a batch " +
                    to_text(batch_shape_).text + " and an event " + to_text(event_shape_).text +
                    " have more than " + std::to_string(kMaxRank) + " dimensions",
                where, Code::kShapeMismatch);
  }
  return all;
}

void Distribution::need_event(const char* op, const Arg& value) const {
  const Shape s = value.tensor.raw_shape(value.where);
  const int events = event_shape_.rank(), batch = s.rank() - events;
  bool fits = batch >= 0;
  for (int i = 0; fits && i < events; ++i) fits = s[batch + i] == event_shape_[i];
  if (fits) return;
  bad_shape(op,
            std::string("the last dims of a value must be an event's, ") +
                to_text(event_shape_).text + ", got " + text(value.tensor),
            value.where);
}

Tensor Distribution::sample(const SizeList& shape, Generator& g, Where where) const {
  NoGrad guard;
  return draw(extended(shape, where), g, where).detach(where);
}

Tensor Distribution::rsample(const SizeList& shape, Generator& g, Where where) const {
  if (!has_rsample()) {
    throw_error(name_,
                "has no rsample(): its draws are not differentiable. Use sample(), and log_prob() "
                "times the reward as the loss",
                where, Code::kUnsupported);
  }
  return draw(extended(shape, where), g, where);
}

Tensor Distribution::stddev() const { return sqrt(variance()); }

Tensor kl_divergence(const Distribution& p, const Distribution& q, Where where) {
  return p.kl_to(q, where);
}

void refuse_pair(const Distribution& p, const Distribution& q, const Where& where) {
  throw_error("kl_divergence",
              std::string("there is no formula from ") + p.name() + " to " + q.name() +
                  ": both must be of one family",
              where, Code::kUnsupported);
}

std::vector<Tensor> parameters(const char* op, std::initializer_list<Param> list) {
  DType dtype = DType::kNone;
  for (const Param& p : list) {
    if (!p.tensor.defined()) continue;
    const DType t = p.tensor.dtype(p.where);
    if (!is_float(t)) {
      throw_error(
          op,
          std::string("parameters must be floats, got ") + dtype_name(t) + ": convert with to()",
          p.where, Code::kTypeMismatch);
    }
    dtype = dtype == DType::kNone ? t : promote_types(dtype, t, p.where);
  }
  if (dtype == DType::kNone) dtype = DType::kF32;
  std::vector<Tensor> all;
  for (const Param& p : list) {
    all.push_back(p.tensor.defined() ? p.tensor.to(dtype, p.where)
                                     : full({}, p.number, dtype, p.where));
  }
  return all.size() == 1 ? all : broadcast_tensors(all, list.begin()->where);
}

void refuse_first(const char* op, const std::string& what, const Tensor& shown, const Tensor& good,
                  const Where& where) {
  if (good.layout().numel() == 0 || all(good).item(where) != 0) return;
  const Tensor mask = good.cpu(where).to(DType::kF64, where);
  const Tensor values =
      broadcast_to(shown.detach(where).cpu(where), good.raw_shape()).to(DType::kF64, where);
  const std::vector<double> ok = mask.to_vector<double>(where), v = values.to_vector<double>(where);
  size_t first = 0;
  while (first + 1 < ok.size() && ok[first] != 0) ++first;
  std::string at;
  auto rest = static_cast<int64_t>(first);
  for (int i = good.rank() - 1; i >= 0; --i) {
    const int64_t extent = good.raw_shape()[i];
    at = std::to_string(rest % extent) + (at.empty() ? "" : "," + at);
    rest /= extent;
  }
  throw_error(op,
              what + ", got " + short_number(v[first]) + (at.empty() ? "" : " at [" + at + "]") +
                  " (validate_args = false leaves this check out)",
              where);
}

std::string short_number(double x) {
  char text[32];
  snprintf(text, sizeof text, "%.9g", x);
  return text;
}

Tensor sum_of_last(const Tensor& x, int n) {
  if (n == 0) return x;
  return sum(x.flatten(x.rank() - n, -1), {-1});
}

}  // namespace wick::distributions
