#include "exporter/onnx/training.h"

#include <utility>

#include "exporter/onnx/onnx.h"

namespace wick {
namespace onnx {
namespace {
constinit thread_local bool g_training = false;
}  // namespace

TrainingScope::TrainingScope() : saved_(std::exchange(g_training, true)) {}
TrainingScope::~TrainingScope() { g_training = saved_; }
bool TrainingScope::on() { return g_training; }

}  // namespace onnx

ir::Graph import_for_training(const std::string& path) {
  const onnx::TrainingScope scope;
  return import_onnx(path);
}

}  // namespace wick
