// What becomes of a tensor: copies, dtypes and devices, and values that are written in place.
#include "bind.h"

namespace wick::python {

void bind_changes(nb::class_<Tensor>& t) {
  t.def("contiguous", [](const Tensor& x) { return x.contiguous(); });
  t.def("clone", [](const Tensor& x) { return free_of_lock([&] { return x.clone(); }); });
  t.def(
      "__deepcopy__",
      [](const Tensor& x, nb::handle) {
        if (!x.is_leaf())
          throw Error(
              "[deepcopy] the tensor was computed from others: copy x.detach(), or x.clone()");
        Tensor made = free_of_lock([&] { return x.detach().clone(); });
        if (x.requires_grad()) made.requires_grad_(true);
        if (x.grad().defined()) made.set_grad(x.grad().detach().clone());
        return made;
      },
      nb::arg("memo"));
  t.def("cpu", [](const Tensor& x) { return x.cpu(); });
  t.def(
      "to",
      [](const Tensor& x, DType dtype, bool) { return free_of_lock([&] { return x.to(dtype); }); },
      nb::arg("dtype"), nb::arg("non_blocking") = false);
  t.def(
      "to",
      [](const Tensor& x, const std::string& device, OptDType dtype, bool) {
        const Tensor moved = x.to(Device(device.c_str()));
        return dtype ? moved.to(*dtype) : moved;
      },
      nb::arg("device"), nb::arg("dtype").none() = nb::none(), nb::arg("non_blocking") = false);
  t.def(
      "to",
      [](const Tensor& x, const Tensor& other) {
        return x.to(Device(other.is_vulkan() ? "vulkan" : "cpu")).to(other.dtype());
      },
      nb::arg("other"));
  t.def(
      "type", [](const Tensor& x, DType dtype) { return x.to(dtype); }, nb::arg("dtype"));
  t.def("float", [](const Tensor& x) { return x.to(DType::kF32); });
  t.def("double", [](const Tensor& x) { return x.to(DType::kF64); });
  t.def("half", [](const Tensor& x) { return x.to(DType::kF16); });
  t.def("bfloat16", [](const Tensor& x) { return x.to(DType::kBF16); });
  t.def("long", [](const Tensor& x) { return x.to(DType::kI64); });
  t.def("int", [](const Tensor& x) { return x.to(DType::kI32); });
  t.def("bool", [](const Tensor& x) { return x.to(DType::kBool); });
  t.def("zero_", [](nb::handle_t<Tensor> self) {
    return in_place(self, [](const Tensor& x) { x.zero_(); });
  });
  t.def(
      "fill_",
      [](nb::handle_t<Tensor> self, Scalar v) {
        return in_place(self, [&](const Tensor& x) { x.fill_(v); });
      },
      nb::arg("value"));
  t.def(
      "copy_",
      [](nb::handle_t<Tensor> self, const Tensor& o) {
        return in_place(self, [&](const Tensor& x) { x.copy_(o); });
      },
      nb::arg("other"));
#define WICK_SCALED(name)                                                  \
  t.def(                                                                   \
      #name,                                                               \
      [](nb::handle_t<Tensor> self, const Tensor& o, Scalar alpha) {       \
        return in_place(self, [&](const Tensor& x) { x.name(o, alpha); }); \
      },                                                                   \
      nb::arg("other"), nb::kw_only(), nb::arg("alpha") = 1);              \
  t.def(                                                                   \
      #name,                                                               \
      [](nb::handle_t<Tensor> self, Scalar o) {                            \
        return in_place(self, [&](const Tensor& x) { x.name(o); });        \
      },                                                                   \
      nb::arg("other"));
  WICK_SCALED(add_)
  WICK_SCALED(sub_)
#define WICK_CHANGED(name)                                          \
  t.def(                                                            \
      #name,                                                        \
      [](nb::handle_t<Tensor> self, const Tensor& o) {              \
        return in_place(self, [&](const Tensor& x) { x.name(o); }); \
      },                                                            \
      nb::arg("other"));                                            \
  t.def(                                                            \
      #name,                                                        \
      [](nb::handle_t<Tensor> self, Scalar o) {                     \
        return in_place(self, [&](const Tensor& x) { x.name(o); }); \
      },                                                            \
      nb::arg("other"));
  WICK_CHANGED(mul_)
  WICK_CHANGED(div_)
  t.def(
      "uniform_",
      [](nb::handle_t<Tensor> self, double a, double b) {
        return in_place(self, [&](const Tensor& x) {
          NoGrad guard;
          x.copy_(uniform(x.raw_shape(), a, b, x.dtype()));
        });
      },
      nb::arg("from_") = 0.0, nb::arg("to") = 1.0);
  t.def(
      "normal_",
      [](nb::handle_t<Tensor> self, double mean, double std) {
        return in_place(self, [&](const Tensor& x) {
          NoGrad guard;
          x.copy_(randn(x.raw_shape(), x.dtype()).mul(std).add(mean));
        });
      },
      nb::arg("mean") = 0.0, nb::arg("std") = 1.0);

  t.def(
      "bernoulli_",
      [](nb::handle_t<Tensor> self, double p) {
        return in_place(self, [&](const Tensor& x) { bernoulli_(x, p); });
      },
      nb::arg("p") = 0.5);
  t.def(
      "exponential_",
      [](nb::handle_t<Tensor> self, double lambd) {
        return in_place(self, [&](const Tensor& x) { exponential_(x, lambd); });
      },
      nb::arg("lambd") = 1.0);
  t.def("random_", [](nb::handle_t<Tensor> self) {
    return in_place(self, [](const Tensor& x) { random_(x); });
  });
  t.def(
      "random_",
      [](nb::handle_t<Tensor> self, int64_t to) {
        return in_place(self, [&](const Tensor& x) { random_(x, 0, to); });
      },
      nb::arg("to"));
  t.def(
      "random_",
      [](nb::handle_t<Tensor> self, int64_t from, int64_t to) {
        return in_place(self, [&](const Tensor& x) { random_(x, from, to); });
      },
      nb::arg("from_"), nb::arg("to"));
}

}  // namespace wick::python
