// Reads a model that is to be trained further.
#pragma once

#include <string>

#include "graph/ir/graph.h"

namespace wick {

// Reads as import_onnx() does; but Dropout stays a node of its own, and a Dropout or
// BatchNormalization that the file has in training mode is read like one in inference mode, because
// train() and eval() of the module decide (trainer/capture/graph_module.h).
ir::Graph import_for_training(const std::string& path);

namespace onnx {

// While it lives, this thread reads models for training.
class TrainingScope {
 public:
  TrainingScope();
  ~TrainingScope();
  TrainingScope(const TrainingScope&) = delete;
  TrainingScope& operator=(const TrainingScope&) = delete;
  // Returns whether a scope is open in this thread.
  static bool on();

 private:
  bool saved_;
};

}  // namespace onnx
}  // namespace wick
