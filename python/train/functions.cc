// Functions that are no methods: those that make tensors, and torch.nn.functional's.
#include "creation.h"

namespace wick::python {

Reduction reduction_of(const std::string& text) {
  if (text == "none") return Reduction::kNone;
  if (text == "mean") return Reduction::kMean;
  if (text == "sum") return Reduction::kSum;
  throw Error("[loss] reduction is '" + text + "', must be 'none', 'mean' or 'sum'");
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
      "eye",
      [](int64_t n, std::optional<int64_t> columns, OptDType dtype, const OptText& device,
         bool grad) { return placed(eye(n, columns.value_or(n), or_float(dtype)), device, grad); },
      nb::arg("n"), nb::arg("m").none() = nb::none(), WICK_PLACE);
}

void bind_joining(nb::module_& m) {
  m.def(
      "cat",
      [](const std::vector<Tensor>& tensors, int dim) {
        return free_of_lock([&] { return cat(tensors, dim); });
      },
      nb::arg("tensors"), nb::arg("dim") = 0);
  m.def(
      "stack",
      [](const std::vector<Tensor>& tensors, int dim) {
        return free_of_lock([&] { return stack(tensors, dim); });
      },
      nb::arg("tensors"), nb::arg("dim") = 0);
  m.def(
      "where", [](const Tensor& c) { return nb::tuple(nb::cast(c.nonzero().unbind(1))); },
      nb::arg("condition"), nb::sig("def where(condition: Tensor) -> tuple[Tensor, ...]"));
  m.def(
      "hstack", [](const std::vector<Tensor>& tensors) { return hstack(tensors); },
      nb::arg("tensors"));
  m.def(
      "vstack", [](const std::vector<Tensor>& tensors) { return vstack(tensors); },
      nb::arg("tensors"));
  m.def(
      "flip", [](const Tensor& x, const Dims& dims) { return x.flip(dims); }, nb::arg("input"),
      nb::arg("dims"));
  m.def(
      "where", [](const Tensor& c, const Tensor& a, const Tensor& b) { return where(c, a, b); },
      nb::arg("condition"), nb::arg("input"), nb::arg("other"));
  m.def(
      "where", [](const Tensor& c, const Tensor& a, Scalar b) { return where(c, a, b); },
      nb::arg("condition"), nb::arg("input"), nb::arg("other"));
  m.def(
      "where", [](const Tensor& c, Scalar a, const Tensor& b) { return where(c, a, b); },
      nb::arg("condition"), nb::arg("input"), nb::arg("other"));
  m.def("_einsum", [](const std::string& equation, const std::vector<Tensor>& operands) {
    return free_of_lock([&] { return einsum(equation, operands); });
  });
  m.def("_meshgrid", [](const std::vector<Tensor>& tensors, const std::string& indexing) {
    return meshgrid(tensors, indexing);
  });
  // Reshaping as functions.
  m.def(
      "reshape", [](const Tensor& x, const SizeList& shape) { return x.reshape(shape); },
      nb::arg("input"), nb::arg("shape"));
  m.def(
      "permute", [](const Tensor& x, const Shape& dims) { return x.permute(dims); },
      nb::arg("input"), nb::arg("dims"));
  m.def(
      "transpose", [](const Tensor& x, int a, int b) { return x.transpose(a, b); },
      nb::arg("input"), nb::arg("dim0"), nb::arg("dim1"));
  m.def(
      "flatten", [](const Tensor& x, int a, int b) { return x.flatten(a, b); }, nb::arg("input"),
      nb::arg("start_dim") = 0, nb::arg("end_dim") = -1);
  m.def(
      "squeeze",
      [](const Tensor& x, std::optional<int> dim) { return dim ? x.squeeze(*dim) : x.squeeze(); },
      nb::arg("input"), nb::arg("dim").none() = nb::none());
  m.def(
      "unsqueeze", [](const Tensor& x, int dim) { return x.unsqueeze(dim); }, nb::arg("input"),
      nb::arg("dim"));
}

void bind_activations(nb::module_& f) {
  f.def(
      "relu", [](const Tensor& x, bool) { return free_of_lock([&] { return relu(x); }); },
      nb::arg("input"), nb::arg("inplace"), "relu(input), whose memory is not the input's.");
#define WICK_OF_ONE(name)                                                           \
  f.def(                                                                            \
      #name, [](const Tensor& x) { return free_of_lock([&] { return name(x); }); }, \
      nb::arg("input"));
  WICK_OF_ONE(silu)
  WICK_OF_ONE(mish)
  WICK_OF_ONE(selu)
  WICK_OF_ONE(relu6)
  WICK_OF_ONE(hardswish)
  WICK_OF_ONE(hardsigmoid)
  WICK_OF_ONE(softplus)
  WICK_OF_ONE(logsigmoid)
  WICK_OF_ONE(softsign)
  f.def(
      "gelu",
      [](const Tensor& x, const std::string& approximate) {
        if (approximate != "none" && approximate != "tanh")
          throw Error("[gelu] approximate is '" + approximate + "', must be 'none' or 'tanh'");
        return free_of_lock([&] { return gelu(x, approximate == "tanh"); });
      },
      nb::arg("input"), nb::arg("approximate") = "none");
  f.def(
      "leaky_relu", [](const Tensor& x, double slope) { return leaky_relu(x, slope); },
      nb::arg("input"), nb::arg("negative_slope") = 0.01);
  f.def(
      "elu", [](const Tensor& x, double alpha) { return elu(x, alpha); }, nb::arg("input"),
      nb::arg("alpha") = 1.0);
  f.def(
      "hardtanh", [](const Tensor& x, double low, double high) { return hardtanh(x, low, high); },
      nb::arg("input"), nb::arg("min_val") = -1.0, nb::arg("max_val") = 1.0);
}

void bind_layers_of(nb::module_& f) {
  f.def(
      "linear",
      [](const Tensor& x, const Tensor& w, const Tensor* b) {
        return free_of_lock([&] { return linear(x, w, or_undefined(b)); });
      },
      nb::arg("input"), nb::arg("weight"), nb::arg("bias").none() = nb::none());
  f.def(
      "embedding",
      [](const Tensor& i, const Tensor& w, std::optional<int64_t> padding) {
        return free_of_lock([&] { return embedding(i, w, padding); });
      },
      nb::arg("input"), nb::arg("weight"), nb::arg("padding_idx").none() = nb::none());
  f.def(
      "one_hot", [](const Tensor& x, int64_t n) { return one_hot(x, n); }, nb::arg("tensor"),
      nb::arg("num_classes") = -1);
  f.def(
      "conv1d",
      [](const Tensor& x, const Tensor& w, const Tensor* b, int64_t stride, int64_t padding,
         int64_t dilation, int64_t groups) {
        return free_of_lock(
            [&] { return conv1d(x, w, or_undefined(b), stride, padding, dilation, groups); });
      },
      nb::arg("input"), nb::arg("weight"), nb::arg("bias").none() = nb::none(),
      nb::arg("stride") = 1, nb::arg("padding") = 0, nb::arg("dilation") = 1,
      nb::arg("groups") = 1);
  f.def(
      "conv2d",
      [](const Tensor& x, const Tensor& w, const Tensor* b, Pair stride, Pair padding,
         Pair dilation, int64_t groups) {
        return free_of_lock(
            [&] { return conv2d(x, w, or_undefined(b), stride, padding, dilation, groups); });
      },
      nb::arg("input"), nb::arg("weight"), nb::arg("bias").none() = nb::none(),
      nb::arg("stride") = 1, nb::arg("padding") = 0, nb::arg("dilation") = 1,
      nb::arg("groups") = 1);
  f.def(
      "max_pool2d",
      [](const Tensor& x, Pair kernel, std::optional<Pair> stride, Pair padding, Pair dilation,
         bool ceil_mode) {
        return free_of_lock(
            [&] { return max_pool2d(x, kernel, stride, padding, dilation, ceil_mode); });
      },
      nb::arg("input"), nb::arg("kernel_size"), nb::arg("stride").none() = nb::none(),
      nb::arg("padding") = 0, nb::arg("dilation") = 1, nb::arg("ceil_mode") = false);
  f.def(
      "avg_pool2d",
      [](const Tensor& x, Pair kernel, std::optional<Pair> stride, Pair padding, bool ceil_mode,
         bool count_pad) {
        return free_of_lock(
            [&] { return avg_pool2d(x, kernel, stride, padding, ceil_mode, count_pad); });
      },
      nb::arg("input"), nb::arg("kernel_size"), nb::arg("stride").none() = nb::none(),
      nb::arg("padding") = 0, nb::arg("ceil_mode") = false, nb::arg("count_include_pad") = true);
  f.def(
      "adaptive_avg_pool2d",
      [](const Tensor& x, Pair size) {
        return free_of_lock([&] { return adaptive_avg_pool2d(x, size); });
      },
      nb::arg("input"), nb::arg("output_size"));
  f.def(
      "layer_norm",
      [](const Tensor& x, const Shape& shape, const Tensor* w, const Tensor* b, double eps) {
        return free_of_lock(
            [&] { return layer_norm(x, shape, or_undefined(w), or_undefined(b), eps); });
      },
      nb::arg("input"), nb::arg("normalized_shape"), nb::arg("weight").none() = nb::none(),
      nb::arg("bias").none() = nb::none(), nb::arg("eps") = 1e-5);
  f.def(
      "normalize",
      [](const Tensor& x, double p, int dim, double eps) { return normalize(x, p, dim, eps); },
      nb::arg("input"), nb::arg("p") = 2.0, nb::arg("dim") = 1, nb::arg("eps") = 1e-12);
  f.def(
      "dropout",
      [](const Tensor& x, double p, bool training) {
        return free_of_lock([&] { return dropout(x, p, training); });
      },
      nb::arg("input"), nb::arg("p") = 0.5, nb::arg("training") = true);
  f.def(
      "scaled_dot_product_attention",
      [](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor* mask, double p,
         bool causal, std::optional<double> scale) {
        return free_of_lock([&] {
          return scaled_dot_product_attention(q, k, v, or_undefined(mask), p, causal, scale);
        });
      },
      nb::arg("query"), nb::arg("key"), nb::arg("value"), nb::arg("attn_mask").none() = nb::none(),
      nb::arg("dropout_p") = 0.0, nb::arg("is_causal") = false,
      nb::arg("scale").none() = nb::none());
  f.def(
      "cosine_similarity",
      [](const Tensor& a, const Tensor& b, int dim, double eps) {
        return cosine_similarity(a, b, dim, eps);
      },
      nb::arg("x1"), nb::arg("x2"), nb::arg("dim") = 1, nb::arg("eps") = 1e-8);
}

void bind_losses(nb::module_& f) {
#define WICK_LOSS(name)                                                           \
  f.def(                                                                          \
      #name,                                                                      \
      [](const Tensor& x, const Tensor& y, const std::string& reduction) {        \
        return free_of_lock([&] { return name(x, y, reduction_of(reduction)); }); \
      },                                                                          \
      nb::arg("input"), nb::arg("target"), nb::kw_only(), nb::arg("reduction") = "mean");
  WICK_LOSS(mse_loss)
  WICK_LOSS(l1_loss)
#define WICK_CLASS_LOSS(name)                                                                    \
  f.def(                                                                                         \
      #name,                                                                                     \
      [](const Tensor& x, const Tensor& y, const Tensor* weight, int64_t ignore_index,           \
         const std::string& reduction) {                                                         \
        ClassLossOptions options;                                                                \
        options.weight = or_undefined(weight);                                                   \
        options.ignore_index = ignore_index;                                                     \
        options.reduction = reduction_of(reduction);                                             \
        return free_of_lock([&] { return name(x, y, options); });                                \
      },                                                                                         \
      nb::arg("input"), nb::arg("target"), nb::arg("weight").none() = nb::none(), nb::kw_only(), \
      nb::arg("ignore_index") = -100, nb::arg("reduction") = "mean");
  WICK_CLASS_LOSS(nll_loss)
  f.def(
      "cross_entropy",
      [](const Tensor& x, const Tensor& y, const Tensor* weight, int64_t ignore_index,
         const std::string& reduction, double smoothing) {
        ClassLossOptions options;
        options.weight = or_undefined(weight);
        options.ignore_index = ignore_index;
        options.reduction = reduction_of(reduction);
        options.label_smoothing = smoothing;
        return free_of_lock([&] { return cross_entropy(x, y, options); });
      },
      nb::arg("input"), nb::arg("target"), nb::arg("weight").none() = nb::none(), nb::kw_only(),
      nb::arg("ignore_index") = -100, nb::arg("reduction") = "mean",
      nb::arg("label_smoothing") = 0.0);
  f.def(
      "binary_cross_entropy",
      [](const Tensor& x, const Tensor& y, const Tensor* w, const std::string& reduction) {
        return free_of_lock(
            [&] { return binary_cross_entropy(x, y, or_undefined(w), reduction_of(reduction)); });
      },
      nb::arg("input"), nb::arg("target"), nb::arg("weight").none() = nb::none(), nb::kw_only(),
      nb::arg("reduction") = "mean");
  f.def(
      "binary_cross_entropy_with_logits",
      [](const Tensor& x, const Tensor& y, const Tensor* w, const std::string& reduction,
         const Tensor* pos) {
        return free_of_lock([&] {
          return binary_cross_entropy_with_logits(x, y, or_undefined(w), reduction_of(reduction),
                                                  or_undefined(pos));
        });
      },
      nb::arg("input"), nb::arg("target"), nb::arg("weight").none() = nb::none(), nb::kw_only(),
      nb::arg("reduction") = "mean", nb::arg("pos_weight").none() = nb::none());
  f.def(
      "smooth_l1_loss",
      [](const Tensor& x, const Tensor& y, const std::string& reduction, double beta) {
        return free_of_lock([&] { return smooth_l1_loss(x, y, reduction_of(reduction), beta); });
      },
      nb::arg("input"), nb::arg("target"), nb::kw_only(), nb::arg("reduction") = "mean",
      nb::arg("beta") = 1.0);
  f.def(
      "huber_loss",
      [](const Tensor& x, const Tensor& y, const std::string& reduction, double delta) {
        return free_of_lock([&] { return huber_loss(x, y, reduction_of(reduction), delta); });
      },
      nb::arg("input"), nb::arg("target"), nb::kw_only(), nb::arg("reduction") = "mean",
      nb::arg("delta") = 1.0);
}

}  // namespace

void bind_functions(nb::module_& m) {
  bind_creation(m);
  bind_random(m);
  bind_joining(m);
  bind_activations(m);
  bind_layers_of(m);
  bind_losses(m);
  bind_images(m);
  bind_gradients(m);
  m.def("get_num_threads", [] { return num_threads(); });
  m.def(
      "set_num_threads", [](int n) { set_num_threads(n); }, nb::arg("num_threads"));
}

}  // namespace wick::python
