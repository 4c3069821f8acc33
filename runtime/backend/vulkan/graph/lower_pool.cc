// MaxPool, with indices or without, AveragePool, LpPool.
#include "runtime/backend/vulkan/graph/window.h"

namespace wick::vulkan {
namespace {

struct Kind {
  const PoolAttrs* pool;
  uint32_t kind;
  int64_t p = 1, columns_first = 0;
};

Kind kind_of(const OpCall& call) {
  switch (call.op) {
    case OpId::kAveragePool: return {static_cast<const PoolAttrs*>(call.attrs), WICK_POOL_AVERAGE};
    case OpId::kLpPool: {
      const auto& a = *static_cast<const LpPoolAttrs*>(call.attrs);
      return {&a.pool, WICK_POOL_LP, a.p};
    }
    case OpId::kMaxPoolIndices: {
      const auto& a = *static_cast<const MaxPoolIndicesAttrs*>(call.attrs);
      return {&a.pool, WICK_POOL_MAX, 1, a.storage_order};
    }
    default: return {static_cast<const PoolAttrs*>(call.attrs), WICK_POOL_MAX};
  }
}

}  // namespace

Status lower_pool(const OpCall& call, Lowered& out) {
  const Kind k = kind_of(call);
  const WindowShape w(call.in[0].shape, call.out[0].shape, *k.pool,
                      [&](int i) { return k.pool->kernel_shape[i]; });
  if (!w.fits()) return unsupported("a window too large for 32-bit indices");
  const bool indices = call.op == OpId::kMaxPoolIndices;
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

}  // namespace wick::vulkan
