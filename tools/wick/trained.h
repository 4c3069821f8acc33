// A training run's folder as a model to export: uint8 images in, with normalisation and class
// labels inside.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exporter/onnx/onnx.h"
#include "graph/ir/graph.h"
#include "tools/lib/verify/verify.h"
#include "trainer/loop/recipes.h"

namespace wick::tool {

// The trained module after its own input normalisation: bytes [N, 1, H, W] -> logits.
class ImageModel : public nn::Module {
 public:
  ImageModel(std::shared_ptr<nn::Module> model, const data::Normalization& n)
      : normalization_(n), model_(std::move(model)) {
    register_module("model", model_);
  }
  Tensor forward(const Arg& image) override;

 private:
  data::Normalization normalization_;
  std::shared_ptr<nn::Module> model_;
};

struct Trained {
  std::string model;        // "lenet"
  std::string data;         // "fashion-mnist"
  std::string run_sha256;   // of the weights, as `wick train` prints it
  std::string data_sha256;  // of the training images; "": the checkpoint does not say
  uint64_t seed = 0;
  double val_split = 0;  // share of the training images that the run held out
  Shape input_shape;     // [1, height, width]
  data::Normalization normalization;
  std::vector<std::string> classes;
  std::shared_ptr<nn::Module> plain;   // takes normalised floats; in eval mode
  std::shared_ptr<ImageModel> module;  // takes bytes
};

// Opens the best (else the last) checkpoint of a run. Throws Error if the folder is not a run's.
Trained open_trained(const std::string& folder);

// Returns the module's own answer to bytes [N, 1, H, W].
HostTensor trainer_logits(const Trained& trained, const HostTensor& images);

// Writes its origin into the file's metadata, too (`wick.source`, `wick.seed`).
OnnxFile export_trained_onnx(const Trained& trained, ir::Graph graph, const std::string& path,
                             const OnnxFileOptions& options = {});

// Captures it with a symbolic batch; labels and the run's description go into the graph.
ir::Graph capture_trained(const Trained& trained);

// Returns the folder's model as verify_model() takes it, with the module's own answers. It is also
// written to the file `onnx` for ONNX Runtime; empty: it is not.
Verified verified_run(const std::string& folder, const std::string& onnx = {});

}  // namespace wick::tool
