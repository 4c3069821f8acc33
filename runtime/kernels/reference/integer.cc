// Matmul and convolution of bytes with zero points into wrapping int32 (so the order does not
// matter), BitCast, and the inference form of Dropout, which drops nothing.
#include <cstring>

#include "runtime/core/quantized_dtype.h"
#include "runtime/kernels/copy.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/reference/integer_loops.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

Status run_matmul(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void*) {
  matmul_sums(ctx, in, out[0].shape, [&](int64_t line, int64_t j, int64_t n, int32_t sum) {
    out[0].as<int32_t>()[line * n + j] = sum;
  });
  return {};
}

Status run_conv(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const void* attrs) {
  const auto& a = *static_cast<const ConvAttrs*>(attrs);
  conv_sums(ctx, in, out[0].shape, a,
            [&](int64_t at, int64_t, int32_t sum) { out[0].as<int32_t>()[at] = sum; });
  return {};
}

Status run_bit_cast(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out,
                    const void*) {
  copy_strided(in[0], TensorView(out[0].data, in[0].dtype, in[0].shape));
  // A bool must be 0 or 1: every reader relies on that.
  for (int64_t i = 0, n = out[0].dtype == DType::kBool ? out[0].numel() : 0; i < n; ++i)
    out[0].as<uint8_t>()[i] = out[0].as<uint8_t>()[i] != 0 ? 1 : 0;
  return {};
}

bool is_zero(const TensorView& t) {
  switch (t.dtype) {
    case DType::kF32: return t.as<float>()[0] == 0;
    case DType::kF64: return t.as<double>()[0] == 0;
    default: return (t.as<uint16_t>()[0] & 0x7FFF) == 0;
  }
}
Status run_dropout(const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const bool training = has_input(in, 2) && in[2].as<uint8_t>()[0] != 0;
  const bool drops = training && !(has_input(in, 1) && is_zero(in[1]));
  if (drops) {
    return Status(Code::kUnsupported,
                  "training_mode is true and ratio is not 0: random dropout does not run in a "
                  "program; give false, or ratio 0");
  }
  copy_strided(in[0], out[0]);
  Poll poll;
  in_pieces(poll, out[1].numel(), [&](int64_t begin, int64_t end) {
    memset(out[1].as<char>() + begin, 1, static_cast<size_t>(end - begin));
  });
  return {};
}

bool are_bytes(const KernelQuery& q) { return is_byte(q.in[0].dtype) && is_byte(q.in[1].dtype); }
bool is_real(const KernelQuery& q) {
  return is_float(q.in[0].dtype) || is_small_float(q.in[0].dtype);
}
bool movable(const KernelQuery& q) { return q.in[0].dtype != DType::kString; }

}  // namespace

WICK_REF_ROWS(MatMulInteger,
              {"matmul_integer.any.ref", kStridedInputs, are_bytes, nullptr, nullptr, run_matmul});
WICK_REF_ROWS(ConvInteger,
              {"conv_integer.any.ref", kContiguous, are_bytes, nullptr, nullptr, run_conv});
WICK_REF_ROWS(BitCast, {"bit_cast.any", kStridedInputs, movable, nullptr, nullptr, run_bit_cast});
WICK_REF_ROWS(Dropout, {"dropout.any", kStridedInputs, is_real, nullptr, nullptr, run_dropout});
WICK_NO_CPU_ROWS(BitCast);
WICK_NO_CPU_ROWS(Dropout);

}  // namespace wick
