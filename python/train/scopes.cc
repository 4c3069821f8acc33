// What counts for a thread while a scope lives: autocast and anomaly mode.
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
  m.def("_anomaly_mode",
        [](bool check_inf) { return Scope{std::make_shared<AnomalyMode>(check_inf)}; });
}

}  // namespace wick::python
