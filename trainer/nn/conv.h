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

// Options of Conv1d, Conv2d and Conv3d, with PyTorch's defaults.
template <class Size>
struct ConvOptions {
  Size stride = 1;                     // elements between two windows
  Padding<Size> padding = 0;           // zeros on each side of a spatial dim
  Size dilation = 1;                   // elements between two weights; 1: none is left out
  int64_t groups = 1;                  // input and output channels are split into as many parts
  bool bias = true;                    // adds bias [out]
  const char* padding_mode = "zeros";  // or "reflect", "replicate", "circular"
};
// The options for one, two and three spatial dims.
using Conv1dOptions = ConvOptions<int64_t>;
using Conv2dOptions = ConvOptions<Pair>;
using Conv3dOptions = ConvOptions<Triple>;

// Options of the transposed convolutions, with PyTorch's defaults.
template <class Size>
struct ConvTransposeOptions {
  Size stride = 1, padding = 0, output_padding = 0;  // output_padding: elements added at the end
  int64_t groups = 1;  // input and output channels are split into as many parts
  bool bias = true;    // adds bias [out]
  Size dilation = 1;   // elements between two weights
};
// The options for one, two and three spatial dims.
using ConvTranspose1dOptions = ConvTransposeOptions<int64_t>;
using ConvTranspose2dOptions = ConvTransposeOptions<Pair>;
using ConvTranspose3dOptions = ConvTransposeOptions<Triple>;

// The common part of the six classes, for any spatial rank.
class ConvNd : public Module {
 public:
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;
  // Returns the number of groups.
  int64_t groups() const { return form_.groups; }
  Tensor weight;  // its shape is in the file's comment
  Tensor bias;    // or undefined

 protected:
  // The six constructors pass this on: their arguments, with kernel, stride, padding, dilation and
  // output_padding for each spatial dim, padding_word and padding_mode, groups, bias, and whether
  // it is transposed.
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

// torch.nn.Conv1d, 2d and 3d: a cross-correlation of x with the weight, plus the bias. Throw Error
// for channels that `groups` does not divide, for numbers out of range, and in forward for a wrong
// rank or number of channels and for a kernel larger than the padded x.
class Conv1d : public ConvNd {
 public:
  using Kernel = int64_t;         // of the kernel_size
  using Options = Conv1dOptions;  // of the last argument
  Conv1d(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
         const Conv1dOptions& options = {});
};
class Conv2d : public ConvNd {
 public:
  using Kernel = Pair;            // of the kernel_size
  using Options = Conv2dOptions;  // of the last argument
  Conv2d(int64_t in_channels, int64_t out_channels, Pair kernel_size,
         const Conv2dOptions& options = {});
};
class Conv3d : public ConvNd {
 public:
  using Kernel = Triple;          // of the kernel_size
  using Options = Conv3dOptions;  // of the last argument
  Conv3d(int64_t in_channels, int64_t out_channels, Triple kernel_size,
         const Conv3dOptions& options = {});
};
// torch.nn.ConvTranspose1d, 2d and 3d: the gradient of a convolution with respect to its input, as
// a layer. Throw Error as the convolutions do.
class ConvTranspose1d : public ConvNd {
 public:
  using Kernel = int64_t;                  // of the kernel_size
  using Options = ConvTranspose1dOptions;  // of the last argument
  ConvTranspose1d(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
                  const ConvTranspose1dOptions& options = {});
};
class ConvTranspose2d : public ConvNd {
 public:
  using Kernel = Pair;                     // of the kernel_size
  using Options = ConvTranspose2dOptions;  // of the last argument
  ConvTranspose2d(int64_t in_channels, int64_t out_channels, Pair kernel_size,
                  const ConvTranspose2dOptions& options = {});
};
class ConvTranspose3d : public ConvNd {
 public:
  using Kernel = Triple;                   // of the kernel_size
  using Options = ConvTranspose3dOptions;  // of the last argument
  ConvTranspose3d(int64_t in_channels, int64_t out_channels, Triple kernel_size,
                  const ConvTranspose3dOptions& options = {});
};

}  // namespace wick::nn
