#include <algorithm>
#include <limits>

#include "runtime/backend/vulkan/graph/element.h"
#include "runtime/backend/vulkan/graph/whole_element.h"
#include "runtime/core/half.h"
#include "runtime/kernels/reduce.h"

namespace wick::vulkan {
namespace {

uint32_t function_of(OpId op) {
  switch (op) {
    case OpId::kReduceMean: return WICK_REDUCE_MEAN;
    case OpId::kReduceMax: return WICK_REDUCE_MAX;
    case OpId::kReduceMin: return WICK_REDUCE_MIN;
    case OpId::kReduceProd: return WICK_REDUCE_PROD;
    default: return WICK_REDUCE_SUM;
  }
}

// Of nothing: 0, no number, the least, the greatest, 1.
Status fill_with_identity(const OpCall& call, Lowered& out) {
  float v = 0;
  switch (call.op) {
    case OpId::kReduceMean: v = std::numeric_limits<float>::quiet_NaN(); break;
    case OpId::kReduceMax: v = -std::numeric_limits<float>::infinity(); break;
    case OpId::kReduceMin: v = std::numeric_limits<float>::infinity(); break;
    case OpId::kReduceProd: v = 1; break;
    default: break;
  }
  const DType dtype = call.out[0].dtype;
  const int64_t n = call.out[0].numel();
  if (dtype == DType::kF64) {
    const auto bits = std::bit_cast<uint64_t>(static_cast<double>(v));
    return out.dispatches.push_back(
        fill_dispatch(2 * n, static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32), 0));
  }
  auto word = std::bit_cast<uint32_t>(v);
  if (dtype == DType::kF16) word = Half(v).bits * 0x10001u;
  return out.dispatches.push_back(fill_dispatch(words_of(dtype, n), word, word, 0));
}

}  // namespace

bool reduces_words(DType dtype) {
  return is_int(dtype) || dtype == DType::kBool || dtype == DType::kF64;
}

Status lower_reduce(const OpCall& call, Lowered& out) {
  const TensorView& x = call.in[0];
  const bool words = reduces_words(x.dtype);
  if (words && call.op == OpId::kReduceMean && x.dtype != DType::kF64)
    return unsupported("no shader for this mean");
  if (words && x.dtype != DType::kF64 && x.numel() == 0) return unsupported("an empty input");
  const bool* axes = call.args->reduce.set;
  if (x.rank() > 0 && std::none_of(axes, axes + x.rank(), [](bool set) { return set; })) {
    out.alias = true;
    return {};
  }
  if (x.numel() == 0) return fill_with_identity(call, out);
  const ReduceShape s = reduce_shape(TensorView(nullptr, x.dtype, x.shape), axes);
  Dispatch d;
  d.shader = WICK_STORED(call.out[0].dtype, reduce);
  d.groups[0] = groups_for(s.outputs, WICK_SOFTMAX_ROWS);
  add_spec(d, function_of(call.op));
  add_spec(d, static_cast<uint32_t>(s.kept));
  add_spec(d, static_cast<uint32_t>(s.reduced));
  if (words) {
    d.shader = ShaderId::k_reduce_any;
    add_element(d, x.dtype);
  }
  add_push(d, s.outputs);
  add_push(d, s.count);
  auto value = [&](const int64_t* kept, const int64_t* reduced, int i, int64_t none) {
    return i < s.kept ? kept[i] : i < s.kept + s.reduced ? reduced[i - s.kept] : none;
  };
  for (int i = 0; i < kMaxRank; ++i) add_push(d, value(s.kept_dim, s.reduced_dim, i, 1));
  for (int i = 0; i < kMaxRank; ++i) add_push(d, value(s.kept_stride, s.reduced_stride, i, 0));
  add_operand(d, 0);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

}  // namespace wick::vulkan
