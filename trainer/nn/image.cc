#include "trainer/nn/image.h"

#include <cstring>

#include "trainer/nn/extents.h"

namespace wick::nn {

PadNd::PadNd(const char* kind, int spatial, const char* mode, const Pads& pads, double value)
    : kind_(kind),
      spatial_(spatial),
      mode_(strcmp(mode, "zero") == 0 ? "constant" : mode),
      pads_(pads.each()),
      value_(value),
      shows_value_(strcmp(mode, "constant") == 0) {
  const auto sides = static_cast<size_t>(2 * spatial);
  if (pads_.size() == 1) pads_.resize(sides, pads_[0]);
  if (pads_.size() == sides) return;
  throw Error(std::string("[") + kind + "] padding is one number or " + std::to_string(sides) +
              ", got " + std::to_string(pads_.size()));
}
Tensor PadNd::forward(const Arg& x) {
  const int rank = x.tensor.rank();
  if (rank != spatial_ + 1 && rank != spatial_ + 2) {
    throw_error(kind_,
                "takes " + std::to_string(spatial_ + 1) + " or " + std::to_string(spatial_ + 2) +
                    " dimensions, got " + to_text(x.tensor.raw_shape()).text,
                x.where, Code::kShapeMismatch);
  }
  return pad_spatial(x, spatial_, pads_.data(), mode_, value_);
}
std::string PadNd::extra_repr() const {
  const std::string sides = repr_tuple(pads_.data(), static_cast<int64_t>(pads_.size()));
  return shows_value_ ? "padding=" + sides + ", value=" + repr_float(value_) : sides;
}

std::string Upsample::extra_repr() const {
  std::string text;
  if (!options_.size.empty()) {
    const std::vector<int64_t> s(options_.size.begin(), options_.size.end());
    text = "size=" + (s.size() == 1 ? std::to_string(s[0])
                                    : repr_tuple(s.data(), static_cast<int64_t>(s.size())));
  } else {
    const auto& s = options_.scale_factor;
    text = s.size() == 1 ? "scale_factor=" : "scale_factor=(";
    for (size_t i = 0; i < s.size(); ++i) text += (i > 0 ? ", " : "") + repr_float(s[i]);
    if (s.size() != 1) text += ")";
  }
  return text + ", mode=" + options_.mode;
}

std::string PixelShuffle::extra_repr() const { return "upscale_factor=" + std::to_string(factor_); }
std::string PixelUnshuffle::extra_repr() const {
  return "downscale_factor=" + std::to_string(factor_);
}
std::string ChannelShuffle::extra_repr() const { return "groups=" + std::to_string(groups_); }

static std::string windows(Pair kernel, Pair dilation, Pair padding, Pair stride) {
  return "kernel_size=" + repr_size(extents(kernel)) +
         ", dilation=" + repr_size(extents(dilation)) + ", padding=" + repr_size(extents(padding)) +
         ", stride=" + repr_size(extents(stride));
}
std::string Unfold::extra_repr() const { return windows(kernel_, dilation_, padding_, stride_); }
std::string Fold::extra_repr() const {
  return "output_size=" + repr_size(extents(size_)) + ", " +
         windows(kernel_, dilation_, padding_, stride_);
}

}  // namespace wick::nn
