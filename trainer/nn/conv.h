// Convolutions and transposed convolutions over x[N, C, spatial...], or without N. Parameters have
// PyTorch's names: weight [out, in / groups, kernel...] (transposed: [in, out / groups, kernel...])
// and bias [out]. Both are initialized with U(-1/sqrt(fan_in), 1/sqrt(fan_in)).
#pragma once

#include <concepts>

#include "trainer/nn/extra_repr.h"
#include "trainer/nn/module.h"
#include "trainer/tensor/ops/conv.h"

namespace wick::nn {

// One number, one per dimension, or a word: "valid" (none) or "same" (the output has x's size, for
// stride 1 only; if the total is odd, the extra element is added at the end).
template <class Size>
struct Padding {
  Size size = 0;
  std::string word;

  template <std::integral... T>
    requires(sizeof...(T) > 0)
  Padding(T... each) : size(static_cast<int64_t>(each)...) {}  // NOLINT: implicit by design
  Padding(const Size& each) : size(each) {}                    // NOLINT
  Padding(const char* w) : word(w) {}                          // NOLINT
};
template <>
struct Padding<int64_t> {
  int64_t size = 0;
  std::string word;

  template <std::integral T>
  Padding(T each) : size(static_cast<int64_t>(each)) {}  // NOLINT: implicit by design
  Padding(const char* w) : word(w) {}                    // NOLINT
};

template <class Size>
struct ConvOptions {
  Size stride = 1;
  Padding<Size> padding = 0;
  Size dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  const char* padding_mode = "zeros";  // or "reflect", "replicate", "circular"
};
using Conv1dOptions = ConvOptions<int64_t>;
using Conv2dOptions = ConvOptions<Pair>;
using Conv3dOptions = ConvOptions<Triple>;

template <class Size>
struct ConvTransposeOptions {
  Size stride = 1, padding = 0, output_padding = 0;
  int64_t groups = 1;
  bool bias = true;
  Size dilation = 1;
};
using ConvTranspose1dOptions = ConvTransposeOptions<int64_t>;
using ConvTranspose2dOptions = ConvTransposeOptions<Pair>;
using ConvTranspose3dOptions = ConvTransposeOptions<Triple>;

// The common part of the six classes, for any spatial rank.
class ConvNd : public Module {
 public:
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;
  int64_t groups() const { return form_.groups; }
  Tensor weight;
  Tensor bias;  // or undefined

 protected:
  struct Form {
    Extents kernel, stride, padding, dilation, output_padding;
    std::string padding_word, padding_mode;
    int64_t groups = 1;
    bool bias = true, transposed = false;
  };
  ConvNd(const char* kind, int64_t in_channels, int64_t out_channels, Form form);

 private:
  Tensor padded(const Arg& x) const;
  Tensor convolve(const Arg& x, const Extents& padding) const;

  Form form_;
};

class Conv1d : public ConvNd {
 public:
  Conv1d(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
         const Conv1dOptions& options = {});
};
class Conv2d : public ConvNd {
 public:
  Conv2d(int64_t in_channels, int64_t out_channels, Pair kernel_size,
         const Conv2dOptions& options = {});
};
class Conv3d : public ConvNd {
 public:
  Conv3d(int64_t in_channels, int64_t out_channels, Triple kernel_size,
         const Conv3dOptions& options = {});
};
class ConvTranspose1d : public ConvNd {
 public:
  ConvTranspose1d(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
                  const ConvTranspose1dOptions& options = {});
};
class ConvTranspose2d : public ConvNd {
 public:
  ConvTranspose2d(int64_t in_channels, int64_t out_channels, Pair kernel_size,
                  const ConvTranspose2dOptions& options = {});
};
class ConvTranspose3d : public ConvNd {
 public:
  ConvTranspose3d(int64_t in_channels, int64_t out_channels, Triple kernel_size,
                  const ConvTranspose3dOptions& options = {});
};

}  // namespace wick::nn
