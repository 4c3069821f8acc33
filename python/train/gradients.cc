// Gradients without .grad, and functions whose gradient is written in Python
// (wick/train/autograd.py).
#include "bind.h"

namespace wick::python {

namespace {

nb::object or_none(const Tensor& t) { return t.defined() ? nb::cast(t) : nb::none(); }

variable_list tensors_of(nb::handle listed) {
  variable_list made;
  for (nb::handle each : listed) {
    Tensor t;
    if (!each.is_none() && !nb::try_cast(each, t))
      throw Error(std::string("[autograd] a gradient is a ") + Py_TYPE(each.ptr())->tp_name +
                      ", must be a tensor or None",
                  wick::Code::kTypeMismatch);
    made.push_back(t);
  }
  return made;
}

// forward() returns its outputs, the tensors that it saves, those that have no gradient, and
// whether gradients that nothing flowed into are zeros. backward(gradients, saved) returns one for
// each of `inputs`.
variable_list apply_function(const std::string& name, const nb::object& forward,
                             nb::object backward, const std::vector<Tensor>& inputs) {
  FunctionCall call;
  call.name = name;
  call.where = Where::current();
  call.backward = [held = shared_object(std::move(backward))](AutogradContext& ctx,
                                                              const variable_list& gradients) {
    nb::gil_scoped_acquire lock;
    nb::list given, saved;
    for (const Tensor& each : gradients) given.append(or_none(each));
    for (const Tensor& each : ctx.get_saved_variables()) saved.append(or_none(each));
    return tensors_of((*held)(given, saved));
  };
  for (const Tensor& each : inputs) call.add(each);
  return call.run([&](AutogradContext& ctx) {
    const nb::object made = forward();
    ctx.save_for_backward(tensors_of(made[1]));
    ctx.mark_non_differentiable(tensors_of(made[2]));
    ctx.set_materialize_grads(nb::cast<bool>(made[3]));
    return tensors_of(made[0]);
  });
}

}  // namespace

void bind_gradients(nb::module_& m) {
  m.def("is_grad_enabled", [] { return grad_enabled(); });
  m.def("_set_grad_enabled", [](bool on) { set_grad_enabled(on); });
  m.def("_apply_function", &apply_function);
  m.def("_grad",
        [](const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
           const std::vector<std::optional<Tensor>>& given, bool retain, bool create, bool unused) {
          std::vector<Tensor> from;
          for (const std::optional<Tensor>& each : given) from.push_back(each.value_or(Tensor()));
          const std::vector<Tensor> found =
              free_of_lock([&] { return grad(outputs, inputs, from, retain, create, unused); });
          nb::list made;  // None where an output does not depend on the input
          for (const Tensor& each : found)
            made.append(each.defined() ? nb::cast(each) : nb::none());
          return made;
        });
}

}  // namespace wick::python
