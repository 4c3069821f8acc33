// Optimizers: C++'s, with PyTorch's arguments.
#include "bind.h"

namespace wick::python {

namespace {

template <class Optimizer, class Options>
std::shared_ptr<optim::Optimizer> made(std::vector<optim::Group<Options>> groups) {
  return std::make_shared<Optimizer>(std::move(groups));
}

// Reads the options of a group: what a dict has in place of the defaults.
template <class Options>
Options options_of(const nb::dict& given) {
  Options o;
  std::vector<std::string> known;
  o.fields([&](const char* name, auto& field) {
    known.push_back(name);
    if (given.contains(name)) field = nb::cast<std::decay_t<decltype(field)>>(given[name]);
  });
  for (auto [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    if (name != "params" && std::find(known.begin(), known.end(), name) == known.end())
      throw Error("[optim] there is no option '" + name + "'");
  }
  return o;
}

// Gives a group all of its options anew, and returns whether the optimizer is of this class. An
// Error leaves them.
template <class Optimizer, class Options>
bool set_options(optim::Optimizer& any, int group, const nb::dict& given) {
  auto* optimizer = dynamic_cast<Optimizer*>(&any);
  if (optimizer == nullptr) return false;
  Options changed = options_of<Options>(given);
  if constexpr (requires { changed.check("optim", Where::current()); })
    changed.check(optimizer->name(), Where::current());
  optimizer->options(group) = changed;
  return true;
}

template <class Options>
optim::Group<Options> group_of(const nb::dict& given) {
  return {nb::cast<std::vector<Tensor>>(given["params"]), options_of<Options>(given)};
}

template <class Optimizer, class Options>
void bind(nb::module_& m, const char* name) {
  m.def(name, [](const nb::list& groups) {
    std::vector<optim::Group<Options>> all;
    for (nb::handle each : groups) all.push_back(group_of<Options>(nb::cast<nb::dict>(each)));
    return made<Optimizer, Options>(std::move(all));
  });
}

// Adds a group, and returns whether the optimizer is of this class and takes another one.
template <class Optimizer, class Options>
bool add_group(optim::Optimizer& any, const nb::dict& given) {
  if constexpr (requires(Optimizer& o, optim::Group<Options> g) { o.add_param_group(g); }) {
    auto* optimizer = dynamic_cast<Optimizer*>(&any);
    if (optimizer == nullptr) return false;
    optimizer->add_param_group(group_of<Options>(given));
    return true;
  }
  return false;
}

}  // namespace

// Each class, its options, and what its function is called after "make_".
#define WICK_OPTIMIZERS(ROW)               \
  ROW(SGD, SgdOptions, sgd)                \
  ROW(Adam, AdamOptions, adam)             \
  ROW(AdamW, AdamWOptions, adamw)          \
  ROW(RMSprop, RMSpropOptions, rmsprop)    \
  ROW(Adagrad, AdagradOptions, adagrad)    \
  ROW(Adadelta, AdadeltaOptions, adadelta) \
  ROW(Adamax, AdamaxOptions, adamax)       \
  ROW(NAdam, NAdamOptions, nadam)          \
  ROW(RAdam, RAdamOptions, radam)          \
  ROW(ASGD, AsgdOptions, asgd)             \
  ROW(Rprop, RpropOptions, rprop)          \
  ROW(Lion, LionOptions, lion)             \
  ROW(Muon, MuonOptions, muon)             \
  ROW(LBFGS, LbfgsOptions, lbfgs)

void bind_optimizers(nb::module_& m) {
  nb::class_<optim::Optimizer>(m, "NativeOptimizer")
      .def("step",
           [](optim::Optimizer& self) {
             free_of_lock([&] {
               self.step();
               return 0;
             });
           })
      .def("step_by",
           [](optim::Optimizer& self, const nb::object& closure) {
             return self.step([&] { return nb::cast<Tensor>(closure()); });
           })
      .def(
          "zero_grad", [](optim::Optimizer& self, bool to_none) { self.zero_grad(to_none); },
          nb::arg("set_to_none") = true)
      .def("set_options",
           [](optim::Optimizer& self, int group, const nb::dict& given) {
             bool known = false;
#define WICK_SET(Class, Options, name) \
  known = known || set_options<optim::Class, optim::Options>(self, group, given);
             WICK_OPTIMIZERS(WICK_SET)
             return known;
           })
      .def("add_group",
           [](optim::Optimizer& self, const nb::dict& given) {
             bool known = false;
#define WICK_ADD(Class, Options, name) \
  known = known || add_group<optim::Class, optim::Options>(self, given);
             WICK_OPTIMIZERS(WICK_ADD)
             return known;
           })
      .def("state",
           [](const optim::Optimizer& self) {
             const optim::OptimizerState state = self.state_dict();
             nb::dict tensors;
             for (const auto& [name, tensor] : state.tensors)
               tensors[nb::cast(name)] = nb::cast(tensor);
             return nb::make_tuple(tensors, state.settings);
           })
      .def("load_state",
           [](optim::Optimizer& self, const nb::dict& tensors, const std::string& settings) {
             optim::OptimizerState state;
             for (auto [name, tensor] : tensors)
               state.tensors.emplace_back(nb::cast<std::string>(name), nb::cast<Tensor>(tensor));
             state.settings = settings;
             self.load_state_dict(state);
           });
#define WICK_BIND(Class, Options, name) bind<optim::Class, optim::Options>(m, "make_" #name);
  WICK_OPTIMIZERS(WICK_BIND)
}

}  // namespace wick::python
