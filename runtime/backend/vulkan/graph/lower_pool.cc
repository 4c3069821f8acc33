// MaxPool with or without indices, AveragePool, LpPool.
#include "runtime/backend/vulkan/graph/window.h"

namespace wick::vulkan {
namespace {

struct Pooling {
  const PoolAttrs* pool;
  uint32_t kind;
  int64_t p = 1, columns_first = 0;
};

Status add_pool(const OpCall& call, const Pooling& k, Lowered& out) {
  const WindowShape w(call.in[0].shape, call.out[0].shape, *k.pool,
                      [&](int i) { return k.pool->kernel_shape[i]; });
  if (!w.fits()) return unsupported("a window too large for 32-bit indices");
  const bool indices = call.out.size() > 1;
  Dispatch d =
      flat_dispatch(indices ? ShaderId::k_pool_indices_f32 : WICK_STORED(call.out[0].dtype, pool),
                    call.out[0].numel());
  add_spec(d, k.kind);
  add_spec(d, k.pool->count_include_pad != 0 ? 1 : 0);
  add_spec(d, k.p > 3 ? 3 : static_cast<uint32_t>(k.p));
  add_spec(d, static_cast<uint32_t>(k.columns_first));
  add_push(d, call.out[0].numel());
  add_push(d, static_cast<float>(k.p));
  add_push(d, 1.0f / static_cast<float>(k.p));
  add_pushes(d, w.out);
  add_pushes(d, w.in);
  add_pushes(d, w.kernel);
  add_pushes(d, w.stride);
  add_pushes(d, w.dilation);
  add_pushes(d, w.pad);
  add_pushes(d, w.pad_end);
  add_operand(d, 0);
  add_operand(d, out_operand(0));
  if (indices) add_operand(d, out_operand(1));
  return out.dispatches.push_back(d);
}

template <uint32_t kKind>
Status lower_pool(const OpCall& call, Lowered& out) {
  return add_pool(call, {static_cast<const PoolAttrs*>(call.attrs), kKind}, out);
}
Status lower_lp_pool(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const LpPoolAttrs*>(call.attrs);
  return add_pool(call, {&a.pool, WICK_POOL_LP, a.p}, out);
}
Status lower_max_pool_indices(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const MaxPoolIndicesAttrs*>(call.attrs);
  return add_pool(call, {&a.pool, WICK_POOL_MAX, 1, a.storage_order}, out);
}

constexpr uint32_t kFlags = kStoresHalves | kEmptyOutputs;

}  // namespace

WICK_VULKAN(MaxPool, {.lower = lower_pool<WICK_POOL_MAX>, .flags = kFlags, .cut = cut_planes});
WICK_VULKAN(AveragePool,
            {.lower = lower_pool<WICK_POOL_AVERAGE>, .flags = kFlags, .cut = cut_planes});
WICK_VULKAN(LpPool, {.lower = lower_lp_pool, .flags = kFlags});
WICK_VULKAN(MaxPoolIndices, {.lower = lower_max_pool_indices,
                             .types = {.later_outputs = [](DType t) { return t == DType::kI64; }},
                             .flags = kFlags});

}  // namespace wick::vulkan
