// Convolution, pooling, normalisation, borders and attention.
#include "tests/functions/function_row.h"

namespace wick::test {
namespace {

constexpr DTypeSet kWideFloats = dtypes(DType::kF64, DType::kF32);

void convolutions(Rows& row) {
  row("conv1d", smooth, kWideFloats)
      .sample("F.conv1d(x0, x1, x2, stride=2, padding=1, dilation=2)",
              {x({2, 2, 7}), x({3, 2, 2}), x({3})}, WICK_FN(conv1d(x0, x1, x2, 2, 1, 2)))
      .sample("F.conv1d(x0, x1)", {x({2, 5}), x({3, 2, 2})}, WICK_FN(conv1d(x0, x1)));
  row("conv2d", smooth, kWideFloats)
      .sample("F.conv2d(x0, x1, x2, stride=(2, 1), padding=1)",
              {x({2, 2, 5, 4}), x({3, 2, 3, 2}), x({3})}, WICK_FN(conv2d(x0, x1, x2, {2, 1}, 1)))
      .sample("F.conv2d(x0, x1, groups=2, dilation=(1, 2))", {x({1, 4, 3, 5}), x({2, 2, 2, 2})},
              WICK_FN(conv2d(x0, x1, Tensor(), 1, 0, {1, 2}, 2)))
      .sample("F.conv2d(x0, x1)", {x({2, 3, 3}), x({2, 2, 2, 2})}, WICK_FN(conv2d(x0, x1)));
  row("conv3d", smooth, kWideFloats)
      .sample("F.conv3d(x0, x1, x2, stride=(1, 2, 1), padding=(0, 1, 1))",
              {x({1, 2, 3, 3, 3}), x({2, 2, 2, 2, 2}), x({2})},
              WICK_FN(conv3d(x0, x1, x2, {1, 2, 1}, {0, 1, 1})));
  row("conv_transpose1d", smooth, kWideFloats)
      .sample("F.conv_transpose1d(x0, x1, x2, stride=2, padding=1, output_padding=1)",
              {x({2, 3, 4}), x({3, 2, 3}), x({2})}, WICK_FN(conv_transpose1d(x0, x1, x2, 2, 1, 1)))
      .sample("F.conv_transpose1d(x0, x1)", {x({3, 4}), x({3, 2, 3})},
              WICK_FN(conv_transpose1d(x0, x1)));
  row("conv_transpose2d", smooth, kWideFloats)
      .sample("F.conv_transpose2d(x0, x1, x2, stride=(2, 3), padding=(1, 0))",
              {x({1, 2, 3, 2}), x({2, 3, 3, 2}), x({3})},
              WICK_FN(conv_transpose2d(x0, x1, x2, {2, 3}, {1, 0})))
      .sample("F.conv_transpose2d(x0, x1, groups=2, dilation=2, padding=1)",
              {x({1, 4, 3, 4}), x({4, 1, 2, 3})},
              WICK_FN(conv_transpose2d(x0, x1, Tensor(), 1, 1, 0, 2, 2)));
  row("conv_transpose3d", smooth, kWideFloats)
      .sample("F.conv_transpose3d(x0, x1, stride=2)", {x({1, 2, 2, 2, 1}), x({2, 1, 2, 2, 2})},
              WICK_FN(conv_transpose3d(x0, x1, Tensor(), 2)));
  row("unfold", smooth, kWideFloats)
      .sample("F.unfold(x0, (2, 3), dilation=(2, 1), padding=1, stride=(1, 2))", {x({2, 2, 4, 5})},
              WICK_FN(unfold(x0, {2, 3}, {2, 1}, 1, {1, 2})));
  row("fold", smooth, kWideFloats)
      .sample("F.fold(x0, (4, 5), (2, 3), dilation=(2, 1), padding=1, stride=(1, 2))",
              {x({2, 12, 12})}, WICK_FN(fold(x0, {4, 5}, {2, 3}, {2, 1}, 1, {1, 2})));
}

void pools(Rows& row) {
  row("max_pool1d", piecewise, kWideFloats)
      .sample("F.max_pool1d(x0, 3, stride=2, padding=1)", {distinct({2, 2, 7})},
              WICK_FN(max_pool1d(x0, 3, 2, 1)))
      .sample("F.max_pool1d(x0, 4, ceil_mode=True)", {distinct({2, 2, 3})},
              WICK_FN(max_pool1d(x0, 4, {}, 0, 1, true)));
  row("max_pool2d", piecewise, kWideFloats)
      .sample("F.max_pool2d(x0, 2)", {distinct({1, 2, 4, 6})}, WICK_FN(max_pool2d(x0, 2)))
      .sample("F.max_pool2d(x0, (2, 3), stride=2, padding=1, dilation=1, ceil_mode=True)",
              {distinct({2, 5, 6})}, WICK_FN(max_pool2d(x0, {2, 3}, 2, 1, 1, true)))
      .sample("F.max_pool2d(x0, 2, ceil_mode=True)", {distinct({2, 1, 3})},
              WICK_FN(max_pool2d(x0, 2, {}, 0, 1, true)))
      .sample("F.max_pool2d(x0, (4, 2), stride=(3, 1), padding=(1, 0), ceil_mode=True)",
              {distinct({1, 2, 1, 5})},
              WICK_FN(max_pool2d(x0, {4, 2}, Pair{3, 1}, {1, 0}, 1, true)));
  row("max_pool3d", piecewise, kWideFloats)
      .sample("F.max_pool3d(x0, 2, stride=1)", {distinct({1, 1, 3, 3, 3})},
              WICK_FN(max_pool3d(x0, 2, 1)));
  row("avg_pool1d", smooth, kWideFloats)
      .sample("F.avg_pool1d(x0, 3, stride=2, padding=1, count_include_pad=False)", {x({2, 2, 7})},
              WICK_FN(avg_pool1d(x0, 3, 2, 1, false, false)))
      .sample("F.avg_pool1d(x0, 5, ceil_mode=True)", {x({2, 2, 3})},
              WICK_FN(avg_pool1d(x0, 5, {}, 0, true)));
  row("avg_pool2d", smooth, kWideFloats)
      .sample("F.avg_pool2d(x0, 2)", {x({1, 2, 4, 6})}, WICK_FN(avg_pool2d(x0, 2)))
      .sample("F.avg_pool2d(x0, (2, 3), stride=2, padding=1, ceil_mode=True)", {x({1, 2, 5, 6})},
              WICK_FN(avg_pool2d(x0, {2, 3}, 2, 1, true)))
      // windows longer than the padded input
      .sample("F.avg_pool2d(x0, (2, 4), stride=(2, 3), ceil_mode=True)", {x({1, 2, 1, 2})},
              WICK_FN(avg_pool2d(x0, {2, 4}, Pair{2, 3}, 0, true)))
      .sample("F.avg_pool2d(x0, 4, stride=3, padding=1, ceil_mode=True)", {x({1, 2, 1, 5})},
              WICK_FN(avg_pool2d(x0, 4, Pair(3), 1, true)))
      .sample("F.avg_pool2d(x0, 4, stride=3, padding=1, ceil_mode=True, count_include_pad=False)",
              {x({1, 2, 1, 5})}, WICK_FN(avg_pool2d(x0, 4, Pair(3), 1, true, false)));
  row("avg_pool3d", smooth, kWideFloats)
      .sample("F.avg_pool3d(x0, 2, stride=1)", {x({1, 2, 3, 3, 3})}, WICK_FN(avg_pool3d(x0, 2, 1)));
  row("adaptive_avg_pool1d", smooth, kWideFloats)
      .sample("F.adaptive_avg_pool1d(x0, 3)", {x({2, 2, 7})}, WICK_FN(adaptive_avg_pool1d(x0, 3)));
  row("adaptive_avg_pool2d", smooth, kWideFloats)
      .sample("F.adaptive_avg_pool2d(x0, 1)", {x({2, 2, 4, 5})},
              WICK_FN(adaptive_avg_pool2d(x0, 1)))
      .sample("F.adaptive_avg_pool2d(x0, (3, 4))", {x({2, 2, 5, 6})},
              WICK_FN(adaptive_avg_pool2d(x0, {3, 4})))
      .sample("F.adaptive_avg_pool2d(x0, (2, 3))", {x({2, 4, 6})},
              WICK_FN(adaptive_avg_pool2d(x0, {2, 3})));
  row("adaptive_avg_pool3d", smooth, kWideFloats)
      .sample("F.adaptive_avg_pool3d(x0, (2, 1, 2))", {x({1, 2, 3, 2, 5})},
              WICK_FN(adaptive_avg_pool3d(x0, {2, 1, 2})));
  row("adaptive_max_pool1d", piecewise, kWideFloats)
      .sample("F.adaptive_max_pool1d(x0, 3)", {distinct({2, 2, 7})},
              WICK_FN(adaptive_max_pool1d(x0, 3)));
  row("adaptive_max_pool2d", piecewise, kWideFloats)
      .sample("F.adaptive_max_pool2d(x0, (3, 2))", {distinct({1, 2, 5, 6})},
              WICK_FN(adaptive_max_pool2d(x0, {3, 2})))
      .sample("F.adaptive_max_pool2d(x0, 1)", {distinct({1, 2, 3, 4})},
              WICK_FN(adaptive_max_pool2d(x0, 1)));
  row("adaptive_max_pool3d", piecewise, kWideFloats)
      .sample("F.adaptive_max_pool3d(x0, (2, 1, 2))", {distinct({1, 2, 3, 2, 5})},
              WICK_FN(adaptive_max_pool3d(x0, {2, 1, 2})));
}

void windows(Rows& row) {
  row("lp_pool1d", smooth, kFloats)
      .sample("F.lp_pool1d(x0, 2, 3, stride=2)", {off_zero({2, 2, 7})},
              WICK_FN(lp_pool1d(x0, 2, 3, 2)))
      .sample("F.lp_pool1d(x0, 1.5, 2, ceil_mode=True)", {x({2, 5}, 0.25, 2)},
              WICK_FN(lp_pool1d(x0, 1.5, 2, {}, true)))
      .sample("F.lp_pool1d(x0, 2, 4, ceil_mode=True)", {x({2, 3}, 0.25, 2)},
              WICK_FN(lp_pool1d(x0, 2, 4, {}, true)))
      .half_ulps(6);  // power, mean, root
  row("lp_pool2d", smooth, kFloats)
      .sample("F.lp_pool2d(x0, 2, 2)", {off_zero({1, 2, 4, 6})}, WICK_FN(lp_pool2d(x0, 2, 2)))
      .sample("F.lp_pool2d(x0, 3, (2, 3), stride=(1, 2), ceil_mode=True)", {x({2, 3, 6}, 0.25, 2)},
              WICK_FN(lp_pool2d(x0, 3, {2, 3}, Pair{1, 2}, true)))
      .half_ulps(6);  // power, mean, root
  row("max_pool1d_with_indices", piecewise, kWideFloats)
      .sample("F.max_pool1d(x0, 3, stride=2, padding=1, return_indices=True)",
              {distinct({2, 2, 7})}, WICK_FN(max_pool1d_with_indices(x0, 3, 2, 1)))
      .sample("F.max_pool1d(x0, 2, dilation=2, ceil_mode=True, return_indices=True)",
              {distinct({2, 8})}, WICK_FN(max_pool1d_with_indices(x0, 2, {}, 0, 2, true)))
      .sample("F.max_pool1d(x0, 5, stride=3, ceil_mode=True, return_indices=True)",
              {distinct({2, 3})}, WICK_FN(max_pool1d_with_indices(x0, 5, 3, 0, 1, true)));
  row("max_pool2d_with_indices", piecewise, kWideFloats)
      .sample("F.max_pool2d(x0, 2, return_indices=True)", {distinct({2, 2, 4, 6})},
              WICK_FN(max_pool2d_with_indices(x0, 2)))
      .sample("F.max_pool2d(x0, (2, 3), stride=2, padding=1, ceil_mode=True, return_indices=True)",
              {distinct({2, 5, 6})},
              WICK_FN(max_pool2d_with_indices(x0, {2, 3}, Pair(2), 1, 1, true)))
      .sample("F.max_pool2d(x0, (4, 3), dilation=(1, 2), ceil_mode=True, return_indices=True)",
              {distinct({2, 1, 4})},
              WICK_FN(max_pool2d_with_indices(x0, {4, 3}, {}, 0, {1, 2}, true)));
  row("max_pool3d_with_indices", piecewise, kWideFloats)
      .sample("F.max_pool3d(x0, 2, stride=1, return_indices=True)", {distinct({2, 1, 3, 3, 3})},
              WICK_FN(max_pool3d_with_indices(x0, 2, Triple(1))))
      .sample("F.max_pool3d(x0, (1, 2, 3), padding=(0, 1, 1), return_indices=True)",
              {distinct({2, 2, 4, 5})},
              WICK_FN(max_pool3d_with_indices(x0, {1, 2, 3}, {}, {0, 1, 1})));
  row("max_unpool1d", smooth, kFloats)
      .sample("F.max_unpool1d(x0, x1, 2)",
              {x({2, 2, 3}), index({1, 2, 5, 0, 3, 4, 0, 2, 4, 1, 3, 5}, {2, 2, 3})},
              WICK_FN(max_unpool1d(x0, x1, 2)))
      .sample("F.max_unpool1d(x0, x1, 3, stride=2, padding=1, output_size=(6,))",
              {x({2, 3}), index({5, 0, 2, 1, 3, 4}, {2, 3})},
              WICK_FN(max_unpool1d(x0, x1, 3, 2, 1, {6})));
  row("max_unpool2d", smooth, kFloats)
      .sample("F.max_unpool2d(x0, x1, 2)",
              {x({1, 2, 2, 2}), index({0, 7, 9, 15, 5, 3, 12, 10}, {1, 2, 2, 2})},
              WICK_FN(max_unpool2d(x0, x1, 2)))
      .sample("F.max_unpool2d(x0, x1, (2, 3), stride=2, output_size=(5, 6))",
              {x({1, 2, 2}), index({3, 7, 29, 0}, {1, 2, 2})},
              WICK_FN(max_unpool2d(x0, x1, {2, 3}, Pair(2), 0, {5, 6})));
  row("max_unpool3d", smooth, kFloats)
      .sample("F.max_unpool3d(x0, x1, 2)",
              {x({1, 2, 1, 2, 1}), index({5, 12, 15, 0}, {1, 2, 1, 2, 1})},
              WICK_FN(max_unpool3d(x0, x1, 2)))
      .sample("F.max_unpool3d(x0, x1, (1, 2, 2), output_size=(2, 3, 5))",
              {x({1, 2, 1, 2}), index({14, 1, 20, 29}, {1, 2, 1, 2})},
              WICK_FN(max_unpool3d(x0, x1, {1, 2, 2}, {}, 0, {1, 2, 3, 5})));
}

void norms(Rows& row) {
  row("batch_norm", smooth, kWideFloats)
      .sample("F.batch_norm(x0, None, None, x1, x2, True)", {x({3, 2, 2}), x({2}), x({2})},
              WICK_FN(batch_norm(x0, Tensor(), Tensor(), x1, x2, true)))
      .sample("F.batch_norm(x0, None, None, x1, x2, True)", {x({0, 2, 3}), x({2}), x({2})},
              WICK_FN(batch_norm(x0, Tensor(), Tensor(), x1, x2, true)))
      .sample("F.batch_norm(x0, x1, x2)",
              {x({3, 2, 2}), x({2}).no_grad(), x({2}, 0.5, 2).no_grad()},
              WICK_FN(batch_norm(x0, x1, x2)))
      .not_captured("batch statistics are of role kTrain");
  row("layer_norm", smooth, kFloats)
      .sample("F.layer_norm(x0, (4,), x1, x2)", {x({2, 3, 4}), x({4}), x({4})},
              WICK_FN(layer_norm(x0, {4}, x1, x2)))
      .sample("F.layer_norm(x0, (3, 4))", {x({2, 3, 4})}, WICK_FN(layer_norm(x0, {3, 4})));
  row("rms_norm", smooth, kWideFloats)
      .sample("x0 / (x0.square().mean(-1, True) + 1e-6).sqrt() * x1", {x({2, 3, 4}), x({4})},
              WICK_FN(rms_norm(x0, {4}, x1, 1e-6)))
      .sample("x0 / (x0.square().mean((1, 2), True) + 1e-5).sqrt()", {x({2, 3, 4})},
              WICK_FN(rms_norm(x0, {3, 4}, Tensor(), 1e-5)));
  row("group_norm", smooth, kFloats)
      .sample("F.group_norm(x0, 2, x1, x2)", {x({2, 4, 3}), x({4}), x({4})},
              WICK_FN(group_norm(x0, 2, x1, x2)), kWideFloats)
      .sample("F.group_norm(x0, 2, x1)", {x({2, 4, 3, 0}), x({4}).no_grad()},
              WICK_FN(group_norm(x0, 2, x1)), kWideFloats)
      .sample("F.group_norm(x0, 1)", {x({2, 4, 2, 2})}, WICK_FN(group_norm(x0, 1)));
  row("instance_norm", smooth, kWideFloats)
      .sample("F.instance_norm(x0, weight=x1, bias=x2)", {x({2, 2, 3, 2}), x({2}), x({2})},
              WICK_FN(instance_norm(x0, Tensor(), Tensor(), x1, x2)));
  row("local_response_norm", smooth, kWideFloats)
      .sample("F.local_response_norm(x0, 3, alpha=0.5, beta=0.75, k=2)", {x({2, 5, 2})},
              WICK_FN(local_response_norm(x0, 3, 0.5, 0.75, 2)))
      .sample("F.local_response_norm(x0, 2)", {x({1, 4, 2, 2})},
              WICK_FN(local_response_norm(x0, 2)));
  row("normalize", smooth, kWideFloats)
      .sample("F.normalize(x0)", {x({3, 4})}, WICK_FN(normalize(x0)))
      .sample("F.normalize(x0, p=1, dim=0)", {off_zero({3, 4})}, WICK_FN(normalize(x0, 1, 0)));
  row("softmax", smooth, kFloats)
      .sample("torch.softmax(x0, 1)", {x({3, 4})}, WICK_FN(softmax(x0, 1)))
      .sample("torch.softmax(x0, 0)", {x({3, 4})}, WICK_FN(softmax(x0, 0)))
      .sample("torch.softmax(x0, 0)", {given({1000, 1001})}, WICK_FN(softmax(x0, 0)), kWideFloats)
      .half_ulps(4);  // exp and the quotient each round
  row("log_softmax", smooth, kFloats)
      .sample("torch.log_softmax(x0, 1)", {x({3, 4})}, WICK_FN(log_softmax(x0, 1)))
      .sample("torch.log_softmax(x0, -2)", {x({2, 3, 4})}, WICK_FN(log_softmax(x0, -2)))
      .sample("torch.log_softmax(x0, 0)", {given({1e4, -1e4, 0})}, WICK_FN(log_softmax(x0, 0)),
              kWideFloats)
      .half_ulps(4);  // exp and log each round
  row("dropout", random_output, kFloats)
      .sample("F.dropout(x0, 0.3)", {x({3, 4})}, WICK_FN(dropout(x0, 0.3)));
  row("alpha_dropout", random_output, kFloats)
      .sample("F.alpha_dropout(x0, 0.3, True)", {x({3, 4})}, WICK_FN(alpha_dropout(x0, 0.3, true)))
      .sample("F.alpha_dropout(x0, 1, True)", {x({3, 4})}, WICK_FN(alpha_dropout(x0, 1, true)));
  row("feature_alpha_dropout", random_output, kFloats)
      .sample("F.feature_alpha_dropout(x0, 0.3, True)", {x({3, 4, 2})},
              WICK_FN(feature_alpha_dropout(x0, 0.3, true)));
  row("rrelu", random_output, kFloats)
      .sample("F.rrelu(x0, training=True)", {off_zero({3, 4})},
              WICK_FN(rrelu(x0, 1.0 / 8, 1.0 / 3, true)));
  row("rrelu_mean", piecewise, kFloats)  // out of training the slope is the mean
      .sample("F.rrelu(x0, 0.25, 0.5)", {off_zero({3, 4})}, WICK_FN(rrelu(x0, 0.25, 0.5)));
  row("dropout1d", random_output, kWideFloats)
      .sample("F.dropout1d(x0, 0.3)", {x({3, 4, 2})}, WICK_FN(dropout1d(x0, 0.3)));
  row("dropout2d", random_output, kWideFloats)
      .sample("F.dropout2d(x0, 0.3)", {x({3, 4, 2, 2})}, WICK_FN(dropout2d(x0, 0.3)));
  row("dropout3d", random_output, kWideFloats)
      .sample("F.dropout3d(x0, 0.3)", {x({3, 4, 2, 2, 2})}, WICK_FN(dropout3d(x0, 0.3)));
}

void images(Rows& row) {
  row("interpolate", smooth, kWideFloats)
      .sample("F.interpolate(x0, size=(5, 3))", {x({1, 2, 3, 4})},
              WICK_FN(interpolate(x0, {.size = {5, 3}})))
      .sample("F.interpolate(x0, scale_factor=2.5, mode='nearest-exact')", {x({1, 2, 5})},
              WICK_FN(interpolate(x0, {.scale_factor = {2.5}, .mode = "nearest-exact"})))
      .sample("F.interpolate(x0, scale_factor=2, mode='bilinear')", {x({1, 2, 3, 4})},
              WICK_FN(interpolate(x0, {.scale_factor = {2}, .mode = "bilinear"})))
      .sample("F.interpolate(x0, size=(7, 2), mode='bilinear', align_corners=True)",
              {x({1, 2, 3, 4})},
              WICK_FN(interpolate(x0, {.size = {7, 2}, .mode = "bilinear", .align_corners = true})))
      .sample("F.interpolate(x0, size=(2, 3), mode='area')", {x({1, 2, 5, 4})},
              WICK_FN(interpolate(x0, {.size = {2, 3}, .mode = "area"})))
      .sample("F.interpolate(x0, size=4, mode='linear')", {x({2, 1, 7})},
              WICK_FN(interpolate(x0, {.size = {4}, .mode = "linear"})))
      .sample("F.interpolate(x0, scale_factor=1.5, mode='trilinear')", {x({1, 1, 2, 3, 2})},
              WICK_FN(interpolate(x0, {.scale_factor = {1.5}, .mode = "trilinear"})));
  row("pad_modes", smooth, kWideFloats)  // the constant: layout.cc
      .sample("F.pad(x0, (1, 2, 0, 1), value=0.5)", {x({2, 3})},
              WICK_FN(pad(x0, {1, 2, 0, 1}, 0.5)))
      .sample("F.pad(x0, (1, -1))", {x({2, 3})}, WICK_FN(pad(x0, {1, -1})))
      .sample("F.pad(x0, (2, 1), mode='reflect')", {x({1, 2, 4})},
              WICK_FN(pad(x0, {2, 1}, "reflect")))
      .sample("F.pad(x0, (2, 1, 1, 3), mode='replicate')", {x({1, 2, 3, 4})},
              WICK_FN(pad(x0, {2, 1, 1, 3}, "replicate")))
      .sample("F.pad(x0, (2, 1, 1, 3), mode='circular')", {x({1, 2, 3, 4})},
              WICK_FN(pad(x0, {2, 1, 1, 3}, "circular")))
      .sample("F.pad(x0, (2, 1, 1, 0), mode='reflect')", {x({1, 2, 3, 4})},
              WICK_FN(pad(x0, {2, 1, 1, 0}, "reflect")));
  row("pixel_shuffle", smooth, kWideFloats)
      .sample("F.pixel_shuffle(x0, 2)", {x({2, 8, 2, 3})}, WICK_FN(pixel_shuffle(x0, 2)))
      .sample("F.pixel_shuffle(x0, 3)", {x({9, 2, 1})}, WICK_FN(pixel_shuffle(x0, 3)));
  row("pixel_unshuffle", smooth, kWideFloats)
      .sample("F.pixel_unshuffle(x0, 2)", {x({2, 2, 4, 6})}, WICK_FN(pixel_unshuffle(x0, 2)));
  row("channel_shuffle", smooth, kWideFloats)
      .sample("x0.reshape(2, 2, 3, 2, 1).transpose(1, 2).reshape(2, 6, 2, 1)", {x({2, 6, 2, 1})},
              WICK_FN(channel_shuffle(x0, 2)));
  row("scaled_dot_product_attention", smooth, kWideFloats)
      .sample("torch.softmax(x0 @ x1.mT / math.sqrt(x0.shape[-1]), -1) @ x2",
              {x({2, 3, 4}), x({2, 5, 4}), x({2, 5, 3})},
              WICK_FN(scaled_dot_product_attention(x0, x1, x2)))
      .sample(
          "torch.softmax((x0 @ x1.mT / math.sqrt(x0.shape[-1])).masked_fill(torch.ones("
          "x0.shape[-2], x1.shape[-2]).triu(1) > 0, -inf), -1) @ x2",
          {x({2, 2, 3, 4}), x({2, 2, 3, 4}), x({2, 2, 3, 4})},
          WICK_FN(scaled_dot_product_attention(x0, x1, x2, Tensor(), 0, true)))
      .sample("torch.softmax(x0 @ x1.mT * 0.3 + x3, -1) @ x2",
              {x({3, 4}), x({5, 4}), x({5, 3}), x({3, 5})},
              WICK_FN(scaled_dot_product_attention(x0, x1, x2, x3, 0, false, 0.3)));
}

}  // namespace

std::vector<FunctionRow> nn_rows() {
  Rows row;
  convolutions(row);
  pools(row);
  windows(row);
  norms(row);
  images(row);
  return row.all;
}

}  // namespace wick::test
