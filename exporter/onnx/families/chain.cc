#include "exporter/onnx/write/write.h"

namespace wick::onnx {

WICK_ONNX_ROW(FusedElementwise, [](WriteCtx& c) {
  c.fail("fused ops have no ONNX form; export the graph before it is fused");
});

}  // namespace wick::onnx
