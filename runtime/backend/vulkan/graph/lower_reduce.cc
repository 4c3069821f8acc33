#include <algorithm>
#include <limits>

#include "runtime/backend/vulkan/graph/element.h"
#include "runtime/backend/vulkan/graph/whole_element.h"
#include "runtime/core/half.h"
#include "runtime/kernels/reduce/reduce.h"

namespace wick::vulkan {
namespace {

constexpr bool reduces_words(DType dtype) {  // not floats of 32 or 16 bits
  return is_int(dtype) || dtype == DType::kBool || dtype == DType::kF64;
}

// The result of an empty reduction, by function: WICK_REDUCE_SUM and so on.
constexpr float kIdentity[] = {0, std::numeric_limits<float>::quiet_NaN(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::infinity(), 1};

Status fill_with(float v, const OpCall& call, Lowered& out) {
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

Status lower_reduce(const OpCall& call, Lowered& out) {
  const TensorView& x = call.in[0];
  const bool words = reduces_words(x.dtype);
  const auto function = static_cast<uint32_t>(vulkan_row(call.op).function.reduce);
  if (words && function == WICK_REDUCE_MEAN && x.dtype != DType::kF64)
    return unsupported("no shader for this mean");
  if (words && x.dtype != DType::kF64 && x.numel() == 0) return unsupported("an empty input");
  const bool* axes = call.args->reduce.set;
  if (x.rank() > 0 && std::none_of(axes, axes + x.rank(), [](bool set) { return set; })) {
    out.alias = true;
    return {};
  }
  if (x.numel() == 0) return fill_with(kIdentity[function], call, out);
  const ReduceShape s = reduce_shape(TensorView(nullptr, x.dtype, x.shape), axes);
  Dispatch d;
  d.shader = WICK_STORED(call.out[0].dtype, reduce);
  d.groups[0] = groups_for(s.outputs, WICK_SOFTMAX_ROWS);
  add_spec(d, function);
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

constexpr VulkanRow reduction(int function) {
  return {.lower = lower_reduce,
          .types = {[](DType t) { return reduces_words(t) || t == DType::kF32; }},
          .flags = kStoresHalves | kEmptyInputs | kEmptyOutputs,
          .cut = cut_kept_in_front,
          .function = {.reduce = function}};
}

}  // namespace

WICK_VULKAN(ReduceSum, reduction(WICK_REDUCE_SUM));
WICK_VULKAN(ReduceMean, reduction(WICK_REDUCE_MEAN));
WICK_VULKAN(ReduceMax, reduction(WICK_REDUCE_MAX));
WICK_VULKAN(ReduceMin, reduction(WICK_REDUCE_MIN));
WICK_VULKAN(ReduceProd, reduction(WICK_REDUCE_PROD));

}  // namespace wick::vulkan
