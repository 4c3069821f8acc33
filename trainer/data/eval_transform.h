// The transforms of evaluation as a module: captured and exported with the model, so that the
// deployed file takes the picture's bytes and computes what the trainer computed, bit for bit.
#pragma once

#include <memory>
#include <vector>

#include "trainer/data/transforms.h"
#include "trainer/nn/module.h"

namespace wick::data {

struct EvalOptions {
  int64_t channels = 3, height = 0, width = 0;  // of what comes in
  int64_t resize = 0;                           // the smaller edge; 0: as it is
  int64_t crop = 0;                             // the middle, crop x crop; 0: all
  std::vector<double> mean = {0}, std = {1};    // one number, or one a channel
};

// uint8 [N, C, H, W] (or float32 holding bytes) -> float32 [N, C, h, w]:
// resize (antialiased, in float32), middle crop, / 255, - mean, / std. Images are all of one size:
// an exported graph has it built in. The matrices are buffers, "rows", "columns", "mean", "std".
class EvalTransform : public nn::Module {
 public:
  explicit EvalTransform(const EvalOptions& options, Where where = Where::current());
  Tensor forward(const Arg& x) override;
  transforms::Size output_size() const { return size_; }

 private:
  EvalOptions options_;
  transforms::Size size_{0};
  int64_t top_ = 0, left_ = 0;
  Tensor rows_, columns_, mean_, std_;
};

// A module of images [N, ...] as the transform of a single one [...].
Transform as_transform(std::shared_ptr<nn::Module> module);

}  // namespace wick::data
