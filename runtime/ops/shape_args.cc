#include "runtime/ops/shape_args.h"

#include "runtime/core/int_at.h"
#include "runtime/ops/rule.h"

namespace wick {
namespace {

constexpr size_t kInputs = 5;     // at most, of an op that has shape arguments
constexpr int64_t kNumbers = 16;  // at most, in one input: a begin and an end per axis

}  // namespace

Status resolve_shape_args(OpId op, const void* attrs, Span<const TensorView> in, ShapeArgs* args) {
  if (in.size() > kInputs) return Status(Code::kInvalidArgument, "too many inputs");
  ValueInfo<int64_t> given[kInputs], made;
  int64_t numbers[kInputs][kNumbers];
  for (size_t i = 0; i < in.size(); ++i) {
    const TensorView& v = in[i];
    given[i].dtype = v.dtype;
    given[i].shape = v.shape;
    const bool reals = holds_reals(op, i, v.dtype, v.rank());
    if (v.data == nullptr || v.rank() > 1 || v.numel() > kNumbers || (!is_int(v.dtype) && !reals))
      continue;
    const int64_t step = v.rank() == 0 ? 0 : v.strides[0];
    for (int64_t k = 0, n = v.numel(); k < n; ++k)
      numbers[i][k] = reals ? real_bits_at(v.dtype, v.data, k * step) : int_at(v, k * step);
    given[i].elements = numbers[i];
    given[i].element_count = v.numel();
  }
  RuleCtx<int64_t> ctx{op, attrs, {given, in.size()}, {&made, 1}, nullptr, args};
  return infer_shapes(ctx);
}

}  // namespace wick
