#include "trainer/autograd/functional.h"

#include "trainer/autograd/autograd.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"

namespace wick {
namespace {

// Returns inputs for this computation: new leaves, or with create_graph views that keep the
// history.
std::vector<Tensor> own(const char* what, const std::vector<Tensor>& inputs, bool create_graph,
                        const Where& where) {
  std::vector<Tensor> x;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    if (!t.defined() || !is_float(t.dtype())) {
      throw_error(what, "input " + std::to_string(i) + " is not a floating-point tensor", where,
                  Code::kTypeMismatch);
    }
    bool keep = create_graph && t.requires_grad();
    x.push_back(keep ? t.reshape(t.raw_shape(), where) : t.detach().requires_grad_());
  }
  return x;
}

Tensor zeros_as(const Tensor& t) { return zeros_like(t); }

void check_v(const char* what, const std::vector<Tensor>& v, const std::vector<Tensor>& like,
             const Where& where) {
  bool fits = v.size() == like.size();
  for (size_t i = 0; fits && i < v.size(); ++i) {
    fits = v[i].defined() && v[i].raw_shape() == like[i].raw_shape() &&
           v[i].dtype() == like[i].dtype();
  }
  if (!fits) {
    throw_error(what, "v must have the shapes and dtypes of what it is multiplied with", where,
                Code::kShapeMismatch);
  }
}

[[noreturn]] void independent(const char* what, size_t output, size_t input, const Where& where) {
  throw_error(what,
              "output " + std::to_string(output) + " of the function is independent of input " +
                  std::to_string(input) + ", which strict does not allow",
              where);
}

// Returns the gradients of `outputs` along `v`, zeros where there are none.
std::vector<Tensor> pull(const char* what, const std::vector<Tensor>& outputs,
                         const std::vector<Tensor>& inputs, const std::vector<Tensor>& v,
                         bool create_graph, bool strict, size_t output, const Where& where) {
  std::vector<Tensor> roots, along, g(inputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    roots.push_back(outputs[i]);
    along.push_back(v[i]);
  }
  if (!roots.empty()) g = grad(roots, inputs, along, true, create_graph, true, where);
  for (size_t i = 0; i < g.size(); ++i) {
    if (g[i].defined()) continue;
    if (strict) independent(what, output, i, where);
    g[i] = zeros_as(inputs[i]);
  }
  return g;
}

std::vector<Tensor> without_history(std::vector<Tensor> list, bool create_graph) {
  if (create_graph) return list;
  for (Tensor& t : list) t = t.detach();
  return list;
}

std::vector<Tensor> scalar_output(const char* what, const TensorFunction& f,
                                  const std::vector<Tensor>& x, const Where& where) {
  std::vector<Tensor> y = f(x);
  if (y.size() != 1 || y[0].layout().numel() != 1) {
    throw_error(what, "the function must give one tensor with one element", where,
                Code::kShapeMismatch);
  }
  return y;
}

// Returns the rows of dy / d inputs, stacked to y.shape + input.shape.
std::vector<Tensor> rows_of(const char* what, const Tensor& y, const std::vector<Tensor>& x,
                            const FunctionalOptions& o, size_t output, const Where& where) {
  int64_t n = y.layout().numel();
  std::vector<std::vector<Tensor>> rows(x.size());
  Tensor flat = y.reshape({n}, where);
  for (int64_t k = 0; k < n; ++k) {
    std::vector<Tensor> g = pull(what, {flat.select(0, k, where)}, x, {ones({}, y.dtype())},
                                 o.create_graph, o.strict, output, where);
    for (size_t i = 0; i < x.size(); ++i) rows[i].push_back(g[i].unsqueeze(0, where));
  }
  std::vector<Tensor> result;
  for (size_t i = 0; i < x.size(); ++i) {
    Shape shape = y.raw_shape();
    if (shape.rank() + x[i].rank() > kMaxRank) {
      throw_error(what, "an output and an input have more than 8 dimensions together", where,
                  Code::kShapeMismatch);
    }
    for (int64_t d : x[i].raw_shape()) shape.push_back(d);
    result.push_back(n == 0 ? zeros(shape, x[i].dtype()) : cat(rows[i], 0).reshape(shape, where));
  }
  return without_history(std::move(result), o.create_graph);
}

}  // namespace

OutputsAnd vjp(const TensorFunction& f, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& v, const FunctionalOptions& o, Where where) {
  EnableGrad on;
  std::vector<Tensor> x = own("vjp", inputs, o.create_graph, where), y = f(x), along = v;
  if (along.empty() && y.size() == 1 && y[0].layout().numel() == 1) along = {ones_like(y[0])};
  check_v("vjp", along, y, where);
  std::vector<Tensor> g = pull("vjp", y, x, along, o.create_graph, o.strict, 0, where);
  return {without_history(y, o.create_graph), without_history(g, o.create_graph)};
}

OutputsAnd jvp(const TensorFunction& f, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& v, const FunctionalOptions& o, Where where) {
  GradMode recording(o.create_graph);
  std::vector<Tensor> x;
  for (const Tensor& t : inputs) x.push_back(o.create_graph ? t : t.detach());
  check_v("jvp", v, x, where);
  std::vector<Tensor> y, t;
  {
    DualLevel level;
    for (size_t i = 0; i < x.size(); ++i) x[i] = make_dual(x[i], v[i], where);
    y = f(x);
    for (size_t k = 0; k < y.size(); ++k) {
      Dual d = unpack_dual(y[k]);
      if (!d.tangent.defined()) {
        if (o.strict) independent("jvp", k, 0, where);
        d.tangent = zeros_as(y[k]);
      }
      t.push_back(d.tangent);
    }
  }
  return {without_history(y, o.create_graph), without_history(t, o.create_graph)};
}

std::vector<std::vector<Tensor>> jacobian(const TensorFunction& f,
                                          const std::vector<Tensor>& inputs,
                                          const FunctionalOptions& o, Where where) {
  EnableGrad on;
  std::vector<Tensor> x = own("jacobian", inputs, o.create_graph, where), y = f(x);
  std::vector<std::vector<Tensor>> result;
  for (size_t k = 0; k < y.size(); ++k) {
    result.push_back(rows_of("jacobian", y[k], x, o, k, where));
  }
  return result;
}

std::vector<std::vector<Tensor>> hessian(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                         const FunctionalOptions& o, Where where) {
  EnableGrad on;
  std::vector<Tensor> x = own("hessian", inputs, o.create_graph, where);
  std::vector<Tensor> y = scalar_output("hessian", f, x, where);
  std::vector<Tensor> g = pull("hessian", y, x, {ones_like(y[0])}, true, o.strict, 0, where);
  std::vector<std::vector<Tensor>> result;
  for (size_t i = 0; i < g.size(); ++i) {
    result.push_back(rows_of("hessian", g[i], x, o, i, where));
  }
  return result;
}

OutputsAnd hvp(const TensorFunction& f, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& v, const FunctionalOptions& o, Where where) {
  EnableGrad on;
  std::vector<Tensor> x = own("hvp", inputs, o.create_graph, where);
  check_v("hvp", v, x, where);
  std::vector<Tensor> y, hv;
  {
    DualLevel level;
    std::vector<Tensor> dual;
    for (size_t i = 0; i < x.size(); ++i) dual.push_back(make_dual(x[i], v[i], where));
    y = scalar_output("hvp", f, dual, where);
    std::vector<Tensor> g =
        pull("hvp", y, dual, {ones_like(y[0])}, o.create_graph, o.strict, 0, where);
    for (size_t i = 0; i < g.size(); ++i) {
      Tensor t = unpack_dual(g[i]).tangent;
      if (!t.defined() && o.strict) independent("hvp", 0, i, where);
      hv.push_back(t.defined() ? t : zeros_as(x[i]));
    }
  }
  return {without_history(y, o.create_graph), without_history(hv, o.create_graph)};
}

OutputsAnd vhp(const TensorFunction& f, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& v, const FunctionalOptions& o, Where where) {
  EnableGrad on;
  std::vector<Tensor> x = own("vhp", inputs, o.create_graph, where);
  check_v("vhp", v, x, where);
  std::vector<Tensor> y = scalar_output("vhp", f, x, where);
  std::vector<Tensor> g = pull("vhp", y, x, {ones_like(y[0])}, true, o.strict, 0, where);
  std::vector<Tensor> h = pull("vhp", g, x, v, o.create_graph, o.strict, 0, where);
  return {without_history(y, o.create_graph), without_history(h, o.create_graph)};
}

}  // namespace wick
