// The models that tests train further: small exports of PyTorch's, with inputs.
#pragma once

#include <string>
#include <vector>

#include "tests/support/where.h"
#include "wick/compile.h"
#include "wick/trainer.h"

namespace wick::test {

struct TrainableModel {
  const char* name;
  const char* folder;
  std::vector<Shape> inputs;
};

inline const TrainableModel kTrainable[] = {
    {"mobile", "finetune", {{3, 1, 8, 8}}},   {"mobile_training", "finetune", {{3, 1, 8, 8}}},
    {"recurrent", "finetune", {{3, 5}}},      {"unet", "finetune", {{2, 2, 8, 6}}},
    {"dense", "finetune", {{2, 2, 8, 8}}},    {"caption", "finetune", {{2, 1, 8, 8}, {2, 4}}},
    {"attention", "exporter", {{2, 5, 8}}},   {"transformer", "exporter", {{2, 6}}},
    {"residual", "exporter", {{2, 3, 9, 8}}}, {"resampled", "exporter", {{1, 3, 8, 10}}},
};

inline std::string path_of(const TrainableModel& m) {
  return source_dir() + "/tests/" + m.folder + "/models/" + m.name + ".onnx";
}
inline const TrainableModel& trainable(const std::string& name) {
  for (const TrainableModel& m : kTrainable) {
    if (name == m.name) return m;
  }
  throw Error("no model " + name);
}

// Words below 10, or numbers in [-1, 1].
inline std::vector<Tensor> inputs_of(const TrainableModel& m, const nn::GraphModule& net,
                                     DType dtype = DType::kF32) {
  Generator g{5, 0};
  std::vector<Tensor> in;
  for (size_t i = 0; i < m.inputs.size(); ++i) {
    const bool words = net.graph().value(net.graph().inputs()[i]).dtype == DType::kI64;
    Tensor t = uniform(m.inputs[i], words ? 0 : -1, words ? 9.99 : 1, DType::kF64, g);
    in.push_back(words ? floor(t).to(DType::kI64) : t.to(dtype));
  }
  return in;
}

}  // namespace wick::test
