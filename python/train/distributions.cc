// Distributions of C++, which wick/train/distributions.py gives PyTorch's names.
#include "bind.h"

namespace wick::python {

namespace {

namespace of = wick::distributions;
using Made = std::shared_ptr<const of::Distribution>;

of::Param param(nb::handle given) {
  if (nb::isinstance<Tensor>(given)) return nb::cast<const Tensor&>(given);
  return nb::cast<double>(given);
}

template <class D>
void bind_one(nb::module_& m, const char* name) {
  m.def(name,
        [](nb::handle a, bool check) -> Made { return std::make_shared<D>(param(a), check); });
}
template <class D>
void bind_two(nb::module_& m, const char* name) {
  m.def(name, [](nb::handle a, nb::handle b, bool check) -> Made {
    return std::make_shared<D>(param(a), param(b), check);
  });
}
// Of probabilities, or of their logits.
template <class D>
void bind_either(nb::module_& m, const char* name) {
  m.def(name, [](nb::handle given, bool logits, bool check) -> Made {
    if (logits) return std::make_shared<D>(D::from_logits(param(given), check));
    return std::make_shared<D>(param(given), check);
  });
}

}  // namespace

void bind_distributions(nb::module_& m) {
  nb::class_<of::Distribution>(m, "NativeDistribution")
      .def_prop_ro("batch_shape", [](const of::Distribution& d) { return d.batch_shape(); })
      .def_prop_ro("event_shape", [](const of::Distribution& d) { return d.event_shape(); })
      .def_prop_ro("has_rsample", [](const of::Distribution& d) { return d.has_rsample(); })
      .def_prop_ro("mean", [](const of::Distribution& d) { return d.mean(); })
      .def_prop_ro("variance", [](const of::Distribution& d) { return d.variance(); })
      .def("sample",
           [](const of::Distribution& d, const SizeList& shape) {
             return free_of_lock([&] { return d.sample(shape); });
           })
      .def("rsample",
           [](const of::Distribution& d, const SizeList& shape) {
             return free_of_lock([&] { return d.rsample(shape); });
           })
      .def("log_prob",
           [](const of::Distribution& d, const Tensor& value) {
             return free_of_lock([&] { return d.log_prob(value); });
           })
      .def("entropy",
           [](const of::Distribution& d) { return free_of_lock([&] { return d.entropy(); }); });
  bind_two<of::Normal>(m, "make_normal");
  bind_two<of::LogNormal>(m, "make_log_normal");
  bind_two<of::Uniform>(m, "make_uniform");
  bind_two<of::Laplace>(m, "make_laplace");
  bind_two<of::Gamma>(m, "make_gamma");
  bind_two<of::Beta>(m, "make_beta");
  bind_one<of::Exponential>(m, "make_exponential");
  bind_one<of::Dirichlet>(m, "make_dirichlet");
  bind_one<of::Poisson>(m, "make_poisson");
  bind_either<of::Bernoulli>(m, "make_bernoulli");
  bind_either<of::Categorical>(m, "make_categorical");
  bind_either<of::OneHotCategorical>(m, "make_one_hot_categorical");
  bind_either<of::Geometric>(m, "make_geometric");
  m.def("make_multivariate_normal",
        [](nb::handle loc, nb::handle matrix, bool tril, bool check) -> Made {
          if (tril)
            return std::make_shared<of::MultivariateNormal>(
                of::MultivariateNormal::from_scale_tril(param(loc), param(matrix), check));
          return std::make_shared<of::MultivariateNormal>(param(loc), param(matrix), check);
        });
  m.def("make_independent", [](const Made& base, int dims) -> Made {
    return std::make_shared<of::Independent>(base, dims);
  });
  m.def("_kl_divergence", [](const of::Distribution& p, const of::Distribution& q) {
    return free_of_lock([&] { return kl_divergence(p, q); });
  });
}

}  // namespace wick::python
