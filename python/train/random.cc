// Random numbers: tensors of them, and generators.
#include <nanobind/stl/unique_ptr.h>

#include "creation.h"

namespace wick::python {

namespace {

// Makes a generator that was given this thread's default while it lives.
struct Drawn {
  explicit Drawn(Generator* g) {
    if (g != nullptr) scope.emplace(*g);
  }
  std::optional<GeneratorScope> scope;
};

#define WICK_GENERATOR nb::arg("generator").none() = nb::none()
#define WICK_DRAWN(name)                                                                         \
  m.def(                                                                                         \
      #name,                                                                                     \
      [](const nb::args& size, Generator* g, OptDType dtype, const OptText& device, bool grad) { \
        const Drawn drawn(g);                                                                    \
        return placed(name(sizes_of(size), or_float(dtype)), device, grad);                      \
      },                                                                                         \
      nb::arg("size"), nb::kw_only(), WICK_GENERATOR, nb::arg("dtype").none() = nb::none(),      \
      nb::arg("device").none() = nb::none(), nb::arg("requires_grad") = false);                  \
  m.def(                                                                                         \
      #name,                                                                                     \
      [](const SizeList& size, Generator* g, OptDType dtype, const OptText& device, bool grad) { \
        const Drawn drawn(g);                                                                    \
        return placed(name(size, or_float(dtype)), device, grad);                                \
      },                                                                                         \
      nb::kw_only(), nb::arg("size"), WICK_GENERATOR, nb::arg("dtype").none() = nb::none(),      \
      nb::arg("device").none() = nb::none(), nb::arg("requires_grad") = false);
#define WICK_RANDOM_LIKE(name, of)                                                   \
  m.def(                                                                             \
      #name,                                                                         \
      [](const Tensor& x, OptDType dtype, const OptText& device, bool grad) {        \
        const OptText there = device || !x.is_vulkan() ? device : OptText("vulkan"); \
        return placed(of(x.raw_shape(), dtype.value_or(x.dtype())), there, grad);    \
      },                                                                             \
      nb::arg("input"), WICK_PLACE);

void bind_draws(nb::module_& m) {
  WICK_DRAWN(rand)
  WICK_DRAWN(randn)
  WICK_RANDOM_LIKE(rand_like, rand)
  WICK_RANDOM_LIKE(randn_like, randn)
  m.def(
      "randint",
      [](int64_t low, int64_t high, const SizeList& size, OptDType dtype, const OptText& device,
         bool grad, Generator* g) {
        const Drawn drawn(g);
        const Tensor made = randint(low, high, size);
        return placed(dtype ? made.to(*dtype) : made, device, grad);
      },
      nb::arg("low"), nb::arg("high"), nb::arg("size"), WICK_PLACE, WICK_GENERATOR);
  m.def(
      "randint",
      [](int64_t high, const SizeList& size, OptDType dtype, const OptText& device, bool grad,
         Generator* g) {
        const Drawn drawn(g);
        const Tensor made = randint(0, high, size);
        return placed(dtype ? made.to(*dtype) : made, device, grad);
      },
      nb::arg("high"), nb::arg("size"), WICK_PLACE, WICK_GENERATOR);
  m.def(
      "randperm",
      [](int64_t n, Generator* g) {
        const Drawn drawn(g);
        return randperm(n);
      },
      nb::arg("n"), nb::kw_only(), WICK_GENERATOR);
  m.def(
      "multinomial",
      [](const Tensor& x, int64_t samples, bool replacement, Generator* g) {
        const Drawn drawn(g);
        return multinomial(x, samples, replacement);
      },
      nb::arg("input"), nb::arg("num_samples"), nb::arg("replacement") = false, nb::kw_only(),
      WICK_GENERATOR);
  m.def(
      "bernoulli",
      [](const Tensor& x, Generator* g) {
        const Drawn drawn(g);
        return bernoulli(x);
      },
      nb::arg("input"), nb::kw_only(), WICK_GENERATOR);
  m.def(
      "bernoulli",
      [](const Tensor& x, double p, Generator* g) {
        const Drawn drawn(g);
        return bernoulli(full_like(x, p));
      },
      nb::arg("input"), nb::arg("p"), nb::kw_only(), WICK_GENERATOR);
  m.def(
      "randint_like",
      [](const Tensor& x, int64_t low, int64_t high) { return randint_like(x, low, high); },
      nb::arg("input"), nb::arg("low"), nb::arg("high"));
  m.def(
      "randint_like", [](const Tensor& x, int64_t high) { return randint_like(x, 0, high); },
      nb::arg("input"), nb::arg("high"));
  m.def(
      "poisson",
      [](const Tensor& rate, Generator* g) {
        const Drawn drawn(g);
        return distributions::Poisson(rate).sample().to(rate.dtype());
      },
      nb::arg("input"), nb::kw_only(), WICK_GENERATOR);
  m.def(
      "normal",
      [](double mean, double std, const SizeList& size, OptDType dtype, const OptText& device,
         bool grad, Generator* g) {
        const Drawn drawn(g);
        return placed(normal(mean, std, size, or_float(dtype)), device, grad);
      },
      nb::arg("mean"), nb::arg("std"), nb::arg("size"), WICK_PLACE, WICK_GENERATOR);
  m.def(
      "normal",
      [](const Tensor& mean, const Tensor& std, Generator* g) {
        const Drawn drawn(g);
        return normal(mean, std);
      },
      nb::arg("mean"), nb::arg("std"), nb::kw_only(), WICK_GENERATOR);
  m.def(
      "normal",
      [](const Tensor& mean, double std, Generator* g) {
        const Drawn drawn(g);
        return normal(mean, full_like(mean, std));
      },
      nb::arg("mean"), nb::arg("std") = 1.0, nb::kw_only(), WICK_GENERATOR);
  m.def(
      "normal",
      [](double mean, const Tensor& std, Generator* g) {
        const Drawn drawn(g);
        return normal(full_like(std, mean), std);
      },
      nb::arg("mean"), nb::arg("std"), nb::kw_only(), WICK_GENERATOR);
}

}  // namespace

void bind_random(nb::module_& m) {
  nb::class_<Generator>(m, "Generator")
      .def(
          "__init__", [](Generator* self, const OptText&) { new (self) Generator(); },
          nb::arg("device").none() = nb::none())
      .def(
          "manual_seed",
          [](nb::handle_t<Generator> self, uint64_t seed) {
            nb::inst_ptr<Generator>(self)->manual_seed(seed);
            return nb::borrow<nb::typed<nb::object, Generator>>(self);
          },
          nb::arg("seed"))
      .def("initial_seed", [](const Generator& g) { return g.initial_seed(); })
      .def("get_state", [](const Generator& g) { return g.get_state(); })
      .def(
          "set_state", [](Generator& g, const Tensor& state) { g.set_state(state); },
          nb::arg("new_state"));
  bind_draws(m);
  m.def(
      "manual_seed",
      [](uint64_t seed) {
        manual_seed(seed);
        auto alike = std::make_unique<Generator>();  // the default one may be a scope's, which ends
        alike->manual_seed(seed);
        return alike;
      },
      nb::arg("seed"), "Also returns a generator of its own with this seed.");
  m.def("initial_seed", [] { return initial_seed(); });
  m.def("seed", [] { return seed(); });
  m.def("get_rng_state", [] { return get_rng_state(); });
  m.def(
      "set_rng_state", [](const Tensor& state) { set_rng_state(state); }, nb::arg("new_state"));
  m.def(
      "_call_with_seed",
      [](uint64_t seed, nb::object f, nb::args arguments) -> nb::object {
        Generator own;
        own.manual_seed(seed);
        GeneratorScope scope(own);  // this thread's alone: others draw from theirs meanwhile
        return f(*arguments);
      },
      nb::arg("seed"), nb::arg("f"), nb::arg("arguments"),
      "f(*arguments), whose random numbers in this thread are those of a generator of its own.");
}

}  // namespace wick::python
