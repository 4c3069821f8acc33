#include "exporter/onnx/read.h"
#include "exporter/onnx/write.h"

namespace wick::onnx {
namespace {

void read_det(ReadCtx& c) { c.set(0, c.emit(OpId::kDet, {c.in(0)})); }

constexpr ReadRow kRows[] = {{"Det", read_det}};

}  // namespace

Span<const ReadRow> linalg_rows() { return kRows; }

WICK_ONNX_PLAIN(Det);

}  // namespace wick::onnx
