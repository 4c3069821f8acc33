#include "tools/wick/trained.h"

#include <fmt/core.h>

#include <filesystem>

#include "exporter/onnx/onnx.h"
#include "tools/lib/trust.h"
#include "trainer/capture/capture.h"
#include "trainer/tensor/ops.h"
#include "wick/error.h"

namespace wick::tool {

Tensor ImageModel::forward(const Arg& image) {
  Tensor x = image.tensor.to(DType::kF32) / normalization_.divisor;
  return (*model_)((x - normalization_.mean) / normalization_.std);
}

Trained open_trained(const std::string& folder) {
  refuse_run(folder);
  loop::TrainedModel loaded = loop::load_trained(folder);
  Trained t;
  t.model = loaded.config.model;
  t.data = loaded.config.data;
  t.run_sha256 = loaded.weights_sha256;
  t.data_sha256 = loaded.data_sha256;
  t.seed = loaded.config.seed;
  t.val_split = loaded.config.val_split;
  t.input_shape = loaded.input_shape;
  t.normalization = loaded.normalization;
  t.classes = loaded.classes;
  t.plain = loaded.module;
  t.module = std::make_shared<ImageModel>(loaded.module, loaded.normalization);
  t.module->eval();
  return t;
}

OnnxFile export_trained_onnx(const Trained& trained, ir::Graph graph, const std::string& path,
                             const OnnxFileOptions& options) {
  graph.metadata["wick.source"] = "trainer";
  graph.metadata["wick.seed"] = std::to_string(trained.seed);
  return export_onnx(graph, path, options);
}

HostTensor trainer_logits(const Trained& trained, const HostTensor& images) {
  NoGrad guard;
  const Tensor image = from_blob(const_cast<void*>(images.data()), images.shape(), DType::kU8);
  const Tensor logits = (*trained.module)(image);
  return HostTensor(DType::kF32, logits.raw_shape(), logits.contiguous().data<float>(),
                    logits.raw().nbytes());
}

ir::Graph capture_trained(const Trained& t) {
  Shape example{2};
  for (int64_t d : t.input_shape) example.push_back(d);
  CaptureInput input{"image",
                     zeros(example),
                     {{0, "batch"}},
                     {{t.normalization.divisor, {t.normalization.mean}, {t.normalization.std}}}};
  ir::Graph graph = capture(*t.plain, {input}, {"logits", t.classes});
  graph.name = t.model;
  graph.metadata["wick.model"] = t.model;
  graph.metadata["wick.data"] = t.data;
  graph.metadata["wick.run_sha256"] = t.run_sha256;
  if (!t.data_sha256.empty()) graph.metadata["wick.data_sha256"] = t.data_sha256;
  return graph;
}

Verified verified_run(const std::string& folder, const std::string& onnx) {
  const auto trained = std::make_shared<Trained>(open_trained(folder));
  Verified v;
  v.name = std::filesystem::path(folder).lexically_normal().filename().string();
  if (v.name.empty()) v.name = folder;
  v.root = capture_trained(*trained);
  v.onnx = onnx;
  if (!onnx.empty()) export_onnx(v.root, onnx);
  v.trainer = [trained](Span<const HostTensor> inputs) {
    return std::vector<HostTensor>{trainer_logits(*trained, inputs[0])};
  };
  return v;
}

}  // namespace wick::tool
