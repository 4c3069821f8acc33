#include "exporter/onnx/write/checker.h"

#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

#include "wick/error.h"

namespace wick::onnx {

void check(const std::string& bytes) {
  ::onnx::ModelProto model;
  if (!model.ParseFromString(bytes))
    throw Error("ONNX checker: the written model cannot be read back", Code::kInternal);
  try {
    ::onnx::checker::check_model(model);
  } catch (const std::exception& e) {
    throw Error(std::string("ONNX checker: ") + e.what(), Code::kInternal);
  }
}

}  // namespace wick::onnx
