#include "tests/trainer/gradcheck_samples.h"

namespace wick::gradchecks {

void add_layer_samples(Samples& all) {
  auto add = [&](const char* name, Fn f, List in, Second second = Second::kYes) {
    all.push_back({name, std::move(f), std::move(in), second});
  };
  add("MatMul", row(OpId::kMatMul, NoAttrs{}), {random({3, 4}), random({4, 2})});
  add("MatMul batch", row(OpId::kMatMul, NoAttrs{}), {random({2, 1, 2, 3}), random({2, 3, 2})});
  add("MatMul vectors", row(OpId::kMatMul, NoAttrs{}), {random({3}), random({3})});
  add("MatMul row", row(OpId::kMatMul, NoAttrs{}), {random({3}), random({2, 3, 2})});
  add("MatMul column", row(OpId::kMatMul, NoAttrs{}), {random({2, 2, 3}), random({3})});
  add("Linear", row(OpId::kLinear, NoAttrs{}), {random({2, 2, 3}), random({4, 3}), random({4})});
  add("Linear vector", row(OpId::kLinear, NoAttrs{}), {random({3}), random({4, 3})});
  add("FusedLinear",
      row(OpId::kFusedLinear, EpilogueAttrs{static_cast<int64_t>(Activation::kSilu), 0, 0}),
      {random({2, 3}), random({4, 3}), random({4}), random({4}), random({4}), random({2, 4})});
  // The slope of a hard sigmoid keeps sums away from its kinks.
  const auto gated = [&](const char* name, Activation a) {
    add(name, row(OpId::kFusedLinear, EpilogueAttrs{static_cast<int64_t>(a), 0.01, 0.5}),
        {random({2, 3}), random({4, 3}), random({4})});
  };
  gated("FusedLinear times sigmoid", Activation::kTimesSigmoid);
  gated("FusedLinear hard sigmoid", Activation::kHardSigmoid);
  gated("FusedLinear times hard sigmoid", Activation::kTimesHardSigmoid);
  add("FusedMatMul",
      row(OpId::kFusedMatMul, EpilogueAttrs{static_cast<int64_t>(Activation::kSilu), 0, 0}),
      {random({2, 3}), random({3, 4}), random({4}), random({4}), random({4}), random({2, 4})});

  ConvAttrs conv;
  conv.strides = {2, 1};
  conv.pads = {1, 0, 1, 1};
  add("Conv", row(OpId::kConv, conv), {random({2, 2, 5, 4}), random({3, 2, 3, 2}), random({3})});
  ConvAttrs grouped;
  grouped.group = 2;
  grouped.dilations = {1, 2};
  add("Conv groups", row(OpId::kConv, grouped), {random({1, 4, 3, 5}), random({2, 2, 2, 2})});
  FusedConvAttrs fused;
  fused.conv = conv;
  fused.epilogue.activation = static_cast<int64_t>(Activation::kTanh);
  add("FusedConv", row(OpId::kFusedConv, fused),
      {random({1, 2, 5, 4}), random({3, 2, 3, 2}), random({3}), random({3}), random({3}),
       random({1, 3, 3, 4})});
  add("ConvInputGrad", row(OpId::kConvInputGrad, ConvGradAttrs{conv, {5, 4}}),
      {random({1, 3, 3, 4}), random({3, 2, 3, 2})});
  add("ConvWeightGrad", row(OpId::kConvWeightGrad, ConvGradAttrs{conv, {3, 2}}),
      {random({1, 2, 5, 4}), random({1, 3, 3, 4})});

  ConvTransposeAttrs transposed;
  transposed.conv = conv;
  transposed.output_padding = {1, 0};
  add("ConvTranspose", row(OpId::kConvTranspose, transposed),
      {random({2, 3, 3, 4}), random({3, 2, 3, 2}), random({2})});
  ConvTransposeAttrs padded;  // the rows and columns added at the end are outside every tap
  padded.conv = grouped;
  padded.conv.strides = {1, 1};
  padded.output_padding = {0, 1};
  add("ConvTranspose groups", row(OpId::kConvTranspose, padded),
      {random({1, 4, 2, 3}), random({4, 1, 2, 2})});
  ConvTransposeAttrs sized;
  sized.conv.strides = {2, 2};
  sized.output_shape = {5, 6};
  add("ConvTranspose output_shape", row(OpId::kConvTranspose, sized),
      {random({1, 2, 3, 3}), random({2, 1, 2, 3})});
  for (auto mode : {ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic}) {
    ResizeAttrs resize;
    resize.mode = static_cast<int64_t>(mode);
    auto resized = [](const ResizeAttrs& a, const Tensor& scales, const Tensor& sizes) -> Fn {
      return [=](const List& in) {
        return row(OpId::kResize, a)({in[0], Tensor(), scales, sizes});
      };
    };
    add("Resize", resized(resize, {}, ints({1, 2, 5, 3}, {4})), {random({1, 2, 3, 4})});
    resize.axes = {3, -2};
    add("Resize axes", resized(resize, tensor({2.0f, 1.5f}), {}), {random({1, 2, 3, 4})});
  }
  MaxPoolIndicesAttrs places;
  places.pool.kernel_shape = {2, 2};
  add("MaxPoolIndices", row(OpId::kMaxPoolIndices, places, 2), {distinct({2, 1, 3, 3})});
  RnnAttrs both;
  both.direction = 2;
  add("RNN", row(OpId::kRNN, both, 2),
      {random({3, 2, 2}), random({2, 3, 2}), random({2, 3, 3}), random({2, 6})});
  add("GRU", row(OpId::kGRU, both, 2),
      {random({3, 2, 2}), random({2, 6, 2}), random({2, 6, 2}), random({2, 12}),
       tensor({2, 3}, DType::kI32), random({2, 2, 2})});
  add("LSTM", row(OpId::kLSTM, both, 3),
      {random({3, 2, 2}), random({2, 8, 2}), random({2, 8, 2}), random({2, 16}),
       tensor({3, 1}, DType::kI32), random({2, 2, 2}), random({2, 2, 2}), random({2, 6})});
  for (int64_t align : {0, 1}) {
    add("AffineGrid", row(OpId::kAffineGrid, AffineGridAttrs{align}),
        {random({2, 2, 3}), ints({2, 1, 3, 4}, {4})});
  }
  add("AffineGrid 3d", row(OpId::kAffineGrid, AffineGridAttrs{}),
      {random({1, 3, 4}), ints({1, 1, 2, 1, 3}, {5})});

  PoolAttrs pool;
  pool.kernel_shape = {2, 3};
  pool.strides = {2, 1};
  pool.pads = {1, 1, 0, 1};
  pool.count_include_pad = 1;
  PoolAttrs ceil = pool;
  ceil.pads = {0, 0, 0, 0};
  ceil.strides = {2, 2};
  ceil.ceil_mode = 1;
  add("MaxPool", row(OpId::kMaxPool, pool), {distinct({1, 2, 5, 4})});
  add("MaxPool ceil", row(OpId::kMaxPool, ceil), {distinct({1, 2, 5, 4})});
  add("AveragePool", row(OpId::kAveragePool, pool), {random({1, 2, 5, 4})});
  add("AveragePool ceil", row(OpId::kAveragePool, ceil), {random({1, 2, 5, 4})});
  Tensor x = distinct({1, 2, 5, 4});
  add("MaxPoolGrad",
      [=](const List& in) {
        return row(OpId::kMaxPoolGrad, pool)({in[0], x});
      },
      {random({1, 2, 3, 4})});
  add("AveragePoolGrad",
      [=](const List& in) {
        return row(OpId::kAveragePoolGrad, pool)({in[0], x});
      },
      {random({1, 2, 3, 4})});

  add("BatchNorm", row(OpId::kBatchNorm, BatchNormAttrs{}),
      {random({2, 3, 2, 2}), random({3}), random({3}), random({3}), random({3}, 0.5, 2)});
  add("BatchNormTrain", row(OpId::kBatchNormTrain, BatchNormAttrs{}, 3),
      {random({3, 2, 2, 2}), random({2}), random({2})});
  add("BatchNormTrain 2d",
      [](const List& in) { return List{row(OpId::kBatchNormTrain, BatchNormAttrs{}, 3)(in)[0]}; },
      {random({4, 2}), random({2}), random({2})});
  add("BatchNormGrad", row(OpId::kBatchNormGrad, BatchNormAttrs{}, 3),
      {random({2, 2, 3}), random({2, 2, 3}), random({2}), random({2}), random({2}, 0.5, 2)},
      Second::kTrainHelper);
  add("LayerNormGrad", row(OpId::kLayerNormGrad, LayerNormGradAttrs{}, 3),
      {random({2, 4}), random({2, 4}), random({4})}, Second::kTrainHelper);
  add("GroupNormGrad", row(OpId::kGroupNormGrad, GroupNormGradAttrs{2}, 3),
      {random({2, 4, 2}), random({2, 4, 2}), random({4})}, Second::kTrainHelper);
  {
    ResizeAttrs interpolation;
    interpolation.mode = static_cast<int64_t>(ResizeMode::kLinear);
    interpolation.interpolate = 1;
    const Tensor image = random({1, 2, 3, 4});
    add("ResizeGrad",
        [=](const List& in) {
          return row(OpId::kResizeGrad,
                     interpolation)({image, in[0], Tensor(), ints({1, 2, 5, 3}, {4})});
        },
        {random({1, 2, 5, 3})});
  }
  // outside of the range, where the output is what it was: a bound times the scale
  add(
      "FakeQuantize",
      [](const List& in) {
        return row(OpId::kFakeQuantize,
                   FakeQuantizeAttrs{0, -1, 1, 1})({in[0], in[1], tensor({0.0, 0.0}, DType::kF64)});
      },
      {tensor({7.0, -9.0}, DType::kF64), tensor({0.5, 0.25}, DType::kF64)},
      Second::kPiecewiseConstant);
  for (int64_t of : {0, 1, 2}) {  // linear in the gradient
    const Tensor at = random({2, 3, 2}), scale = random({3}, 0.05, 0.1), zero = full({3}, 0, kD);
    add("FakeQuantizeGrad",
        [=](const List& in) {
          return row(OpId::kFakeQuantizeGrad,
                     FakeQuantizeAttrs{1, -8, 7, 1, of})({in[0], at, scale, zero});
        },
        {random({2, 3, 2})});
  }
  {
    const Tensor one = random({3});
    add("FoldedBatchNorm",
        [=](const List& in) {
          return row(OpId::kFoldedBatchNorm, BatchNormAttrs{})({in[0], in[1], one, one, one, one});
        },
        {random({2, 3, 2}), random({3})});
  }
  for (int64_t axis : {0, -1}) {
    add("Softmax", row(OpId::kSoftmax, AxisAttrs{axis}), {random({3, 4})});
    add("LogSoftmax", row(OpId::kLogSoftmax, AxisAttrs{axis}), {random({3, 4})});
  }

  for (const char* name : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"}) {
    OpId id = find_op(name)->id;
    ReduceAttrs middle{{1}, 0, 0}, two{{0, -1}, 1, 0};
    all.push_back({name, row(id, middle), {distinct({2, 3, 2})}});
    all.push_back({name, row(id, two), {distinct({2, 3, 2})}});
    all.push_back({name, row(id, ReduceAttrs{}), {distinct({2, 3})}});
  }
  // a zero's own gradient is the product of the rest; two zeros leave none
  add("ReduceProd zeros", row(OpId::kReduceProd, ReduceAttrs{{1}, 0, 0}),
      {tensor({{1., 0., 3.}, {0., 2., 0.}, {4., 5., 6.}}, DType::kF64)});
}

}  // namespace wick::gradchecks
