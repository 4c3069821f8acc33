// EvalTransform: the transforms of evaluation as a module, captured and exported with the model, so
// that the deployed file takes the picture's bytes and computes exactly what the trainer computed.
#pragma once

#include <memory>
#include <vector>

#include "trainer/data/transforms.h"
#include "trainer/nn/module.h"

namespace wick::data {

// Options of EvalTransform; the sizes and channels are those of the input.
struct EvalOptions {
  int64_t channels = 3, height = 0, width = 0;  // of the input
  int64_t resize = 0;                           // size of the smaller edge; 0: no resizing
  int64_t crop = 0;                             // size of the center crop, crop x crop; 0: none
  std::vector<double> mean = {0}, std = {1};    // one number, or one per channel
};

// Maps uint8 [N, C, H, W] (or float32 with byte values) to float32 [N, C, h, w]: resize
// (antialiased, in float32), center crop, / 255, - mean, / std. All images have the same size: an
// exported graph has it built in. The matrices are the buffers "rows", "columns", "mean" and "std".
class EvalTransform : public nn::Module {
 public:
  explicit EvalTransform(const EvalOptions& options, Where where = Where::current());
  Tensor forward(const Arg& x) override;
  // Returns the height and width of the result.
  transforms::Size output_size() const { return size_; }

 private:
  EvalOptions options_;
  transforms::Size size_{0};
  int64_t top_ = 0, left_ = 0;
  Tensor rows_, columns_, mean_, std_;
};

// Makes a transform of a single image [...] from a module of images [N, ...].
Transform as_transform(std::shared_ptr<nn::Module> module);

}  // namespace wick::data
