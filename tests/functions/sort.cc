#include "tests/functions/function_row.h"

namespace wick::test {
namespace {

constexpr const char* kSize = "the size of the result depends on data";

List outputs(const ValuesIndices& r) { return {r.values, r.indices}; }
List outputs(const MinMax& r) { return {r.min, r.max}; }
List outputs(const UniqueResult& r) {
  List all{r.values};
  if (r.inverse.defined()) all.push_back(r.inverse);
  if (r.counts.defined()) all.push_back(r.counts);
  return all;
}
#define WICK_MANY(...)                                                    \
  [](const Case& wick_case) -> List {                                     \
    [[maybe_unused]] const Tensor x0 = ::wick::test::at(wick_case.in, 0), \
                                  x1 = ::wick::test::at(wick_case.in, 1); \
    return outputs(__VA_ARGS__);                                          \
  }

// NaN is the largest, equal elements keep their order
const In kTies = given({3, 1, kNan, 3, 2, -1, 2, 1, 2, kInf, -kInf, 5}, {2, 6});

void order_rows(Rows& row) {
  row("sort", piecewise, kStored)
      .sample("torch.sort(x0)", {distinct({3, 4})}, WICK_MANY(sort(x0)))
      .sample("torch.sort(x0, 0, descending=True)", {distinct({4, 3})},
              WICK_MANY(sort(x0, 0, true)))
      .sample("torch.sort(x0)", {x(Shape{})}, WICK_MANY(sort(x0)))
      .sample("torch.sort(x0)", {x({2, 0})}, WICK_MANY(sort(x0)));
  row("sort.ties", kink("ties"), kFloats)
      .sample("torch.sort(x0, stable=True)", {kTies}, WICK_MANY(sort(x0)))
      .sample("torch.sort(x0, dim=1, stable=True, descending=True)", {kTies},
              WICK_MANY(sort(x0, 1, true)));
  row("argsort", integer_output, kNumbers)
      .sample("torch.argsort(x0, 0)", {distinct({4, 3})}, WICK_FN(argsort(x0, 0)));
  row("msort", piecewise, kNumbers)
      .sample("torch.msort(x0)", {distinct({4, 3})}, WICK_FN(msort(x0)));
  row("topk", piecewise, kNumbers)
      .sample("torch.topk(x0, 2)", {distinct({3, 5})}, WICK_MANY(topk(x0, 2)))
      .sample("torch.topk(x0, 3, 0, largest=False)", {distinct({4, 2})},
              WICK_MANY(topk(x0, 3, 0, false)))
      .sample("torch.topk(x0, 0)", {distinct({3, 2})}, WICK_MANY(topk(x0, 0)));
  row("kthvalue", piecewise, kNumbers)
      .sample("torch.kthvalue(x0, 2)", {distinct({3, 5})}, WICK_MANY(kthvalue(x0, 2)))
      .sample("torch.kthvalue(x0, 4, 0, True)", {distinct({4, 2})},
              WICK_MANY(kthvalue(x0, 4, 0, true)));
  row("median", piecewise, kNumbers)
      .sample("torch.median(x0)", {distinct({3, 4})}, WICK_FN(median(x0)))
      .sample("torch.median(x0, 1)", {distinct({3, 4})}, WICK_MANY(median(x0, 1)))
      .sample("torch.median(x0, 0, True)", {distinct({3, 4})}, WICK_MANY(median(x0, 0, true)));
  row("median.ties", kink("ties"), kFloats)
      .sample("torch.median(x0)", {given({1, 2, 2, 3, 2})}, WICK_FN(median(x0)))
      .sample("torch.nanmedian(x0)", {given({1, 2, kNan, 2, kNan})}, WICK_FN(nanmedian(x0)));
  row("median.NaN", kink("NaN"), kFloats)
      .sample("torch.median(x0, 1)", {given({3, kNan, 1, 2, 5, 4}, {2, 3})},
              WICK_MANY(median(x0, 1)))
      .sample("torch.median(x0)", {given({}, {0}).no_grad()}, WICK_FN(median(x0)))
      .not_captured("the empty tensor's median is a constant");
  row("nanmedian", piecewise, kFloats)
      .sample("torch.nanmedian(x0)", {distinct({3, 4})}, WICK_FN(nanmedian(x0)));
  row("nanmedian.NaN", kink("NaN"), kFloats)
      .sample("torch.nanmedian(x0, 1).values",
              {given({3, kNan, 1, kNan, 5, 4, kNan, kNan, kNan}, {3, 3})},
              WICK_FN(nanmedian(x0, 1).values));
  row("mode", piecewise, kNumbers)
      .sample("torch.mode(x0).values", {distinct({3, 4})}, WICK_FN(mode(x0).values))
      .sample("torch.mode(x0, 0, True).values",
              {given({3, 1, 2, 2, 3, 2, 1, 4, 3, 2}, {5, 2}).no_grad()},
              WICK_FN(mode(x0, 0, true).values), kInts);
  DTypeSet wide = dtypes(DType::kF32, DType::kF64);
  row("quantile", piecewise, wide)
      .sample("torch.quantile(x0, 0.3)", {distinct({3, 5})}, WICK_FN(quantile(x0, 0.3)))
      .sample("torch.quantile(x0, 0.3, 1)", {distinct({3, 5})}, WICK_FN(quantile(x0, 0.3, 1)))
      .sample("torch.quantile(x0, 0.7, 0, True)", {distinct({3, 5})},
              WICK_FN(quantile(x0, 0.7, 0, true)))
      .sample("torch.quantile(x0, torch.tensor([0.25, 0.5, 1.0], dtype=dtype), 1)",
              {distinct({3, 5})},
              WICK_FN(quantile(x0, tensor({0.25, 0.5, 1.0}, DType::kF64).to(dtype), 1)))
      .sample("torch.quantile(x0, torch.tensor([0.25, 0.5], dtype=dtype), 0, True)",
              {distinct({3, 5, 2})},
              WICK_FN(quantile(x0, tensor({0.25, 0.5}, DType::kF64).to(dtype), 0, true)))
      .sample("torch.quantile(x0, torch.tensor([0.25, 0.5], dtype=dtype), keepdim=True)",
              {distinct({3, 5})},
              WICK_FN(quantile(x0, tensor({0.25, 0.5}, DType::kF64).to(dtype), {}, true)))
      .sample("torch.quantile(x0, 0.3, 1, interpolation='lower')", {distinct({3, 5})},
              WICK_FN(quantile(x0, 0.3, 1, false, "lower")))
      .sample("torch.quantile(x0, 0.3, 1, interpolation='higher')", {distinct({3, 5})},
              WICK_FN(quantile(x0, 0.3, 1, false, "higher")))
      .sample("torch.quantile(x0, 0.3, 1, interpolation='midpoint')", {distinct({3, 5})},
              WICK_FN(quantile(x0, 0.3, 1, false, "midpoint")))
      .sample("torch.quantile(x0, 0.4, 1, interpolation='nearest')", {distinct({3, 5})},
              WICK_FN(quantile(x0, 0.4, 1, false, "nearest")));
  In holes = given({3, kNan, 1, 4, 5, 4, kNan, kNan, kNan}, {3, 3});
  row("quantile.NaN", kink("NaN"), wide)
      .sample("torch.quantile(x0, 0.3, 1)", {holes}, WICK_FN(quantile(x0, 0.3, 1)));
  row("nanquantile", piecewise, wide)
      .sample("torch.nanquantile(x0, 0.3, 1)", {distinct({3, 5})},
              WICK_FN(nanquantile(x0, 0.3, 1)));
  row("nanquantile.NaN", kink("NaN"), wide)
      .sample("torch.nanquantile(x0, 0.3, 1)", {holes}, WICK_FN(nanquantile(x0, 0.3, 1)));
}

void extreme_rows(Rows& row) {
  row("max.dim", piecewise, kAll)
      .sample("torch.max(x0, 1)", {distinct({3, 4})}, WICK_MANY(max(x0, 1)), kNumbers)
      .sample("torch.max(x0, 0, True)", {distinct({3, 4})}, WICK_MANY(max(x0, 0, true)), kNumbers)
      .sample("torch.max(x0, 0)", {x(Shape{})}, WICK_MANY(max(x0, 0)))
      .sample("torch.max(x0, 1).values", {mask({3, 4})}, WICK_FN(max(x0, 1).values), kBool);
  row("min.dim", piecewise, kNumbers)
      .sample("torch.min(x0, -1)", {distinct({3, 4})}, WICK_MANY(min(x0, -1)));
  row("max.ties", kink("ties"), kFloats)
      .sample("torch.max(x0, 1)", {kTies}, WICK_MANY(max(x0, 1)))
      .sample("torch.min(x0, 1)", {kTies}, WICK_MANY(min(x0, 1)));
  // PyTorch 1.13's own has no gradient
  row("aminmax", piecewise, kNumbers)
      .sample("(torch.amin(x0), torch.amax(x0))", {distinct({3, 4})}, WICK_MANY(aminmax(x0)))
      .sample("(torch.amin(x0, 1, True), torch.amax(x0, 1, True))", {distinct({3, 4})},
              WICK_MANY(aminmax(x0, 1, true)))
      .sample("(torch.amin(x0, 1), torch.amax(x0, 1))", {distinct({0, 4})},
              WICK_MANY(aminmax(x0, 1)));
  row("argmax.flat", integer_output, kNumbers)
      .sample("torch.argmax(x0)", {distinct({3, 4})}, WICK_FN(argmax(x0)))
      .sample("torch.argmin(x0)", {distinct({3, 4})}, WICK_FN(argmin(x0)))
      .sample("torch.argmax(x0)", {x(Shape{})}, WICK_FN(argmax(x0)));
}

void unique_rows(Rows& row) {
  In few = given({2, 1, 2, 3, 1, 2, -1, 3, 3, 1, 2, 2}, {6, 2});
  row("unique", not_recorded("PyTorch has no gradient of it"), kAll)
      .sample("torch.unique(x0)", {few}, WICK_MANY(unique(x0)))
      .sample("torch.unique(x0, return_inverse=True, return_counts=True)", {few},
              WICK_MANY(unique(x0, true, true, true)))
      .sample("torch.unique(x0, return_counts=True, dim=0)", {few},
              WICK_MANY(unique(x0, true, false, true, 0)), kInts | kFloats)
      .sample("torch.unique(x0, return_inverse=True, dim=1)", {x({2, 5}, 0, 1)},
              WICK_MANY(unique(x0, true, true, false, 1)), kInts)
      .not_captured(kSize);
  row("unique_consecutive", not_recorded("PyTorch has no gradient of it"), kNumbers)
      .sample("torch.unique_consecutive(x0, return_inverse=True, return_counts=True)",
              {given({1, 1, 2, 2, 2, 1, 3, 3})}, WICK_MANY(unique_consecutive(x0, true, true)))
      .sample("torch.unique_consecutive(x0, return_counts=True, dim=0)",
              {given({1, 2, 1, 2, 2, 2, 1, 2}, {4, 2})},
              WICK_MANY(unique_consecutive(x0, false, true, 0)))
      .sample("torch.unique_consecutive(x0)", {x({2, 3}, 0, 1)}, WICK_MANY(unique_consecutive(x0)))
      .not_captured(kSize);
}

void search_rows(Rows& row) {
  In steps = given({-1, 0, 0, 2, 3}), values = given({0, -2, 2, 5, 1, 3}, {2, 3});
  row("searchsorted", integer_output, kNumbers & ~dtypes(DType::kU8))
      .sample("torch.searchsorted(x0, x1)", {steps, values}, WICK_FN(searchsorted(x0, x1)))
      .sample("torch.searchsorted(x0, x1, right=True)", {steps, values},
              WICK_FN(searchsorted(x0, x1, false, true)))
      .sample("torch.searchsorted(x0, x1, out_int32=True)",
              {given({-1, 0, 2, -3, 1, 1}, {2, 3}), given({0, 3, -3, 1}, {2, 2})},
              WICK_FN(searchsorted(x0, x1, true)))
      .sample("torch.searchsorted(x0, 2)", {steps}, WICK_FN(searchsorted(x0, 2)))
      .sample("torch.searchsorted(x0, x1)", {given({}, {0}), values}, WICK_FN(searchsorted(x0, x1)))
      .sample("torch.searchsorted(x0, x1)", {given({1, kNan, kNan}), given({kNan, 2, kInf})},
              WICK_FN(searchsorted(x0, x1)), kFloats)
      .not_captured("nothing is computed for an empty sequence; bucketize is captured");
  row("bucketize", integer_output, kNumbers & ~dtypes(DType::kU8))
      .sample("torch.bucketize(x1, x0)", {steps, values}, WICK_FN(bucketize(x1, x0)))
      .sample("torch.bucketize(x1, x0, right=True)", {steps, values},
              WICK_FN(bucketize(x1, x0, false, true)));
  row("isin", integer_output, kNumbers)
      .sample("torch.isin(x0, x1)", {x({3, 4}, -3, 3), given({1, -2, 2})}, WICK_FN(isin(x0, x1)))
      .sample("torch.isin(x0, x1, invert=True)", {given({1, 2, 3, 0}), given({1, 0, 2})},
              WICK_FN(isin(x0, x1, false, true)))
      .sample("torch.isin(x0, x1)", {x({3}), given({}, {0})}, WICK_FN(isin(x0, x1)))
      .not_captured("nothing is computed for an empty set");
  row("bincount", not_recorded("of integers; PyTorch has no gradient of the weights"), kInts)
      .sample("torch.bincount(x0)", {x({9}, 0, 5)}, WICK_FN(bincount(x0)))
      .sample("torch.bincount(x0, minlength=8)", {x({9}, 0, 5)}, WICK_FN(bincount(x0, Tensor(), 8)))
      .sample("torch.bincount(x0, x1)", {x({4}, 0, 3), of(DType::kF64, x({4}))},
              WICK_FN(bincount(x0, x1)))
      .not_captured(kSize);
  row("histc", piecewise_constant, dtypes(DType::kF32, DType::kF64))
      .sample("torch.histc(x0, 4, -1, 1)", {x({30})}, WICK_FN(histc(x0, 4, -1, 1)))
      .sample("torch.histc(x0, 5)", {distinct({5, 5})}, WICK_FN(histc(x0, 5)))
      .not_captured("the bins depend on data");
}

}  // namespace

std::vector<FunctionRow> sort_rows() {
  Rows row;
  order_rows(row);
  extreme_rows(row);
  unique_rows(row);
  search_rows(row);
  return row.all;
}

}  // namespace wick::test
