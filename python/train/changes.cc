// What becomes of a tensor: copies, dtypes and devices, and values that are written in place.
#include "creation.h"
#include "trainer/tensor/inplace.h"

namespace wick::python {

namespace {

Tensor at(const Tensor& x, const char* device, OptDType dtype) {
  const Tensor moved = x.to(Device(device));
  return dtype ? moved.to(*dtype) : moved;
}

// Tensors of the dtype and on the device of another, where nothing else is asked for.
void bind_new(nb::class_<Tensor>& t) {
#define WICK_NEW(name)                                                                 \
  t.def(                                                                               \
      #name,                                                                           \
      [](const Tensor& x, const nb::args& size, OptDType dtype, const OptText& device, \
         bool grad) { return placed(name(x, sizes_of(size), dtype), device, grad); },  \
      nb::arg("size"), WICK_PLACE);                                                    \
  t.def(                                                                               \
      #name,                                                                           \
      [](const Tensor& x, const SizeList& size, OptDType dtype, const OptText& device, \
         bool grad) { return placed(name(x, size, dtype), device, grad); },            \
      nb::kw_only(), nb::arg("size"), nb::arg("dtype").none() = nb::none(),            \
      nb::arg("device").none() = nb::none(), nb::arg("requires_grad") = false);
  WICK_NEW(new_empty)
  WICK_NEW(new_zeros)
  WICK_NEW(new_ones)
  t.def(
      "new_full",
      [](const Tensor& x, const SizeList& size, Scalar value, OptDType dtype, const OptText& device,
         bool grad) { return placed(new_full(x, size, value, dtype), device, grad); },
      nb::arg("size"), nb::arg("fill_value"), WICK_PLACE);
  t.def(
      "new_tensor",
      [](const Tensor& x, const nb::object& data, OptDType dtype, const OptText& device,
         bool grad) {
        const Tensor made =
            nb::cast<Tensor>(nb::module_::import_("wick.train").attr("tensor")(data));
        return placed(at(made, x.is_vulkan() ? "vulkan" : "cpu", dtype.value_or(x.dtype())), device,
                      grad);
      },
      nb::arg("data"), WICK_PLACE);
  t.def(
      "new",
      [](const Tensor& x, const nb::args& of) {
        const nb::object made = nb::module_::import_("wick.train").attr("Tensor")(*of);
        return nb::cast<const Tensor&>(made).to(x.dtype());
      },
      "PyTorch's old name of new_tensor() and new_empty().");
}

void bind_where(nb::class_<Tensor>& t) {
  t.def(
      "where",
      [](const Tensor& x, const Tensor& c, const Tensor& other) {
        return free_of_lock([&] { return where(c, x, other); });
      },
      nb::arg("condition"), nb::arg("other"));
  t.def(
      "where",
      [](const Tensor& x, const Tensor& c, Scalar other) {
        return free_of_lock([&] { return where(c, x, other); });
      },
      nb::arg("condition"), nb::arg("other"));
  t.def(
      "scatter_reduce_",
      [](nb::handle_t<Tensor> self, int dim, const Tensor& index, const Tensor& src,
         const std::string& reduce, bool include_self) {
        return in_place(self, [&](const Tensor& x) {
          wick::in_place("scatter_reduce_", x, [&](const Arg& old) {
            return scatter_reduce(old, dim, index, src, reduce, include_self);
          });
        });
      },
      nb::arg("dim"), nb::arg("index"), nb::arg("src"), nb::arg("reduce"), nb::kw_only(),
      nb::arg("include_self") = true);
  // Threads share all memory, and none is a device's.
  for (const char* name : {"pin_memory", "share_memory_"})
    t.def(name, [](nb::handle_t<Tensor> self) {
      return nb::borrow<nb::typed<nb::object, Tensor>>(self);
    });
  t.def("is_shared", [](const Tensor&) { return false; });
  t.def("is_pinned", [](const Tensor&) { return false; });
  t.def(
      "fill_diagonal_",
      [](nb::handle_t<Tensor> self, Scalar value) {
        return in_place(self, [&](const Tensor& x) { x.diagonal().fill_(value); });
      },
      nb::arg("fill_value"));
}

// Norms that have a name: of all elements, or of a matrix.
Tensor named_norm(const Tensor& x, const std::string& p, const Dims& dims, bool keepdim) {
  return free_of_lock([&] {
    if (p == "fro") return x.norm(2, dims, keepdim);
    return linalg::matrix_norm(x, p.c_str(), dims.count == 0 ? Dims{-2, -1} : dims, keepdim);
  });
}

}  // namespace

void bind_norms(nb::module_& m, nb::class_<Tensor>& t) {
  t.def("norm", &named_norm, nb::arg("p"), nb::arg("dim").none() = nb::none(),
        nb::arg("keepdim") = false);
  m.def("norm", &named_norm, nb::arg("input"), nb::arg("p"), nb::arg("dim").none() = nb::none(),
        nb::arg("keepdim") = false);
}

void bind_changes(nb::class_<Tensor>& t) {
  // Tensors have one layout, whatever layout is asked for.
  t.def(
      "contiguous", [](const Tensor& x, const OptText&) { return x.contiguous(); }, nb::kw_only(),
      nb::arg("memory_format").none() = nb::none());
  t.def(
      "clone",
      [](const Tensor& x, const OptText&) { return free_of_lock([&] { return x.clone(); }); },
      nb::kw_only(), nb::arg("memory_format").none() = nb::none());
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
#define WICK_TO(taken, made, ...)                                                           \
  t.def(                                                                                    \
      "to",                                                                                 \
      [](const Tensor& x, taken, bool, bool copy, const OptText&) {                         \
        return free_of_lock([&] {                                                           \
          const Tensor moved = made;                                                        \
          return copy && moved.is_same(x) ? x.clone() : moved;                              \
        });                                                                                 \
      },                                                                                    \
      __VA_ARGS__, nb::arg("non_blocking") = false, nb::arg("copy") = false, nb::kw_only(), \
      nb::arg("memory_format").none() = nb::none());
#define WICK_AND ,
  WICK_TO(DType dtype, x.to(dtype), nb::arg("dtype"))
  WICK_TO(const std::string& device WICK_AND OptDType dtype, at(x, device.c_str(), dtype),
          nb::arg("device"), nb::arg("dtype").none() = nb::none())
  WICK_TO(const Tensor& other, at(x, other.is_vulkan() ? "vulkan" : "cpu", other.dtype()),
          nb::arg("other"))
  t.def(
      "to",  // of a memory format alone
      [](const Tensor& x, const OptText&) { return x; }, nb::kw_only(), nb::arg("memory_format"));
  t.def("cuda", [](const Tensor&, const nb::args&) -> Tensor {
    throw Error("[cuda] there is no CUDA here: x.to(\"vulkan\") takes a GPU, x.to(\"cpu\") stays",
                wick::Code::kUnsupported);
  });
  t.def(
      "type",
      [](const Tensor& x, nb::handle kind, bool) -> nb::object {
        if (kind.is_none()) return nb::cast(std::string("torch.") + type_name(x));
        const bool old = nb::hasattr(kind, "dtype");  // torch.LongTensor
        return nb::cast(x.to(nb::cast<DType>(old ? kind.attr("dtype") : nb::borrow(kind))));
      },
      nb::arg("dtype").none() = nb::none(), nb::arg("non_blocking") = false,
      "The tensor of another dtype; without one the name that PyTorch has for this one's.");
  t.def("float", [](const Tensor& x) { return x.to(DType::kF32); });
  t.def("double", [](const Tensor& x) { return x.to(DType::kF64); });
  t.def("half", [](const Tensor& x) { return x.to(DType::kF16); });
  t.def("bfloat16", [](const Tensor& x) { return x.to(DType::kBF16); });
  t.def("long", [](const Tensor& x) { return x.to(DType::kI64); });
  t.def("int", [](const Tensor& x) { return x.to(DType::kI32); });
  t.def("short", [](const Tensor& x) { return x.to(DType::kI16); });
  t.def("char", [](const Tensor& x) { return x.to(DType::kI8); });
  t.def("byte", [](const Tensor& x) { return x.to(DType::kU8); });
  t.def("bool", [](const Tensor& x) { return x.to(DType::kBool); });
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
#include "changes.inc"
  bind_new(t);
  bind_where(t);
  t.def(
      "random_",
      [](nb::handle_t<Tensor> self, int64_t to) {
        return in_place(self, [&](const Tensor& x) { random_(x, 0, to); });
      },
      nb::arg("to"));
}

}  // namespace wick::python
