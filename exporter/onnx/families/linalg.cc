#include "exporter/onnx/read/read.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

void read_det(ReadCtx& c) { c.set(0, c.emit(OpId::kDet, {c.in(0)})); }

}  // namespace

WICK_READ(Det, read_det);

WICK_ONNX_PLAIN(Det);

}  // namespace wick::onnx
