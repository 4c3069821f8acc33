// Shared by the functions that make tensors: where, and with which generator.
#pragma once

#include "bind.h"

namespace wick::python {

inline DType or_float(OptDType dtype) { return dtype.value_or(DType::kF32); }

// What a new tensor is asked to be, beside its dtype.
using OptText = std::optional<std::string>;
inline Tensor placed(Tensor t, const OptText& device, bool requires_grad) {
  if (device) t = t.to(Device(device->c_str()));
  if (requires_grad) t.requires_grad_(true);
  return t;
}

// The keywords of functions that make tensors, in this order.
#define WICK_PLACE                                                                            \
  nb::kw_only(), nb::arg("dtype").none() = nb::none(), nb::arg("device").none() = nb::none(), \
                 nb::arg("requires_grad") = false
#define WICK_SIZED(name, made)                                                      \
  m.def(                                                                            \
      #name,                                                                        \
      [](const nb::args& size, OptDType dtype, const OptText& device, bool grad) {  \
        const SizeList shape = sizes_of(size);                                      \
        return placed(made, device, grad);                                          \
      },                                                                            \
      nb::arg("size"), WICK_PLACE);                                                 \
  m.def(                                                                            \
      #name,                                                                        \
      [](const SizeList& shape, OptDType dtype, const OptText& device, bool grad) { \
        return placed(made, device, grad);                                          \
      },                                                                            \
      nb::kw_only(), nb::arg("size"), nb::arg("dtype").none() = nb::none(),         \
      nb::arg("device").none() = nb::none(), nb::arg("requires_grad") = false);
#define WICK_LIKE(name)                                                       \
  m.def(                                                                      \
      #name,                                                                  \
      [](const Tensor& x, OptDType dtype, const OptText& device, bool grad) { \
        return placed(dtype ? name(x, *dtype) : name(x), device, grad);       \
      },                                                                      \
      nb::arg("input"), WICK_PLACE);

}  // namespace wick::python
