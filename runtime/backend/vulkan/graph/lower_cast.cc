// Cast between any two dtypes by integer arithmetic.
#include "runtime/backend/vulkan/graph/element.h"

namespace wick::vulkan {

Status lower_cast(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const CastAttrs*>(call.attrs);
  const DType from = call.in[0].dtype, to = call.out[0].dtype;
  const int64_t n = call.out[0].numel();
  Dispatch d = flat_dispatch(ShaderId::k_cast, words_of(to, n));
  add_spec(d, type_number(from));
  add_spec(d, type_number(to));
  add_spec(d, a.saturate != 0 ? 1 : 0);
  add_spec(d, static_cast<uint32_t>(a.round_mode));
  add_push(d, n);
  add_operand(d, 0);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

}  // namespace wick::vulkan
