#include "tests/functions/function_row.h"

namespace wick::test {
namespace {

void order_rows(Rows& row) {
  row("flip", smooth, kStored)
      .sample("torch.flip(x0, (1,))", {x({2, 3})}, WICK_FN(flip(x0, {1})))
      .sample("torch.flip(x0, (0, -1))", {x({2, 3, 2})}, WICK_FN(flip(x0, {0, -1})));
  row("fliplr", smooth, kStored).sample("torch.fliplr(x0)", {x({2, 3})}, WICK_FN(fliplr(x0)));
  row("flipud", smooth, kStored).sample("torch.flipud(x0)", {x({2, 3})}, WICK_FN(flipud(x0)));
  row("roll", smooth, kStored)
      .sample("torch.roll(x0, 1, 1)", {x({2, 3})}, WICK_FN(roll(x0, {1}, {1})))
      .sample("torch.roll(x0, (-4, 5), (0, 1))", {x({3, 4})}, WICK_FN(roll(x0, {-4, 5}, {0, 1})))
      .sample("torch.roll(x0, 2)", {x({2, 3})}, WICK_FN(roll(x0, {2})))
      .sample("torch.roll(x0, 2, 0)", {x({0, 3})}, WICK_FN(roll(x0, {2}, {0})));
  row("rot90", smooth, kStored)
      .sample("torch.rot90(x0)", {x({2, 3})}, WICK_FN(rot90(x0)))
      .sample("torch.rot90(x0, -1, (1, 2))", {x({2, 3, 2})}, WICK_FN(rot90(x0, -1, {1, 2})))
      .sample("torch.rot90(x0, 2)", {x({2, 3})}, WICK_FN(rot90(x0, 2)));
  row("repeat", smooth, kStored)
      .sample("x0.repeat(2, 1, 3)", {x({2, 3})}, WICK_FN(repeat(x0, {2, 1, 3})))
      .sample("x0.repeat(0, 2)", {x({2, 3})}, WICK_FN(repeat(x0, {0, 2})))
      .sample("x0.repeat(3)", {x(Shape{})}, WICK_FN(repeat(x0, {3})));
  row("tile", smooth, kStored)
      .sample("torch.tile(x0, (2,))", {x({2, 3})}, WICK_FN(tile(x0, {2})))
      .sample("torch.tile(x0, (2, 1, 2))", {x({2, 3})}, WICK_FN(tile(x0, {2, 1, 2})));
  row("repeat_interleave", smooth, kStored)
      .sample("torch.repeat_interleave(x0, 2)", {x({2, 3})}, WICK_FN(repeat_interleave(x0, 2)))
      .sample("torch.repeat_interleave(x0, 3, 1)", {x({2, 3})},
              WICK_FN(repeat_interleave(x0, 3, 1)))
      .sample("torch.repeat_interleave(x0, x1, 0)", {x({3, 2}), index({2, 0, 1})},
              WICK_FN(repeat_interleave(x0, x1, 0)))
      .not_captured("the size of the last sample's result depends on data");
}

void triangle_rows(Rows& row) {
  row("tril", smooth, kStored)
      .sample("torch.tril(x0)", {x({3, 4})}, WICK_FN(tril(x0)))
      .sample("torch.tril(x0, -1)", {x({2, 3, 3})}, WICK_FN(tril(x0, -1)));
  row("triu", smooth, kStored)
      .sample("torch.triu(x0)", {x({3, 4})}, WICK_FN(triu(x0)))
      .sample("torch.triu(x0, 1)", {x({2, 3, 3})}, WICK_FN(triu(x0, 1)));
  row("tril_indices", creation, dtypes(DType::kI64, DType::kI32))
      .sample("torch.tril_indices(3, 4, -1, dtype=dtype)", {},
              WICK_FN(tril_indices(3, 4, -1, dtype)));
  row("triu_indices", creation, dtypes(DType::kI64, DType::kI32))
      .sample("torch.triu_indices(3, 4, 1, dtype=dtype)", {},
              WICK_FN(triu_indices(3, 4, 1, dtype)));
  row("diag", smooth, kStored)
      .sample("torch.diag(x0)", {x({3})}, WICK_FN(diag(x0)))
      .sample("torch.diag(x0, -2)", {x({2})}, WICK_FN(diag(x0, -2)))
      .sample("torch.diag(x0)", {x({3, 4})}, WICK_FN(diag(x0)))
      .sample("torch.diag(x0, 2)", {x({3, 4})}, WICK_FN(diag(x0, 2)));
  row("diag_embed", smooth, kStored)
      .sample("torch.diag_embed(x0)", {x({2, 3})}, WICK_FN(diag_embed(x0)))
      .sample("torch.diag_embed(x0, 1, 0, 2)", {x({2, 3})}, WICK_FN(diag_embed(x0, 1, 0, 2)))
      .sample("torch.diag_embed(x0, -1, 2, 0)", {x({2, 3})}, WICK_FN(diag_embed(x0, -1, 2, 0)));
  row("diagflat", smooth, kStored)
      .sample("torch.diagflat(x0, 1)", {x({2, 2})}, WICK_FN(diagflat(x0, 1)));
}

void join_rows(Rows& row) {
  std::vector<In> two = {x({2, 3}), x({2, 3})}, flat = {x({3}), x({3})};
  row("concat", smooth, kStored)
      .sample("torch.concat([x0, x1], 1)", {x({2, 3}), x({2, 1})}, WICK_FN(concat({x0, x1}, 1)));
  row("hstack", smooth, kStored)
      .sample("torch.hstack([x0, x1])", two, WICK_FN(hstack({x0, x1})))
      .sample("torch.hstack([x0, x1])", flat, WICK_FN(hstack({x0, x1})));
  row("vstack", smooth, kStored)
      .sample("torch.vstack([x0, x1])", two, WICK_FN(vstack({x0, x1})))
      .sample("torch.vstack([x0, x1])", flat, WICK_FN(vstack({x0, x1})));
  row("dstack", smooth, kStored)
      .sample("torch.dstack([x0, x1])", two, WICK_FN(dstack({x0, x1})))
      .sample("torch.dstack([x0, x1])", flat, WICK_FN(dstack({x0, x1})));
  row("column_stack", smooth, kStored)
      .sample("torch.column_stack([x0, x1])", flat, WICK_FN(column_stack({x0, x1})))
      .sample("torch.column_stack([x0, x1])", {x({3}), x({3, 2})}, WICK_FN(column_stack({x0, x1})));
  row("block_diag", smooth, kNumbers)
      .sample("torch.block_diag(x0, x1, x2)", {x({2, 3}), x({2}), x(Shape{})},
              WICK_FN(block_diag({x0, x1, x2})));
  row("meshgrid", smooth, kStored)
      .sample("torch.meshgrid(x0, x1, indexing='ij')", {x({2}), x({3})},
              WICK_FN(meshgrid({x0, x1})))
      .sample("torch.meshgrid(x0, x1, x2, indexing='xy')", {x({2}), x({3}), x(Shape{})},
              WICK_FN(meshgrid({x0, x1, x2}, "xy")));
  row("cartesian_prod", smooth, kStored)
      .sample("torch.cartesian_prod(x0, x1)", {x({2}), x({3})}, WICK_FN(cartesian_prod({x0, x1})))
      .sample("torch.cartesian_prod(x0)", {x({2})}, WICK_FN(cartesian_prod({x0})));
  row("combinations", smooth, kStored)
      .sample("torch.combinations(x0)", {x({4})}, WICK_FN(combinations(x0)))
      .sample("torch.combinations(x0, 3)", {x({4})}, WICK_FN(combinations(x0, 3)))
      .sample("torch.combinations(x0, 2, True)", {x({3})}, WICK_FN(combinations(x0, 2, true)))
      .sample("torch.combinations(x0, 3)", {x({2})}, WICK_FN(combinations(x0, 3)));
}

}  // namespace

std::vector<FunctionRow> arrange_rows() {
  Rows row;
  order_rows(row);
  triangle_rows(row);
  join_rows(row);
  return row.all;
}

}  // namespace wick::test
