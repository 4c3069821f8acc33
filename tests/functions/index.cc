#include "tests/functions/function_row.h"

namespace wick::test {
namespace {

using namespace wick::indexing;  // NOLINT: Slice, None, Ellipsis

constexpr const char* kSize = "the size of the result depends on data";

// x0[...] read, each PyTorch expression beside ours: S08's table, first half.
void read_rows(Rows& row) {
  row("Tensor.index", smooth, kStored)
      .sample("x0[1]", {x({3, 4})}, WICK_FN(x0.index({1})))
      .sample("x0[-1]", {x({3, 4})}, WICK_FN(x0[-1]))
      .sample("x0[1, -2]", {x({3, 4})}, WICK_FN(x0[{1, -2}]))
      .sample("x0[1:3]", {x({4, 3})}, WICK_FN(x0[Slice(1, 3)]))
      .sample("x0[::2, 1:]", {x({5, 3})}, WICK_FN(x0.index({Slice(None, None, 2), Slice(1, None)})))
      .sample("x0[-3:-1]", {x({5, 3})}, WICK_FN(x0.index({Slice(-3, -1)})))
      .sample("x0[3:1]", {x({5, 3})}, WICK_FN(x0.index({Slice(3, 1)})))
      .sample("x0[10:, -10:]", {x({5, 3})}, WICK_FN(x0.index({Slice(10, None), Slice(-10, None)})))
      .sample("x0[..., 1]", {x({2, 3, 4})}, WICK_FN(x0[{Ellipsis, 1}]))
      .sample("x0[1, ..., ::3]", {x({2, 3, 4})},
              WICK_FN(x0.index({1, "...", Slice(None, None, 3)})))
      .sample("x0[None, :, None, 2]", {x({3, 4})}, WICK_FN(x0.index({None, Slice(), None, 2})))
      .sample("x0[...]", {x({3, 4})}, WICK_FN(x0.index({Ellipsis})))
      .sample("x0[0, 1]", {x({2, 2})}, WICK_FN(x0[0][1]))
      .sample("x0[x1]", {x({4, 3}), index({2, 0, -1, 2})}, WICK_FN(x0.index({x1})))
      .sample("x0[x1]", {x({4, 3}), index({2, 0, -1, 2}, {2, 2})}, WICK_FN(x0[x1]))
      .sample("x0[:, x1]", {x({3, 4}), index({3, 3, 0})}, WICK_FN(x0.index({Slice(), x1})))
      .sample("x0[x1, x2]", {x({3, 4}), index({2, 0, -3}), index({3, 1, -1})},
              WICK_FN(x0.index({x1, x2})))
      .sample("x0[x1, x2]", {x({3, 4}), index({2, 0}, {2, 1}), index({3, 1, -1})},
              WICK_FN(x0.index({x1, x2})))
      .sample("x0[:, x1, x2]", {x({2, 3, 4}), index({2, 0}), index({3, 1})},
              WICK_FN(x0.index({Slice(), x1, x2})))
      .sample("x0[:, x1, x2, :]", {x({2, 3, 4, 2}), index({2, 0}, {2, 1}), index({3, 1, 0})},
              WICK_FN(x0.index({Slice(), x1, x2})))
      // apart: the indices' dims come first
      .sample("x0[x1, :, x2]", {x({3, 2, 4}), index({2, 0}), index({3, 1})},
              WICK_FN(x0.index({x1, Slice(), x2})))
      .sample("x0[:, x1, :, x2]", {x({2, 3, 2, 4}), index({2, 0, 1}), index({3, 1, 1})},
              WICK_FN(x0.index({Slice(), x1, Ellipsis, x2})))
      .sample("x0[x1, None, x2]", {x({3, 4}), index({2, 0}), index({3, 1})},
              WICK_FN(x0.index({x1, None, x2})))
      // an int between them is taken first, and so does not part them
      .sample("x0[:, x1, 0, x2]", {x({2, 3, 2, 4}), index({2, 0}), index({3, 1})},
              WICK_FN(x0.index({Slice(), x1, 0, x2})))
      .sample("x0[1, :, x1]", {x({2, 3, 4}), index({3, 0})}, WICK_FN(x0.index({1, Slice(), x1})))
      .sample("x0[1::2, x1]", {x({5, 4}), index({3, 0})},
              WICK_FN(x0.index({Slice(1, None, 2), x1})))
      .sample("x0[x1]", {x({4, 3}), of(DType::kI64, given({-2}, Shape{}))}, WICK_FN(x0[x1]))
      .sample("x0[x1]", {x({4, 3}), index({}, {0})}, WICK_FN(x0[x1]))
      .sample("x0[x1]", {x({4, 3}), of(DType::kI32, given({3, 1}))}, WICK_FN(x0[x1]))
      .not_captured("the negative step and scalar indices are read on the host");
  // PyTorch 1.13 refuses int32 indices; its answer is that of int64
  row.all.back().samples.back().torch = "x0[x1.long()]";
  row("Tensor.index.masks", smooth, kStored)
      .sample("x0[x1]", {x({3, 4}), mask({3, 4})}, WICK_FN(x0[x1]))
      .sample("x0[x1]", {x({5, 2}), of(DType::kBool, given({1, 0, 0, 1, 1}))}, WICK_FN(x0[x1]))
      .sample("x0[:, x1]", {x({2, 3, 2}), of(DType::kBool, given({1, 0, 0, 1, 1, 0}, {3, 2}))},
              WICK_FN(x0.index({Slice(), x1})))
      .sample("x0[x1, x2]", {x({3, 4}), of(DType::kBool, given({1, 0, 1})), index({3, 1})},
              WICK_FN(x0.index({x1, x2})))
      .sample("x0[x1, :, x2]", {x({2, 2, 4}), of(DType::kBool, given({1, 1})), index({3, 1})},
              WICK_FN(x0.index({x1, Slice(), x2})))
      .sample("x0[x1]", {x({3, 4}), of(DType::kBool, given({0, 0, 0}))}, WICK_FN(x0[x1]))
      .sample("x0[x1]", {x({2, 2}), of(DType::kU8, given({1, 0, 0, 1}, {2, 2}))}, WICK_FN(x0[x1]))
      .sample("x0[True]", {x({2, 2})}, WICK_FN(x0.index({true})))
      .sample("x0[False]", {x({2, 2})}, WICK_FN(x0.index({false})))
      .not_captured(kSize);
}

// t[at] = value on a copy of x0, as an expression.
std::string set(const std::string& at, const std::string& value) {
  return "(lambda t: (t.__setitem__((" + at + ",), " + value + "), t)[1])(x0.clone())";
}
std::string update(const std::string& at, const std::string& op_value) {
  return set(at, "t[(" + at + ",)].clone() " + op_value);
}

#define WICK_SET(...)      \
  WICK_FN([&] {            \
    Tensor t = x0.clone(); \
    __VA_ARGS__;           \
    return t;              \
  }())

// S08's table, second half: writes.
void write_rows(Rows& row) {
  In rows = index({2, 0}), columns = index({3, 1}), twice = index({2, 0, 2});
  row("index_put", smooth, kStored)
      .sample("torch.index_put(x0, (x1,), x2)", {x({4, 3}), rows, x({2, 3})},
              WICK_FN(index_put(x0, {x1}, x2)))
      .sample("torch.index_put(x0, (x1, x2), x3, True)",
              {x({3, 4}), index({2, 2, -1}), index({1, 1, 0}), x({3})},
              WICK_FN(index_put(x0, {x1, x2}, x3, true)), kNumbers)
      .sample("torch.index_put(x0, (x1,), x2, True)", {x({4, 3}), twice, x({1, 3})},
              WICK_FN(index_put(x0, {x1}, x2, true)), kNumbers)
      .sample(set("slice(1, 3), 0", "x1"), {x({4, 3}), x({2})},
              WICK_FN(index_put(x0, {Slice(1, 3), 0}, x1)))
      .sample(set("slice(None), x1", "x2"), {x({2, 4}), columns, x({2, 2})},
              WICK_FN(index_put(x0, {Slice(), x1}, x2)))
      .sample(set("x1, slice(None), x2", "x3"), {x({3, 2, 4}), rows, columns, x({2, 2})},
              WICK_FN(index_put(x0, {x1, Slice(), x2}, x3)));
  row("Tensor.index_put_", smooth, kStored)
      .sample(set("...", "x1"), {x({3, 4}), x({3, 4})}, WICK_SET(t.at({Ellipsis}) = x1))
      .sample(set("x1", "x2"), {x({4, 3}), rows, x({3})}, WICK_SET(t.index_put_({x1}, x2)))
      .sample(set("x1", "7"), {x({4, 3}), rows}, WICK_SET(t.at({x1}) = 7))
      .sample(set("slice(None), x1", "x2"), {x({2, 4}), columns, x({2, 2})},
              WICK_SET(t.at({Slice(), x1}) = x2))
      .sample(set("x1, x2", "x3"), {x({3, 4}), rows, columns, x({2})},
              WICK_SET(t.index_put_({x1, x2}, x3)))
      .sample(set("slice(None), x1, x2", "x3"), {x({2, 3, 4}), rows, columns, x({2, 2})},
              WICK_SET(t.index_put_({Slice(), x1, x2}, x3)))
      .sample(set("x1, slice(None), x2", "x3"), {x({3, 2, 4}), rows, columns, x({2, 2})},
              WICK_SET(t.index_put_({x1, Slice(), x2}, x3)));
  row.all.back().alias("Tensor.at");
  // through views
  row("Tensor.index_put_.views", smooth, kStored)
      .sample(set("1", "x1"), {x({3, 4}), x({4})}, WICK_SET(t.index_put_({1}, x1)))
      .sample(set("1", "2"), {x({3, 4})}, WICK_SET(t.at({1}) = 2))
      .sample(set("1", "x1"), {x({3, 4}), x({1, 4})}, WICK_SET(t[1] = x1))
      .sample(set("0, 1", "5"), {x({3, 4})}, WICK_SET(t[0][1] = 5))
      .sample(set("slice(None), slice(1, None, 2)", "x1"), {x({3, 4}), x({3, 1})},
              WICK_SET(t.index_put_({Slice(), Slice(1, None, 2)}, x1)))
      .sample(set("..., -1", "x1"), {x({2, 3, 4}), x(Shape{})}, WICK_SET(t.at({"...", -1}) = x1))
      .sample(set("slice(None), None, 2", "x1"), {x({3, 4}), x({3, 1})},
              WICK_SET(t.index_put_({Slice(), None, 2}, x1)))
      .sample(update("slice(None), 0", "+ 1"), {x({3, 4})}, WICK_SET(t.at({Slice(), 0}) += 1),
              kNumbers)
      .sample(update("0", "* x1"), {x({3, 4}), x({4})}, WICK_SET(t.at({0}) *= x1), kNumbers)
      .sample(set("0", "torch.tensor([1, 2, 3])"), {x({2, 3})}, WICK_SET(t.at({0}) = {1, 2, 3}))
      .sample(set("slice(1, None), x1", "x2"), {x({3, 4}), columns, x({2})},
              WICK_SET(t.at({Slice(1, None), x1}) = x2))
      .sample(set("1, x1", "x2"), {x({3, 4}), columns, x({2})}, WICK_SET(t[1].at({x1}) = x2))
      .sample(set("True", "x1"), {x({2, 3}), x({3})}, WICK_SET(t.at({true}) = x1));
  row("Tensor.index_put_.masks", smooth, kStored)
      .sample(set("x1", "0"), {x({3, 4}), mask({3, 4})}, WICK_SET(t.at({x1}) = 0))
      .sample(set("x1", "x2"), {x({3, 4}), mask({3, 4}), x(Shape{})}, WICK_SET(t.at({x1}) = x2))
      .sample(update("x1", "* 2"), {x({3, 4}), mask({3, 4})}, WICK_SET(t.at({x1}) *= 2), kNumbers)
      .sample(set("x1", "x2"), {x({5, 2}), of(DType::kBool, given({1, 0, 0, 1, 1})), x({3, 2})},
              WICK_SET(t.at({x1}) = x2))
      .sample(set("slice(None), x1", "x2"), {x({2, 3}), of(DType::kBool, given({1, 0, 1})), x({2})},
              WICK_SET(t.index_put_({Slice(), x1}, x2)))
      .sample(set("slice(None), x1", "3"), {x({2, 3}), of(DType::kBool, given({1, 0, 1}))},
              WICK_SET(t.at({Slice(), x1}) = 3))
      .not_captured(kSize);
}

void mask_rows(Rows& row) {
  row("nonzero", integer_output, kStored)
      .sample("torch.nonzero(x0)", {x({3, 4}, -1, 1)}, WICK_FN(nonzero(x0)))
      .sample("torch.nonzero(x0)", {x(Shape{})}, WICK_FN(nonzero(x0)))
      .not_captured(kSize);
  row("argwhere", integer_output, kStored)
      .sample("torch.argwhere(x0)", {x({2, 3, 2}, -1, 1)}, WICK_FN(argwhere(x0)))
      .not_captured(kSize);
  row("where.condition", integer_output, kBool)
      .sample("torch.where(x0)", {x({3, 4})}, WICK_FN(where(x0)))
      .not_captured(kSize);
  row("masked_select", smooth, kStored)
      .sample("torch.masked_select(x0, x1)", {x({3, 4}), mask({3, 4})},
              WICK_FN(masked_select(x0, x1)))
      .sample("torch.masked_select(x0, x1)", {x({3, 1}), mask({4})}, WICK_FN(masked_select(x0, x1)))
      .not_captured(kSize);
  row("masked_fill", smooth, kAll)
      .sample("torch.masked_fill(x0, x1, 2)", {x({3, 4}), mask({3, 1})},
              WICK_FN(masked_fill(x0, x1, 2)))
      .sample("torch.masked_fill(x0, x1, x2)", {x({3, 4}), mask({4}), x(Shape{})},
              WICK_FN(masked_fill(x0, x1, x2)));
  row("masked_scatter", smooth, kAll)
      .sample("torch.masked_scatter(x0, x1, x2)", {x({3, 4}), mask({3, 4}), x({12})},
              WICK_FN(masked_scatter(x0, x1, x2)))
      .sample("torch.masked_scatter(x0, x1, x2)", {x({3, 4}), mask({4}), x({4, 4})},
              WICK_FN(masked_scatter(x0, x1, x2)))
      .sample("torch.masked_scatter(x0, x1, x2)", {x({3, 1}), mask({2, 1, 4}), x({24})},
              WICK_FN(masked_scatter(x0, x1, x2)));
}

void scatter_rows(Rows& row) {
  In at = index({2, 0, 1, 1, 2, 0}, {2, 3}), again = index({2, 2, 1, 1, 0, 2}, {2, 3});
  row("take", smooth, kStored)
      .sample("torch.take(x0, x1)", {x({3, 4}), index({11, 0, -1, 5}, {2, 2})},
              WICK_FN(take(x0, x1)));
  row("take_along_dim", smooth, kStored)
      .sample("torch.take_along_dim(x0, x1, 1)", {x({3, 4}), index({2, 0}, {1, 2})},
              WICK_FN(take_along_dim(x0, x1, 1)))
      .sample("torch.take_along_dim(x0, x1)", {x({3, 4}), index({11, 0, 7})},
              WICK_FN(take_along_dim(x0, x1)));
  row("scatter", smooth, kStored)
      .sample("torch.scatter(x0, 0, x1, x2)", {x({3, 4}), at, x({2, 3})},
              WICK_FN(scatter(x0, 0, x1, x2)))
      .sample("torch.scatter(x0, 1, x1, 3)", {x({3, 4}), at}, WICK_FN(scatter(x0, 1, x1, 3)))
      .sample("torch.scatter(x0, 1, x1, x2, reduce='add')",
              {x({3, 4}).no_grad(), again, x({2, 3}).no_grad()},
              WICK_FN(scatter(x0, 1, x1, x2, "add")), kInts);
  row("scatter_reduce", smooth, kNumbers)
      .sample("torch.scatter_reduce(x0, 1, x1, x2, 'sum')", {x({3, 4}), again, x({2, 3})},
              WICK_FN(scatter_reduce(x0, 1, x1, x2, "sum")))
      .sample("torch.scatter_reduce(x0, 1, x1, x2, 'sum', include_self=False)",
              {x({3, 4}), again, x({2, 3})}, WICK_FN(scatter_reduce(x0, 1, x1, x2, "sum", false)))
      .sample("torch.scatter_reduce(x0, 1, x1, x2, 'mean')", {x({3, 4}), again, x({2, 3})},
              WICK_FN(scatter_reduce(x0, 1, x1, x2, "mean")))
      .sample("torch.scatter_reduce(x0, 1, x1, x2, 'mean', include_self=False)",
              {x({3, 4}), again, x({2, 3})}, WICK_FN(scatter_reduce(x0, 1, x1, x2, "mean", false)));
  row("scatter_reduce.products", smooth, kNumbers)
      .sample("torch.scatter_reduce(x0, 1, x1, x2, 'prod')",
              {off_zero({3, 4}), again, off_zero({2, 3})},
              WICK_FN(scatter_reduce(x0, 1, x1, x2, "prod")))
      .sample("torch.scatter_reduce(x0, 1, x1, x2, 'prod', include_self=False)",
              {off_zero({3, 4}), again, off_zero({2, 3})},
              WICK_FN(scatter_reduce(x0, 1, x1, x2, "prod", false)));
  row("scatter_reduce.extrema", piecewise, kNumbers)
      .sample("torch.scatter_reduce(x0, 1, x1, x2, 'amax')",
              {distinct({3, 4}), again, given({-2, 1, 0.03125, 0.71875, 3, -0.03125}, {2, 3})},
              WICK_FN(scatter_reduce(x0, 1, x1, x2, "amax")))
      .sample("torch.scatter_reduce(x0, 1, x1, x2, 'amin', include_self=False)",
              {distinct({3, 4}), again, given({-2, 1, 0.03125, 0.71875, 3, -0.03125}, {2, 3})},
              WICK_FN(scatter_reduce(x0, 1, x1, x2, "amin", false)));
}

void slice_rows(Rows& row) {
  In twice = index({2, 0, 2});
  row("index_add", smooth, kNumbers)
      .sample("torch.index_add(x0, 0, x1, x2)", {x({4, 3}), twice, x({3, 3})},
              WICK_FN(index_add(x0, 0, x1, x2)))
      .sample("torch.index_add(x0, 1, x1, x2, alpha=2)", {x({2, 4}), twice, x({2, 3})},
              WICK_FN(index_add(x0, 1, x1, x2, 2)));
  row("index_copy", smooth, kStored)
      .sample("torch.index_copy(x0, -1, x1, x2)", {x({2, 4}), index({3, 1}), x({2, 2})},
              WICK_FN(index_copy(x0, -1, x1, x2)));
  row("index_fill", smooth, kAll)
      .sample("torch.index_fill(x0, 1, x1, 2)", {x({2, 4}), index({3, 1})},
              WICK_FN(index_fill(x0, 1, x1, 2)));
  row("select_scatter", smooth, kStored)
      .sample("torch.select_scatter(x0, x1, 1, -2)", {x({2, 4}), x({2})},
              WICK_FN(select_scatter(x0, x1, 1, -2)));
  row("slice_scatter", smooth, kStored)
      .sample("torch.slice_scatter(x0, x1, 1, 1, 4, 2)", {x({2, 4}), x({2, 2})},
              WICK_FN(slice_scatter(x0, x1, 1, 1, 4, 2)))
      .sample(set("slice(-2, None)", "x1"), {x({4, 2}), x({2, 2})},
              WICK_FN(slice_scatter(x0, x1, 0, -2)));
  row("diagonal_scatter", smooth, kStored)
      .sample("torch.diagonal_scatter(x0, x1, 1)", {x({3, 3}), x({2})},
              WICK_FN(diagonal_scatter(x0, x1, 1)))
      .sample("torch.diagonal_scatter(x0, x1, -1, 2, 0)", {x({3, 2, 4}), x({2, 3})},
              WICK_FN(diagonal_scatter(x0, x1, -1, 2, 0)));
  row("one_hot", integer_output, kBool)
      .sample("F.one_hot(x1, 4)", {x({1}), index({3, 0, 1, 1}, {2, 2})}, WICK_FN(one_hot(x1, 4)))
      .sample("F.one_hot(x1)", {x({1}), index({3, 0, 1})}, WICK_FN(one_hot(x1)))
      .not_captured("the number of classes depends on data");
  row("embedding", smooth, kFloats)
      .sample("F.embedding(x1, x0)", {x({4, 3}), index({3, 0, 3, 1}, {2, 2})},
              WICK_FN(embedding(x1, x0)))
      .sample("F.embedding(x1, x0)", {x({4, 3}), of(DType::kI64, given({1}, Shape{}))},
              WICK_FN(embedding(x1, x0)));
  row("embedding.padding_idx", kink("the padding row has no gradient, whatever differences say"),
      kFloats)
      .sample("F.embedding(x1, x0, padding_idx=3)", {x({4, 3}), index({3, 0, 3, 1}, {2, 2})},
              WICK_FN(embedding(x1, x0, 3)));
}

void bag_rows(Rows& row) {
  const In two = index({3, 0, 3, 1}, {2, 2}), five = index({3, 0, 3, 1, 2});
  row("embedding_bag", smooth, kFloats)
      .sample("F.embedding_bag(x1, x0)", {x({4, 3}), two}, WICK_FN(embedding_bag(x1, x0)))
      .sample("F.embedding_bag(x1, x0, mode='sum', per_sample_weights=x2)",
              {x({4, 3}), two, x({2, 2})},
              WICK_FN(embedding_bag(x1, x0, Tensor(), {.mode = "sum"}, x2)))
      .sample("F.embedding_bag(x1, x0, padding_idx=-1)", {x({4, 3}), two},
              WICK_FN(embedding_bag(x1, x0, Tensor(), {.padding_idx = -1})))
      .half_ulps(4);  // a product and a sum, or a sum and a quotient
  row("embedding_bag.max", piecewise, kFloats)
      .sample("F.embedding_bag(x1, x0, mode='max')", {distinct({4, 3}), two},
              WICK_FN(embedding_bag(x1, x0, Tensor(), {.mode = "max"})));
  row("embedding_bag.offsets", piecewise, kFloats)
      .sample("F.embedding_bag(x1, x0, x2, mode='sum')", {x({4, 3}), five, index({0, 2, 2})},
              WICK_FN(embedding_bag(x1, x0, x2, {.mode = "sum"})))
      .sample("F.embedding_bag(x1, x0, x2, include_last_offset=True, padding_idx=3)",
              {x({4, 3}), five, index({0, 3, 5})},
              WICK_FN(embedding_bag(x1, x0, x2, {.include_last_offset = true, .padding_idx = 3})))
      .sample("F.embedding_bag(x1, x0, x2, mode='sum', per_sample_weights=x3)",
              {x({4, 3}), five, index({0, 1, 4}), x({5})},
              WICK_FN(embedding_bag(x1, x0, x2, {.mode = "sum"}, x3)))
      .sample("F.embedding_bag(x1, x0, x2, mode='max')", {distinct({4, 3}), five, index({0, 2, 2})},
              WICK_FN(embedding_bag(x1, x0, x2, {.mode = "max"})))
      .half_ulps(4)
      .not_captured("the sizes of the bags are data");
}

// These work in place, on a copy of x0.
void in_place_rows(Rows& row) {
  In at = index({2, 0, 1, 1, 2, 0}, {2, 3}), twice = index({2, 0, 2});
  row("Tensor.masked_fill_", smooth, kAll)
      .sample("x0.clone().masked_fill_(x1, 2)", {x({3, 4}), mask({3, 1})},
              WICK_SET(t.masked_fill_(x1, 2)))
      .sample("x0.clone().masked_fill_(x1, x2)", {x({3, 4}), mask({4}), x(Shape{})},
              WICK_SET(t.masked_fill_(x1, x2)));
  row("Tensor.masked_scatter_", smooth, kAll)
      .sample("x0.clone().masked_scatter_(x1, x2)", {x({3, 4}), mask({3, 4}), x({12})},
              WICK_SET(t.masked_scatter_(x1, x2)));
  row("Tensor.scatter_", smooth, kAll)
      .sample("x0.clone().scatter_(0, x1, x2)", {x({3, 4}), at, x({2, 3})},
              WICK_SET(t.scatter_(0, x1, x2)))
      .sample("x0.clone().scatter_(1, x1, 3)", {x({3, 4}), at}, WICK_SET(t.scatter_(1, x1, 3)));
  row("Tensor.scatter_add_", smooth, kNumbers)
      .sample("x0.clone().scatter_add_(1, x1, x2)", {x({3, 4}), at, x({2, 3})},
              WICK_SET(t.scatter_add_(1, x1, x2)));
  row("Tensor.index_add_", smooth, kNumbers)
      .sample("x0.clone().index_add_(0, x1, x2, alpha=2)", {x({4, 3}), twice, x({3, 3})},
              WICK_SET(t.index_add_(0, x1, x2, 2)));
  row("Tensor.index_add_.views", smooth, kNumbers)
      .sample("(lambda t: (t.t()[1:].index_add_(0, x1, x2), t)[1])(x0.clone())",
              {x({3, 5}), twice, x({3, 3})},
              WICK_SET(t.t().index({Slice(1, None)}).index_add_(0, x1, x2)));
  row("Tensor.index_copy_", smooth, kAll)
      .sample("x0.clone().index_copy_(-1, x1, x2)", {x({2, 4}), index({3, 1}), x({2, 2})},
              WICK_SET(t.index_copy_(-1, x1, x2)));
  row("Tensor.index_fill_", smooth, kAll)
      .sample("x0.clone().index_fill_(1, x1, 2)", {x({2, 4}), index({3, 1})},
              WICK_SET(t.index_fill_(1, x1, 2)));
  row("Tensor.cumsum_", smooth, kNumbers)
      .sample("x0.clone().cumsum_(1)", {x({2, 4})}, WICK_SET(t.cumsum_(1)));
}

}  // namespace

std::vector<FunctionRow> index_rows() {
  Rows row;
  read_rows(row);
  write_rows(row);
  mask_rows(row);
  scatter_rows(row);
  slice_rows(row);
  bag_rows(row);
  in_place_rows(row);
  return row.all;
}

}  // namespace wick::test
