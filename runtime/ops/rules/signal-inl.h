#pragma once

#include "runtime/ops/rules/common-inl.h"

namespace wick::rules {

// There is no memory to transform longer signals; with this limit the sizes of the kernel's tables
// cannot overflow.
constexpr int64_t kMaxDftLength = int64_t{1} << 40;

template <class D>
Status dft(RuleCtx<D>& c) {
  const DftAttrs& a = c.template as<DftAttrs>();
  WICK_TRY(need_float(c.in[0]));
  WICK_TRY(need_rank(c.in[0], 2, kMaxRank, "the signal"));
  auto out = c.in[0].shape;
  const int last = out.rank() - 1;
  DimArgs<D, 1> where, length;
  WICK_TRY(read_dims(c, 2, IntList<1>{a.axis}, "axis", &where));
  if (where.count != 1) return Status(Code::kInvalidArgument, "axis must be one number");
  if (!dim_known(where.values[0])) return needs_value();
  WICK_ASSIGN(int axis, normalize_axis(dim_value(where.values[0]), out.rank()));
  if (axis == last) {
    return Status(Code::kInvalidArgument,
                  "the last axis holds the real and imaginary parts and cannot be transformed");
  }
  if (dim_known(out[last]) && dim_value(out[last]) != 1 && dim_value(out[last]) != 2) {
    return error(Code::kShapeMismatch,
                 "the last dimension must be 1 (real) or 2 (real, imaginary), got %s",
                 to_text(out).text);
  }
  const bool to_real = a.inverse != 0 && a.onesided != 0;
  const bool half = a.inverse == 0 && a.onesided != 0;
  if (half && dim_equal(out[last], D(1)) == Tri::kNo)
    return Status(Code::kInvalidArgument, "onesided needs a real signal");
  if (to_real && dim_equal(out[last], D(2)) == Tri::kNo)
    return Status(Code::kInvalidArgument, "onesided and inverse need a complex spectrum");
  IntList<1> attr;
  if (a.dft_length != 0) attr = {a.dft_length};
  WICK_TRY(read_dims(c, 1, attr, "dft_length", &length));
  if (length.count > 1 || (c.has(1) && length.count != 1))
    return Status(Code::kInvalidArgument, "dft_length must be one number");
  D n = length.count == 1 ? length.values[0]
        : to_real         ? dim_mul(dim_add(out[axis], D(-1)), D(2))
                          : out[axis];
  if (dim_known(n) && (dim_value(n) < 1 || dim_value(n) > kMaxDftLength)) {
    return error(Code::kInvalidArgument, "the length of the transform is %lld, must be 1 to 2^40",
                 static_cast<long long>(dim_value(n)));
  }
  if (c.args != nullptr) c.args->dft = {axis, dim_value(n)};
  out[axis] = half ? dim_add(dim_floor_div(n, 2), D(1)) : n;
  out[last] = D(to_real ? 1 : 2);
  set_out(c, 0, c.in[0].dtype, out);
  return {};
}

}  // namespace wick::rules
