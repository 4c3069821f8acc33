#include "trainer/nn/conv.h"

#include "trainer/nn/default_init.h"
#include "trainer/nn/extents.h"

namespace wick::nn {
namespace {

bool all_are(const Extents& e, int64_t value) {
  for (int64_t v : e.span()) {
    if (v != value) return false;
  }
  return true;
}

// Zeros before and behind dimension i for padding "same".
std::pair<int64_t, int64_t> same_pads(const Extents& kernel, const Extents& dilation, int64_t i) {
  const int64_t total = dilation[i] * (kernel[i] - 1);
  return {total / 2, total - total / 2};
}

}  // namespace

ConvNd::ConvNd(const char* kind, int64_t in, int64_t out, Form form) : form_(std::move(form)) {
  const Form& f = form_;
  need_size(kind, "in_channels", in);
  need_size(kind, "out_channels", out);
  if (f.groups < 1 || in % f.groups != 0 || out % f.groups != 0) {
    refuse(kind, "channels " + std::to_string(in) + " -> " + std::to_string(out) +
                     " do not divide into " + std::to_string(f.groups) + " groups");
  }
  for (int64_t i = 0; i < f.kernel.count; ++i) {
    need_size(kind, "kernel_size", f.kernel[i]);
    need_size(kind, "stride", f.stride[i]);
    need_size(kind, "dilation", f.dilation[i]);
    need_size(kind, "padding", f.padding[i], 0);
  }
  const std::string &word = f.padding_word, &mode = f.padding_mode;
  if (!word.empty() && word != "same" && word != "valid") {
    refuse(kind, "padding is a number, \"same\" or \"valid\", got \"" + word + "\"");
  }
  if (word == "same" && !all_are(f.stride, 1)) {
    refuse(kind, "padding \"same\" needs stride 1, got " + repr_size(f.stride));
  }
  if (mode != "zeros" && mode != "reflect" && mode != "replicate" && mode != "circular") {
    refuse(kind, "padding_mode is \"zeros\", \"reflect\", \"replicate\" or \"circular\", got \"" +
                     mode + "\"");
  }
  Shape shape = f.transposed ? Shape{in, out / f.groups} : Shape{out, in / f.groups};
  int64_t fan_in = shape[1];
  for (int64_t k : f.kernel.span()) {
    shape.push_back(k);
    fan_in *= k;
  }
  weight = register_parameter("weight", init_uniform(shape, fan_in));
  bias = register_parameter("bias", f.bias ? init_uniform({out}, fan_in) : Tensor());
}

// Returns x with the padding that the convolution op itself does not do.
Tensor ConvNd::padded(const Arg& x) const {
  int64_t pads[6];
  const int64_t n = form_.kernel.count;
  for (int64_t i = 0; i < n; ++i) {
    auto [before, behind] = form_.padding_word == "same"
                                ? same_pads(form_.kernel, form_.dilation, i)
                                : std::pair{form_.padding[i], form_.padding[i]};
    pads[2 * (n - 1 - i)] = before;
    pads[2 * (n - 1 - i) + 1] = behind;
  }
  return pad_spatial(x, n, pads, form_.padding_mode == "zeros" ? "constant" : form_.padding_mode);
}

Tensor ConvNd::convolve(const Arg& x, const Extents& p) const {
  const Form& f = form_;
  const Arg w{weight, x.where};
  switch (f.kernel.count) {
    case 1: return conv1d(x, w, bias, f.stride[0], p[0], f.dilation[0], f.groups);
    case 2: return conv2d(x, w, bias, pair(f.stride), pair(p), pair(f.dilation), f.groups);
    default: return conv3d(x, w, bias, triple(f.stride), triple(p), triple(f.dilation), f.groups);
  }
}

Tensor ConvNd::forward(const Arg& x) {
  const Form& f = form_;
  if (!f.transposed) {
    Extents none, own = f.padding;
    none.count = f.kernel.count;
    if (f.padding_mode != "zeros") {
      const bool empty = f.padding_word == "valid" || (f.padding_word.empty() && all_are(own, 0));
      return empty ? convolve(x, none) : convolve({padded(x), x.where}, none);
    }
    if (f.padding_word != "same") return convolve(x, own);
    for (int64_t i = 0; i < f.kernel.count; ++i) {
      auto [before, behind] = same_pads(f.kernel, f.dilation, i);
      if (before != behind) return convolve({padded(x), x.where}, none);
      own.values[i] = before;
    }
    return convolve(x, own);
  }
  const Arg w{weight, x.where};
  switch (f.kernel.count) {
    case 1:
      return conv_transpose1d(x, w, bias, f.stride[0], f.padding[0], f.output_padding[0], f.groups,
                              f.dilation[0]);
    case 2:
      return conv_transpose2d(x, w, bias, pair(f.stride), pair(f.padding), pair(f.output_padding),
                              f.groups, pair(f.dilation));
    default:
      return conv_transpose3d(x, w, bias, triple(f.stride), triple(f.padding),
                              triple(f.output_padding), f.groups, triple(f.dilation));
  }
}

std::string ConvNd::extra_repr() const {
  const Form& f = form_;
  // Uses the weight's present shape: pruning may have removed channels.
  const Shape& s = weight.raw_shape();
  const int64_t in = f.transposed ? s[0] : s[1] * f.groups;
  const int64_t out = f.transposed ? s[1] * f.groups : s[0];
  std::string text = std::to_string(in) + ", " + std::to_string(out) +
                     ", kernel_size=" + repr_tuple(f.kernel) + ", stride=" + repr_tuple(f.stride);
  if (!f.padding_word.empty()) {
    text += ", padding=" + f.padding_word;
  } else if (!all_are(f.padding, 0)) {
    text += ", padding=" + repr_tuple(f.padding);
  }
  if (!all_are(f.dilation, 1)) text += ", dilation=" + repr_tuple(f.dilation);
  if (!all_are(f.output_padding, 0)) text += ", output_padding=" + repr_tuple(f.output_padding);
  if (f.groups != 1) text += ", groups=" + std::to_string(f.groups);
  if (!bias.defined()) text += ", bias=False";
  if (f.padding_mode != "zeros") text += ", padding_mode=" + f.padding_mode;
  return text;
}

// Defines the constructors, with options of any rank.
#define WICK_CONV(Name, Size)                                                                     \
  Name::Name(int64_t in, int64_t out, Size kernel, const ConvOptions<Size>& o)                    \
      : ConvNd(#Name, in, out,                                                                    \
               {extents(kernel), extents(o.stride), extents(o.padding.size), extents(o.dilation), \
                extents(Size(0)), o.padding.word, o.padding_mode, o.groups, o.bias, false}) {}    \
  static_assert(true)
#define WICK_CONV_TRANSPOSE(Name, Size)                                                      \
  Name::Name(int64_t in, int64_t out, Size kernel, const ConvTransposeOptions<Size>& o)      \
      : ConvNd(#Name, in, out,                                                               \
               {extents(kernel), extents(o.stride), extents(o.padding), extents(o.dilation), \
                extents(o.output_padding), "", "zeros", o.groups, o.bias, true}) {}          \
  static_assert(true)
WICK_CONV(Conv1d, int64_t);
WICK_CONV(Conv2d, Pair);
WICK_CONV(Conv3d, Triple);
WICK_CONV_TRANSPOSE(ConvTranspose1d, int64_t);
WICK_CONV_TRANSPOSE(ConvTranspose2d, Pair);
WICK_CONV_TRANSPOSE(ConvTranspose3d, Triple);
#undef WICK_CONV
#undef WICK_CONV_TRANSPOSE

}  // namespace wick::nn
