// MatMulInteger and QLinearMatMul: exact sums of products of bytes.
#include "runtime/backend/vulkan/graph/dispatch_builder.h"
#include "runtime/kernels/bytes/qlinear.h"

namespace wick::vulkan {
namespace {

constexpr int kBatchDims = 4;  // as many as the push constants hold
constexpr uint32_t kRunBindings = 10;

Status add_product(const IntegerProduct& p, const Shape& y, Dispatch& d) {
  const int batch = p.a.batch.rank();
  if (batch > kBatchDims) return unsupported("a matmul with more than four batch dims");
  auto add_batch = [&](auto&& value, int64_t none) {
    for (int i = 0; i < kBatchDims - batch; ++i) add_push(d, none);
    for (int i = 0; i < batch; ++i) add_push(d, static_cast<int64_t>(value(i)));
  };
  add_push(d, p.batches * p.m * p.n);
  add_push(d, p.m);
  add_push(d, p.n);
  add_push(d, p.k);
  add_push(d, p.a.row);
  add_push(d, p.a.column);
  add_push(d, p.b.row);
  add_push(d, p.b.column);
  add_push(d, p.has_a_zero ? p.a_zero.row : 0);
  add_push(d, p.has_b_zero ? p.b_zero.column : 0);
  add_batch([&](int i) { return y[i]; }, 1);
  add_batch([&](int i) { return p.a.batch[i]; }, 0);
  add_batch([&](int i) { return p.b.batch[i]; }, 0);
  add_batch([&](int i) { return p.has_a_zero ? p.a_zero.batch[i] : 0; }, 0);
  add_batch([&](int i) { return p.has_b_zero ? p.b_zero.batch[i] : 0; }, 0);
  return {};
}

void add_spec(Dispatch& d, DType a, DType b, DType y, uint32_t zeros, const IntegerProduct& p) {
  auto is_signed = [](DType t) { return t == DType::kI8 ? 1u : 0u; };
  vulkan::add_spec(d, is_signed(a));
  vulkan::add_spec(d, is_signed(b));
  vulkan::add_spec(d, is_signed(y));
  vulkan::add_spec(d, zeros);
  vulkan::add_spec(d, p.n % 4 == 0 && p.b.column == 1 ? 1 : 0);
}

// Returns a view with only the dtype and shape.
TensorView bare(const TensorView& v) {
  return v.present() ? TensorView(nullptr, v.dtype, v.shape) : TensorView();
}

Status lower_sums(const OpCall& call, Lowered& out) {
  TensorView in[4];
  for (size_t i = 0; i < call.in.size(); ++i) in[i] = bare(call.in[i]);
  const Shape& y = call.out[0].shape;
  const IntegerProduct p({in, 4}, TensorView(nullptr, DType::kI32, y));
  const int64_t each = p.n % 4 == 0 && p.b.column == 1 ? 4 : 1;
  Dispatch d = flat_dispatch(ShaderId::k_byte_matmul_i32, call.out[0].numel() / each);
  const uint32_t zeros = (p.has_a_zero ? 1u : 0u) | (p.has_b_zero ? 2u : 0u);
  add_spec(d, in[0].dtype, in[1].dtype, DType::kI32, zeros, p);
  WICK_TRY(add_product(p, y, d));
  add_operand(d, 0);
  add_operand(d, 1);
  add_operand(d, p.has_a_zero ? 2 : 0);  // absent: binds its tensor, which is not read
  add_operand(d, p.has_b_zero ? 3 : 1);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

// Scales that only a run knows: each multiplier is computed where it is needed, in integer
// arithmetic.
Status lower_bytes_of_a_run(const OpCall& call, Lowered& out) {
  if (out.can.bindings < kRunBindings) return unsupported("more buffers than a shader sees");
  const TensorView in[4] = {bare(call.in[0]), bare(call.in[3]), {}, {}};
  const IntegerProduct p({in, 4}, TensorView(nullptr, DType::kI32, call.out[0].shape));
  Dispatch d = flat_dispatch(ShaderId::k_byte_matmul_run, (call.out[0].numel() + 3) / 4);
  add_spec(d, in[0].dtype, in[1].dtype, call.out[0].dtype, 0, p);
  vulkan::add_spec(d, (call.in[4].numel() == 1 ? 0u : 1u) | (call.in[5].numel() == 1 ? 0u : 2u));
  WICK_TRY(add_product(p, call.out[0].shape, d));
  d.fault_push = d.push_words;
  d.fault_text = "a scale is not above 0 and finite, or the scales' quotient is not finite";
  add_push(d, uint32_t{0});
  for (int i : {0, 3, 1, 2, 4, 5, 6, 7}) add_operand(d, i);
  add_operand(d, out_operand(0));
  add_operand(d, kFaultOperand);
  return out.dispatches.push_back(d);
}

// Known scales are multiplied and divided once, here. The CPU reports bad ones.
Status lower_bytes(const OpCall& call, Lowered& out) {
  for (size_t i : {1, 2, 4, 5, 6, 7}) {
    if (call.in[i].data == nullptr) return lower_bytes_of_a_run(call, out);
  }
  ProductScales scales;
  if (!product_scales(call.in, 0, 3, 6, &scales).ok()) return unsupported("a scale that is none");
  const TensorView in[4] = {bare(call.in[0]), bare(call.in[3]), {}, {}};
  const Shape& y = call.out[0].shape;
  const IntegerProduct p({in, 4}, TensorView(nullptr, DType::kI32, y));
  auto add = [&](int32_t word) { return out.table.push_back(static_cast<uint32_t>(word)); };
  WICK_TRY(add(zero_point(call.in, 2)));
  WICK_TRY(add(zero_point(call.in, 7)));
  for (int64_t j = 0; j < p.n; ++j) WICK_TRY(add(std::bit_cast<int32_t>(scales.at(j))));
  const TensorView& zero = call.in[5];
  for (int64_t j = 0; j < p.n; ++j) WICK_TRY(add(byte_at(zero, zero.numel() == 1 ? 0 : j)));
  Dispatch d = flat_dispatch(ShaderId::k_byte_matmul_u8, (call.out[0].numel() + 3) / 4);
  add_spec(d, in[0].dtype, in[1].dtype, call.out[0].dtype, 0, p);
  WICK_TRY(add_product(p, y, d));
  add_operand(d, 0);
  add_operand(d, 3);
  add_operand(d, kTableOperand);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

}  // namespace

// Uses tiles if possible, else the untiled shader.
template <Status (*kAlone)(const OpCall&, Lowered&)>
static Status lower_byte_matmul(const OpCall& call, Lowered& out) {
  const Status tiles = lower_byte_gemm(call, out);
  if (tiles.code() != Code::kUnsupported) return tiles;
  out.table.clear();
  return kAlone(call, out);
}

WICK_VULKAN(MatMulInteger, {.lower = lower_byte_matmul<lower_sums>, .types = {is_byte_or_real}});
WICK_VULKAN(QLinearMatMul, {.lower = lower_byte_matmul<lower_bytes>, .types = {is_byte_or_real}});

}  // namespace wick::vulkan
