#include "runtime/backend/vulkan/graph/dispatch_builder.h"

namespace wick::vulkan {

Status lower_pool(const OpCall& call, Lowered& out) {
  const auto& pool = *static_cast<const PoolAttrs*>(call.attrs);
  const Shape& x = call.in[0].shape;
  const Shape& y = call.out[0].shape;
  int spatial = x.rank() - 2;
  if (spatial < 1 || spatial > 2) return unsupported("a pool over three dims");
  auto at = [&](const Shape& s, int i) {
    return i < 2 - spatial ? int64_t{1} : s[s.rank() - 2 + i];
  };
  auto of = [&](const auto& list, int i, int64_t fallback) {
    return i < 2 - spatial ? fallback : list.at_or(i - (2 - spatial), fallback);
  };
  bool average = call.op == OpId::kAveragePool;
  Dispatch d = flat_dispatch(WICK_STORED(call.out[0].dtype, pool), call.out[0].numel());
  add_spec(d, average ? WICK_POOL_AVERAGE : WICK_POOL_MAX);
  add_spec(d, pool.count_include_pad != 0 ? 1 : 0);
  add_push(d, call.out[0].numel());
  for (int i = 0; i < 2; ++i) add_push(d, at(y, i));
  for (int i = 0; i < 2; ++i) add_push(d, at(x, i));
  for (int i = 0; i < 2; ++i) add_push(d, of(pool.kernel_shape, i, 1));
  for (int i = 0; i < 2; ++i) add_push(d, of(pool.strides, i, 1));
  for (int i = 0; i < 2; ++i) add_push(d, of(pool.dilations, i, 1));
  for (int i = 0; i < 2; ++i) add_push(d, of(pool.pads, i, 0));
  for (int i = 0; i < 2; ++i) {
    // pads lists all begins, then all ends
    bool given = i >= 2 - spatial && !pool.pads.empty();
    add_push(d, given ? pool.pads[i - (2 - spatial) + spatial] : int64_t{0});
  }
  add_operand(d, 0);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

}  // namespace wick::vulkan
