// Changes of type.
#include "exporter/tflite/read/read.h"
#include "runtime/kernels/bytes/requantize.h"

namespace wick::tflite {
namespace {

// Returns the numbers of input 0. Those of 32 bits may have a scale, which matters here alone.
ValueId numbers(ReadCtx& c, Layout at) {
  const Tensor& t = c.input(0);
  const fbs::Quantization* q = t.file->quantization();
  if (t.dtype != DType::kI32 || q == nullptr || size_of(q->scale()) == 0) return c.in(0, at);
  if (q->scale()->size() > 1 || !is_scale(q->scale()->Get(0)))
    c.fail("its input of int32 must have one scale, which is finite and > 0");
  ValueId v = c.cast(c.raw(0, at), DType::kF32);
  if (size_of(q->zero_point()) > 0 && q->zero_point()->Get(0) != 0)
    v = c.emit(OpId::kSub, {v, c.scalar(static_cast<double>(q->zero_point()->Get(0)))});
  return c.emit(OpId::kMul, {v, c.scalar(q->scale()->Get(0))});
}

// Input and result are of any quantization, or of none.
void read_quantize(ReadCtx& c) {
  const Layout at = c.layout();
  c.set(0, numbers(c, at), at);
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
