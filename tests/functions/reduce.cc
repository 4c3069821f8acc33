#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> reduce_rows() {
  Rows row;
  row("sum", smooth, kAll)
      .sample("x0.sum()", {x({2, 3, 2})}, WICK_FN(sum(x0)))
      .sample("x0.sum((0, -1), keepdim=True)", {x({2, 3, 2})}, WICK_FN(sum(x0, {0, -1}, true)))
      .sample("x0.sum(0)", {x({0, 3})}, WICK_FN(sum(x0, {0})));
  row("mean", smooth, kFloats)
      .sample("x0.mean()", {x({2, 3, 2})}, WICK_FN(mean(x0)))
      .sample("x0.mean(1)", {x({2, 3, 2})}, WICK_FN(mean(x0, {1})));
  row("amax", piecewise, kNumbers)
      .sample("x0.amax((0, 2))", {distinct({2, 3, 2})}, WICK_FN(amax(x0, {0, 2})));
  row("amin", piecewise, kNumbers)
      .sample("x0.amin(1, True)", {distinct({2, 3, 2})}, WICK_FN(amin(x0, {1}, true)));
  row("prod", smooth, kFloats)
      .sample("x0.prod()", {off_zero({2, 3})}, WICK_FN(prod(x0)))
      .sample("x0.prod(1)", {off_zero({2, 3, 2})}, WICK_FN(prod(x0, {1})));
  row("max", piecewise, kNumbers).sample("x0.max()", {distinct({2, 3, 2})}, WICK_FN(max(x0)));
  row("min", piecewise, kNumbers).sample("x0.min()", {distinct({2, 3, 2})}, WICK_FN(min(x0)));
  row("argmin", integer_output, kNumbers)
      .sample("x0.argmin(-1)", {distinct({3, 4})}, WICK_FN(argmin(x0, -1)));
  row("argmax", integer_output, kNumbers)
      .sample("x0.argmax(1)", {distinct({3, 4})}, WICK_FN(argmax(x0, 1)))
      .sample("x0.argmax(0, True)", {distinct({3, 4})}, WICK_FN(argmax(x0, 0, true)));

  constexpr DTypeSet kReal = dtypes(DType::kF32, DType::kF64);
  row("sum in a dtype", smooth, kAll)
      .sample("x0.sum(1, dtype=torch.float64)", {x({2, 3}, 0, 3)},
              WICK_FN(sum(x0, 1, false, DType::kF64)))
      .sample("x0.prod(1)", {x({2, 3}, 1, 3)}, WICK_FN(prod(x0, 1)), kInts | kBool)
      .sample("x0.mean(dtype=torch.float64)", {x({2, 3}, 0, 3)},
              WICK_FN(mean(x0, {}, false, DType::kF64)));
  row("of a number", smooth, kReal)
      .sample("x0.sum(0)", {x({})}, WICK_FN(sum(x0, 0)))
      .sample("x0.amax(-1)", {x({})}, WICK_FN(amax(x0, -1)))
      .sample("x0.mean(0)", {x({0, 3})}, WICK_FN(mean(x0, 0)))
      .sample("x0.prod(0)", {x({0, 3})}, WICK_FN(prod(x0, 0)));
#define X(name, ...) row(#name, smooth, kReal) __VA_ARGS__;
  X(var,
    .sample("x0.var()", {x({2, 3})}, WICK_FN(var(x0)))
        .sample("x0.var(1, unbiased=False)", {x({2, 3})}, WICK_FN(var(x0, 1, 0)))
        .sample("x0.var((0, 2), keepdim=True)", {x({2, 3, 2})}, WICK_FN(var(x0, {0, 2}, 1, true))))
  X(std, .sample("x0.std()", {x({2, 3})}, WICK_FN(wick::std(x0)))
             .sample("x0.std(0, unbiased=False)", {x({2, 3})}, WICK_FN(wick::std(x0, 0, 0))))
  X(var_mean, .sample("torch.var_mean(x0, 1)", {x({2, 3})}, WICK_FN(var_mean(x0, 1))))
  X(std_mean, .sample("torch.std_mean(x0, 1)", {x({2, 3})}, WICK_FN(std_mean(x0, 1))))
  X(nansum, .sample("x0.nansum(1)", {x({2, 3})}, WICK_FN(nansum(x0, 1))))
  X(nanmean, .sample("x0.nanmean(1)", {x({2, 3})}, WICK_FN(nanmean(x0, 1))))
  X(logsumexp,
    .sample("x0.logsumexp(1)", {x({2, 3})}, WICK_FN(logsumexp(x0, 1)))
        .sample("x0.logsumexp((0, 1), True)", {x({2, 3})}, WICK_FN(logsumexp(x0, {0, 1}, true))))
  X(norm,
    .sample("x0.norm()", {off_zero({2, 3})}, WICK_FN(norm(x0)))
        .sample("x0.norm(1, 1)", {off_zero({2, 3})}, WICK_FN(norm(x0, 1, 1)))
        .sample("x0.norm(3, (0, 1), True)", {off_zero({2, 3})}, WICK_FN(norm(x0, 3, {0, 1}, true)))
        .sample("x0.norm(inf, 1)", {distinct({2, 3})}, WICK_FN(norm(x0, kInf, 1)))
        .sample("x0.norm(-inf, 1)", {given({0.5, 1.25, -0.75, 2, 1.5, -0.625}, {2, 3})},
                WICK_FN(norm(x0, -kInf, 1))))
#undef X
  row("of specials", kink("NaN, infinities, the norm at 0"), kReal)
      .sample("x0.nansum()", {given({1, kNan, 2})}, WICK_FN(nansum(x0)))
      .sample("x0.nanmean()", {given({1, kNan, 2})}, WICK_FN(nanmean(x0)))
      .sample("x0.logsumexp(0)", {given({1000, 1000.5})}, WICK_FN(logsumexp(x0, 0)))
      .sample("x0.logsumexp(0)", {given({-kInf, -kInf})}, WICK_FN(logsumexp(x0, 0)))
      .sample("x0.norm()", {given({0, 0})}, WICK_FN(norm(x0)))
      .sample("x0.norm(0.5)", {given({0, 4})}, WICK_FN(norm(x0, 0.5)))
      .sample("x0.norm(-1)", {given({0, 4})}, WICK_FN(norm(x0, -1)))
      .sample("torch.linalg.vector_norm(x0, -1)", {given({0, 4})},
              WICK_FN(linalg::vector_norm(x0, -1)))
      .sample("x0.std()", {given({1, 1, 1})}, WICK_FN(wick::std(x0)))
      .sample("torch.std_mean(x0, 1)", {given({1, 1, 1, 2}, {2, 2})}, WICK_FN(std_mean(x0, 1)))
      // PyTorch 1.13's own backward of it fails
      .sample("x0.var()", {given({1}).no_grad()}, WICK_FN(var(x0)))
      .sample("x0.max()", {given({1, kNan, 2})}, WICK_FN(max(x0)))
      .sample("x0.amin()", {given({1, kNan, 2})}, WICK_FN(amin(x0)));
  row("norm 0", piecewise_constant, kReal)
      .sample("x0.norm(0)", {given({0, 2, -0.0, 1})}, WICK_FN(norm(x0, 0)));
  row("max of two", piecewise, kReal)
      .sample("torch.max(x0, x1)", {distinct({2, 3}), given({0.01, -0.2, 0.3})},
              WICK_FN(max(x0, x1)))
      .sample("torch.min(x0, x1)", {distinct({2, 3}), given({0.01, -0.2, 0.3})},
              WICK_FN(min(x0, x1)));
#define X(name)                                                                       \
  row(#name, integer_output, kAll)                                                    \
      .sample("x0." #name "()", {given({0, 1, 2, 0})}, WICK_FN(name(x0)))             \
      .sample("x0." #name "(1)", {given({0, 0, 1, 2}, {2, 2})}, WICK_FN(name(x0, 1))) \
      .sample("x0." #name "(0, True)", {x({0, 3})}, WICK_FN(name(x0, 0, true)));
  X(all)
  X(any)
#undef X
  row("count_nonzero", integer_output, kAll)
      .sample("torch.count_nonzero(x0)", {given({0, 1, 2, 0})}, WICK_FN(count_nonzero(x0)))
      .sample("torch.count_nonzero(x0, 1)", {given({0, 0, 1, 2}, {2, 2})},
              WICK_FN(count_nonzero(x0, 1)));
  return row.all;
}

}  // namespace wick::test
