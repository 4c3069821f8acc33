#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> nn_rows() {
  Rows row;
  row("softmax", smooth, kFloats)
      .sample("torch.softmax(x0, 1)", {x({3, 4})}, WICK_FN(softmax(x0, 1)))
      .sample("torch.softmax(x0, 0)", {x({3, 4})}, WICK_FN(softmax(x0, 0)))
      .half_ulps(4);  // exp and the quotient each round
  row("conv2d", smooth, dtypes(DType::kF64, DType::kF32))
      .sample("F.conv2d(x0, x1, x2, stride=(2, 1), padding=1)",
              {x({2, 2, 5, 4}), x({3, 2, 3, 2}), x({3})}, WICK_FN(conv2d(x0, x1, x2, {2, 1}, 1)));
  row("log_softmax", smooth, kFloats)
      .sample("torch.log_softmax(x0, 1)", {x({3, 4})}, WICK_FN(log_softmax(x0, 1)))
      .sample("torch.log_softmax(x0, 0)", {x({3, 4})}, WICK_FN(log_softmax(x0, 0)))
      .half_ulps(4);  // exp and log each round
  constexpr DTypeSet kWideFloats = dtypes(DType::kF64, DType::kF32);
  row("max_pool2d", piecewise, kWideFloats)
      .sample("F.max_pool2d(x0, (2, 3), stride=(2, 1), padding=1)", {distinct({1, 2, 5, 4})},
              WICK_FN(max_pool2d(x0, {2, 3}, Pair{2, 1}, 1)))
      .sample("F.max_pool2d(x0, 2, ceil_mode=True)", {distinct({1, 2, 5, 3})},
              WICK_FN(max_pool2d(x0, 2, {}, 0, 1, true)));
  row("avg_pool2d", smooth, kWideFloats)
      .sample("F.avg_pool2d(x0, (2, 3), stride=(2, 1), padding=1)", {x({1, 2, 5, 4})},
              WICK_FN(avg_pool2d(x0, {2, 3}, Pair{2, 1}, 1)))
      .sample("F.avg_pool2d(x0, 2, padding=1, ceil_mode=True, count_include_pad=False)",
              {x({1, 2, 5, 4})}, WICK_FN(avg_pool2d(x0, 2, {}, 1, true, false)));
  row("adaptive_avg_pool2d", smooth, kWideFloats)
      .sample("F.adaptive_avg_pool2d(x0, 1)", {x({2, 3, 4, 5})},
              WICK_FN(adaptive_avg_pool2d(x0, 1)));
  row("batch_norm", smooth, kWideFloats)
      .sample("F.batch_norm(x0, x1, x2, x3, x4)",
              {x({2, 3, 2, 2}), x({3}).no_grad(), x({3}, 0.5, 2).no_grad(), x({3}), x({3})},
              WICK_FN(batch_norm(x0, x1, x2, x3, x4)))
      .sample("F.batch_norm(x0, x1.clone(), x2.clone(), x3, x4, training=True)",
              {x({4, 3, 2}), x({3}).no_grad(), x({3}, 0.5, 2).no_grad(), x({3}), x({3})},
              WICK_FN(batch_norm(x0, x1.clone(), x2.clone(), x3, x4, true)))
      .not_captured("training statistics are an op of role kTrain");
  row("dropout", random_output, kFloats)
      .sample("F.dropout(x0, 0.25)", {x({4, 5})}, WICK_FN(dropout(x0, 0.25)));
  return row.all;
}

}  // namespace wick::test
