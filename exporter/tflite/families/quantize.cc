// Changes of type.
#include "exporter/tflite/read/read.h"

namespace wick::tflite {
namespace {

// Input and result are of any quantization, or of none.
void read_quantize(ReadCtx& c) {
  const Layout at = c.layout();
  c.set(0, c.in(0, at), at);
}

// Integers without a quantization, and those with one, are taken as the numbers that are stored.
void read_cast(ReadCtx& c) {
  const Layout at = c.layout();
  c.set_raw(0, c.cast(c.raw(0, at), c.output(0).dtype), at);
}

}  // namespace

WICK_TFLITE_READ(QUANTIZE, read_quantize);
WICK_TFLITE_READ(DEQUANTIZE, read_quantize);
WICK_TFLITE_READ(CAST, read_cast);

}  // namespace wick::tflite
