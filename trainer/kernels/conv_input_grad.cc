// The gradient of the input is the transposed convolution of grad_output with the same weights.
#include "runtime/kernels/gemm/transposed.h"
#include "trainer/kernels/depthwise.h"

namespace wick {
namespace {

TransposedShape transposed(const ConvShape& s) {
  TransposedShape t;
  t.n = s.n, t.groups = s.groups, t.reads = s.group_out(), t.writes = s.group_in();
  t.axis[1] = {s.h, s.oh, s.kh, s.stride_h, s.dilation_h, s.pad_top};
  t.axis[2] = {s.w, s.ow, s.kw, s.stride_w, s.dilation_w, s.pad_left};
  return t;
}

}  // namespace

size_t conv_input_grad_scratch_bytes(const TileKernels& kernels, const ConvShape& s, int threads) {
  if (is_depthwise(s)) return depthwise_input_grad_scratch_bytes(s, threads);
  return TransposedConv(kernels, transposed(s), threads).total_bytes();
}

void conv_input_grad(const TileKernels& kernels, const ConvShape& s, const float* dy,
                     const float* w, float* dx, float* scratch, int threads, ThreadPool* pool) {
  if (s.n * s.ic * s.h * s.w == 0) return;
  if (is_depthwise(s)) return depthwise_input_grad(kernels, s, dy, w, dx, scratch, pool);
  TransposedConv(kernels, transposed(s), threads).run_unpacked(dy, w, dx, scratch, pool);
}

}  // namespace wick
