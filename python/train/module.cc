// The module wick._train: training, for wick/train.
#include "bind.h"

namespace {

// Gives a warning to Python's own, whatever thread it comes from.
void warn_python(const wick::Warning& warning) {
  nb::gil_scoped_acquire lock;
  try {
    nb::module_::import_("wick.train._where").attr("warn")(warning.code, warning.text);
  } catch (nb::python_error& e) {
    e.discard_as_unraisable("a warning of wick.train");
  }
}

}  // namespace

NB_MODULE(_train, m) {
  using namespace wick::python;  // NOLINT: this function names its parts
  nb::set_leak_warnings(false);  // Python does not free modules at its end
  // wick/_errors.py has the classes; wick/train/_where.py puts the line of Python in place of this
  // module's.
  nb::register_exception_translator(
      [](const std::exception_ptr& p, void*) {
        try {
          std::rethrow_exception(p);
        } catch (const wick::Error& e) {
          nb::object error = nb::module_::import_("wick.train._where")
                                 .attr("error_of")(static_cast<int>(e.code()), e.what());
          PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
        }
      },
      nullptr);
  wick::set_warning_handler(&warn_python);
  bind_tensor(m);
  bind_functions(m);
  bind_layers(m);
  bind_scopes(m);
  bind_distributions(m);
  bind_optimizers(m);
  bind_export(m);
  bind_names(m, m.attr("Tensor"));
}
