#include "trainer/nn/change/parametrize.h"

#include "trainer/tensor/ops.h"

namespace wick::nn {
namespace {

// The child "parametrizations".
struct Dict : Module {
  const char* kind() const override { return "ModuleDict"; }
};

// For one parameter: the originals, and the parametrizations applied to them, "0", "1" ...
struct ParametrizationList : Module {
  const char* kind() const override { return "ParametrizationList"; }

  void append(std::shared_ptr<Parametrization> p) {
    chain.push_back(p);
    register_module(std::to_string(chain.size() - 1), std::move(p));
  }
  Tensor value() const {
    Tensor x = chain[0]->value_of(originals);
    for (size_t i = 1; i < chain.size(); ++i) x = chain[i]->value_of({x});
    return x;
  }

  std::vector<std::shared_ptr<Parametrization>> chain;
  std::vector<Tensor> originals;
};

std::shared_ptr<Module> child_of(const Module& m, const std::string& name) {
  for (const auto& [n, child] : m.children()) {
    if (n == name) return child;
  }
  return nullptr;
}

std::shared_ptr<ParametrizationList> list_of(const Module& m, const std::string& name) {
  std::shared_ptr<Module> dict = child_of(m, "parametrizations");
  return dict ? std::dynamic_pointer_cast<ParametrizationList>(child_of(*dict, name)) : nullptr;
}

std::string type_text(const Tensor& t) {
  if (!t.defined()) return "undefined";
  return std::string(dtype_name(t.dtype())) + to_text(t.raw_shape()).text;
}

void check_same_type(const char* what, const Tensor& value, const Tensor& like,
                     const Where& where) {
  if (value.defined() && value.dtype() == like.dtype() && value.raw_shape() == like.raw_shape())
    return;
  throw_error(
      "register_parametrization",
      std::string("the parameter is ") + type_text(like) + ", " + what + " is " + type_text(value),
      where, Code::kShapeMismatch);
}

class WeightNorm final : public Parametrization {
 public:
  explicit WeightNorm(int dim) : dim_(dim) {}
  const char* kind() const override { return "_WeightNorm"; }
  Tensor value_of(const std::vector<Tensor>& o) override { return o[1] * (o[0] / norm_of(o[1])); }
  std::vector<Tensor> right_inverse(const Tensor& w) override {
    return {norm_of(w), w.detach().clone()};
  }

 private:
  Tensor norm_of(const Tensor& v) const {
    if (dim_ == kNormOfAll) return norm(v);
    Dims others;
    for (int d = 0; d < v.rank(); ++d) {
      if (d != dim_) others.values[others.count++] = d;
    }
    return others.count == 0 ? abs(v) : norm(v, 2, others, true);
  }
  int dim_;
};

class SpectralNorm final : public Parametrization {
 public:
  SpectralNorm(const Tensor& w, int iterations, double eps, int dim)
      : iterations_(iterations), eps_(eps), dim_(dim) {
    if (w.rank() < 2) return;
    NoGrad guard;
    Tensor rows = matrix(w);
    u_ = register_buffer("_u", normalize(randn_like(rows.select(1, 0)), 2, 0, eps));
    v_ = register_buffer("_v", normalize(randn_like(rows.select(0, 0)), 2, 0, eps));
    iterate(rows, 15);
  }
  const char* kind() const override { return "_SpectralNorm"; }
  Tensor forward(const Arg& w) override {
    if (w.tensor.rank() < 2) return normalize(w, 2, 0, eps_);
    Tensor rows = matrix(w.tensor);
    if (training()) iterate(rows, iterations_);
    // Two forwards may come before their backward: each keeps its own vectors.
    Tensor u = u_.clone(), v = v_.clone();
    return w / dot(u, mv(rows, v));
  }

 private:
  Tensor matrix(Tensor w) const {
    if (dim_ != 0) {
      Shape axes{dim_};
      for (int d = 0; d < w.rank(); ++d) {
        if (d != dim_) axes.push_back(d);
      }
      w = w.permute(axes);
    }
    return w.flatten(1);
  }
  void iterate(const Tensor& rows, int times) {
    NoGrad guard;
    for (int i = 0; i < times; ++i) {
      u_.copy_(normalize(mv(rows, v_), 2, 0, eps_));
      v_.copy_(normalize(mv(rows.t(), u_), 2, 0, eps_));
    }
  }
  int iterations_;
  double eps_;
  int dim_;
  Tensor u_, v_;
};

class Cayley final : public Parametrization {
 public:
  explicit Cayley(const Tensor& w) {
    NoGrad guard;
    const int64_t n = std::max(w.raw_shape()[0], w.raw_shape()[1]),
                  k = std::min(w.raw_shape()[0], w.raw_shape()[1]);
    Tensor tall = w.raw_shape()[0] < w.raw_shape()[1] ? w.t() : w;
    if (n != k) tall = cat({tall.detach(), randn({n, n - k}, w.dtype())}, 1);
    auto [q, r] = linalg::qr(tall.detach());
    // By the signs of R's diagonal an orthogonal matrix is its own base.
    base_ = register_buffer("base", (q * sign(diagonal(r)).unsqueeze(0)).contiguous());
  }
  const char* kind() const override { return "_Orthogonal"; }
  Tensor forward(const Arg& original) override {
    Tensor x = original.tensor;
    const bool wide = x.raw_shape()[0] < x.raw_shape()[1];
    if (wide) x = x.t();
    const int64_t n = x.raw_shape()[0], k = x.raw_shape()[1];
    x = tril(x);
    if (n != k) x = cat({x, zeros({n, n - k}, x.dtype())}, 1);
    Tensor half = (x - x.t()) * 0.5, one = eye(n, x.dtype());
    Tensor q = linalg::solve(one - half, one + half);
    if (n != k) q = q.narrow(1, 0, k);
    q = matmul(base_, q);
    return wide ? q.t() : q;
  }
  // The skew part of -I is zero, so Q starts at base. PyTorch stores -I here for its Householder
  // map.
  std::vector<Tensor> right_inverse(const Tensor& w) override {
    Tensor t = zeros_like(w);
    diagonal(t).fill_(-1);
    return {t};
  }

 private:
  Tensor base_;
};

// Returns the parameter, or throws an Error that lists the existing ones.
Tensor parameter_of(Module& m, const std::string& name, const Where& where) {
  if (m.is_computed(name)) return m.find_tensor(name);
  return m.get_parameter(name, where);
}

int checked_dim(const char* op, int dim, const Tensor& w, const Where& where) {
  if (dim < -w.rank() || dim >= w.rank()) {
    throw_error(op, "dimension " + std::to_string(dim) + " of a parameter " + type_text(w), where);
  }
  return dim < 0 ? dim + w.rank() : dim;
}

}  // namespace

Tensor Parametrization::value_of(const std::vector<Tensor>& originals) {
  return forward(originals.at(0));
}
std::vector<Tensor> Parametrization::right_inverse(const Tensor& value) {
  return {value.detach().clone()};
}

void register_parametrization(Module& m, const std::string& name,
                              std::shared_ptr<Parametrization> p, Where where) {
  NoGrad guard;
  const Tensor now = parameter_of(m, name, where);
  p->train(m.training());
  if (std::shared_ptr<ParametrizationList> list = list_of(m, name)) {
    if (list->originals.size() != 1)
      throw_error("register_parametrization",
                  "'" + name +
                      "' has several originals: nothing can "
                      "be put before them",
                  where, Code::kUnsupported);
    std::vector<Tensor> inner = p->right_inverse(now.detach());
    if (inner.size() != 1)
      throw_error("register_parametrization",
                  "a second parametrization of '" + name + "' must have one original", where,
                  Code::kUnsupported);
    check_same_type("the second one's value", p->value_of(inner), now, where);
    for (size_t i = list->chain.size(); i-- > 0;) {
      inner = list->chain[i]->right_inverse(inner[0]);
    }
    check_same_type("the original", inner[0], list->originals[0], where);
    list->originals[0].copy_(inner[0], where);
    list->append(std::move(p));
    m.refresh();
    return;
  }
  if (m.is_computed(name)) {
    throw_error("register_parametrization", "'" + name + "' is computed by something else", where);
  }
  auto list = std::make_shared<ParametrizationList>();
  list->originals = p->right_inverse(now.detach());
  if (list->originals.empty())
    throw_error("register_parametrization", "right_inverse returned nothing", where);
  check_same_type("the parametrization's value", p->value_of(list->originals), now, where);
  const bool trains = now.requires_grad();
  for (size_t i = 0; i < list->originals.size(); ++i) {
    Tensor& o = list->originals[i];
    o = o.detach();
    std::string own = "original";
    if (list->originals.size() > 1) own += std::to_string(i);
    list->register_parameter(own, o).requires_grad_(trains);
  }
  list->append(std::move(p));
  if (!child_of(m, "parametrizations"))
    m.register_module("parametrizations", std::make_shared<Dict>());
  child_of(m, "parametrizations")->register_module(name, list);
  m.compute_parameter(
      name, [list](Module&) { return list->value(); }, where);
  list->train(m.training());
  m.refresh();
}

bool is_parametrized(const Module& m, const std::string& name) {
  return name.empty() ? child_of(m, "parametrizations") != nullptr : list_of(m, name) != nullptr;
}

void remove_parametrizations(Module& m, const std::string& name, bool leave_parametrized,
                             Where where) {
  std::shared_ptr<ParametrizationList> list = list_of(m, name);
  if (!list)
    throw_error("remove_parametrizations", "'" + name + "' is not parametrized", where,
                Code::kNotFound);
  if (!leave_parametrized && list->originals.size() != 1)
    throw_error("remove_parametrizations",
                "'" + name +
                    "' has several originals: it can only be "
                    "left as it is now",
                where);
  Tensor value;
  {
    NoGrad guard;
    const bool mode = list->training();
    list->train(false);  // only reads the value: nothing that training updates may change
    value = leave_parametrized ? list->value().clone() : list->originals[0].detach();
    list->train(mode);
  }
  value.requires_grad_(list->originals[0].requires_grad());
  m.restore_parameter(name, value, where);
  std::shared_ptr<Module> dict = child_of(m, "parametrizations");
  dict->unregister_module(name);
  if (dict->children().empty()) m.unregister_module("parametrizations");
}

void weight_norm(Module& m, const std::string& name, int dim, Where where) {
  if (dim != kNormOfAll) dim = checked_dim("weight_norm", dim, parameter_of(m, name, where), where);
  register_parametrization(m, name, std::make_shared<WeightNorm>(dim), where);
}

void spectral_norm(Module& m, const std::string& name, int n_power_iterations, double eps, int dim,
                   Where where) {
  Tensor w = parameter_of(m, name, where);
  dim = checked_dim("spectral_norm", dim, w, where);
  if (n_power_iterations < 1)
    throw_error("spectral_norm",
                "n_power_iterations must be positive, got " + std::to_string(n_power_iterations),
                where);
  if (!(eps > 0)) throw_error("spectral_norm", "eps must be positive", where);
  register_parametrization(
      m, name, std::make_shared<SpectralNorm>(w.detach(), n_power_iterations, eps, dim), where);
}

void orthogonal(Module& m, const std::string& name, Where where) {
  Tensor w = parameter_of(m, name, where);
  if (w.rank() != 2)
    throw_error("orthogonal", "expected a matrix, '" + name + "' is " + type_text(w), where);
  register_parametrization(m, name, std::make_shared<Cayley>(w.detach()), where);
}

}  // namespace wick::nn
