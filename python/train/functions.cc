// Functions that are no methods: those that make tensors, and torch.nn.functional's.
#include <nanobind/stl/tuple.h>

#include "creation.h"

namespace wick::python {

Reduction reduction_of(const std::string& text) {
  if (text == "none") return Reduction::kNone;
  if (text == "mean") return Reduction::kMean;
  if (text == "sum") return Reduction::kSum;
  throw Error("[loss] reduction is '" + text + "', must be 'none', 'mean' or 'sum'");
}
KlReduction kl_reduction_of(const std::string& text) {
  if (text == "batchmean") return KlReduction::kBatchMean;
  const Reduction r = reduction_of(text);
  return r == Reduction::kNone  ? KlReduction::kNone
         : r == Reduction::kSum ? KlReduction::kSum
                                : KlReduction::kMean;
}

namespace {

void bind_creation(nb::module_& m) {
  WICK_SIZED(empty, empty(shape, or_float(dtype)))
  WICK_SIZED(zeros, zeros(shape, or_float(dtype)))
  WICK_SIZED(ones, ones(shape, or_float(dtype)))
  WICK_LIKE(zeros_like)
  WICK_LIKE(ones_like)
  WICK_LIKE(empty_like)
  m.def(
      "full",
      [](const SizeList& size, Scalar value, OptDType dtype, const OptText& device, bool grad) {
        const DType chosen = value.boolean    ? DType::kBool
                             : value.integral ? DType::kI64
                                              : DType::kF32;
        return placed(full(size, value, dtype.value_or(chosen)), device, grad);
      },
      nb::arg("size"), nb::arg("fill_value"), WICK_PLACE);
  m.def(
      "full_like",
      [](const Tensor& x, Scalar value, OptDType dtype, const OptText& device, bool grad) {
        return placed(dtype ? full_like(x, value, *dtype) : full_like(x, value), device, grad);
      },
      nb::arg("input"), nb::arg("fill_value"), WICK_PLACE);
  m.def("_arange", [](double start, double end, double step, OptDType dtype) {
    return arange_float(start, end, step, or_float(dtype), Where::current());
  });
  m.def("_arange_whole", [](int64_t start, int64_t end, int64_t step, OptDType dtype) {
    return arange(start, end, step, dtype.value_or(DType::kI64), Where::current());
  });
  m.def(
      "linspace",
      [](double start, double end, int64_t steps, OptDType dtype, const OptText& device,
         bool grad) { return placed(linspace(start, end, steps, or_float(dtype)), device, grad); },
      nb::arg("start"), nb::arg("end"), nb::arg("steps"), WICK_PLACE);
  m.def(
      "logspace",
      [](double start, double end, int64_t steps, double base, OptDType dtype,
         const OptText& device, bool grad) {
        return placed(logspace(start, end, steps, base, or_float(dtype)), device, grad);
      },
      nb::arg("start"), nb::arg("end"), nb::arg("steps"), nb::arg("base") = 10.0, WICK_PLACE);
  m.def(
      "scalar_tensor",
      [](Scalar value, OptDType dtype, const OptText& device, bool grad) {
        return placed(scalar_tensor(value, or_float(dtype)), device, grad);
      },
      nb::arg("s"), WICK_PLACE);
  m.def(
      "eye",
      [](int64_t n, std::optional<int64_t> columns, OptDType dtype, const OptText& device,
         bool grad) { return placed(eye(n, columns.value_or(n), or_float(dtype)), device, grad); },
      nb::arg("n"), nb::arg("m").none() = nb::none(), WICK_PLACE);
}

ClassLossOptions class_options(const Tensor* weight, int64_t ignore_index,
                               const std::string& reduction, double smoothing = 0) {
  ClassLossOptions o;
  o.weight = or_undefined(weight);
  o.ignore_index = ignore_index;
  o.reduction = reduction_of(reduction);
  o.label_smoothing = smoothing;
  return o;
}

void bind_class_losses(nb::module_& f) {
  f.def(
      "nll_loss",
      [](const Tensor& x, const Tensor& y, const Tensor* weight, int64_t ignore_index,
         const std::string& reduction) {
        const ClassLossOptions o = class_options(weight, ignore_index, reduction);
        return free_of_lock([&] { return nll_loss(x, y, o); });
      },
      nb::arg("input"), nb::arg("target"), nb::arg("weight").none() = nb::none(), nb::kw_only(),
      nb::arg("ignore_index") = -100, nb::arg("reduction") = "mean");
  f.def(
      "cross_entropy",
      [](const Tensor& x, const Tensor& y, const Tensor* weight, int64_t ignore_index,
         const std::string& reduction, double smoothing) {
        const ClassLossOptions o = class_options(weight, ignore_index, reduction, smoothing);
        return free_of_lock([&] { return cross_entropy(x, y, o); });
      },
      nb::arg("input"), nb::arg("target"), nb::arg("weight").none() = nb::none(), nb::kw_only(),
      nb::arg("ignore_index") = -100, nb::arg("reduction") = "mean",
      nb::arg("label_smoothing") = 0.0);
}

}  // namespace

void bind_functions(nb::module_& m) {
  bind_creation(m);
  bind_random(m);
  m.def(
      "where", [](const Tensor& c) { return nb::tuple(nb::cast(c.nonzero().unbind(1))); },
      nb::arg("condition"), nb::sig("def where(condition: Tensor) -> tuple[Tensor, ...]"));
#include "functions.inc"
  bind_class_losses(m);
  bind_images(m);
  bind_gradients(m);
  m.def("_finfo", [](DType t) {
    const FloatInfo i = finfo(t);
    return std::make_tuple(i.bits, i.eps, i.max, i.min, i.tiny, i.resolution);
  });
  m.def("_iinfo", [](DType t) {
    const IntInfo i = iinfo(t);
    return std::make_tuple(i.bits, i.min, i.max);
  });
  m.def(
      "promote_types", [](DType a, DType b) { return promote_types(a, b); }, nb::arg("type1"),
      nb::arg("type2"));
  m.def("can_cast", &can_cast, nb::arg("from_"), nb::arg("to"));
  m.def(
      "result_type", [](const Tensor& a, const Tensor& b) { return result_type(a, b); },
      nb::arg("tensor1"), nb::arg("tensor2"));
  m.def(
      "result_type", [](const Tensor& a, Scalar b) { return result_type(a, b); }, nb::arg("tensor"),
      nb::arg("scalar"));
  m.def(
      "_set_printoptions",
      [](int64_t precision, int64_t threshold, int64_t edgeitems, int64_t linewidth,
         std::optional<bool> sci_mode) {
        PrintOptions o;
        o.precision = static_cast<int>(precision);
        o.threshold = threshold;
        o.edgeitems = edgeitems;
        o.linewidth = linewidth;
        o.sci_mode = sci_mode;
        set_printoptions(o);
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  m.def("get_num_threads", [] { return num_threads(); });
  m.def(
      "set_num_threads", [](int n) { set_num_threads(n); }, nb::arg("num_threads"));
}

}  // namespace wick::python
