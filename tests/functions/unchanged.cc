// Arguments that leave nothing to do: the values are x's, and whether the result is a new tensor or
// x's own memory is PyTorch's choice (SharesMemoryWherePyTorchDoes).
#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> unchanged_rows() {
  Rows row;
  constexpr DTypeSet kBoth = dtypes(DType::kF64, DType::kF32);
  const char* same = "PyTorch's answer is the input itself";
  // the arguments after the name are samples: PyTorch's expression, inputs, ours
#define X(name, ...) row(#name ".unchanged", smooth, kBoth).not_captured(same) __VA_ARGS__;
#define S(torch, shape, ...) .sample(torch, {x shape}, WICK_FN(__VA_ARGS__))
  X(interpolate,
    S("F.interpolate(x0, size=(3, 4))", ({1, 2, 3, 4}), interpolate(x0, {.size = {3, 4}}))
        S("F.interpolate(x0, size=4)", ({1, 2, 4}), interpolate(x0, {.size = {4}}))
            S("F.interpolate(x0, size=(2, 3, 4))", ({1, 2, 2, 3, 4}),
              interpolate(x0, {.size = {2, 3, 4}}))
                S("F.interpolate(x0, size=(3, 4), mode='nearest-exact')", ({1, 2, 3, 4}),
                  interpolate(x0, {.size = {3, 4}, .mode = "nearest-exact"}))
                    S("F.interpolate(x0, scale_factor=1.0)", ({1, 2, 3, 4}),
                      interpolate(x0, {.scale_factor = {1}}))
                        S("F.interpolate(x0, scale_factor=1.0, recompute_scale_factor=True)",
                          ({1, 2, 3, 4}),
                          interpolate(x0, {.scale_factor = {1}, .recompute_scale_factor = true}))
                            S("F.interpolate(x0, size=(3, 4), mode='bilinear')", ({1, 2, 3, 4}),
                              interpolate(x0, {.size = {3, 4}, .mode = "bilinear"}))
                                S("F.interpolate(x0, size=(3, 4), mode='bicubic')", ({1, 2, 3, 4}),
                                  interpolate(x0, {.size = {3, 4}, .mode = "bicubic"}))
                                    S("F.interpolate(x0, size=(3, 4), mode='area')", ({1, 2, 3, 4}),
                                      interpolate(x0, {.size = {3, 4}, .mode = "area"}))
                                        S("F.interpolate(x0, size=4, mode='linear')", ({1, 2, 4}),
                                          interpolate(x0, {.size = {4}, .mode = "linear"})))
  X(pad, S("F.pad(x0, (0, 0))", ({2, 3}), pad(x0, {0, 0}))
             S("F.pad(x0, (0, 0), mode='reflect')", ({2, 3}), pad(x0, {0, 0}, "reflect")) S(
                 "F.pad(x0, (0, 0), mode='replicate')", ({2, 3}), pad(x0, {0, 0}, "replicate"))
                 S("F.pad(x0, (0, 0), mode='circular')", ({1, 2, 3}), pad(x0, {0, 0}, "circular")))
  X(pool,
    S("F.avg_pool1d(x0, 1)", ({1, 2, 3}), avg_pool1d(x0, 1)) S("F.avg_pool2d(x0, 1)",
                                                               ({1, 2, 3, 4}), avg_pool2d(x0, 1))
        S("F.max_pool2d(x0, 1)", ({1, 2, 3, 4}), max_pool2d(x0, 1)) S(
            "F.adaptive_avg_pool1d(x0, 4)", ({2, 3, 4}), adaptive_avg_pool1d(x0, 4))
            S("F.adaptive_avg_pool2d(x0, (3, 4))", ({1, 2, 3, 4}), adaptive_avg_pool2d(x0, {3, 4}))
                S("F.adaptive_avg_pool2d(x0, 1)", ({1, 2, 1, 1}), adaptive_avg_pool2d(x0, 1))
                    S("F.adaptive_avg_pool3d(x0, (2, 3, 4))", ({1, 2, 2, 3, 4}),
                      adaptive_avg_pool3d(x0, {2, 3, 4})) S("F.adaptive_max_pool2d(x0, (3, 4))",
                                                            ({1, 2, 3, 4}),
                                                            adaptive_max_pool2d(x0, {3, 4}))
                        S("F.adaptive_max_pool1d(x0, 4)", ({2, 3, 4}), adaptive_max_pool1d(x0, 4)))
  X(arrange,
    S("torch.cat([x0])", ({2, 3}), cat({x0})) S("torch.stack([x0])[0]", ({2, 3}), stack({x0})[0])
        S("torch.hstack([x0])", ({2, 3}), hstack({x0}))
            S("torch.vstack([x0])", ({2, 3}), vstack({x0}))
                S("torch.dstack([x0])", ({2, 3, 2}), dstack({x0}))
                    S("torch.column_stack([x0])", ({2, 3}), column_stack({x0})) S(
                        "torch.block_diag(x0)", ({2, 3}), block_diag({x0}))
                        S("torch.cartesian_prod(x0)", ({3}), cartesian_prod({x0})) S(
                            "torch.combinations(x0, 1)", ({3}), combinations(x0, 1))
                            S("torch.meshgrid([x0], indexing='ij')", ({3}), meshgrid({x0})) S(
                                "torch.roll(x0, 0, 1)", ({2, 3}), roll(x0, {0}, {1}))
                                S("torch.roll(x0, 0)", ({2, 3}), roll(x0, {0})) S(
                                    "torch.roll(x0, 3, 1)", ({2, 3}), roll(x0, {3}, {1}))
                                    S("torch.flip(x0, ())", ({2, 3}), flip(x0, {})) S(
                                        "torch.rot90(x0, 0)", ({2, 3}), rot90(x0, 0))
                                        S("torch.rot90(x0, 4)", ({2, 3}), rot90(x0, 4)) S(
                                            "x0.repeat(1, 1)", ({2, 3}), repeat(x0, {1, 1}))
                                            S("torch.tile(x0, (1,))", ({2, 3}), tile(x0, {1})) S(
                                                "torch.repeat_interleave(x0, 1, 0)", ({2, 3}),
                                                repeat_interleave(x0, 1, 0))
                                                S("torch.tril(x0, 9)", ({2, 3}), tril(x0, 9)) S(
                                                    "torch.triu(x0, -9)", ({2, 3}), triu(x0, -9))
                                                    S("torch.diff(x0, 0)", ({2, 3}), diff(x0, 0))
                                                        S("torch.diag_embed(x0)[0]", ({1}),
                                                          diag_embed(x0)[0])
                                                            S("torch.diag(x0)", ({2, 3}), diag(x0)))
  X(view,
    S("x0.reshape(2, 3)", ({2, 3}), x0.reshape({2, 3}))
        S("x0.flatten(1, 1)", ({2, 3}), x0.flatten(1, 1)) S("x0.flatten()", ({3}), x0.flatten())
            S("torch.ravel(x0)", ({3}), ravel(x0)) S("x0.expand(2, 3)", ({2, 3}), x0.expand({2, 3}))
                S("torch.broadcast_to(x0, (2, 3))", ({2, 3}), broadcast_to(x0, {2, 3}))
                    S("x0.transpose(1, 1)", ({2, 3}), x0.transpose(1, 1))
                        S("x0.permute(0, 1)", ({2, 3}), x0.permute({0, 1})) S(
                            "torch.movedim(x0, 1, 1)", ({2, 3}), movedim(x0, 1, 1))
                            S("x0.t()", ({3}), x0.t()) S("x0.squeeze()", ({2, 3}), x0.squeeze()) S(
                                "x0.squeeze(0)", ({2, 3}), x0.squeeze(0)) S("x0[:]", ({2, 3}),
                                                                            x0.slice(0, 0, 2))
                                S("x0.narrow(0, 0, 2)", ({2, 3}), x0.narrow(0, 0, 2)) S(
                                    "x0.split(9)", ({2, 3}), split(x0, 9)) S("x0.chunk(1)",
                                                                             ({2, 3}), chunk(x0, 1))
                                    S("torch.tensor_split(x0, 1)", ({2, 3}), tensor_split(x0, 1)) S(
                                        "x0.unflatten(0, (2,))", ({2, 3}), unflatten(x0, 0, {2}))
                                        S("torch.atleast_1d(x0)", ({3}), atleast_1d(x0)) S(
                                            "torch.atleast_2d(x0)", ({2, 3}), atleast_2d(x0))
                                            S("torch.atleast_3d(x0)", ({2, 3, 2}), atleast_3d(x0)))
  X(cast, S("x0.to(dtype)", ({2, 3}), x0.to(dtype)) S("x0.contiguous()", ({2, 3}), x0.contiguous())
              S("x0.type_as(x0)", ({2, 3}), x0.type_as(x0)) S("x0.clone()", ({2, 3}), x0.clone()))
  X(reduce, S("x0.sum(0)", ({1, 3}), sum(x0, 0)) S("x0.mean(0)", ({1, 3}), mean(x0, 0))
                S("x0.sum()", ({}), sum(x0)) S("x0.mean()", ({}), mean(x0))
                    S("x0.prod(0)", ({1, 3}), prod(x0, 0)) S("x0.amax(0)", ({1, 3}), amax(x0, 0)) S(
                        "x0.max()", ({}), max(x0)) S("x0.logsumexp(0)", ({1, 3}), logsumexp(x0, 0))
                        S("x0.cumsum(0)", ({1, 3}), cumsum(x0, 0))
                            S("x0.cumprod(0)", ({1, 3}), cumprod(x0, 0))
                                S("x0.nansum(0)", ({1, 3}), nansum(x0, 0)))
  X(pointwise,
    S("torch.positive(x0)", ({2, 3}), positive(x0)) S("x0.clamp(-9, 9)", ({2, 3}), clamp(x0, -9, 9))
        S("x0.pow(1)", ({2, 3}), pow(x0, 1))
            S("torch.float_power(x0, 1)", ({2, 3}), float_power(x0, 1))
                S("torch.nan_to_num(x0)", ({2, 3}), nan_to_num(x0))
                    S("torch.clamp(x0, min=-9)", ({2, 3}), clamp_min(x0, -9))
                        S("x0 + 0", ({2, 3}), x0 + 0) S("x0 * 1", ({2, 3}), x0 * 1)
                            S("x0 / 1", ({2, 3}), x0 / 1))
  X(linalg,
    S("torch.matrix_power(x0, 1)", ({3, 3}), matrix_power(x0, 1))
        S("torch.einsum('ij', x0)", ({2, 3}), einsum("ij", {x0}))
            S("torch.einsum('ij->ij', x0)", ({2, 3}), einsum("ij->ij", {x0})) S(
                "torch.einsum('ij->ji', x0)", ({2, 3}), einsum("ij->ji", {x0}))
                S("torch.einsum('ii->i', x0)", ({3, 3}), einsum("ii->i", {x0})) S(
                    "torch.einsum('...ii->...i', x0)", ({2, 3, 3}), einsum("...ii->...i", {x0}))
                    S("torch.einsum('iii->i', x0)", ({3, 3, 3}), einsum("iii->i", {x0})) S(
                        "torch.linalg.multi_dot([x0, x0])", ({1, 1}), linalg::multi_dot({x0, x0})))
  X(nn, S("F.dropout(x0, 0.0)", ({2, 3}), dropout(x0, 0.0))
            S("F.dropout(x0, 0.5, False)", ({2, 3}), dropout(x0, 0.5, false)) S(
                "F.dropout2d(x0, 0.0)", ({2, 3, 1, 1}), dropout2d(x0, 0.0))
                S("F.dropout2d(x0, 0.5, False)", ({2, 3, 1, 1}), dropout2d(x0, 0.5, false)) S(
                    "F.alpha_dropout(x0, 0.5, False)", ({2, 3}), alpha_dropout(x0, 0.5, false))
                    S("F.alpha_dropout(x0, 0.0, True)", ({2, 3}), alpha_dropout(x0, 0.0, true)) S(
                        "F.feature_alpha_dropout(x0, 0.5, False)", ({2, 3, 1}),
                        feature_alpha_dropout(x0, 0.5, false))
                        S("F.pixel_shuffle(x0, 1)", ({1, 2, 3, 4}), pixel_shuffle(x0, 1))
                            S("F.pixel_unshuffle(x0, 1)", ({1, 2, 3, 4}), pixel_unshuffle(x0, 1)) S(
                                "F.unfold(x0, 1)", ({1, 2, 3, 4}), unfold(x0, {1, 1}))
                                S("F.fold(x0, (3, 4), 1)", ({1, 2, 12}), fold(x0, {3, 4}, {1, 1})))
  X(index, S("x0.index_select(0, torch.arange(2))", ({2, 3}), index_select(x0, 0, arange(2)))
               S("x0[torch.arange(2)]", ({2, 3}), x0[arange(2)])
                   S("x0.sort(0)[0]", ({1, 3}), sort(x0, 0).values)
                       S("x0.masked_fill(torch.tensor(False), 1)", ({2, 3}),
                         masked_fill(x0, full(Shape{}, 0, DType::kBool), 1)))
#undef S
#undef X
  row("integers.unchanged", piecewise_constant, kInts)
      .sample("torch.round(x0)", {x({2, 3})}, WICK_FN(round(x0)))
      .sample("torch.floor(x0)", {x({2, 3})}, WICK_FN(floor(x0)))
      .sample("torch.ceil(x0)", {x({2, 3})}, WICK_FN(ceil(x0)))
      .sample("torch.trunc(x0)", {x({2, 3})}, WICK_FN(trunc(x0)))
      .sample("torch.positive(x0)", {x({2, 3})}, WICK_FN(positive(x0)))
      .sample("torch.nan_to_num(x0)", {x({2, 3})}, WICK_FN(nan_to_num(x0)))
      .sample("x0.clone().round_()", {x({2, 3})}, WICK_FN(x0.clone().round_()));
  return row.all;
}

}  // namespace wick::test
