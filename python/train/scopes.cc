// What counts for a thread while a scope lives, autocast and anomaly mode; and the scale of a loss.
#include "bind.h"

namespace wick::python {

namespace {

// One of C++'s scopes, which a context manager of Python's ends.
struct Scope {
  std::shared_ptr<void> held;
};

}  // namespace

void bind_scopes(nb::module_& m) {
  nb::class_<Scope>(m, "Scope").def("end", [](Scope& s) { s.held.reset(); });
  m.def("_autocast", [](DType low, bool enabled) {
    return Scope{std::make_shared<AutocastScope>(low, enabled)};
  });
  m.def("_autocast_dtype", []() -> std::optional<DType> {
    if (!autocast_enabled()) return {};
    return autocast_dtype();
  });
  using optim::GradScaler;
  nb::class_<GradScaler>(m, "NativeScaler")
      .def(
          "__init__",
          [](GradScaler* self, double init_scale, double growth, double backoff, int64_t interval) {
            new (self) GradScaler({init_scale, growth, backoff, interval, true});
          })
      .def("scale", [](GradScaler& s, const Tensor& x) { return s.scale(x); })
      .def("unscale_", [](GradScaler& s, optim::Optimizer& o) { s.unscale_(o); })
      .def("step", [](GradScaler& s, optim::Optimizer& o) { return s.step(o); })
      .def(
          "update", [](GradScaler& s, std::optional<double> scale) { s.update(scale); },
          nb::arg("new_scale").none())
      .def("get_scale", &GradScaler::get_scale)
      .def("state_dict", &GradScaler::state_dict)
      .def("load_state_dict",
           [](GradScaler& s, const std::string& state) { s.load_state_dict(state); });
  m.def("_anomaly_mode",
        [](bool check_inf) { return Scope{std::make_shared<AnomalyMode>(check_inf)}; });
}

}  // namespace wick::python
